"""The named formats of CEL, such as ``format.dns1123Label()``, and what they find wrong with a string."""

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
from .._formats import fits_format
from .._urls import check_url

Row = tuple[str, bool, tuple[str, ...], str, Callable[..., Any]]
Check = Callable[[str], "tuple[str, ...]"]


def _begins(check: Check) -> Check:
    """The check of a prefix of a name, to which a server appends a suffix: it may end with a dash."""

    def faults(text: str) -> tuple[str, ...]:
        masked = f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text
        return check(masked)

    return faults


def _fits(name: str, fault: str) -> Check:
    return lambda text: () if fits_format(text, name) else (fault,)


def _url_faults(text: str) -> tuple[str, ...]:
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
    "dns1123LabelPrefix": _begins(dns_label_errors),
    "dns1123SubdomainPrefix": _begins(dns_subdomain_errors),
    "dns1035LabelPrefix": _begins(dns_1035_label_errors),
    "labelValue": label_value_errors,
    "uri": _url_faults,
    "uuid": _fits("uuid", "does not match the UUID format"),
    "byte": _fits("byte", "invalid base64"),
    "date": _fits("date", "invalid date"),
    "datetime": _fits("date-time", "invalid datetime"),
}


def _named(name: str) -> Callable[[], dict[str, str]]:
    return lambda: {"format": name}


def _known(name: str) -> list[dict[str, str]]:
    return [{"format": name}] if name in _CHECKS else []


def _errors(format_: Any, text: str) -> list[str]:
    return list(_CHECKS[format_["format"]](text))


FUNCTIONS: Final[tuple[Row, ...]] = (
    *((f"format.{name}", False, (), "MAP", _named(name)) for name in _CHECKS),
    ("kp_formats", False, ("STRING",), "LIST", _known),
    ("kp_format_errors", False, ("MAP", "STRING"), "LIST", _errors),
)
