"""Durations are read and printed like Go's."""

import datetime
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import Duration

SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

int64s = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+0", 0),
        ("0s", 0),
        ("5s", 5 * SECOND),
        ("+5s", 5 * SECOND),
        ("-5s", -5 * SECOND),
        ("1478s", 1478 * SECOND),
        ("5.0s", 5 * SECOND),
        ("5.6s", 5600 * 10**6),
        ("5.s", 5 * SECOND),
        (".5s", SECOND // 2),
        ("-.5s", -SECOND // 2),
        ("100.00100s", 100 * SECOND + 10**6),
        ("10ns", 10),
        ("11us", 11_000),
        ("12µs", 12_000),
        ("12μs", 12_000),  # the Greek letter
        ("13ms", 13 * 10**6),
        ("15m", 15 * MINUTE),
        ("16h", 16 * HOUR),
        ("3h30m", 3 * HOUR + 30 * MINUTE),
        ("1h15m30.5s", HOUR + 15 * MINUTE + 30 * SECOND + SECOND // 2),
        ("-1m30s", -90 * SECOND),
        ("10.5s4m", 4 * MINUTE + 10 * SECOND + SECOND // 2),
        ("1s1s", 2 * SECOND),
        ("0.100000000000000000000h", 6 * MINUTE),
        ("0.830103483285477580700h", 49 * MINUTE + 48 * SECOND + 372539827),
        (
            "0.3333333333333333333h",
            20 * MINUTE,
        ),  # in floating point, as in Go; exact thirds would be 1 ns less
        ("0.9999999999999999999999h", HOUR),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("9223372036854ms775us807ns", 2**63 - 1),
        ("-2562047h47m16.854775808s", -(2**63)),
    ],
)
def test_a_duration_is_parsed_like_in_go(text: str, nanoseconds: int) -> None:
    assert Duration.parse(text).nanoseconds == nanoseconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a duration"),
        ("+", "is not a duration"),
        ("3", "a unit is missing after 3"),
        ("-3.5", "a unit is missing after 3"),
        ("1h30", "a unit is missing after 30"),
        ("s", "a number is missing before 's'"),
        (".", "a number is missing"),
        ("-.s", "a number is missing before 's'"),
        ("--1s", "a number is missing before '-'"),
        ("1d", "'d' is not one of"),
        ("1H", "'H' is not one of"),
        ("1 s", "' s' is not one of"),
        ("1s ", "'s ' is not one of"),
        ("1s\n", "is not one of"),
        ("1e3s", "'e' is not one of"),
        ("\u0661s", "a number is missing"),
        ("3000000h", "longer than the 292 years"),
        ("9223372036854775808ns", "longer than the 292 years"),
        ("-9223372036854775809ns", "longer than the 292 years"),
        ("9" * 300 + "s", "is not a duration"),
    ],
)
def test_a_string_that_is_not_a_duration_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0s"),
        (1, "1ns"),
        (999, "999ns"),
        (1100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (999_999_999, "999.999999ms"),
        (SECOND, "1s"),
        (3 * SECOND + 300 * 10**6, "3.3s"),
        (4 * MINUTE + 5 * SECOND, "4m5s"),
        (4 * MINUTE + 5 * SECOND + 10**6, "4m5.001s"),
        (HOUR, "1h0m0s"),
        (5 * HOUR + 6 * MINUTE + 7 * SECOND + 10**6, "5h6m7.001s"),
        (8 * MINUTE + 1, "8m0.000000001s"),
        (2**63 - 1, "2562047h47m16.854775807s"),
        (-(2**63), "-2562047h47m16.854775808s"),
        (-1500, "-1.5µs"),
    ],
)
def test_a_duration_is_printed_like_in_go(nanoseconds: int, text: str) -> None:
    assert str(Duration(nanoseconds)) == text
    assert repr(Duration(nanoseconds)) == f"Duration('{text}')"


@given(int64s)
def test_a_printed_duration_is_parsed_back_to_the_nanosecond(nanoseconds: int) -> None:
    assert Duration.parse(str(Duration(nanoseconds))).nanoseconds == nanoseconds


@given(st.integers(-(2**61), 2**61), st.integers(-(2**61), 2**61))
def test_durations_are_added_and_compared_in_whole_nanoseconds(a: int, b: int) -> None:
    assert (Duration(a) + Duration(b)).nanoseconds == a + b
    assert (Duration(a) - Duration(b)).nanoseconds == a - b
    assert (Duration(a) < Duration(b), Duration(a) == Duration(b)) == (a < b, a == b)
    assert hash(Duration(a)) == hash(Duration(a + b) - Duration(b))


def test_a_duration_outside_of_gos_range_is_refused_everywhere() -> None:
    max_nanoseconds = Duration(2**63 - 1)
    operations: list[Callable[[], Duration]] = [
        lambda: max_nanoseconds + Duration(1),
        lambda: max_nanoseconds * 2,
        lambda: -Duration(-(2**63)),
        lambda: Duration.of(1e20),
    ]
    for operation in operations:
        with pytest.raises(ValueError, match="longer than the 292 years"):
            operation()
    for seconds in (float("inf"), float("nan")):
        with pytest.raises(ValueError, match=r"cannot (be|convert)"):
            Duration.of(seconds)


def test_durations_are_built_from_seconds_and_timedeltas() -> None:
    assert Duration.of(90) == Duration.parse("1m30s")
    assert Duration.of(0.25) == Duration.parse("250ms")
    assert Duration.of(datetime.timedelta(hours=1, microseconds=-1)) == Duration.parse("59m59.999999s")
    assert Duration.parse("1.5s").seconds == 1.5


@given(st.timedeltas(datetime.timedelta(days=-100_000), datetime.timedelta(days=100_000)))
def test_a_timedelta_round_trips_through_a_duration(length: datetime.timedelta) -> None:
    assert Duration.of(length).to_timedelta() == length


def test_a_timedelta_loses_only_fractions_of_a_microsecond() -> None:
    assert Duration(1999).to_timedelta() == datetime.timedelta(microseconds=1)
    assert Duration(-1999).to_timedelta() == datetime.timedelta(microseconds=-1)


def test_only_whole_nanoseconds_make_a_duration() -> None:
    with pytest.raises(TypeError, match="whole number of nanoseconds"):
        Duration(1.5)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
