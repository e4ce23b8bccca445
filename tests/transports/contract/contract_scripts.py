"""Responses of a server as bytes, and scripts that send them."""

from __future__ import annotations

import asyncio
import base64
from typing import Final

from contract_server import Peer, ReceivedRequest, Script, abort

HELLO: Final = b"hello, world\n"


def response_bytes(
    body: bytes = HELLO, *headers: tuple[str, str], status: str = "200 OK", length: bool = True
) -> bytes:
    """Return a response, with or without its Content-Length."""
    fields = [*headers, *([("Content-Length", str(len(body)))] if length else [])]
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def chunked(*contents: bytes, end: bool = True, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Return a chunked response, with or without its end."""
    body = b"".join(chunk(content) for content in contents) + (b"0\r\n\r\n" if end else b"")
    return response_bytes(body, ("Transfer-Encoding", "chunked"), *headers, length=False)


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(content), content)


def responding(*responses: bytes) -> Script:
    """Send these responses in order on each connection, and repeat the last."""

    async def script(peer: Peer) -> None:
        turn = 0
        while True:
            await peer.request()
            await peer.send(responses[min(turn, len(responses) - 1)])
            turn += 1

    return script


def routing(routes: dict[str, bytes]) -> Script:
    """Respond to each request by its path."""

    async def script(peer: Peer) -> None:
        while True:
            request = await peer.request()
            await peer.send(routes[request.target.partition("?")[0]])

    return script


def in_turn(*scripts: Script) -> Script:
    """Run one script per connection, in order, and the last for further connections."""

    async def script(peer: Peer) -> None:
        await scripts[min(peer.number, len(scripts) - 1)](peer)

    return script


def sending(data: bytes, *, then: str = "wait") -> Script:
    """Read a request, send these bytes, then `wait` for the client, `close` or `reset`."""

    async def script(peer: Peer) -> None:
        await peer.request()
        if data:
            await peer.send(data)
        match then:
            case "close":
                await peer.close()
            case "reset":
                await peer.reset()
            case _:
                await peer.wait_closed()

    return script


def dripping(data: bytes, *, close: bool = False) -> Script:
    """Read a request and respond byte by byte."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.drip(data)
        if close:
            await peer.close()

    return script


def proxying(user: str = "", password: str = "") -> Script:
    """Run a proxy that opens tunnels. If `user` is given, the proxy requires it."""
    secret = base64.b64encode(f"{user}:{password}".encode()).decode()

    async def script(peer: Peer) -> None:
        request: ReceivedRequest = await peer.head()
        if user and request.header("proxy-authorization") != f"Basic {secret}":
            await peer.send(response_bytes(b"", status="407 Proxy Authentication Required"))
            return
        assert request.method == "CONNECT"
        host, _, port = request.target.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            upstream = asyncio.ensure_future(_pump(peer.reader, writer))
            back = asyncio.ensure_future(_pump(reader, peer.writer))
            await asyncio.wait((upstream, back), return_when=asyncio.FIRST_COMPLETED)
            for pump in (upstream, back):
                pump.cancel()
            await asyncio.gather(upstream, back, return_exceptions=True)
        finally:
            await abort(writer)

    return script


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


def flooding(status: str, front: bytes, data: bytes) -> Script:
    """Begin a JSON body, and send the same data until the client closes or has received 64 MiB."""
    headers = ("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")
    head = response_bytes(b"", *headers, status=status, length=False)

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head + chunk(front))
        for _ in range((64 << 20) // len(data)):
            if peer.writer.is_closing():
                return
            await peer.send(chunk(data))
            await asyncio.sleep(0)
        await peer.close()

    return script
