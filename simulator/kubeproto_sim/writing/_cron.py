"""Cron schedules as CronJobs have them: five fields, or a word such as @hourly; and the next time of one.

Written by hand because it is small and the core takes no library; it accepts what the parser of a real server
does (github.com/robfig/cron), and refuses the rest with the same messages. If both the day of the month and
the day of the week are given, either is enough.
"""

from __future__ import annotations

import datetime
import re
from typing import Final

from msgspec import Struct

from kubeproto.objects import Duration

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_BOUNDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: at for at, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: at for at, name in enumerate(_DAYS)}),
)
_WORDS: Final = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_LARGEST: Final = (1 << 63) - 1
_EVERY: Final = "@every "
_YEARS: Final = 5  # after which a schedule is considered to have no next time
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class BadSchedule(ValueError):
    """A string is not a schedule; the message is a server's."""


class Schedule(Struct, frozen=True):
    """When something is to be done: at these minutes, hours, days, months and weekdays, or at an interval."""

    fields: tuple[frozenset[int], ...] = ()
    any_day: bool = True  # whether one of the two kinds of days is left open, so that both have to match
    every: int = 0  # seconds

    def after(self, time: float, zone: datetime.tzinfo = datetime.UTC) -> float | None:
        """Return the next time after another one, both in seconds since 1970; None if there is none."""
        if self.every:
            return float(int(time) + self.every)
        minutes, hours, _, months, _ = self.fields
        at = int(time) + 1
        last = _local(at, zone).year + _YEARS
        while (now := _local(at, zone)).year <= last:
            if now.month not in months:
                at = _midnight(now.replace(day=1) + datetime.timedelta(days=31), zone, first=True)
            elif not self._on(now):
                at = _midnight(now + datetime.timedelta(days=1), zone)
            elif now.hour not in hours:
                at += _HOUR - now.minute * _MINUTE - now.second
            elif now.minute not in minutes or now.second:
                at += _MINUTE - now.second
            else:
                return float(at)
        return None

    def _on(self, day: datetime.datetime) -> bool:
        of_month = day.day in self.fields[2]
        of_week = day.isoweekday() % 7 in self.fields[4]
        return (of_month and of_week) if self.any_day else (of_month or of_week)


def read_schedule(text: str) -> Schedule:
    """Read a schedule; or `BadSchedule`."""
    if text.startswith("@"):
        if text.startswith(_EVERY):
            return Schedule(every=_seconds(text))
        if text not in _WORDS:
            raise BadSchedule(f"unrecognized descriptor: {text}")
        text = _WORDS[text]
    parts = text.split()
    if len(parts) != len(_BOUNDS):
        raise BadSchedule(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    read = [_field(part, *bounds) for part, bounds in zip(parts, _BOUNDS, strict=True)]
    return Schedule(tuple(values for values, _ in read), any_day=read[2][1] or read[4][1])


def _field(text: str, low: int, high: int, names: dict[str, int]) -> tuple[frozenset[int], bool]:
    """Return the values of a field, and whether it is left open."""
    values: set[int] = set()
    is_open = False
    for part in filter(None, text.split(",")):
        found, star = _range(part, low, high, names)
        values |= found
        is_open |= star
    return frozenset(values), is_open


def _range(text: str, low: int, high: int, names: dict[str, int]) -> tuple[set[int], bool]:
    span, *steps = text.split("/")
    ends = span.split("-")
    star = ends[0] in ("*", "?")
    if star:
        first, last = low, high
    else:
        first = last = _value(ends[0], names)
        if len(ends) > 1:
            if len(ends) > 2:
                raise BadSchedule(f"too many hyphens: {text}")
            last = _value(ends[1], names)
    step = 1
    if len(steps) > 1:
        raise BadSchedule(f"too many slashes: {text}")
    if steps:
        step = _integer(steps[0])
        last = high if len(ends) == 1 else last
        star = star and step <= 1
    if first < low:
        raise BadSchedule(f"beginning of range ({first}) below minimum ({low}): {text}")
    if last > high:
        raise BadSchedule(f"end of range ({last}) above maximum ({high}): {text}")
    if first > last:
        raise BadSchedule(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if not step:
        raise BadSchedule(f"step of range should be a positive number: {text}")
    return set(range(first, last + 1, step)), star


def _value(text: str, names: dict[str, int]) -> int:
    return names[text.lower()] if text.lower() in names else _integer(text)


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise BadSchedule(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if abs(number) > _LARGEST:
        raise BadSchedule(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range'
        )
    if number < 0:
        raise BadSchedule(f"negative number ({number}) not allowed: {text}")
    return number


def _seconds(text: str) -> int:
    """Return how long `@every` waits: whole seconds, one at least."""
    given = text.removeprefix(_EVERY)
    try:
        found = Duration.parse(given)
    except ValueError:
        raise BadSchedule(f'failed to parse duration {text}: time: invalid duration "{given}"') from None
    return max(int(found.seconds), 1)


def _local(at: int, zone: datetime.tzinfo) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(at, zone)


def _midnight(day: datetime.datetime, zone: datetime.tzinfo, *, first: bool = False) -> int:
    """Return when a day begins, or the month that it is in."""
    begin = datetime.datetime(day.year, day.month, 1 if first else day.day, tzinfo=zone)
    return int(begin.timestamp())
