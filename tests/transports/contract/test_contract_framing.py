"""However a response is framed and cut, its bytes arrive as they are: whole, not inflated, unchanged."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Final

import pytest
from contract_scripts import HELLO, chunk, chunked, dripping, responding, response_bytes, sending
from contract_server import Gate, Peer, Server
from contract_transports import Rig, connection_to, fetch, fetch_once, get

import kubeproto as kp
from kubeproto import RawRequest, RemoteProtocolError, Transport

Serve = Callable[..., Server]

EARLY_HINTS: Final = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
TRAILED: Final = b"d;a=b\r\n" + HELLO + b"\r\n0\r\nX-Sum: 1\r\n\r\n"

# Each response, and whether the server closes after it.
ANSWERS: Final = {
    "a length": (response_bytes(), False),
    "chunks": (chunked(HELLO[:5], HELLO[5:]), False),
    "nothing but the end": (response_bytes(length=False), True),
    "HTTP 1.0": (response_bytes(length=False).replace(b"HTTP/1.1", b"HTTP/1.0"), True),
    "a 100 before it": (CONTINUE + response_bytes(), False),
    "a 103 before it": (EARLY_HINTS + chunked(HELLO), False),
    "extensions and a trailer": (
        response_bytes(TRAILED, ("Transfer-Encoding", "chunked"), length=False),
        False,
    ),
}


@pytest.mark.parametrize("bytewise", [False, True], ids=["at-once", "bytewise"])
@pytest.mark.parametrize("framing", ANSWERS)
def test_a_body_arrives_however_it_is_framed(rig: Rig, serve: Serve, framing: str, bytewise: bool) -> None:
    data, close = ANSWERS[framing]
    script = dripping(data, close=close) if bytewise else sending(data, then="close" if close else "wait")
    response = fetch_once(rig, serve(script))
    assert (response.status, response.body) == (200, HELLO)


def test_chunks_may_be_split_anywhere(rig: Rig, serve: Serve) -> None:
    body = "größer\u2028als\x85 gedacht\n".encode()
    splits = [(body[:index], body[index:]) for index in range(1, len(body))]
    server = serve(responding(*(chunked(*chunks) for chunks in splits)))

    async def all_cuts(transport: Transport) -> list[bytes]:
        return [(await fetch(transport, get())).body for _ in splits]

    assert rig.run(connection_to(server), all_cuts) == [body] * len(splits)
    assert server.connections == 1


@pytest.mark.parametrize(
    ("method", "data"),
    [
        ("GET", response_bytes(b"", status="204 No Content", length=False)),
        ("GET", response_bytes(b"", ("Content-Length", "13"), status="304 Not Modified", length=False)),
        (
            "GET",
            response_bytes(b"", ("Transfer-Encoding", "chunked"), status="304 Not Modified", length=False),
        ),
        ("GET", response_bytes(b"")),
        ("HEAD", response_bytes(b"", ("Content-Length", "13"), length=False)),
    ],
    ids=["204", "304 with a length", "304 with chunks", "200 and empty", "HEAD"],
)
def test_a_response_that_has_no_body_ends_with_its_head(
    rig: Rig, serve: Serve, method: str, data: bytes
) -> None:
    server = serve(responding(data, response_bytes()))

    async def twice(transport: Transport) -> tuple[bytes, bytes]:
        first = await fetch(transport, RawRequest(method, "/"))
        return first.body, (await fetch(transport, get())).body

    assert rig.run(connection_to(server), twice) == (b"", HELLO)
    assert server.connections == 1


def test_a_body_of_megabytes_arrives(rig: Rig, serve: Serve) -> None:
    body = bytes(range(256)) * 16384
    sized, chunks = (
        response_bytes(body),
        chunked(*(body[start : start + 10_000] for start in range(0, len(body), 10_000))),
    )
    server = serve(responding(sized, chunks))

    async def twice(transport: Transport) -> tuple[bytes, bytes]:
        return (await fetch(transport, get())).body, (await fetch(transport, get())).body

    assert rig.run(connection_to(server), twice) == (body, body)


def test_a_compressed_body_is_not_decompressed(rig: Rig, serve: Serve) -> None:
    body = gzip.compress(HELLO)
    response = fetch_once(rig, serve(responding(response_bytes(body, ("Content-Encoding", "gzip")))))
    assert response.body == body


def test_gzip_in_several_members_is_read_to_its_end(rig: Rig, serve: Serve) -> None:
    lines = [watched(f"moby-{n}") for n in range(5)]
    # The first member ends inside a chunk, and the first chunk ends inside a member.
    data = b"".join(map(gzip.compress, lines))
    chunks = [data[start : start + 50] for start in range(0, len(data), 50)]
    server = serve(responding(chunked(*chunks, headers=(("Content-Encoding", "gzip"),))))
    request = kp.Api(Book).watch(resource_version="1")

    async def watch(transport: Transport) -> list[str]:
        async with transport.send(request) as incoming:
            decoder = request.open(incoming.status, incoming.headers)
            events = [event async for chunk in incoming for event in decoder.feed(chunk)]
        events += decoder.finish()
        return [event.object.metadata.name for event in events if isinstance(event, kp.Modified)]

    assert rig.run(connection_to(server), watch) == [f"moby-{n}" for n in range(5)]


def test_data_is_returned_before_more_is_sent(rig: Rig, serve: Serve, gate: Gate) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(chunked(b"one\n", end=False))
        await gate.wait()
        await peer.send(chunk(b"two\n") + chunk(b""))

    async def read(transport: Transport) -> list[bytes]:
        pieces: list[bytes] = []
        async with transport.send(get()) as incoming:
            async for chunk in incoming:
                pieces.append(chunk)
                gate.open()
        return pieces

    assert rig.run(connection_to(serve(script)), read) == [b"one\n", b"two\n"]


def test_headers_arrive_as_they_were_sent(rig: Rig, serve: Serve) -> None:
    headers = (("Warning", '299 - "erster"'), ("WARNING", '299 - "größer"'), ("x-empty", ""))
    response = fetch_once(rig, serve(responding(response_bytes(HELLO, *headers))))
    assert response.headers == (*headers, ("Content-Length", "13"))


def test_a_long_head_is_read(rig: Rig, serve: Serve) -> None:
    warnings = tuple(("Warning", f'299 - "{"x" * 1000}"') for _ in range(30))
    assert len(fetch_once(rig, serve(responding(response_bytes(HELLO, *warnings)))).headers) == 31


@pytest.mark.parametrize("lines", [True, False], ids=["of many lines", "of one line"])
def test_an_endless_head_is_refused_and_does_not_fill_the_memory(rig: Rig, serve: Serve, lines: bool) -> None:
    megabytes = 0

    async def script(peer: Peer) -> None:
        nonlocal megabytes
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n" if lines else b"HTTP/1.1 200 OK\r\nWarning: ")
        while megabytes < 100:
            await peer.send((b"Warning: %b\r\n" % (b"x" * 1000) if lines else b"x" * 1013) * 1024)
            megabytes += 1

    with pytest.raises(RemoteProtocolError):
        fetch_once(rig, serve(script))
    # Some wait in the buffers of both sockets.
    assert megabytes < 30


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        response_bytes(HELLO, ("Content-Length", "12")),
        response_bytes(b"xyz\r\n" + HELLO, ("Transfer-Encoding", "chunked"), length=False),
        response_bytes(b"4\r\nabcdef", ("Transfer-Encoding", "chunked"), length=False),
        response_bytes(chunk(HELLO), ("Transfer-Encoding", "gzip, identity"), length=False),
    ],
    ids=["no HTTP", "two lengths", "a chunk without size", "a chunk that is longer", "a strange encoding"],
)
def test_a_malformed_response_is_a_remote_protocol_error(rig: Rig, serve: Serve, data: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        fetch_once(rig, serve(sending(data)))


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """A book on a shelf."""


def watched(name: str) -> bytes:
    return (
        b'{"type":"MODIFIED","object":{"apiVersion":"example.technosophos.com/v1","kind":"Book","metadata":'
        b'{"name":"%b","namespace":"default","resourceVersion":"7"},"spec":{"title":"Moby-Dick"}}}\n'
    ) % name.encode()
