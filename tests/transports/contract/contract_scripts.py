"""What a server may answer, as bytes, and scripts that answer it."""

from __future__ import annotations

import asyncio
import base64
from typing import Final

from contract_server import Asked, Peer, Script, abort

HELLO: Final = b"hello, world\n"


def answer(
    body: bytes = HELLO, *headers: tuple[str, str], status: str = "200 OK", length: bool = True
) -> bytes:
    """An answer with its Content-Length, or without one."""
    said = [*headers, *([("Content-Length", str(len(body)))] if length else [])]
    lines = "".join(f"{name}: {value}\r\n" for name, value in said)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def chunked(*pieces: bytes, end: bool = True, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """An answer in chunks, with or without its end."""
    body = b"".join(chunk(piece) for piece in pieces) + (b"0\r\n\r\n" if end else b"")
    return answer(body, ("Transfer-Encoding", "chunked"), *headers, length=False)


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


def answering(*answers: bytes) -> Script:
    """Answer the requests of each connection in turn, the last answer forever; then wait for the client."""

    async def script(peer: Peer) -> None:
        turn = 0
        while True:
            await peer.request()
            await peer.send(answers[min(turn, len(answers) - 1)])
            turn += 1

    return script


def routing(routes: dict[str, bytes]) -> Script:
    """Answer each request by its path."""

    async def script(peer: Peer) -> None:
        while True:
            asked = await peer.request()
            await peer.send(routes[asked.target.partition("?")[0]])

    return script


def in_turn(*scripts: Script) -> Script:
    """Each connection has its own script, by its number; the last one serves the rest."""

    async def script(peer: Peer) -> None:
        await scripts[min(peer.number, len(scripts) - 1)](peer)

    return script


def sending(data: bytes, *, then: str = "wait") -> Script:
    """Read one request, send this, then `wait` for the client, `close` or `reset`."""

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
                await peer.until_closed()

    return script


def dripping(data: bytes, *, close: bool = False) -> Script:
    """Read one request and answer byte by byte."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.drip(data)
        if close:
            await peer.close()

    return script


def proxying(user: str = "", password: str = "") -> Script:
    """A proxy that opens tunnels, and wants to know who asks if it is given a user."""
    secret = base64.b64encode(f"{user}:{password}".encode()).decode()

    async def script(peer: Peer) -> None:
        asked: Asked = await peer.head()
        if user and asked.header("proxy-authorization") != f"Basic {secret}":
            await peer.send(answer(b"", status="407 Proxy Authentication Required"))
            return
        assert asked.method == "CONNECT"
        host, _, port = asked.target.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            there = asyncio.ensure_future(_pump(peer.reader, writer))
            back = asyncio.ensure_future(_pump(reader, peer.writer))
            await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
            for pump in (there, back):
                pump.cancel()
            await asyncio.gather(there, back, return_exceptions=True)
        finally:
            await abort(writer)

    return script


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


def flooding(status: str, front: bytes, piece: bytes) -> Script:
    """Begin a JSON body, and send the same piece until the client leaves, or has taken 64 MiB."""
    said = ("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")
    head = answer(b"", *said, status=status, length=False)

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head + chunk(front))
        for _ in range((64 << 20) // len(piece)):
            if peer.writer.is_closing():
                return
            await peer.send(chunk(piece))
            await asyncio.sleep(0)
        await peer.close()

    return script
