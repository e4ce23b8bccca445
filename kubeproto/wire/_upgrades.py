"""Requests that become WebSockets, and the interface to transports that can send them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .._errors import RemoteProtocolError
from ._responses import header, refusal
from ._transport import Headers, RawRequest

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from .._api_errors import ApiError


class UpgradeRequest(RawRequest, frozen=True, kw_only=True):
    """A request that becomes a WebSocket.

    The transport does the handshake, and offers `protocols`, best first.
    """

    verb: str
    protocols: tuple[str, ...]

    __repr__ = RawRequest.__repr__

    def accepted(self, headers: Headers) -> str:
        """Return the protocol that a 101 chose; raise `RemoteProtocolError` if it was not offered."""
        chosen = header(headers, "sec-websocket-protocol")
        if chosen not in self.protocols:
            offered = ", ".join(self.protocols)
            raise RemoteProtocolError(f"{self.label}: the server chose {chosen!r}, not one of {offered}")
        return chosen

    def refused(self, status: int, headers: Headers, body: bytes) -> ApiError:
        """Return the error of a response that is not a 101."""
        if status < 400:
            raise RemoteProtocolError(f"{self.label}: the response is {status}, not 101")
        return refusal(self, status, headers, body)


class WebSocket(Protocol):
    """Messages in both directions. One task at a time receives; others may send meanwhile."""

    @property
    def protocol(self) -> str:
        """The subprotocol that the server chose."""
        ...

    async def receive(self) -> bytes | None:
        """Return the next message; None after the server closed the connection normally."""
        ...

    async def send(self, message: bytes) -> None:
        """Send a message, as soon as the server accepts it."""
        ...


class Upgrader(Protocol):
    """Turns a request into a WebSocket, which is closed when its context exits.

    `timeout` limits the handshake, `idle` the time between received bytes after it; a live server responds to
    the pings in between. A refusal raises an `ApiError`.
    """

    def upgrade(
        self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[WebSocket]:
        """Send the request and wait until the server accepts it."""
        ...
