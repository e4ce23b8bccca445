"""The named formats of CEL, such as ``format.dns1123Label()``, and their checks of a string."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...objects import (
    dns_1035_label_errors,
    dns_label_errors,
    dns_subdomain_errors,
    label_value_errors,
    qualified_name_errors,
)
from .._go_urls import check_url
from .._string_formats import has_format
from ._list_functions import FunctionRow

Check = Callable[[str], "tuple[str, ...]"]


def _prefix_check(check: Check) -> Check:
    """Return the check of a name's prefix, to which a server appends a suffix: it may end with a dash."""

    def check_prefix(text: str) -> tuple[str, ...]:
        return check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return check_prefix


def _format_check(name: str, error: str) -> Check:
    return lambda text: () if has_format(text, name) else (error,)


def _url_errors(text: str) -> tuple[str, ...]:
    try:
        check_url(text)
    except ValueError as error:
        return (f"parse {text!r}: {error}",)
    return ()


_CHECKS: Final[dict[str, Check]] = {
    "dns1123Label": dns_label_errors,
    "dns1123Subdomain": dns_subdomain_errors,
    "dns1035Label": dns_1035_label_errors,
    "qualifiedName": qualified_name_errors,
    "dns1123LabelPrefix": _prefix_check(dns_label_errors),
    "dns1123SubdomainPrefix": _prefix_check(dns_subdomain_errors),
    "dns1035LabelPrefix": _prefix_check(dns_1035_label_errors),
    "labelValue": label_value_errors,
    "uri": _url_errors,
    "uuid": _format_check("uuid", "does not match the UUID format"),
    "byte": _format_check("byte", "invalid base64"),
    "date": _format_check("date", "invalid date"),
    "datetime": _format_check("date-time", "invalid datetime"),
}


def _format_constructor(name: str) -> Callable[[], dict[str, str]]:
    return lambda: {"format": name}


def _find_format(name: str) -> list[dict[str, str]]:
    return [{"format": name}] if name in _CHECKS else []


def _errors(format_: Any, text: str) -> list[str]:
    return list(_CHECKS[format_["format"]](text))


FUNCTIONS: Final[tuple[FunctionRow, ...]] = (
    *((f"format.{name}", False, (), "MAP", _format_constructor(name)) for name in _CHECKS),
    ("kp_formats", False, ("STRING",), "LIST", _find_format),
    ("kp_format_errors", False, ("MAP", "STRING"), "LIST", _errors),
)
