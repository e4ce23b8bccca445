"""Cron schedules: the accepted ones, the reasons of refusals, and the next times."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

import kubeproto_sim as sim
from kubeproto_sim.writing._cron_schedules import InvalidSchedule, Schedule, parse_schedule

UTC = datetime.UTC
BERLIN = ZoneInfo("Europe/Berlin")


def timestamp(text: str, zone: datetime.tzinfo = UTC) -> float:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def next_times(schedule: str, text: str, zone: datetime.tzinfo = UTC) -> str:
    next_time = parse_schedule(schedule).after(timestamp(text, zone), zone)
    assert next_time is not None
    return datetime.datetime.fromtimestamp(next_time, zone).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("schedule", "start", "expected"),
    [
        ("* * * * *", "2026-01-01 00:00:00", "2026-01-01 00:01:00"),
        ("* * * * *", "2026-01-01 00:00:59", "2026-01-01 00:01:00"),
        ("*/15 * * * *", "2026-01-01 00:14:30", "2026-01-01 00:15:00"),
        ("5/20 * * * *", "2026-01-01 00:05:00", "2026-01-01 00:25:00"),
        ("10-12,40 3 * * *", "2026-01-01 03:12:00", "2026-01-01 03:40:00"),
        ("0 0 31 * *", "2026-01-31 00:00:00", "2026-03-31 00:00:00"),
        ("0 0 29 feb ?", "2026-01-01 00:00:00", "2028-02-29 00:00:00"),
        ("0 12 * * MON-fri", "2026-01-02 12:00:00", "2026-01-05 12:00:00"),
        ("0 0 13 * 5", "2026-01-01 00:00:00", "2026-01-02 00:00:00"),
        ("0 0 */2 * 1", "2026-01-01 00:00:00", "2026-01-03 00:00:00"),
        ("0 0 */1 * 1", "2026-01-01 00:00:00", "2026-01-05 00:00:00"),
        ("@hourly", "2026-01-01 00:00:00", "2026-01-01 01:00:00"),
        ("@weekly", "2026-01-01 00:00:00", "2026-01-04 00:00:00"),
        ("@yearly", "2026-01-01 00:00:00", "2027-01-01 00:00:00"),
        ("@every 90s", "2026-01-01 00:00:00", "2026-01-01 00:01:30"),
        ("@every 10ms", "2026-01-01 00:00:00", "2026-01-01 00:00:01"),
    ],
)
def test_the_next_time_of_a_schedule(schedule: str, start: str, expected: str) -> None:
    assert next_times(schedule, start) == expected


@pytest.mark.parametrize(
    ("schedule", "start", "expected"),
    [
        ("30 2 * * *", "2026-03-28 12:00:00", "2026-03-30 02:30:00"),  # 02:30 is skipped that day
        ("30 * * * *", "2026-03-29 01:45:00", "2026-03-29 03:30:00"),
        ("0 0 * * *", "2026-10-24 12:00:00", "2026-10-25 00:00:00"),
        ("0 4 * * *", "2026-10-25 00:00:00", "2026-10-25 04:00:00"),
    ],
)
def test_the_next_time_across_a_change_of_the_clocks(schedule: str, start: str, expected: str) -> None:
    assert next_times(schedule, start, BERLIN) == expected


def test_a_repeated_hour_is_met_twice() -> None:
    schedule = parse_schedule("30 2 * * *")
    first = schedule.after(timestamp("2026-10-25 00:00:00", BERLIN), BERLIN)
    assert first is not None
    second = schedule.after(first, BERLIN)
    assert second is not None
    assert second - first == 3600


def test_an_impossible_day_has_no_next_time() -> None:
    assert parse_schedule("0 0 30 2 *").after(0.0) is None


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("@often", "unrecognized descriptor: @often"),
        ("@every soon", 'failed to parse duration @every soon: time: invalid duration "soon"'),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("9-3 * * * *", "beginning of range (9) beyond end of range (3): 9-3"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
    ],
)
def test_an_invalid_schedule_is_refused_as_by_a_server(schedule: str, reason: str) -> None:
    with pytest.raises(InvalidSchedule) as raised:
        parse_schedule(schedule)
    assert str(raised.value) == reason
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"kind": "CronJob", "apiVersion": "batch/v1", "metadata": {"name": "tick"},
           "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": template}}}}  # fmt: skip
    with pytest.raises(sim.Rejection) as refused:
        sim.Cluster().put(job)
    assert reason in refused.value.status["message"]


@given(st.text("*/,-?0123456789 @amyonv", max_size=20))
def test_any_text_is_a_schedule_or_refused(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except InvalidSchedule:
        return
    assert isinstance(schedule, Schedule)


MINUTES = st.sets(st.integers(0, 59), min_size=1, max_size=3)


@given(MINUTES, st.sets(st.integers(0, 23), min_size=1, max_size=3), st.integers(0, 10**6))
def test_the_next_time_is_the_first_that_matches(minutes: set[int], hours: set[int], seconds: int) -> None:
    schedule = parse_schedule(f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *")
    next_time = schedule.after(seconds)
    assert next_time is not None
    minutes_of_two_days = range(seconds - seconds % 60 + 60, seconds + 2 * 86400, 60)
    expected = next(
        time for time in minutes_of_two_days if time % 3600 // 60 in minutes and time % 86400 // 3600 in hours
    )
    assert next_time == expected
