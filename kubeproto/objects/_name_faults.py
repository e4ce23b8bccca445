"""Names, label keys and label values: a server's messages about those that break the rules."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .._patterns import Pattern

LABEL: Final = Pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN: Final = Pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
    " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_NAME_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
    " for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME: Final = Pattern(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_VALUE: Final = Pattern(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)
_SERVICE_LABEL: Final = Pattern(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SERVICE_LABEL_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
    " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
    " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_LONGEST_LABEL: Final = 63
_LONGEST_SUBDOMAIN: Final = 253


@lru_cache(maxsize=4096)
def is_subdomain(name: str) -> bool:
    """Return whether a name is labels between dots, as most objects are named."""
    return len(name) <= _LONGEST_SUBDOMAIN and SUBDOMAIN.fullmatch(name) is not None


@lru_cache(maxsize=8192)
def key_faults(key: str) -> tuple[str, ...]:
    """Return what is wrong with the key of a label or an annotation."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return (
            (
                f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/'"
                " (e.g. 'example.com/MyName')"
            ),
        )
    found: list[str] = []
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash and not is_subdomain(prefix):
        long = len(prefix) > _LONGEST_SUBDOMAIN
        found.append(
            f"prefix part {f'must be no more than {_LONGEST_SUBDOMAIN} bytes' if long else SUBDOMAIN_TEXT}"
        )
    if not name:
        found.append("name part must be non-empty")
    elif len(name.encode()) > _LONGEST_LABEL:
        found.append(f"name part must be no more than {_LONGEST_LABEL} bytes")
    if not _NAME.fullmatch(name):
        found.append(f"name part {_NAME_TEXT}")
    return tuple(found)


@lru_cache(maxsize=8192)
def value_faults(value: str) -> tuple[str, ...]:
    """Return what is wrong with the value of a label."""
    found: list[str] = []
    if len(value.encode()) > _LONGEST_LABEL:
        found.append(f"must be no more than {_LONGEST_LABEL} bytes")
    if not _VALUE.fullmatch(value):
        found.append(_VALUE_TEXT)
    return tuple(found)


def label_faults(name: str) -> tuple[str, ...]:
    """Return what is wrong with a name that must be a DNS label, as those of namespaces."""
    found = _too_long(name, _LONGEST_LABEL)
    if not LABEL.fullmatch(name):
        found += ("must not contain dots",) if SUBDOMAIN.fullmatch(name) else (LABEL_TEXT,)
    return found


def subdomain_faults(name: str) -> tuple[str, ...]:
    """Return what is wrong with a name that must be labels between dots."""
    found = _too_long(name, _LONGEST_SUBDOMAIN)
    return found if SUBDOMAIN.fullmatch(name) else (*found, SUBDOMAIN_TEXT)


def service_label_faults(name: str) -> tuple[str, ...]:
    """Return what is wrong with a name that must be an RFC 1035 label, as those of Services were."""
    found = _too_long(name, _LONGEST_LABEL)
    return found if _SERVICE_LABEL.fullmatch(name) else (*found, _SERVICE_LABEL_TEXT)


def _too_long(name: str, longest: int) -> tuple[str, ...]:
    return (f"must be no more than {longest} bytes",) if len(name.encode()) > longest else ()
