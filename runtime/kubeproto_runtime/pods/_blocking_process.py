"""`BlockingProcess`: a command in a container, for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from kubeproto.streams import CommandEvent, Exited, Process


class BlockingProcess:
    """Iterate over what the command writes, and how it ended; meanwhile another thread may write to it.

    It is a `kubeproto.streams.Process` whose methods block.
    """

    def __init__(self, portal: BlockingPortal, process: Process) -> None:
        self._portal = portal
        self._process = process

    @property
    def exited(self) -> Exited | None:
        """How it ended; None until that has been read."""
        return self._process.exited

    def write(self, data: bytes) -> None:
        """Write to the command's stdin."""
        self._portal.call(self._process.write, data)

    def end_stdin(self) -> None:
        """End its stdin, as a closed pipe would; a `LocalProtocolError` where the server knows only v4."""
        self._portal.call(self._process.end_stdin)

    def resize(self, width: int, height: int) -> None:
        """Tell it that its terminal has another size."""
        self._portal.call(self._process.resize, width, height)

    def wait(self) -> Exited:
        """Read until it has ended; output that it still writes is dropped."""
        return self._portal.call(self._process.wait)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> CommandEvent:
        event = self._portal.call(self._next)
        if event is None:
            raise StopIteration
        return event

    async def _next(self) -> CommandEvent | None:
        async for event in self._process:
            return event
        return None  # a StopAsyncIteration would not get through the portal
