"""`OpenStream`: a streamed response, as chunks of HTTP or as messages of a WebSocket."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from kubeproto_sim import Stream

    from ._socket_channel import SocketChannel


class OpenStreams(Protocol):
    """The open streams of a service."""

    streams: set[OpenStream]

    @property
    def closing(self) -> bool:
        """Whether the service closes its streams, including new streams."""
        ...


class OpenStream:
    """A streamed response body, which is sent as its bytes arrive."""

    def __init__(self, body: Stream, channel: SocketChannel, service: OpenStreams) -> None:
        self._body = body
        self._channel = channel
        self._service = service
        self._arrival = anyio.Event()
        self._closed = service.closing
        body.wake = self._wake
        service.streams.add(self)

    def close(self) -> None:
        """Close the stream."""
        self._closed = True
        self._body.close()
        self._arrival.set()

    async def send_all(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send bytes as they arrive, until the end of the stream or until the client closes."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._await_hang_up, tasks.cancel_scope)
                await self._send(send)
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            error = group.exceptions[0]
        else:
            return
        finally:
            self._service.streams.discard(self)
            self._body.wake = None
            self._body.close()
        raise error  # outside of the handler, so that the group is not its context

    async def _send(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        while True:
            self._arrival = anyio.Event()
            if data := self._body.take():
                await send(data)
            elif self._body.ended or self._closed:
                return
            else:
                await self._arrival.wait()

    async def _await_hang_up(self, scope: anyio.CancelScope) -> None:
        await self._channel.hung_up()
        scope.cancel()

    def _wake(self) -> None:
        self._arrival.set()


async def send_over_websocket(stream: OpenStream, channel: SocketChannel, received: bytes) -> None:
    """Send each line of a stream as a text message, as a server sends a watch to a browser.

    Input of the client is read only to notice that it closes. Pings are neither sent nor replied to, because
    the events and bookmarks of a watch show that the server is alive.
    """
    from kubeproto_h11 import WebSocketFraming

    framing = WebSocketFraming(received, server=True)

    async def send(data: bytes) -> None:
        for line in data.splitlines():
            await channel.send(framing.send_text(line.decode()))

    await stream.send_all(send)
    await channel.send(framing.close())
