"""`ByteStream`: the part of a transport that depends on its event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kubeproto import TransportError
from kubeproto.wire import Concealed

from ._tunnels import tunnel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kubeproto.config import Connection


class ByteStream(Protocol):
    """One connection. Whatever breaks on it is a `TransportError`."""

    used: bool  # it has carried an exchange before

    @property
    def stale(self) -> bool:
        """True if an idle connection must not be used: its server has closed it or sent something."""
        ...

    async def receive(self, by: float) -> bytes | None:
        """Return received bytes; empty when the server has closed, None if nothing arrived by that time."""
        ...

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        """Send all of it, and listen meanwhile; True if all had been sent when the listener was done.

        A server may respond before it has read the request, and then stop reading: what `listen` receives
        counts, and a failure to send the rest does not.
        """
        ...

    async def send(self, data: bytes) -> None:
        """Send all of it, as soon as the server takes it. If cancelled, the connection is unusable."""
        ...

    def close(self) -> None:
        """Close it at once, whatever it is doing."""
        ...


async def open_tunnel(stream: ByteStream, connection: Connection, by: float) -> None:
    """Make a connection to a proxy into one to the server."""
    opening = tunnel(connection)
    outgoing: bytes = Concealed(opening.outgoing)

    async def listen() -> None:
        nonlocal outgoing
        outgoing = b""
        while not outgoing and not opening.done:
            heard = await stream.receive(by)
            if not heard:
                raise TransportError("the proxy " + ("says nothing" if heard is None else "hung up"))
            outgoing = Concealed(opening.feed(heard))

    while outgoing:
        await stream.send_and_listen(outgoing, listen)
