"""`Process`: a command in a container, over any WebSocket. It awaits that, and knows no event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from ._commands import CommandChannels, CommandEvent, Exited

if TYPE_CHECKING:
    from ..wire import WebSocket


class Process:
    """Iterate over what the command writes, and how it ended; meanwhile another task may write to it.

    Nothing is read ahead: a slow reader slows the command down. A program that only writes should have a task
    that reads, or a command that responds may wait for it forever, and the server for a response to its
    pings.
    """

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._channels = CommandChannels(socket.protocol)

    @property
    def exited(self) -> Exited | None:
        """How it ended; None until that has been read."""
        return self._channels.exited

    async def write(self, data: bytes) -> None:
        """Write to the command's stdin."""
        for message in self._channels.stdin(data):
            await self._socket.send(message)

    async def end_stdin(self) -> None:
        """End its stdin, as a closed pipe would; a `LocalProtocolError` where the server knows only v4."""
        await self._socket.send(self._channels.end_stdin())

    async def resize(self, width: int, height: int) -> None:
        """Tell it that its terminal has another size."""
        await self._socket.send(self._channels.resize(width, height))

    async def wait(self) -> Exited:
        """Read until it has ended; output that it still writes is dropped."""
        while self.exited is None and await self._next() is not None:
            pass
        self._channels.close()
        assert self.exited is not None
        return self.exited

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> CommandEvent:
        event = await self._next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def _next(self) -> CommandEvent | None:
        while (message := await self._socket.receive()) is not None:
            if (event := self._channels.feed(message)) is not None:
                return event
        self._channels.close()
        return None
