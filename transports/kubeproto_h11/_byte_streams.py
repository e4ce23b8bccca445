"""`ByteStream`: the part of a transport that depends on its event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class ByteStream(Protocol):
    """A connection to a server. Every failure is a `TransportError`."""

    used: bool
    """True once an exchange has been completed on this connection, so that the server may have closed it."""

    @property
    def stale(self) -> bool:
        """True if an idle connection must not be used: its server has closed it or sent something."""
        ...

    async def receive(self, deadline: float) -> bytes | None:
        """Return received bytes; empty if the server has closed, None if nothing arrived in time."""
        ...

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        """Send `data` while `listen` runs; return whether all of it was sent when `listen` returned.

        A server may respond before it has read the request, and then stop reading. So the outcome is that of
        `listen`, and a failure to send is ignored.
        """
        ...

    async def send(self, data: bytes) -> None:
        """Send `data` as soon as the server reads it. After a cancellation the connection is unusable."""
        ...

    def close(self) -> None:
        """Close the connection immediately, also during another call."""
        ...
