"""The formats of strings and numbers that a server checks; it ignores the names that it does not know."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any, Final

from ..objects import Duration

_TIME: Final = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d\d:\d\d)", re.ASCII)
_LONG_DURATION: Final = re.compile(
    r"(\d+\s*(ns|nanosecond|us|µs|microsecond|ms|millisecond|s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?\s*)+"
)
_UUID: Final = r"[0-9a-f]{8}-?[0-9a-f]{4}-?%s[0-9a-f]{3}-?%s[0-9a-f]{3}-?[0-9a-f]{12}"
_PATTERNS: Final = {
    "bsonobjectid": r"[0-9a-f]{24}",
    "byte": r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "email": r"[^@\s]+@[^@\s]+",
    "hexcolor": r"#?(?:[0-9a-f]{3}|[0-9a-f]{6})",
    "hostname": r"(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,62})?)*\.?",
    "mac": r"(?:[0-9a-f]{2}[:-]){5}(?:[0-9a-f]{2}[:-]){0,2}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}",
    "rgbcolor": r"rgb\(\s*\d{1,3}\s*,\s*\d{1,3}\s*,\s*\d{1,3}\s*\)",
    "ssn": r"\d{3}[- ]?\d{2}[- ]?\d{4}",
    "uri": r"(?:[a-z][a-z0-9+.-]*:\S*|/\S*)",
    "uuid": _UUID % ("[0-9a-f]", "[0-9a-f]"),
    "uuid3": _UUID % ("3", "[0-9a-f]"),
    "uuid4": _UUID % ("4", "[89ab]"),
    "uuid5": _UUID % ("5", "[89ab]"),
}
_RANGES: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


def fits_format(value: Any, name: str) -> bool:
    """Whether a text or number has this format; unknown formats fit everything."""
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
    if _LONG_DURATION.fullmatch(text.lower()):
        return True
    return bool(str(Duration.parse(text)))


def _is_address(text: str, version: int) -> bool:
    import ipaddress

    return ipaddress.ip_address(text).version == version and "%" not in text


def _is_cidr(text: str) -> bool:
    import ipaddress

    return "/" in text and bool(str(ipaddress.ip_interface(text)))


_CHECKS: Final[dict[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "ipv4": lambda text: _is_address(text, 4),
    "ipv6": lambda text: _is_address(text, 6),
    "cidr": _is_cidr,
}
