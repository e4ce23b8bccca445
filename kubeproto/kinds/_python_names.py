"""Python names for the names of the API: attributes, modules and classes."""

import keyword
import re
from typing import Final

# Names in annotations, which an attribute of the same name would shadow in the class body.
_ANNOTATION_NAMES: Final = frozenset(
    ("bool", "bytes", "datetime", "dict", "float", "int", "kp", "list", "msgspec", "str")
)
_PLURAL_ACRONYM: Final = r"([A-Z]{2,})s(?=$|[A-Z])"  # podIPs, nonResourceURLs
_WORD_ENDS: Final = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=V[0-9])"


def attribute_name(wire: str) -> str:
    """Return the attribute for a field: ``clusterIPs`` is ``cluster_ips``, ``continue`` is ``continue_``."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", wire).strip("_")
    words = re.sub(_PLURAL_ACRONYM, lambda match: match[1].capitalize() + "s", words)
    name = re.sub(_WORD_ENDS, "_", words).lower()
    if not name or name[0].isdigit():
        name = f"x_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in _ANNOTATION_NAMES else name


def camel_case(name: str) -> str:
    """Return the wire name that msgspec's ``rename="camel"`` makes of an attribute."""
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)


def module_name(group: str, version: str) -> str:
    """Return the module of a group-version: ``rbac.authorization.k8s.io/v1`` is ``rbac_authorization_v1``."""
    prefix = (group or "core").removesuffix(".k8s.io")
    return f"{re.sub(r'[^a-z0-9]', '_', prefix)}_{version}"


def class_name(*path: str) -> str:
    """Return a class name for a path: ``Book``, ``spec`` and ``authors`` give ``BookSpecAuthors``."""
    parts = (part for name in path for part in re.split(r"[^A-Za-z0-9]+", name) if part)
    name = "".join(part[0].upper() + part[1:] for part in parts)
    if not name or name[0].isdigit():
        name = f"X{name}"
    return f"{name}_" if keyword.iskeyword(name) else name
