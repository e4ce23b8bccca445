"""Times: RFC 3339 is parsed and printed, with six digits for MicroTime."""

import copy
import datetime
import pickle
from datetime import UTC, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.objects import MicroTime, encode, format_time, parse_time

zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
AWARE = datetime.datetime(2026, 1, 1, tzinfo=UTC)
instants = st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9998, 12, 31), timezones=zones)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000Z"),
        ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.500000Z"),
        ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123456Z"),
        ("2026-01-01T00:00:59.999999999Z", "2026-01-01T00:00:59.999999Z"),
        ("2026-01-01T01:30:00.000001+01:30", "2026-01-01T00:00:00.000001Z"),
        ("2025-12-31T23:00:00-01:00", "2026-01-01T00:00:00.000000Z"),
        ("2024-02-29T12:00:00-00:00", "2024-02-29T12:00:00.000000Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_a_micro_time_is_printed_in_utc_with_six_digits(text: str, canonical: str) -> None:
    time = MicroTime.parse(text)
    assert str(time) == canonical
    assert time.tzinfo is UTC
    assert parse_time(text) == time


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01t00:00:00z"),
        *("20260101T000000Z", "2026-W01-1T00:00:00Z", "2026-01-01T00:00Z", "2026-01-01T00:00:00,5Z"),
        *(
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+0100",
            "2026-01-01T00:00:00+01",
            "2026-01-01T00:00:00Z\n",
        ),
        *("2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-01-01T25:00:00Z", "2026-01-01T00:00:60Z"),
        *(
            "2026-01-01T00:00:00+24:00",
            "0000-01-01T00:00:00Z",
            "0001-01-01T00:00:00+01:00",
            "٢٠٢٦-01-01T00:00:00Z",
        ),
    ],
)
def test_a_string_that_is_not_an_rfc_3339_time_is_refused(text: str) -> None:
    for parse in (MicroTime.parse, parse_time):
        with pytest.raises(ValueError, match=r"is not an? (RFC 3339 )?time"):
            parse(text)


@given(instants)
def test_a_micro_time_round_trips_as_the_same_instant(time: datetime.datetime) -> None:
    text = str(MicroTime.of(time))
    assert MicroTime.parse(text) == time
    assert len(text) == len("2026-01-01T00:00:00.000000Z")
    assert str(MicroTime.parse(text)) == text


@given(instants)
def test_a_plain_time_round_trips_in_whole_seconds(time: datetime.datetime) -> None:
    text = format_time(time)
    assert len(text) == len("2026-01-01T00:00:00Z")
    assert parse_time(text) == time.astimezone(UTC).replace(microsecond=0)
    assert type(parse_time(text)) is datetime.datetime


@given(instants)
def test_a_micro_time_keeps_its_type_in_arithmetic_copy_and_pickle(time: datetime.datetime) -> None:
    micro = MicroTime.of(time)
    assert type(micro + timedelta(seconds=1)) is MicroTime
    assert time - micro == timedelta()
    assert micro == time
    for again in (copy.deepcopy(micro), pickle.loads(pickle.dumps(micro))):
        assert type(again) is MicroTime
        assert str(again) == str(micro)


def test_a_micro_time_in_another_zone_is_printed_in_utc() -> None:
    assert str(MicroTime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2)))) == "2025-12-31T22:00:00.000000Z"


def test_a_time_without_a_zone_is_refused_everywhere() -> None:
    naive = datetime.datetime(2026, 1, 1)
    for make in (
        lambda: MicroTime(2026, 1, 1),
        lambda: MicroTime.of(naive),
        lambda: str(MicroTime.of(naive.replace(tzinfo=UTC)).replace(tzinfo=None)),
        lambda: format_time(naive),
    ):
        with pytest.raises(ValueError, match="2026-01-01T00:00:00 is naive"):
            make()


def test_an_instant_outside_of_utcs_years_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        format_time(datetime.datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))))


class Visit(kp.Fields):
    opened_at: datetime.datetime
    others: list[datetime.datetime] = []
    by_name: dict[str, datetime.datetime | None] = {}


@pytest.mark.parametrize(
    ("visit", "field"),
    [
        (Visit(opened_at=datetime.datetime(2026, 1, 1)), "openedAt"),
        (Visit(opened_at=AWARE, others=[AWARE, datetime.datetime(2026, 1, 1)]), r"others\[1\]"),
        (Visit(opened_at=AWARE, by_name={"x": None, "y": datetime.datetime(2026, 1, 1)}), r"byName\.y"),
    ],
)
def test_a_time_without_a_zone_is_not_sent(visit: Visit, field: str) -> None:
    with pytest.raises(kp.LocalProtocolError, match=f"Visit: {field} is naive"):
        encode(visit)


def test_a_nested_time_without_a_zone_is_not_sent() -> None:
    meta = kp.ObjectMeta(name="x", creation_timestamp=datetime.datetime(2026, 1, 1))
    with pytest.raises(kp.LocalProtocolError, match=r"Dynamic: metadata\.creationTimestamp is naive"):
        encode(kp.Dynamic(metadata=meta))


def test_times_with_any_zone_are_sent() -> None:
    visit = Visit(opened_at=AWARE.astimezone(timezone(timedelta(hours=2))), others=[AWARE])
    assert (
        encode(visit)
        == b'{"openedAt":"2026-01-01T02:00:00+02:00","others":["2026-01-01T00:00:00Z"],"byName":{}}'
    )
