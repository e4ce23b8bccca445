"""The rules of Kubernetes for names, label keys and label values.

A function `…_errors` returns the API server's messages about a text, none if the text is valid. A function
`check_…` raises a ValueError that shows the text and these messages.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .._patterns import Pattern

_MAX_LABEL: Final = 63
_MAX_SUBDOMAIN: Final = 253
# Only the finalizers of Kubernetes itself need no domain.
_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")

_DNS_LABEL: Final = Pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DNS_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and"
    " end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is"
    " '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_DNS_SUBDOMAIN: Final = Pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_DNS_1035_LABEL: Final = Pattern(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_DNS_1035_LABEL_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
    " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
    " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_NAME: Final = Pattern(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_QUALIFIED_NAME_TEXT: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is"
    " '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_LABEL_VALUE: Final = Pattern(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)
_LABEL_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must"
    " start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used"
    " for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def dns_label_errors(text: str) -> tuple[str, ...]:
    """Return the errors of a DNS-1123 label, the form of the names of namespaces."""
    errors = _length_errors(text, _MAX_LABEL)
    if not _DNS_LABEL.fullmatch(text):
        errors += ("must not contain dots",) if _DNS_SUBDOMAIN.fullmatch(text) else (_DNS_LABEL_TEXT,)
    return errors


@lru_cache(maxsize=4096)
def dns_subdomain_errors(text: str) -> tuple[str, ...]:
    """Return the errors of a DNS-1123 subdomain, the form of most names and of API groups."""
    errors = _length_errors(text, _MAX_SUBDOMAIN)
    return errors if _DNS_SUBDOMAIN.fullmatch(text) else (*errors, _DNS_SUBDOMAIN_TEXT)


def dns_1035_label_errors(text: str) -> tuple[str, ...]:
    """Return the errors of a DNS-1035 label: a DNS label that starts with a letter."""
    errors = _length_errors(text, _MAX_LABEL)
    return errors if _DNS_1035_LABEL.fullmatch(text) else (*errors, _DNS_1035_LABEL_TEXT)


@lru_cache(maxsize=8192)
def qualified_name_errors(text: str) -> tuple[str, ...]:
    """Return the errors of a qualified name ("app", "example.com/app"), the form of label keys."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return (
            (
                f"a valid label key {_QUALIFIED_NAME_TEXT} with an optional DNS subdomain prefix and '/'"
                " (e.g. 'example.com/MyName')"
            ),
        )
    errors: list[str] = []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    elif slash:
        errors += [f"prefix part {error}" for error in dns_subdomain_errors(prefix)]
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {error}" for error in _length_errors(name, _MAX_LABEL)]
    if not _QUALIFIED_NAME.fullmatch(name):
        errors.append(f"name part {_QUALIFIED_NAME_TEXT}")
    return tuple(errors)


@lru_cache(maxsize=8192)
def label_value_errors(text: str) -> tuple[str, ...]:
    """Return the errors of the value of a label; the empty string is valid."""
    errors = _length_errors(text, _MAX_LABEL)
    return errors if _LABEL_VALUE.fullmatch(text) else (*errors, _LABEL_VALUE_TEXT)


def check_dns_subdomain(text: str) -> None:
    """Raise a ValueError for a text that is not a DNS-1123 subdomain."""
    _check(text, "DNS-1123 subdomain", dns_subdomain_errors(text))


def check_label_key(text: str) -> None:
    """Raise a ValueError for a text that is not a qualified name, the form of label keys."""
    _check(text, "qualified name", qualified_name_errors(text))


def check_label_value(text: str) -> None:
    """Raise a ValueError for a text that cannot be the value of a label."""
    _check(text, "label value", label_value_errors(text))


def check_finalizer(text: str) -> None:
    """Raise a ValueError for a finalizer without a domain, except those of Kubernetes itself."""
    errors = qualified_name_errors(text)
    if "/" not in text and text not in _STANDARD_FINALIZERS:
        errors += ("use a name with a domain, such as example.com/cleanup",)
    _check(text, "finalizer", errors)


def check_path_segment(text: str) -> None:
    """Raise a ValueError for a name that would change the path of a URL."""
    if text in ("", ".", "..") or "/" in text or "%" in text:
        rule = "it must not be empty, '.' or '..', or contain '/' or '%'"
        _check(text, "name for a URL path", (rule,))


def _length_errors(text: str, max_length: int) -> tuple[str, ...]:
    return (
        (f"must be no more than {max_length} bytes",)
        if len(text.encode("utf-8", "surrogatepass")) > max_length
        else ()
    )


def _check(text: str, form: str, errors: tuple[str, ...]) -> None:
    if errors:
        quoted = text if len(text) <= _MAX_SUBDOMAIN else f"{text[:64]}…"
        raise ValueError(f"{quoted!r} is not a valid {form}: {'; '.join(errors)}")
