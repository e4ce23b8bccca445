"""Times as Kubernetes writes them: RFC 3339 in UTC, whole seconds (Time) or six digits (MicroTime)."""

import datetime
import re
from typing import Any, Final, Self, TypeVar

from .._patterns import Pattern

# datetime.fromisoformat reads far more than RFC 3339: dates alone, week dates, times without an offset.
_RFC_3339: Final = Pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)

_Time = TypeVar("_Time", bound=datetime.datetime)


class MicroTime(datetime.datetime):
    """An aware datetime whose string form always has six fraction digits and a Z, as Lease and Event need it.

    A server refuses these fields with fewer digits, even for a whole second.
    """

    # The arguments are those of datetime, whose __new__ has used them.
    def __init__(self, *_: Any, **__: Any) -> None:
        _reject_naive_time(self)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an RFC 3339 time with any number of fraction digits, truncated to the microsecond."""
        return _read(cls, text)

    @classmethod
    def of(cls, time: datetime.datetime) -> Self:
        """Return the same instant as a MicroTime, in UTC."""
        t = _to_utc(time)
        return cls(t.year, t.month, t.day, t.hour, t.minute, t.second, t.microsecond, datetime.UTC)

    def __str__(self) -> str:
        return _to_utc(self).isoformat(timespec="microseconds")[:-6] + "Z"


def parse_time(text: str) -> datetime.datetime:
    """Read an RFC 3339 time into an aware datetime in UTC, truncated to the microsecond."""
    return _read(datetime.datetime, text)


def format_time(time: datetime.datetime) -> str:
    """Return the string form of a Time: UTC, whole seconds; the fraction is truncated, as on a server."""
    return _to_utc(time).isoformat(timespec="seconds")[:-6] + "Z"


def _read(cls: type[_Time], text: str) -> _Time:
    if not _RFC_3339.fullmatch(text):
        raise ValueError(f"{text[:64]!r} is not an RFC 3339 time such as 2026-01-31T09:30:00Z")
    try:
        time = cls.fromisoformat(text)
        return time if text[-1] == "Z" else time.astimezone(datetime.UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def _to_utc(time: _Time) -> _Time:
    _reject_naive_time(time)
    try:
        return time.astimezone(datetime.UTC)
    except OverflowError:
        raise ValueError(f"{time.isoformat()} lies outside the years 1 to 9999 in UTC") from None


def _reject_naive_time(time: datetime.datetime) -> None:
    if time.utcoffset() is None:
        raise ValueError(f"{time.isoformat()} is naive (no time zone)")
