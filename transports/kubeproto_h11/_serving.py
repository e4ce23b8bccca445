"""`serve_requests`: the requests of one connection, one after the other, on any event loop.

A server brings a `Channel` (receive and send, with its own timeouts) and a handler; API, health and metrics
are served by this one loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from kubeproto.wire import Head, Headers

from ._request_reader import RequestRefused
from ._server import ServerConnection

Send: TypeAlias = Callable[[bytes], Awaitable[None]]


class Channel(Protocol):
    """The bytes of one connection."""

    async def receive(self) -> bytes:
        """Wait for bytes; return none when the client has closed, or has been silent for too long."""
        ...

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        ...


class Response(Struct, frozen=True):
    """What a handler returns. `stream` sends a body in pieces, each as one chunk, instead of `body`."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    stream: Callable[[Send], Awaitable[None]] | None = None
    switch: Callable[[bytes], Awaitable[None]] | None = None
    """For a 101: uses the other protocol on the channel, given the bytes of it that have arrived already."""


Handler: TypeAlias = Callable[[Head], Awaitable[Response]]


async def serve_requests(channel: Channel, connection: ServerConnection, handler: Handler) -> None:
    """Respond to the requests of a connection until it ends."""
    try:
        while not connection.closing:
            request = await _next_request(channel, connection)
            if request is None:
                return
            response = await handler(request)
            if response.switch is not None:
                await channel.send(connection.switch(response.headers))
                await response.switch(connection.rest)
                return
            await _send(channel, connection, response)
    except RequestRefused as refused:
        await channel.send(connection.refuse(refused))


async def _next_request(channel: Channel, connection: ServerConnection) -> Head | None:
    while (request := connection.next_request()) is None:
        if interim := connection.outgoing:
            await channel.send(interim)
        data = await channel.receive()
        connection.feed(data)
        if not data:
            return connection.next_request()
    return request


async def _send(channel: Channel, connection: ServerConnection, response: Response) -> None:
    if response.stream is None:
        await channel.send(connection.respond(response.status, response.headers, response.body))
        return

    async def send(piece: bytes) -> None:
        if data := connection.send(piece):
            await channel.send(data)

    await channel.send(connection.start(response.status, response.headers))
    await response.stream(send)
    await channel.send(connection.finish())
