"""`serve_requests`: the requests of a connection, one after the other, on any event loop.

A server supplies a `Channel` (receive and send, with its own timeouts) and a handler. The simulated API,
health pages, metrics and webhooks are all served by this loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from msgspec import Struct

from kubeproto.wire import Headers, RawRequest

from ._request_reader import RequestRefused
from ._server_connection import ServerConnection

Send: TypeAlias = Callable[[bytes], Awaitable[None]]


class Channel(Protocol):
    """The bytes of a connection."""

    async def receive(self) -> bytes:
        """Wait for bytes; return none when the client has closed, or has been silent for too long."""
        ...

    async def send(self, data: bytes) -> None:
        """Send all of `data`."""
        ...


class Response(Struct, frozen=True):
    """A response of a handler. `stream` replaces `body`: it sends the body in parts, each as a chunk."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    stream: Callable[[Send], Awaitable[None]] | None = None
    switch: Callable[[bytes], Awaitable[None]] | None = None
    """For a 101: speaks the other protocol on the channel; its argument are the bytes received so far."""


Handler: TypeAlias = Callable[[RawRequest], Awaitable[Response]]


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
                await response.switch(connection.trailing_data)
                return
            await _send(channel, connection, response)
    except RequestRefused as refusal:
        await channel.send(connection.refuse(refusal))


async def _next_request(channel: Channel, connection: ServerConnection) -> RawRequest | None:
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

    async def send(data: bytes) -> None:
        if framed := connection.send(data):
            await channel.send(framed)

    await channel.send(connection.start(response.status, response.headers))
    await response.stream(send)
    await channel.send(connection.finish())
