"""The server's end of a WebSocket, for scripts: the handshake, messages and close frames, by wsproto."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeAlias

from contract_scripts import response_bytes
from contract_server import Peer, Script
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event
from wsproto.utilities import generate_accept_token

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"

SUCCESS: Final = b'\3{"metadata":{},"status":"Success"}'
THREE: Final = (
    b'\3{"metadata":{},"status":"Failure","message":"command terminated with exit code 3",'
    b'"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}'
)


class WebSocketPeer:
    """The server's end of a WebSocket. With `drips` it sends byte by byte."""

    def __init__(self, peer: Peer, *, drips: bool = False) -> None:
        self.peer = peer
        self._wsproto = Connection(ConnectionType.SERVER)
        self._write = peer.drip if drips else peer.send

    async def send(self, *events: Event) -> None:
        for event in events:
            await self._write(self._wsproto.send(event))

    async def send_messages(self, *messages: bytes) -> None:
        await self.send(*[BytesMessage(data=message) for message in messages])

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Send a close frame, and wait until the client has closed."""
        await self.send(CloseConnection(code=code, reason=reason))
        await self.peer.wait_closed()

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events of the client up to its close frame, and respond to that."""
        while data := await self.peer.reader.read(1 << 16):
            self._wsproto.receive_data(data)
            for event in self._wsproto.events():
                yield event
                if isinstance(event, CloseConnection):
                    await self.send(event.response())
                    return

    async def messages(self) -> AsyncIterator[bytes]:
        """Yield the messages of the client, joined from their fragments, up to its close frame."""
        pieces: list[bytes] = []
        async for event in self.events():
            if isinstance(event, BytesMessage):
                pieces.append(bytes(event.data))
                if event.message_finished:
                    yield b"".join(pieces)
                    pieces = []


Talk: TypeAlias = Callable[[WebSocketPeer], Awaitable[None]]


def talking(talk: Talk, protocol: str = V5, *, drips: bool = False) -> Script:
    """Accept the handshake, then run `talk`."""

    async def script(peer: Peer) -> None:
        request = await peer.request()
        turned = generate_accept_token(request.header("sec-websocket-key").encode()).decode()
        head = response_bytes(
            b"",
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", turned),
            ("Sec-WebSocket-Protocol", protocol),
            status="101 Switching Protocols",
            length=False,
        )
        await (peer.drip(head) if drips else peer.send(head))
        await talk(WebSocketPeer(peer, drips=drips))

    return script


async def cat(websocket: WebSocketPeer) -> None:
    """Send each received message back, as the command `cat` does, until stdin ends."""
    await websocket.send_messages(b"\1", b"\2")
    async for message in websocket.messages():
        if message == b"\xff\0":
            await websocket.send_messages(SUCCESS)
            await websocket.close()
            return
        assert message[:1] == b"\0"
        await websocket.send_messages(b"\1" + message[1:])


async def echo(websocket: WebSocketPeer) -> None:
    """Return the data of two ports to their senders."""
    await websocket.send_messages(b"\0\x90\x1f", b"\1\x90\x1f", b"\2\x35\0", b"\3\x35\0")
    async for message in websocket.messages():
        await websocket.send_messages(message)
