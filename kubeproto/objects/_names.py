"""The rules that Kubernetes has for names and keys, each a check that says which rule was broken.

https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
"""

from typing import Final

_LOWER: Final = "abcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = "0123456789"
_LETTERS_AND_DIGITS: Final = _LOWER + _LOWER.upper() + _DIGITS

_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253
# The finalizers of Kubernetes itself are the only ones that need no domain.
_STANDARD_FINALIZERS: Final = ("kubernetes", "orphan", "foregroundDeletion")


def check_dns_label(text: str) -> None:
    """Refuse what is not a DNS-1123 label, the form of namespaces and services."""
    if len(text) > _LABEL_LENGTH or not _is_dns_label(text):
        raise _wrong(
            text,
            "DNS-1123 label",
            f"lower-case letters, digits and '-', a letter or digit at both ends, at most {_LABEL_LENGTH}",
        )


def check_dns_1035_label(text: str) -> None:
    """Refuse what is not a DNS-1035 label: a DNS label that starts with a letter."""
    if len(text) > _LABEL_LENGTH or not _is_dns_label(text) or text[0] in _DIGITS:
        raise _wrong(
            text,
            "DNS-1035 label",
            "lower-case letters, digits and '-', a letter first, a letter or digit at the end,"
            f" at most {_LABEL_LENGTH}",
        )


def check_dns_subdomain(text: str) -> None:
    """Refuse what is not a DNS-1123 subdomain, the form of most objects' names and of API groups."""
    if len(text) > _SUBDOMAIN_LENGTH or not all(_is_dns_label(label) for label in text.split(".")):
        raise _wrong(
            text,
            "DNS-1123 subdomain",
            "labels of lower-case letters, digits and '-' between dots, a letter or digit at both ends"
            f" of each, at most {_SUBDOMAIN_LENGTH}",
        )


def check_path_segment(text: str) -> None:
    """Refuse a name that would change the path of a URL; the name of every object must pass this."""
    if text in ("", ".", "..") or "/" in text or "%" in text:
        raise _wrong(text, "name for a URL path", "not empty, not '.' or '..', and without '/' and '%'")


def check_label_key(text: str) -> None:
    """Refuse what is not a qualified name ("app", "example.com/app"), the form of label keys."""
    prefix, slash, name = text.rpartition("/")
    if slash:
        try:
            check_dns_subdomain(prefix)
        except ValueError as error:
            raise ValueError(
                f"{_shown(text)} is not a valid qualified name: before the '/', {error}"
            ) from None
    if not name or not _is_label_value(name):
        raise _wrong(
            text,
            "qualified name",
            "an optional domain and '/', then letters, digits, '-', '_' and '.', a letter or digit at both"
            f" ends, at most {_LABEL_LENGTH}",
        )


def check_label_value(text: str) -> None:
    """Refuse what cannot be the value of a label; the empty string can."""
    if not _is_label_value(text):
        raise _wrong(
            text,
            "label value",
            "empty, or letters, digits, '-', '_' and '.', a letter or digit at both ends,"
            f" at most {_LABEL_LENGTH}",
        )


def check_annotation_key(text: str) -> None:
    """Refuse what cannot be the key of an annotation: as a label key, but with capitals in the domain."""
    domain, slash, name = text.rpartition("/")
    check_label_key(domain.lower() + slash + name if domain.isascii() else text)


def check_finalizer(text: str) -> None:
    """Refuse what is neither a qualified name with a domain nor one of Kubernetes' own finalizers."""
    check_label_key(text)
    if "/" not in text and text not in _STANDARD_FINALIZERS:
        raise _wrong(text, "finalizer", "a name with a domain, such as example.com/cleanup")


def _is_dns_label(text: str) -> bool:
    return bool(text) and not text.strip(_LOWER + _DIGITS + "-") and "-" not in (text[0], text[-1])


def _is_label_value(text: str) -> bool:
    if len(text) > _LABEL_LENGTH or text.strip(_LETTERS_AND_DIGITS + "-_."):
        return False
    return not text or (text[0] in _LETTERS_AND_DIGITS and text[-1] in _LETTERS_AND_DIGITS)


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SUBDOMAIN_LENGTH else f"{text[:64]}…")


def _wrong(text: str, what: str, rule: str) -> ValueError:
    return ValueError(f"{_shown(text)} is not a valid {what}: {rule}")
