"""Chunks are merged on their way to httpx: what is said stays the same, however it is cut."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import pairwise

import h11
import httpcore
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kubeproto_httpx._merging import Merging
from kubeproto_httpx._network import AsyncStream, BlockingStream

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: a\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def chunks(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


def heard(request: bytes, answer: bytes, cuts: set[int]) -> bytes:
    """What httpx hears of a response that is cut in these places."""
    merging = Merging()
    merging.sent(request)
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(answer)), len(answer)]
    return b"".join(merging.came(answer[a:b]) for a, b in pairwise(places))


def read(stream: bytes, method: str = "GET") -> list[object]:
    """What h11 makes of it: the heads, the body in one piece, the end."""
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(stream)
    events: list[object] = []
    while True:
        event = connection.next_event()
        match event:
            case h11.Data(data=data):
                if events and isinstance(events[-1], bytes):
                    events[-1] += bytes(data)
                else:
                    events.append(bytes(data))
            case h11.EndOfMessage():
                return [*events, "end", connection.trailing_data[0]]
            case h11.Response() | h11.InformationalResponse():
                events.append((event.status_code, list(event.headers)))
            case _:
                return events


ANSWERS = {
    "chunked": CHUNKED + chunks(b"a", b"bc", b"x" * 300) + b"0\r\n\r\n",
    "no chunk at all": CHUNKED + b"0\r\n\r\n",
    "no end": CHUNKED + chunks(b"a", b"bc"),
    "with trailers": CHUNKED + chunks(b"a") + b"0\r\nExpires: never\r\n\r\n",
    "with a length": OK + b"Content-Length: 5\r\n\r\n5\r\nab",
    "until the close": OK + b"\r\n5\r\nabcde\r\n",
    "after interim answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 2
    + CHUNKED
    + chunks(b"a", b"b")
    + b"0\r\n\r\n",
    "nothing, though it says chunked": CHUNKED.replace(b"200 OK", b"304 Not Modified"),
    "both": OK
    + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    + chunks(b"a", b"b")
    + b"0\r\n\r\n",
    "something after the end": CHUNKED + chunks(b"a", b"b") + b"0\r\n\r\nHTTP/1.1 400 Bad Request\r\n",
    "lower case": CHUNKED.lower().replace(b"http", b"HTTP") + chunks(b"a", b"b") + b"0\r\n\r\n",
}


@pytest.mark.parametrize("what", ANSWERS)
@given(cuts=st.sets(st.integers(1, 500)))
@example(cuts=set())
@example(cuts=set(range(500)))
def test_h11_reads_the_same(what: str, cuts: set[int]) -> None:
    answer = ANSWERS[what]
    assert read(heard(GET, answer, cuts)) == read(answer)


@given(st.lists(st.binary(min_size=1, max_size=100)), st.sets(st.integers(1, 3000)))
def test_any_body_arrives_as_it_was_said(pieces: list[bytes], cuts: set[int]) -> None:
    answer = CHUNKED + chunks(*pieces) + b"0\r\n\r\n"
    assert read(heard(GET, answer, cuts)) == read(answer)


def test_what_came_at_once_is_one_chunk() -> None:
    merging = Merging()
    merging.sent(GET)
    assert merging.came(CHUNKED + chunks(b"a", b"b", b"c")) == CHUNKED + chunks(b"abc")
    assert merging.came(b"1\r\nd\r\n2") == chunks(b"d")
    assert merging.came(b"\r\n") == b""
    assert merging.came(b"e") == chunks(b"e")
    assert merging.came(b"f\r\n0\r\n\r\n") == chunks(b"f") + b"0\r\n\r\n"


def test_after_interim_answers_it_is_still_looked_at() -> None:
    merging = Merging()
    merging.sent(GET)
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert merging.came(interim * 2 + CHUNKED[:9]) == interim * 2 + CHUNKED[:9]
    assert merging.came(CHUNKED[9:] + chunks(b"a", b"b")) == CHUNKED[9:] + chunks(b"ab")


class Async(httpcore.AsyncNetworkStream):
    """A stream that says these pieces, one a read."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = deque(pieces)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.pieces.popleft()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None: ...


class Blocking(httpcore.NetworkStream):
    def __init__(self, *pieces: bytes) -> None:
        self.pieces = deque(pieces)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.pieces.popleft()

    def write(self, buffer: bytes, timeout: float | None = None) -> None: ...


PIECES = (CHUNKED, b"1", b"\r\n", b"a\r\n2\r\nb", b"c\r\n", b"nonsense\r\n")


def test_a_read_that_completes_nothing_is_not_an_end_and_nonsense_is_an_error() -> None:
    async def good() -> None:
        stream = AsyncStream(Async(*PIECES))
        await stream.write(GET)
        await stream.write(b"")
        assert [await stream.read(1) for _ in range(3)] == [CHUNKED, chunks(b"ab"), chunks(b"c")]
        for _ in range(2):
            with pytest.raises(httpcore.RemoteProtocolError, match="chunk"):
                await stream.read(1)

    asyncio.run(good())
    blocking = BlockingStream(Blocking(*PIECES))
    blocking.write(GET)
    blocking.write(b"")
    assert [blocking.read(1) for _ in range(3)] == [CHUNKED, chunks(b"ab"), chunks(b"c")]
    for _ in range(2):
        with pytest.raises(httpcore.RemoteProtocolError, match="chunk"):
            blocking.read(1)


def test_the_end_of_a_connection_is_handed_on() -> None:
    blocking = BlockingStream(Blocking(CHUNKED, b""))
    blocking.write(GET)
    assert [blocking.read(1) for _ in range(2)] == [CHUNKED, b""]


@pytest.mark.parametrize("method", [b"HEAD", b"POST", b"CONNECT"])
def test_only_a_get_is_looked_at(method: bytes) -> None:
    answer = CHUNKED + chunks(b"a", b"b")
    assert heard(GET.replace(b"GET", method), answer, set()) == answer
    assert heard(GET[:-2], answer, set()) == answer


def test_each_request_begins_anew() -> None:
    merging = Merging()
    for _ in range(3):
        merging.sent(GET)
        assert (
            merging.came(CHUNKED + chunks(b"a", b"b") + b"0\r\n\r\n")
            == CHUNKED + chunks(b"ab") + b"0\r\n\r\n"
        )
        assert merging.came(b"unasked") == b"unasked"


def test_a_body_with_a_head_in_it_is_left_alone() -> None:
    body = CHUNKED + chunks(b"a", b"b")
    answer = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    assert heard(GET, answer, set()) == answer


def test_wrong_chunks_are_a_problem_after_what_came_before_them() -> None:
    merging = Merging()
    merging.sent(GET)
    assert merging.came(CHUNKED + chunks(b"a")) == CHUNKED + chunks(b"a")
    assert merging.came(b"nonsense\r\n") == b""
    assert "chunk" in merging.problem


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_a_head_that_is_too_long_is_a_problem(end: bytes) -> None:
    merging = Merging()
    merging.sent(GET)
    piece = b"x" * 40_000
    assert merging.came(piece) == piece
    assert merging.came(piece + end) == b""
    assert merging.problem == "the head of the response is longer than 65536 bytes"


@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_interim_responses_without_end_are_a_problem(method: bytes) -> None:
    merging = Merging()
    merging.sent(GET.replace(b"GET", method))
    interim = b"HTTP/1.1 102 Processing\r\n\r\n"
    assert [merging.came(interim) for _ in range(8)] == [interim] * 8
    assert merging.came(interim) == b""
    assert "9 interim responses" in merging.problem


@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([CHUNKED, b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"3\r\n"])
    )
)
def test_nothing_that_a_server_says_upsets_it(pieces: list[bytes]) -> None:
    merging = Merging()
    merging.sent(GET)
    for piece in pieces:
        if not merging.problem:
            merging.came(piece)
