"""The cursor in a log: wherever a response is cut off, the lines are exactly the lines of the log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from kubeproto.watching.log_tail import MAX_PIECE, LogCursor, TimedLine

SECOND = 1_000_000_000
START = 1_700_000_000


def stamp(time: int) -> bytes:
    """Return a time as kubelets write it, from nanoseconds."""
    text = f"{datetime.fromtimestamp(time // SECOND, UTC):%Y-%m-%dT%H:%M:%S}"
    fraction = f".{time % SECOND:09}".rstrip("0").rstrip(".")
    return f"{text}{fraction}Z".encode()


def served(log: list[tuple[int, bytes]], cursor: LogCursor, tail: int | None = None) -> bytes:
    """Return the response of a server: from the second of the cursor on, or the last lines."""
    since = cursor.since
    if since is not None:
        log = [line for line in log if line[0] >= int(since.timestamp()) * SECOND]
    elif tail is not None:
        log = log[len(log) - tail :] if tail else []
    return b"".join(stamp(time) + b" " + text + b"\n" for time, text in log)


def texts(lines: list[TimedLine]) -> list[bytes]:
    """Return the lines, joined from their pieces."""
    complete_lines: list[bytes] = []
    partial = b""
    for line in lines:
        partial += line.text
        if line.complete:
            complete_lines.append(partial)
            partial = b""
    assert not partial
    return complete_lines


# Few times, so that lines share them and cross seconds.
_steps = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 400_000_000, SECOND, 3 * SECOND]),
        st.binary(max_size=6).map(lambda text: text.replace(b"\n", b"-")),
    ),
    max_size=12,
)


def timed(steps: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    time, log = START * SECOND, list[tuple[int, bytes]]()
    for pause, text in steps:
        time += pause
        log.append((time, text))
    return log


@given(_steps, st.lists(st.tuples(st.integers(0, 200), st.integers(0, 12)), max_size=8), st.integers(1, 30))
def test_a_log_cut_off_at_any_byte_gives_exactly_its_lines(
    steps: list[tuple[int, bytes]], cuts: list[tuple[int, int]], size: int
) -> None:
    log, cursor = timed(steps), LogCursor()
    read_lines: list[TimedLine] = []
    written = 0
    for limit, growth in [*cuts, (1 << 30, 12)]:
        written = min(len(log), written + growth)  # the size of the log at this time
        cursor.begin()
        body = served(log[:written], cursor)[:limit]
        for offset in range(0, len(body), size):
            read_lines += cursor.feed(body[offset : offset + size])
    assert texts(read_lines) == [text for _, text in log]


@given(_steps, st.integers(0, 12), st.lists(st.integers(0, 200), max_size=4))
def test_the_lines_before_a_tail_are_not_returned(
    steps: list[tuple[int, bytes]], tail: int, cuts: list[int]
) -> None:
    # Lines of the same time cannot be distinguished if only the last of them was shown: here each line has
    # its own time.
    log = timed([(pause + 1, text) for pause, text in steps])
    tail = min(tail, len(log))
    cursor = LogCursor()
    read_lines: list[TimedLine] = []
    for size in [*cuts, 1 << 30]:
        cursor.begin()
        read_lines += cursor.feed(served(log, cursor, tail)[:size])
    assert texts(read_lines) == [text for _, text in log[len(log) - tail :]]


def test_outputs_with_unordered_times_lose_nothing() -> None:
    log = [
        (START * SECOND + nanoseconds, text)
        for nanoseconds, text in [(5, b"b"), (9, b"d"), (7, b"c"), (8, b"e"), (10, b"f")]
    ]
    for size in range(1, len(log)):
        cursor = LogCursor()
        cursor.begin()
        read_lines = cursor.feed(served(log[:size], cursor))
        cursor.begin()
        assert texts(read_lines + cursor.feed(served(log, cursor))) == [text for _, text in log]


def test_after_a_rotation_the_cursor_continues_with_later_lines() -> None:
    log = [(START * SECOND + nanoseconds, b"%d" % nanoseconds) for nanoseconds in range(6)]
    cursor = LogCursor()
    cursor.begin()
    cursor.feed(served(log[:3], cursor))
    cursor.begin()
    assert texts(cursor.feed(served(log[4:], cursor))) == [b"4", b"5"]


def test_the_log_of_an_older_run_adds_no_lines() -> None:
    log = [(START * SECOND + nanoseconds, b"%d" % nanoseconds) for nanoseconds in range(6)]
    cursor = LogCursor()
    cursor.begin()
    cursor.feed(served(log[3:5], cursor))
    cursor.begin()
    assert cursor.feed(served(log[:3], cursor)) == []
    cursor.begin()
    assert texts(cursor.feed(served(log[3:], cursor))) == [b"5"]


@pytest.mark.parametrize("size", [MAX_PIECE // 2, MAX_PIECE + 100, 2 * MAX_PIECE + 40, 2 * MAX_PIECE + 500])
def test_each_piece_of_a_very_long_line_is_returned_once(size: int) -> None:
    long = b"0123456789abcdef" * (MAX_PIECE // 8) + b"end"
    log = [(START * SECOND, b"first"), (START * SECOND + 1, long), (START * SECOND + 2, b"last")]
    cursor = LogCursor()
    read_lines: list[TimedLine] = []
    for end in (size, MAX_PIECE + 50, 1 << 30):
        cursor.begin()
        body = served(log, cursor)[:end]
        for offset in range(0, len(body), 65536):
            read_lines += cursor.feed(body[offset : offset + 65536])
    assert [len(line.text) <= MAX_PIECE + 65536 for line in read_lines].count(False) == 0
    assert texts(read_lines) == [b"first", long, b"last"]


def test_a_line_without_an_end_is_retained_until_the_run_has_ended() -> None:
    cursor = LogCursor()
    cursor.begin()
    assert cursor.feed(stamp(START * SECOND) + b" no end") == []
    assert cursor.finish() == [TimedLine(b"no end", stamp(START * SECOND))]
    assert cursor.finish() == []
    cursor.begin()  # the log is read again, and its line is still there
    assert cursor.feed(stamp(START * SECOND) + b" no end") == []
    assert cursor.finish() == []


def test_messages_of_the_kubelet_have_no_time_and_the_end_of_an_old_line_is_skipped() -> None:
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
def test_a_time_is_read_with_its_zone_and_requested_in_whole_seconds(text: bytes, since: datetime) -> None:
    cursor = LogCursor()
    cursor.begin()
    assert cursor.feed(text + b" line\n") == [TimedLine(b"line", text)]
    assert cursor.since == since


@given(st.binary(max_size=80), st.integers(1, 9))
def test_any_bytes_are_lines_however_they_are_split(data: bytes, size: int) -> None:
    single, chunked = LogCursor(), LogCursor()
    single.begin()
    chunked.begin()
    expected = single.feed(data) + single.finish()
    read_lines = [
        line for offset in range(0, len(data), size) for line in chunked.feed(data[offset : offset + size])
    ]
    assert read_lines + chunked.finish() == expected
