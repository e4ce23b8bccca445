"""The other side of a WebSocket, for scripts: a handshake, messages and farewells, by wsproto."""

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


class Side:
    """The server's end of one WebSocket. With `drips` it speaks byte by byte."""

    def __init__(self, peer: Peer, *, drips: bool = False) -> None:
        self.peer = peer
        self._wsproto = Connection(ConnectionType.SERVER)
        self._write = peer.drip if drips else peer.send

    async def send(self, *events: Event) -> None:
        for event in events:
            await self._write(self._wsproto.send(event))

    async def say(self, *messages: bytes) -> None:
        await self.send(*[BytesMessage(data=message) for message in messages])

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Say farewell, and wait until the client has closed."""
        await self.send(CloseConnection(code=code, reason=reason))
        await self.peer.until_closed()

    async def events(self) -> AsyncIterator[Event]:
        """What the client does, up to its farewell, which is returned to it."""
        while data := await self.peer.reader.read(1 << 16):
            self._wsproto.receive_data(data)
            for event in self._wsproto.events():
                yield event
                if isinstance(event, CloseConnection):
                    await self.send(event.response())
                    return

    async def messages(self) -> AsyncIterator[bytes]:
        """The messages of the client, each in one piece, up to its farewell."""
        pieces: list[bytes] = []
        async for event in self.events():
            if isinstance(event, BytesMessage):
                pieces.append(bytes(event.data))
                if event.message_finished:
                    yield b"".join(pieces)
                    pieces = []


Talk: TypeAlias = Callable[[Side], Awaitable[None]]


def talking(talk: Talk, protocol: str = V5, *, drips: bool = False) -> Script:
    """Shake hands and talk."""

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
        await talk(Side(peer, drips=drips))

    return script


async def cat(side: Side) -> None:
    """What `cat` does: it says what it hears, until its stdin ends."""
    await side.say(b"\1", b"\2")
    async for message in side.messages():
        if message == b"\xff\0":
            await side.say(SUCCESS)
            await side.close()
            return
        assert message[:1] == b"\0"
        await side.say(b"\1" + message[1:])


async def echo(side: Side) -> None:
    """Two ports that send back what they hear."""
    await side.say(b"\0\x90\x1f", b"\1\x90\x1f", b"\2\x35\0", b"\3\x35\0")
    async for message in side.messages():
        await side.say(message)
