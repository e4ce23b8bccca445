"""Watches over a port: as chunks, compressed, and as messages of a WebSocket."""

from __future__ import annotations

import json
import logging
import ssl
import zlib

import anyio
import pytest
from anyio.streams.tls import TLSStream

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_h11 import WebSocketFraming
from kubeproto_serve import self_signed, serve

MAPS = "/api/v1/namespaces/default/configmaps"


class BookSpec(kp.Fields):
    title: str


class MagazineSpec(BookSpec):
    issue: int


class Book(kp.Object[BookSpec, None], group="example.io", version="v1", plural="books"):
    """A custom resource."""


class Magazine(kp.Object[MagazineSpec, None], group="example.io", version="v1", kind="Book", plural="books"):
    """The same resource with another schema."""


def config_map(name: str, text: str = "") -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name), data={"text": text})


async def open_stream(url: str, target: str, *headers: str) -> anyio.abc.SocketStream:
    host, _, port = url.rpartition("/")[2].rpartition(":")
    stream = await anyio.connect_tcp(host, int(port))
    await stream.send("\r\n".join([f"GET {target} HTTP/1.1", "Host: h", *headers, "", ""]).encode())
    return stream


async def head_of(stream: anyio.abc.SocketStream) -> tuple[bytes, bytes]:
    """Return the head of a response, and the received part of its body."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += await stream.receive()
    head, _, remainder = received.partition(b"\r\n\r\n")
    return head, remainder


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_watch_over_a_websocket_sends_a_message_per_event_and_ends_cleanly(backend: str) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        upgrade_headers = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
        with anyio.fail_after(60):
            async with serve(cluster) as url:
                key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
                stream = await open_stream(url, f"{MAPS}?watch=1", *upgrade_headers, key)
                head, remainder = await head_of(stream)
                assert head.startswith(b"HTTP/1.1 101 ")
                assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head  # RFC 6455, 1.3
                socket = WebSocketFraming(remainder)
                messages = list[str]()
                for name in ("a", "b"):
                    cluster.put(config_map(name))
                while len(messages) < 2:
                    messages += [
                        json.loads(message)["object"]["metadata"]["name"]
                        for message in socket.feed(await stream.receive())
                    ]
                assert messages == ["a", "b"]
            while socket.close_reason is None:
                socket.feed(await stream.receive())
            assert socket.close_reason.normal
            await stream.aclose()

    anyio.run(main, backend=backend)


def test_a_websocket_whose_client_disconnects_ends_its_watch() -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        with anyio.fail_after(60):
            async with serve(cluster) as url:
                upgrade_headers = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
                stream = await open_stream(url, f"{MAPS}?watch=1", *upgrade_headers, "Sec-WebSocket-Key: x")
                await head_of(stream)
                assert len(cluster.watches) == 1
                await stream.aclose()
                while cluster.watches:
                    await anyio.lowlevel.checkpoint()

    anyio.run(main)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_new_schema_immediately_ends_the_watches_over_the_port(backend: str) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        cluster.namespace("default")
        with anyio.fail_after(60):
            async with serve(cluster) as url:
                target = "/apis/example.io/v1/namespaces/default/books?watch=1"
                stream = await open_stream(url, target)
                _, received = await head_of(stream)
                cluster.define(Magazine)
                while not received.endswith(b"0\r\n\r\n"):
                    received += await stream.receive()
                await stream.aclose()

    anyio.run(main, backend=backend)


def test_a_request_that_is_not_a_watch_ignores_its_upgrade() -> None:
    async def main() -> None:
        with anyio.fail_after(60):
            async with serve(sim.Cluster()) as url:
                upgrade_headers = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
                stream = await open_stream(url, "/healthz", *upgrade_headers, "Sec-WebSocket-Key: x")
                assert (await head_of(stream))[0].startswith(b"HTTP/1.1 200 ")
                await stream.aclose()

    anyio.run(main)


def test_a_long_list_is_compressed_if_the_client_accepts_it() -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        for number in range(20):
            cluster.put(config_map(f"m{number}", "x" * 10_000))
        with anyio.fail_after(60):
            async with serve(cluster) as url:
                for headers in ((), ("Accept-Encoding: gzip",)):
                    stream = await open_stream(url, MAPS, "Connection: close", *headers)
                    head, body = await head_of(stream)
                    try:
                        while True:
                            body += await stream.receive()
                    except anyio.EndOfStream:
                        await stream.aclose()
                    assert (b"Content-Encoding: gzip" in head) is bool(headers)
                    assert f"Content-Length: {len(body)}\r\n".encode() in head + b"\r\n"
                    text = zlib.decompress(body, wbits=31) if headers else body
                    assert len(json.loads(text)["items"]) == 20

    anyio.run(main)


def test_a_compressed_watch_is_flushed_event_by_event() -> None:
    async def main() -> None:
        cluster = sim.Cluster(modes=sim.Modes(compress_watches=True))
        initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        with anyio.fail_after(60):
            async with serve(cluster) as url:
                stream = await open_stream(url, f"{MAPS}?watch=1&{initial}", "Accept-Encoding: gzip")
                head, body = await head_of(stream)
                assert b"Content-Encoding: gzip" in head
                text, inflater = b"", zlib.decompressobj(wbits=31)
                for name in ("first", "second"):
                    cluster.put(config_map(name))
                    while f'"name":"{name}"'.encode() not in text:
                        size, _, remainder = body.partition(b"\r\n")
                        if not size or len(remainder) < int(size, 16) + 2:
                            body += await stream.receive()
                            continue
                        chunk, body = remainder[: int(size, 16)], remainder[int(size, 16) + 2 :]
                        while chunk:  # each flush of a server is a separate member
                            text += inflater.decompress(chunk)
                            chunk = inflater.unused_data
                            if inflater.eof:
                                inflater = zlib.decompressobj(wbits=31)
                await stream.aclose()

    anyio.run(main)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_client_that_disconnects_without_closing_tls_is_not_a_failure_of_the_server(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = sim.Cluster()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    async def leave(port: int) -> None:
        async with await anyio.connect_tcp("localhost", port) as raw:
            stream = await TLSStream.wrap(
                raw, server_side=False, ssl_context=context, standard_compatible=False
            )
            await stream.send(f"GET {MAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert (await stream.receive()).startswith(b"HTTP/1.1 200")
            await raw.send_eof()
            while await raw.receive():  # until the server has closed as well
                pass

    async def main() -> None:
        with anyio.fail_after(60):
            async with serve(cluster, security=self_signed()) as url:
                with pytest.raises(anyio.EndOfStream):
                    await leave(int(url.rpartition(":")[2]))

    with caplog.at_level(logging.WARNING, logger="kubeproto"):
        anyio.run(main, backend=backend)
    assert [record.getMessage() for record in caplog.records] == []
