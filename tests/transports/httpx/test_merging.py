"""Chunks are merged on their way to httpx: their content does not change, however the bytes are split."""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import pairwise

import h11
import httpcore
import pytest
from hypothesis import example, given, strategies as st

from kubeproto_httpx._chunk_merging import ChunkMerger
from kubeproto_httpx._network_backends import AsyncStream, BlockingStream

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: a\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def chunks(*contents: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(content), content) for content in contents)


def merge(request: bytes, response: bytes, splits: set[int]) -> bytes:
    """Return the bytes that httpx receives of a response that is split at these indexes."""
    merger = ChunkMerger()
    merger.send(request)
    boundaries = [0, *sorted(split for split in splits if 0 < split < len(response)), len(response)]
    return b"".join(merger.receive(response[a:b]) for a, b in pairwise(boundaries))


def read(stream: bytes, method: str = "GET") -> list[object]:
    """Return the events of h11: the heads, the body as a whole, the end."""
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


RESPONSES = {
    "chunked": CHUNKED + chunks(b"a", b"bc", b"x" * 300) + b"0\r\n\r\n",
    "an empty body": CHUNKED + b"0\r\n\r\n",
    "an incomplete body": CHUNKED + chunks(b"a", b"bc"),
    "with trailers": CHUNKED + chunks(b"a") + b"0\r\nExpires: never\r\n\r\n",
    "with a length": OK + b"Content-Length: 5\r\n\r\n5\r\nab",
    "until the close": OK + b"\r\n5\r\nabcde\r\n",
    "after interim responses": b"HTTP/1.1 100 Continue\r\n\r\n" * 2
    + CHUNKED
    + chunks(b"a", b"b")
    + b"0\r\n\r\n",
    "no body in spite of the header": CHUNKED.replace(b"200 OK", b"304 Not Modified"),
    "both headers": OK
    + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
    + chunks(b"a", b"b")
    + b"0\r\n\r\n",
    "data after the end": CHUNKED + chunks(b"a", b"b") + b"0\r\n\r\nHTTP/1.1 400 Bad Request\r\n",
    "lower case": CHUNKED.lower().replace(b"http", b"HTTP") + chunks(b"a", b"b") + b"0\r\n\r\n",
}


@pytest.mark.parametrize("name", RESPONSES)
@given(splits=st.sets(st.integers(1, 500)))
@example(splits=set())
@example(splits=set(range(500)))
def test_h11_reads_the_same(name: str, splits: set[int]) -> None:
    response = RESPONSES[name]
    assert read(merge(GET, response, splits)) == read(response)


@given(st.lists(st.binary(min_size=1, max_size=100)), st.sets(st.integers(1, 3000)))
def test_any_body_arrives_unchanged(contents: list[bytes], splits: set[int]) -> None:
    response = CHUNKED + chunks(*contents) + b"0\r\n\r\n"
    assert read(merge(GET, response, splits)) == read(response)


def test_chunks_that_arrive_together_become_one_chunk() -> None:
    merger = ChunkMerger()
    merger.send(GET)
    assert merger.receive(CHUNKED + chunks(b"a", b"b", b"c")) == CHUNKED + chunks(b"abc")
    assert merger.receive(b"1\r\nd\r\n2") == chunks(b"d")
    assert merger.receive(b"\r\n") == b""
    assert merger.receive(b"e") == chunks(b"e")
    assert merger.receive(b"f\r\n0\r\n\r\n") == chunks(b"f") + b"0\r\n\r\n"


def test_chunks_after_interim_responses_are_merged() -> None:
    merger = ChunkMerger()
    merger.send(GET)
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert merger.receive(interim * 2 + CHUNKED[:9]) == interim * 2 + CHUNKED[:9]
    assert merger.receive(CHUNKED[9:] + chunks(b"a", b"b")) == CHUNKED[9:] + chunks(b"ab")


class ScriptedAsyncStream(httpcore.AsyncNetworkStream):
    """A stream that returns one of these per read."""

    def __init__(self, *reads: bytes) -> None:
        self.reads = deque(reads)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.reads.popleft()

    async def write(self, buffer: bytes, timeout: float | None = None) -> None: ...


class ScriptedStream(httpcore.NetworkStream):
    def __init__(self, *reads: bytes) -> None:
        self.reads = deque(reads)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self.reads.popleft()

    def write(self, buffer: bytes, timeout: float | None = None) -> None: ...


CASES = (CHUNKED, b"1", b"\r\n", b"a\r\n2\r\nb", b"c\r\n", b"nonsense\r\n")


def test_an_incomplete_chunk_is_not_an_end_and_a_malformed_chunk_is_an_error() -> None:
    async def read_all() -> None:
        stream = AsyncStream(ScriptedAsyncStream(*CASES))
        await stream.write(GET)
        await stream.write(b"")
        assert [await stream.read(1) for _ in range(3)] == [CHUNKED, chunks(b"ab"), chunks(b"c")]
        for _ in range(2):
            with pytest.raises(httpcore.RemoteProtocolError, match="chunk"):
                await stream.read(1)

    asyncio.run(read_all())
    blocking = BlockingStream(ScriptedStream(*CASES))
    blocking.write(GET)
    blocking.write(b"")
    assert [blocking.read(1) for _ in range(3)] == [CHUNKED, chunks(b"ab"), chunks(b"c")]
    for _ in range(2):
        with pytest.raises(httpcore.RemoteProtocolError, match="chunk"):
            blocking.read(1)


def test_the_end_of_a_connection_is_passed_on() -> None:
    blocking = BlockingStream(ScriptedStream(CHUNKED, b""))
    blocking.write(GET)
    assert [blocking.read(1) for _ in range(2)] == [CHUNKED, b""]


@pytest.mark.parametrize("method", [b"HEAD", b"POST", b"CONNECT"])
def test_only_responses_to_get_are_merged(method: bytes) -> None:
    response = CHUNKED + chunks(b"a", b"b")
    assert merge(GET.replace(b"GET", method), response, set()) == response
    assert merge(GET[:-2], response, set()) == response


def test_each_request_starts_a_new_response() -> None:
    merger = ChunkMerger()
    for _ in range(3):
        merger.send(GET)
        assert (
            merger.receive(CHUNKED + chunks(b"a", b"b") + b"0\r\n\r\n")
            == CHUNKED + chunks(b"ab") + b"0\r\n\r\n"
        )
        assert merger.receive(b"unrequested") == b"unrequested"


def test_a_body_that_contains_a_head_is_passed_unchanged() -> None:
    body = CHUNKED + chunks(b"a", b"b")
    response = OK + b"Content-Length: %d\r\n\r\n" % len(body) + body
    assert merge(GET, response, set()) == response


def test_malformed_chunks_are_a_problem_after_the_chunks_before_them() -> None:
    merger = ChunkMerger()
    merger.send(GET)
    assert merger.receive(CHUNKED + chunks(b"a")) == CHUNKED + chunks(b"a")
    assert merger.receive(b"nonsense\r\n") == b""
    assert "chunk" in merger.problem


@pytest.mark.parametrize("end", [b"", b"\r\n\r\n"])
def test_a_head_that_is_too_long_is_a_problem(end: bytes) -> None:
    merger = ChunkMerger()
    merger.send(GET)
    data = b"x" * 40_000
    assert merger.receive(data) == data
    assert merger.receive(data + end) == b""
    assert merger.problem == "the head of the response is longer than 65536 bytes"


@pytest.mark.parametrize("method", [b"GET", b"POST"])
def test_too_many_interim_responses_are_a_problem(method: bytes) -> None:
    merger = ChunkMerger()
    merger.send(GET.replace(b"GET", method))
    interim = b"HTTP/1.1 102 Processing\r\n\r\n"
    assert [merger.receive(interim) for _ in range(8)] == [interim] * 8
    assert merger.receive(interim) == b""
    assert "9 interim responses" in merger.problem


@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([CHUNKED, b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n", b"3\r\n"])
    )
)
def test_any_bytes_are_passed_on_or_a_problem(reads: list[bytes]) -> None:
    merger = ChunkMerger()
    merger.send(GET)
    for data in reads:
        if not merger.problem:
            merger.receive(data)
