"""`spawn`: a task whose lifetime is independent of the caller's tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import anyio

from ._event_loop import event_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# An event loop holds its tasks by weak references only.
_TASKS: Final[set[Any]] = set()


class Background:
    """A task that was spawned, until `stop`."""

    def __init__(self) -> None:
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do the work."""
        try:
            with self._scope:
                await work()
        finally:
            self._ended.set()

    async def stop(self) -> None:
        """Cancel it, and wait until it has ended."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._ended.wait()


def spawn(work: Callable[[], Awaitable[object]]) -> Background:
    """Start a task for some work, which must not raise.

    A task group would have to be entered by the task that enters the transport, which then could not be
    entered in one task and left in another, and every error in its context would come out in a group.
    """
    background = Background()
    if event_loop() == "trio":
        import trio

        trio.lowlevel.spawn_system_task(background.run, work)
    else:
        task = asyncio.get_running_loop().create_task(background.run(work))
        _TASKS.add(task)
        task.add_done_callback(_TASKS.discard)
    return background
