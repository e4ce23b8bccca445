"""The formats of strings and numbers that a server checks; it ignores unknown formats."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any, Final

from ..objects import Duration
from ._go_urls import check_url

_TIME: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
# Besides Go's durations a server accepts any string in which a number precedes a unit, so `P1D` is a day.
_NUMBER_AND_UNIT: Final = re.compile(r"([0-9]+)[ \t\n\f\r]*([A-Za-zµ]+)")
_UNITS: Final = ("ns", "us", "µs", "ms", "s", "sec", "m", "min", "h", "hr", "d", "w", "wk")
_UNIT_PREFIXES: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_MAX_INT64: Final = (1 << 63) - 1
_UUID: Final = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_ATOMS: Final = r"[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*"
_ADDRESS: Final = rf"{_ATOMS}@{_ATOMS}"
_COLOR_VALUE: Final = r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
# In a name of several labels the last has at least two letters: a server accepts `a.bc` and refuses `a.b`.
_HOSTNAME: Final = re.compile(
    r"[a-z0-9$]-?[a-z0-9$]{0,62}|(?:[a-z0-9$](?:[a-z0-9$-]{0,61}[a-z0-9$])?\.)+[a-z]{2,63}", re.I
)
_PATTERNS: Final = {
    "bsonobjectid": r"[0-9a-f]{24}",
    # A server does not accept the empty string as base64.
    "byte": r"(?=.)(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "email": rf"{_ADDRESS}|[^<>@]*<{_ADDRESS}>",
    "hexcolor": r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})",
    "mac": r"(?:[0-9a-f]{2}[:-]){5}(?:[0-9a-f]{2}[:-]){0,2}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}",
    "rgbcolor": rf"rgb\(\s*{_COLOR_VALUE}\s*,\s*{_COLOR_VALUE}\s*,\s*{_COLOR_VALUE}\s*\)",
    "ssn": r"\d{3}[- ]\d{2}[- ]\d{4}",
    "uuid": _UUID % ("[0-9a-f]", "[0-9a-f]"),
    "uuid3": _UUID % ("3", "[0-9a-f]"),
    "uuid4": _UUID % ("4", "[89ab]"),
    "uuid5": _UUID % ("5", "[89ab]"),
}
# A server supports these as well. Every string is a password; the others are not checked here.
_UNCHECKED: Final = ("isbn", "isbn10", "isbn13", "creditcard", "password")
_RANGES: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def checked_format(schema: dict[str, Any]) -> str:
    """Return the format of a schema if a server supports it for the type, else the empty string."""
    name: str = schema.get("format", "")
    match schema.get("type", ""):
        case "integer":
            return name if name in ("int32", "int64") else ""
        case "number":
            return name if name in ("float", "double") else ""
        case "" | "string":
            canonical = name.replace("-", "")
            supported = canonical in _PATTERNS or canonical in _CHECKS or canonical in _UNCHECKED
            return name if supported else ""
        case _:
            return ""


def has_format(value: Any, name: str) -> bool:
    """Return whether a string or number has this format; every value has an unknown format."""
    if not isinstance(value, str):
        low, high = _RANGES.get(name, (value, value))
        return bool(low <= value <= high)
    name = name.replace("-", "")
    if name in _CHECKS:
        try:
            return _CHECKS[name](value)
        except ValueError:
            return False
    return name not in _PATTERNS or re.fullmatch(_PATTERNS[name], value, re.IGNORECASE) is not None


def _is_date(text: str) -> bool:
    return len(text) == 10 and bool(datetime.date.fromisoformat(text))


def _is_date_time(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    return _is_date(date) and _TIME.fullmatch(time) is not None


def _is_duration(text: str) -> bool:
    try:
        Duration.parse(text)
    except ValueError:
        pairs = _NUMBER_AND_UNIT.findall(text)
        return all(int(number) <= _MAX_INT64 for number, _ in pairs) and any(
            unit.lower() in _UNITS or unit.lower().startswith(_UNIT_PREFIXES) for _, unit in pairs
        )
    return True


def _is_hostname(text: str) -> bool:
    """Return whether this is a host name; letters and symbols of any script are like those of ASCII."""
    import unicodedata

    ascii_chars = (
        char if char.isascii() else {"L": "a", "S": "$"}.get(unicodedata.category(char)[0], " ")
        for char in text
    )
    normalized = "".join("$" if char in "$+<=>^`|~" else char for char in ascii_chars)
    return (
        len(text.encode()) <= 255
        and max(map(len, text.split("."))) <= 63
        and _HOSTNAME.fullmatch(normalized) is not None
    )


def _is_uri(text: str) -> bool:
    check_url(text)
    return True


def _is_ipv4(text: str) -> bool:
    return "." in text and _is_address(text)


def _is_ipv6(text: str) -> bool:
    return ":" in text and _is_address(text)


def _is_address(text: str) -> bool:
    """Return whether this is an address; leading zeros in IPv4 are allowed, as in the Go of that check."""
    import ipaddress

    without_zeros = re.sub(r"(?<![0-9a-fA-F:])0+(?=[0-9])", "", text) if ":" not in text else text
    return "%" not in text and bool(str(ipaddress.ip_address(without_zeros)))


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    if not slash or not (length.isascii() and length.isdigit()):
        return False
    return _is_address(address) and int(length) <= (128 if ":" in address else 32)


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "uri": _is_uri,
    "cidr": _is_cidr,
}
