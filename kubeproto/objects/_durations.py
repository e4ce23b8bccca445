"""Go's durations ("1h15m30.5s"), which Kubernetes uses for metav1.Duration, timeouts and intervals."""

import datetime
import re
from typing import Final, Self

from ._amounts import Amount

_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, the micro sign
    "μs": 10**3,  # U+03BC, the Greek letter: Go reads both
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_TERM: Final = r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)"
_MAX_NANOSECONDS: Final = 2**63 - 1
_MAX_TEXT: Final = 256


class Duration(Amount):
    """A duration in whole nanoseconds, as large as an int64 allows; it prints and parses as Go's does."""

    __slots__ = ()

    def __init__(self, nanoseconds: int = 0) -> None:
        if type(nanoseconds) is not int:
            raise TypeError(f"a duration is a whole number of nanoseconds, not {nanoseconds!r}")
        if not -_MAX_NANOSECONDS - 1 <= nanoseconds <= _MAX_NANOSECONDS:
            raise ValueError(f"a duration of {nanoseconds} ns is longer than the 292 years that Go can hold")
        self._count = nanoseconds

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read Go's form: an optional sign, then numbers, each with ns, us, ms, s, m or h; or a bare 0."""
        unsigned = text[1:] if text[:1] in ("+", "-") else text
        if not unsigned or len(text) > _MAX_TEXT:
            raise ValueError(f"{text[:64]!r} is not a duration such as 1h15m30.5s")
        count = 0 if unsigned == "0" else _sum_terms(text, unsigned)
        return cls(-count if text[0] == "-" else count)

    @classmethod
    def of(cls, value: float | datetime.timedelta) -> Self:
        """Return the duration of a number of seconds, rounded to the nanosecond, or of a timedelta."""
        if isinstance(value, datetime.timedelta):
            return cls(value // datetime.timedelta(microseconds=1) * 1000)
        try:
            return cls(value * _SECOND if isinstance(value, int) else round(value * _SECOND))
        except OverflowError:
            raise ValueError(f"a duration cannot be {value} seconds long") from None

    def _like(self, count: int) -> Self:
        return type(self)(count)

    @property
    def nanoseconds(self) -> int:
        """The exact length."""
        return self._count

    @property
    def seconds(self) -> float:
        """The length in seconds, for clocks and timeouts."""
        return self._count / _SECOND

    def to_timedelta(self) -> datetime.timedelta:
        """Return the same length, truncated to microseconds."""
        micros = abs(self._count) // 1000
        return datetime.timedelta(microseconds=micros if self._count > 0 else -micros)

    def __str__(self) -> str:
        """Return Go's form: "1h15m30.5s", "1.5ms", "0s"."""
        sign, count = ("-" if self._count < 0 else ""), abs(self._count)
        for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
            if 0 < count < size * 1000:
                return f"{sign}{_decimal(count, size)}{unit}"
        minutes, remainder = divmod(count, 60 * _SECOND)
        text = f"{_decimal(remainder, _SECOND)}s"
        if minutes:
            text = f"{minutes % 60}m{text}"
        if minutes >= 60:
            text = f"{minutes // 60}h{text}"
        return sign + text


def _sum_terms(text: str, terms: str) -> int:
    """Return the sum of the nanoseconds of every number with its unit."""
    total = 0
    for number, fraction, unit in re.findall(_TERM, terms)[:-1]:  # the last match is the empty end
        if not (number or fraction):
            raise ValueError(f"{text!r} is not a duration: a number is missing before {unit or '.'!r}")
        if not unit:
            raise ValueError(
                f"{text!r} is not a duration: a unit is missing after {number or '.' + fraction}"
            )
        if unit not in _UNITS:
            raise ValueError(f"{text!r} is not a duration: {unit!r} is not one of ns, us, ms, s, m and h")
        total += int(number or 0) * _UNITS[unit] + _fraction(fraction, _UNITS[unit])
    return total


def _fraction(digits: str, unit: int) -> int:
    """Return the nanoseconds after the point, by Go's floating-point steps, so that both read the same."""
    value, scale = 0, 1.0
    for digit in digits:
        if value > _MAX_NANOSECONDS // 10 or value * 10 + int(digit) > _MAX_NANOSECONDS + 1:
            break  # Go ignores the digits that no longer fit an int64
        value, scale = value * 10 + int(digit), scale * 10
    return int(value * (unit / scale))


def _decimal(count: int, unit: int) -> str:
    quotient, remainder = divmod(count, unit)
    if not remainder:
        return str(quotient)
    return f"{quotient}.{remainder:0{len(str(unit)) - 1}}".rstrip("0")


def human_duration(seconds: float) -> str:
    """Return a duration in the form of kubectl's ages: ``45s``, ``9m30s``, ``7h5m``, ``3d``."""
    total = int(seconds)
    if total < 0:
        return "0s"
    if total < 120:
        return f"{total}s"
    minutes = total // 60
    if minutes < 10:
        return f"{minutes}m{total % 60}s" if total % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"
