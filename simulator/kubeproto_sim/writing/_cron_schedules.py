"""Cron schedules of CronJobs: five fields or a descriptor such as @hourly, and the next time of a schedule.

The parser accepts and rejects the same texts as that of a real server (github.com/robfig/cron), with the same
messages. If a schedule restricts both the day of the month and the day of the week, a day needs to match only
one of them.
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
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_MAX_INTEGER: Final = (1 << 63) - 1
_EVERY: Final = "@every "
_MAX_YEARS: Final = 5  # a schedule without a time in these years has no next time
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


class InvalidSchedule(ValueError):
    """A text is not a schedule. The message is that of a server."""


class Schedule(Struct, frozen=True):
    """Minutes, hours, days, months and weekdays; or an interval."""

    fields: tuple[frozenset[int], ...] = ()
    any_day: bool = True  # the days of the month or of the week are unrestricted, so both have to match
    every: int = 0  # seconds

    def after(self, time: float, zone: datetime.tzinfo = datetime.UTC) -> float | None:
        """Return the next time of the schedule, in seconds since 1970; None if there is none."""
        if self.every:
            return float(int(time) + self.every)
        minutes, hours, _, months, _ = self.fields
        timestamp = int(time) + 1
        last_year = _local(timestamp, zone).year + _MAX_YEARS
        while (local := _local(timestamp, zone)).year <= last_year:
            if local.month not in months:
                timestamp = _midnight(local.replace(day=1) + datetime.timedelta(days=31), zone, of_month=True)
            elif not self._matches_day(local):
                timestamp = _midnight(local + datetime.timedelta(days=1), zone)
            elif local.hour not in hours:
                timestamp += _HOUR - local.minute * _MINUTE - local.second
            elif local.minute not in minutes or local.second:
                timestamp += _MINUTE - local.second
            else:
                return float(timestamp)
        return None

    def _matches_day(self, day: datetime.datetime) -> bool:
        matches_month_day = day.day in self.fields[2]
        matches_weekday = day.isoweekday() % 7 in self.fields[4]
        return (
            (matches_month_day and matches_weekday)
            if self.any_day
            else (matches_month_day or matches_weekday)
        )


def parse_schedule(text: str) -> Schedule:
    """Parse a schedule; raise `InvalidSchedule` with the message of a server."""
    if text.startswith("@"):
        if text.startswith(_EVERY):
            return Schedule(every=_interval_seconds(text))
        if text not in _DESCRIPTORS:
            raise InvalidSchedule(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    parts = text.split()
    if len(parts) != len(_BOUNDS):
        raise InvalidSchedule(f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]")
    parsed_fields = [_parse_field(part, *bounds) for part, bounds in zip(parts, _BOUNDS, strict=True)]
    return Schedule(
        tuple(values for values, _ in parsed_fields), any_day=parsed_fields[2][1] or parsed_fields[4][1]
    )


def _parse_field(text: str, low: int, high: int, names: dict[str, int]) -> tuple[frozenset[int], bool]:
    """Return the values of a field, and whether the field is unrestricted."""
    values: set[int] = set()
    is_open = False
    for part in filter(None, text.split(",")):
        part_values, part_is_open = _parse_range(part, low, high, names)
        values |= part_values
        is_open |= part_is_open
    return frozenset(values), is_open


def _parse_range(text: str, low: int, high: int, names: dict[str, int]) -> tuple[set[int], bool]:
    bounds_text, *steps = text.split("/")
    bounds = bounds_text.split("-")
    is_open = bounds[0] in ("*", "?")
    if is_open:
        first, last = low, high
    else:
        first = last = _value(bounds[0], names)
        if len(bounds) > 1:
            if len(bounds) > 2:
                raise InvalidSchedule(f"too many hyphens: {text}")
            last = _value(bounds[1], names)
    step = 1
    if len(steps) > 1:
        raise InvalidSchedule(f"too many slashes: {text}")
    if steps:
        step = _integer(steps[0])
        last = high if len(bounds) == 1 else last
        is_open = is_open and step <= 1
    if first < low:
        raise InvalidSchedule(f"beginning of range ({first}) below minimum ({low}): {text}")
    if last > high:
        raise InvalidSchedule(f"end of range ({last}) above maximum ({high}): {text}")
    if first > last:
        raise InvalidSchedule(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if not step:
        raise InvalidSchedule(f"step of range should be a positive number: {text}")
    return set(range(first, last + 1, step)), is_open


def _value(text: str, names: dict[str, int]) -> int:
    return names[text.lower()] if text.lower() in names else _integer(text)


def _integer(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise InvalidSchedule(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
        )
    number = int(text)
    if abs(number) > _MAX_INTEGER:
        raise InvalidSchedule(
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range'
        )
    if number < 0:
        raise InvalidSchedule(f"negative number ({number}) not allowed: {text}")
    return number


def _interval_seconds(text: str) -> int:
    """Return the interval of `@every`: whole seconds, at least 1."""
    duration_text = text.removeprefix(_EVERY)
    try:
        duration = Duration.parse(duration_text)
    except ValueError:
        raise InvalidSchedule(
            f'failed to parse duration {text}: time: invalid duration "{duration_text}"'
        ) from None
    return max(int(duration.seconds), 1)


def _local(timestamp: int, zone: datetime.tzinfo) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(timestamp, zone)


def _midnight(day: datetime.datetime, zone: datetime.tzinfo, *, of_month: bool = False) -> int:
    """Return the start of a day, or of its month."""
    start = datetime.datetime(day.year, day.month, 1 if of_month else day.day, tzinfo=zone)
    return int(start.timestamp())
