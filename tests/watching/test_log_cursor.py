"""The cursor in a log: whatever is cut, and wherever, the lines are exactly the lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from kubeproto.watching.log_tail import MAX_PIECE, LogCursor, TimedLine

SECOND = 1_000_000_000
START = 1_700_000_000


def stamp(at: int) -> bytes:
    """A time as kubelets write it, from nanoseconds."""
    text = f"{datetime.fromtimestamp(at // SECOND, UTC):%Y-%m-%dT%H:%M:%S}"
    fraction = f".{at % SECOND:09}".rstrip("0").rstrip(".")
    return f"{text}{fraction}Z".encode()


def served(log: list[tuple[int, bytes]], cursor: LogCursor, tail: int | None = None) -> bytes:
    """What a server sends: from the second of the cursor on, or the last lines."""
    since = cursor.since
    if since is not None:
        log = [line for line in log if line[0] >= int(since.timestamp()) * SECOND]
    elif tail is not None:
        log = log[len(log) - tail :] if tail else []
    return b"".join(stamp(at) + b" " + text + b"\n" for at, text in log)


def texts(lines: list[TimedLine]) -> list[bytes]:
    """The lines, those in pieces put together."""
    found: list[bytes] = []
    begun = b""
    for line in lines:
        begun += line.text
        if line.complete:
            found.append(begun)
            begun = b""
    assert not begun
    return found


# Few times, so that lines share them and cross seconds.
_steps = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 400_000_000, SECOND, 3 * SECOND]),
        st.binary(max_size=6).map(lambda text: text.replace(b"\n", b"-")),
    ),
    max_size=12,
)


def timed(steps: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    at, log = START * SECOND, list[tuple[int, bytes]]()
    for pause, text in steps:
        at += pause
        log.append((at, text))
    return log


@given(_steps, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 12)), max_size=8), st.integers(1, 30))
def test_cut_at_any_byte_the_lines_are_exactly_the_lines(
    steps: list[tuple[int, bytes]], cuts: list[tuple[int, int]], size: int
) -> None:
    log, cursor = timed(steps), LogCursor()
    seen: list[TimedLine] = []
    written = 0
    for cut, more in [*cuts, (1 << 30, 12)]:
        written = min(len(log), written + more)  # what is written by then
        cursor.begin()
        body = served(log[:written], cursor)[:cut]
        for at in range(0, len(body), size):
            seen += cursor.feed(body[at : at + size])
    assert texts(seen) == [text for _, text in log]


@given(_steps, st.integers(0, 12), st.lists(st.integers(0, 200), max_size=4))
def test_after_a_tail_the_lines_before_it_stay_away(
    steps: list[tuple[int, bytes]], tail: int, cuts: list[int]
) -> None:
    # Lines of one time cannot be distinguished when only their last was shown: here each has its own.
    log = timed([(pause + 1, text) for pause, text in steps])
    tail = min(tail, len(log))
    cursor = LogCursor()
    seen: list[TimedLine] = []
    for cut in [*cuts, 1 << 30]:
        cursor.begin()
        seen += cursor.feed(served(log, cursor, tail)[:cut])
    assert texts(seen) == [text for _, text in log[len(log) - tail :]]


def test_outputs_that_are_stamped_apart_lose_nothing() -> None:
    log = [
        (START * SECOND + at, text) for at, text in [(5, b"b"), (9, b"d"), (7, b"c"), (8, b"e"), (10, b"f")]
    ]
    for cut in range(1, len(log)):
        cursor = LogCursor()
        cursor.begin()
        seen = cursor.feed(served(log[:cut], cursor))
        cursor.begin()
        assert texts(seen + cursor.feed(served(log, cursor))) == [text for _, text in log]


def test_after_a_rotation_it_goes_on_with_what_is_later() -> None:
    log = [(START * SECOND + at, b"%d" % at) for at in range(6)]
    cursor = LogCursor()
    cursor.begin()
    cursor.feed(served(log[:3], cursor))
    cursor.begin()
    assert texts(cursor.feed(served(log[4:], cursor))) == [b"4", b"5"]


def test_the_log_of_an_older_run_brings_nothing() -> None:
    log = [(START * SECOND + at, b"%d" % at) for at in range(6)]
    cursor = LogCursor()
    cursor.begin()
    cursor.feed(served(log[3:5], cursor))
    cursor.begin()
    assert cursor.feed(served(log[:3], cursor)) == []
    cursor.begin()
    assert texts(cursor.feed(served(log[3:], cursor))) == [b"5"]


@pytest.mark.parametrize("cut", [MAX_PIECE // 2, MAX_PIECE + 100, 2 * MAX_PIECE + 40, 2 * MAX_PIECE + 500])
def test_a_very_long_line_comes_in_pieces_each_of_which_comes_once(cut: int) -> None:
    long = b"0123456789abcdef" * (MAX_PIECE // 8) + b"end"
    log = [(START * SECOND, b"first"), (START * SECOND + 1, long), (START * SECOND + 2, b"last")]
    cursor = LogCursor()
    seen: list[TimedLine] = []
    for end in (cut, MAX_PIECE + 50, 1 << 30):
        cursor.begin()
        body = served(log, cursor)[:end]
        for at in range(0, len(body), 65536):
            seen += cursor.feed(body[at : at + 65536])
    assert [len(line.text) <= MAX_PIECE + 65536 for line in seen].count(False) == 0
    assert texts(seen) == [b"first", long, b"last"]


def test_what_has_no_end_is_held_back_until_the_run_has_ended() -> None:
    cursor = LogCursor()
    cursor.begin()
    assert cursor.feed(stamp(START * SECOND) + b" no end") == []
    assert cursor.finish() == [TimedLine(b"no end", stamp(START * SECOND))]
    assert cursor.finish() == []
    cursor.begin()  # the log is read again, and its line is still there
    assert cursor.feed(stamp(START * SECOND) + b" no end") == []
    assert cursor.finish() == []


def test_what_the_kubelet_says_has_no_time_and_the_rest_of_an_old_line_is_skipped() -> None:
    cursor = LogCursor()
    cursor.begin()
    assert cursor.feed(b"unable to retrieve container logs\n") == [
        TimedLine(b"unable to retrieve container logs")
    ]
    assert cursor.since is None
    cursor.feed(stamp(START * SECOND) + b" a\n")
    cursor.begin()
    assert cursor.feed(b"rest of it\n" + stamp(START * SECOND + 1) + b" b\n") == [
        TimedLine(b"b", stamp(START * SECOND + 1))
    ]


@pytest.mark.parametrize(
    ("text", "since"),
    [
        (b"2026-07-01T10:00:00.123456789Z", datetime(2026, 7, 1, 10, tzinfo=UTC)),
        (b"2026-07-01T10:00:59Z", datetime(2026, 7, 1, 10, 0, 59, tzinfo=UTC)),
        (b"2026-07-01T12:30:00.5+02:30", datetime(2026, 7, 1, 10, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_with_its_zone_and_asked_for_in_whole_seconds(text: bytes, since: datetime) -> None:
    cursor = LogCursor()
    cursor.begin()
    assert cursor.feed(text + b" line\n") == [TimedLine(b"line", text)]
    assert cursor.since == since


@given(st.binary(max_size=80), st.integers(1, 9))
def test_any_bytes_are_lines_however_they_are_cut(data: bytes, size: int) -> None:
    whole, parts = LogCursor(), LogCursor()
    whole.begin()
    parts.begin()
    expected = whole.feed(data) + whole.finish()
    seen = [line for at in range(0, len(data), size) for line in parts.feed(data[at : at + size])]
    assert seen + parts.finish() == expected
