"""The readers of bodies agree with h11's own, however the bytes are split, and return large pieces."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, Literal, NamedTuple

import h11
import pytest
from hypothesis import example, given, strategies as st

from kubeproto import RemoteProtocolError, TransportError
from kubeproto.wire import BodyUntilClose, ChunkedBody, Headers, SizedBody, open_body

HEAD: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

# The parts of a chunked body, and bytes that int() or a lenient reader would accept as well.
ODD: Final = b"\r\n019aAfFgxX;+_ -\t:\x00\x0b\xff"


class Verdict(NamedTuple):
    end: Literal["finished", "more", "broken"]
    payload: bytes = b""
    remainder: bytes = b""


def ours(chunks: list[bytes]) -> Verdict:
    body, payload = ChunkedBody(), b""
    try:
        for chunk in chunks:
            payload += body.feed(chunk)
    except RemoteProtocolError:
        return Verdict("broken")
    return Verdict("finished" if body.finished else "more", payload, body.trailing_data)


def theirs(chunks: list[bytes]) -> Verdict:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(HEAD)
    assert isinstance(connection.next_event(), h11.Response)
    payload = b""
    for chunk in chunks:
        if chunk:
            connection.receive_data(chunk)
        while True:
            try:
                event = connection.next_event()
            except h11.RemoteProtocolError:
                return Verdict("broken")
            if not isinstance(event, h11.Data):
                break
            payload += event.data
    finished = connection.their_state is h11.DONE
    return Verdict(
        "finished" if finished else "more", payload, connection.trailing_data[0] if finished else b""
    )


def chunk(payload: bytes, *, digits: str = "x", extension: bytes = b"", spaces: bytes = b"") -> bytes:
    return format(len(payload), digits).encode() + extension + spaces + b"\r\n" + payload + b"\r\n"


chunks = st.builds(
    chunk,
    st.binary(min_size=1, max_size=40) | st.sampled_from([b"\r\n0\r\n\r\n", b"\r\n", b"5\r\n"]),
    digits=st.sampled_from(["x", "X", "04x", "020X"]),
    extension=st.sampled_from([b"", b"", b";", b';a="b"', b"; sig=\xff\r"]),
    spaces=st.sampled_from([b"", b"", b" ", b"\t "]),
)
trailers = st.sampled_from(
    [
        b"\r\n", b"\r\n", b"\n", b"Sum: 1\r\n\r\n", b"Sum: 1\nOf: \n\n", b"A: 1\r\n  2\r\n\r\n",
        b" a: 1\r\n\r\n", b"no colon\r\n\r\n", b"A : 1\r\n\r\n", b": 1\r\n\r\n",
        b"A:\t1 \t2\t\r\n\r\n", b"A: \x0b\r\n\r\n",
    ]
)  # fmt: skip
ends = st.builds(bytes.__add__, st.sampled_from([b"0\r\n", b"0\r\n", b"000\r\n", b"0;x\r\n", b""]), trailers)


def joined(front: list[bytes], end: bytes, trailing: bytes) -> bytes:
    return b"".join(front) + end + trailing


bodies = st.builds(
    joined, st.lists(chunks, max_size=5), ends, st.sampled_from([b"", b"", b"HTTP/1.1 200 OK\r\n", b"\n"])
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw a body in which a few bytes are missing, added or changed."""
    data = bytearray(draw(bodies))
    for _ in range(draw(st.integers(0, 3))):
        index = draw(st.integers(0, len(data)))
        data[index : index + draw(st.integers(0, 2))] = draw(
            st.binary(max_size=2) | st.sampled_from(list(ODD)).map(lambda n: bytes([n]))
        )
    return bytes(data[: draw(st.integers(0, len(data)) | st.just(len(data)))])


def split(data: bytes, boundaries: list[int]) -> list[bytes]:
    edges = [0, *sorted(boundary for boundary in boundaries if boundary < len(data)), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


@given(damaged(), st.lists(st.integers(0, 200), max_size=12))
@example(b"0x5\r\nhello\r\n0\r\n\r\n", [])
@example(b"+5\r\nhello\r\n0\r\n\r\n", [])
@example(b"1_0\r\n0123456789abcdef\r\n0\r\n\r\n", [])
@example(b" 5\r\nhello\r\n0\r\n\r\n", [])
@example(b"5 \r\nhello\r\n0\r\n\r\n", [3])
@example(b"\r\n0\r\n\r\n", [])
@example(b"5\nhello\r\n0\r\n\r\n", [])
@example(b"5\r\nhello0\r\n\r\n", [8])
@example(b"5\r\nhello\rX0\r\n\r\n", [9])
@example(b"5\r\nhelloX", [])
@example(b"0\r\nA\r\n : 1\r\n\r\n", [])
@example(b"000000000000000000001\r\na\r\n0\r\n\r\n", [])
def test_a_chunked_body_is_read_as_by_h11_however_it_is_split(data: bytes, split_indexes: list[int]) -> None:
    pieces = split(data, split_indexes)
    assert ours(pieces) == theirs(pieces)


@given(damaged(), st.lists(st.integers(0, 200), max_size=12))
def test_a_chunked_body_is_the_same_however_it_is_split(data: bytes, split_indexes: list[int]) -> None:
    expected = ours([data])
    assert ours(split(data, split_indexes)) == expected
    assert ours([data[index : index + 1] for index in range(len(data))]) == expected


@given(st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=50))
def test_many_chunks_are_returned_together(payloads: list[bytes]) -> None:
    body = ChunkedBody()
    assert body.feed(b"".join(map(chunk, payloads)) + b"0\r\n\r\n") == b"".join(payloads)
    assert body.finished


def test_the_middle_of_a_large_chunk_is_not_copied() -> None:
    body, middle = ChunkedBody(), b"x" * 1000
    body.feed(b"1000\r\nabc")
    assert body.feed(middle) is middle


@pytest.mark.parametrize(
    ("data", "cap"),
    [
        (b"5;" + b"x" * 5000, "4096"),
        (b"1" * 5000, "4096"),
        (b"0\r\nA: " + b"x" * 20_000, "16384"),
        (b"0\r\n" + b"A: 1\r\n" * 4000, "16384"),
    ],
    ids=["extension", "size", "trailer", "trailers"],
)
@pytest.mark.parametrize("step", [100_000, 64])
def test_sp_09_buffered_lines_and_trailers_are_limited(data: bytes, cap: str, step: int) -> None:
    with pytest.raises(RemoteProtocolError, match=cap):
        feed_by(step, data)


def feed_by(step: int, data: bytes) -> None:
    body = ChunkedBody()
    for start in range(0, len(data), step):
        body.feed(data[start : start + step])


def test_a_size_of_a_million_digits_is_not_computed() -> None:
    with pytest.raises(RemoteProtocolError):
        ChunkedBody().feed(b"1" * 3000 + b"\r\n")


def test_no_error_quotes_received_bytes() -> None:
    for data in (b"hunter2\r\n", b"1\r\nxhunter2\r\n", b"0\r\nhunter2\r\n\r\n", b"0\r\n hunter2\r\n\r\n"):
        with pytest.raises(RemoteProtocolError) as raised:
            ChunkedBody().feed(data)
        assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "data", [b"", b"5", b"5\r\nhel", b"5\r\nhello", b"5\r\nhello\r\n", b"0\r\n", b"0\r\nA: 1\r\n"]
)
def test_a_connection_that_ends_before_the_last_chunk_is_an_error(data: bytes) -> None:
    body = ChunkedBody()
    body.feed(data)
    with pytest.raises(TransportError, match="before the last chunk"):
        body.close()


@given(st.binary(max_size=60), st.integers(0, 40), st.lists(st.integers(0, 60), max_size=6))
def test_a_body_ends_after_its_declared_length(data: bytes, size: int, split_indexes: list[int]) -> None:
    body = SizedBody(size)
    payload = b"".join(body.feed(chunk) for chunk in split(data, split_indexes))
    assert (payload, body.trailing_data, body.finished) == (data[:size], data[size:], len(data) >= size)
    if body.finished:
        body.close()
    else:
        with pytest.raises(TransportError, match=f"{size - len(data)} bytes before the end"):
            body.close()


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    body = BodyUntilClose()
    assert body.feed(b"abc") == b"abc"
    assert not body.finished
    body.close()
    assert body.finished


HEADERS: Final[list[Headers]] = [
    (),
    (("Content-Length", "5"),),
    (("content-length", "0"),),
    (("Content-Length", "5, 5"),),
    (("Content-Length", "5"), ("Content-Length", "5")),
    (("Content-Length", "5"), ("Content-Length", "6")),
    (("Content-Length", "5, 6"),),
    (("Content-Length", "-5"),),
    (("Content-Length", "5x"),),
    (("Content-Length", "1" * 30),),
    (("Transfer-Encoding", "chunked"),),
    (("transfer-encoding", "Chunked"),),
    (("Transfer-Encoding", "chunked"), ("Content-Length", "5")),
    (("Transfer-Encoding", "gzip"),),
    (("Transfer-Encoding", "gzip, chunked"),),
    (("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")),
    (("Transfer-Encoding", "identity"),),
]


@pytest.mark.parametrize("headers", HEADERS)
@pytest.mark.parametrize("status", [200, 201, 204, 304, 404, 500])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
def test_the_head_determines_the_body_as_in_h11(method: str, status: int, headers: Headers) -> None:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "h"), ("Content-Length", "0")]))
    connection.send(h11.EndOfMessage())
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    connection.receive_data(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode())
    try:
        connection.next_event()
    except h11.RemoteProtocolError:
        with pytest.raises(RemoteProtocolError):
            open_body(method, status, headers)
        return
    body = open_body(method, status, headers)
    data = b"5\r\nhello\r\n0\r\n\r\n"
    connection.receive_data(data)
    expected = b""
    while isinstance(event := connection.next_event(), h11.Data):
        expected += event.data
    assert (body.feed(data), body.finished) == (expected, isinstance(event, h11.EndOfMessage))
