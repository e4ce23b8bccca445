"""How names of the API become names of Python: attributes, modules and classes."""

import keyword
import re
from typing import Final

# Names that annotations use: an attribute of the same name would hide them in the class body.
_TAKEN: Final = frozenset(
    ("bool", "bytes", "datetime", "dict", "float", "int", "kp", "list", "msgspec", "str")
)
_PLURAL_ACRONYM: Final = r"([A-Z]{2,})s(?=$|[A-Z])"  # podIPs, nonResourceURLs
_WORD_ENDS: Final = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Z])(?=V[0-9])"


def attribute(wire: str) -> str:
    """Return the attribute for a field: ``clusterIPs`` is ``cluster_ips``, ``continue`` is ``continue_``."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", wire).strip("_")
    words = re.sub(_PLURAL_ACRONYM, lambda found: found[1].capitalize() + "s", words)
    name = re.sub(_WORD_ENDS, "_", words).lower()
    if not name or name[0].isdigit():
        name = f"x_{name}"
    return f"{name}_" if keyword.iskeyword(name) or name in _TAKEN else name


def camel(name: str) -> str:
    """Return the wire name that msgspec's ``rename="camel"`` makes of an attribute."""
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


def module_name(group: str, version: str) -> str:
    """Return the module of a group-version: ``rbac.authorization.k8s.io/v1`` is ``rbac_authorization_v1``."""
    short = (group or "core").removesuffix(".k8s.io")
    return f"{re.sub(r'[^a-z0-9]', '_', short)}_{version}"


def class_name(*words: str) -> str:
    """Return a class name for a path: ``Book``, ``spec`` and ``authors`` give ``BookSpecAuthors``."""
    parts = (part for word in words for part in re.split(r"[^A-Za-z0-9]+", word) if part)
    name = "".join(part[0].upper() + part[1:] for part in parts)
    if not name or name[0].isdigit():
        name = f"X{name}"
    return f"{name}_" if keyword.iskeyword(name) else name
