"""`spawn`: a task whose lifetime is independent of the caller's tasks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import anyio

from ._event_loop import event_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

# asyncio references its tasks weakly: without this reference, a task could be deleted while it runs.
_TASKS: Final[set[Any]] = set()


class Background:
    """A task that runs in the background until its work ends or `stop` is called."""

    def __init__(self) -> None:
        self._scope = anyio.CancelScope()
        self._finished = anyio.Event()

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do the work in the current task."""
        try:
            with self._scope:
                await work()
        finally:
            self._finished.set()

    async def stop(self) -> None:
        """Cancel the task, and wait until it has ended."""
        self._scope.cancel()
        with anyio.CancelScope(shield=True):
            await self._finished.wait()


def spawn(work: Callable[[], Awaitable[object]]) -> Background:
    """Start a task for work that must not raise.

    A task group would restrict the transport that enters it: the transport could not be entered in one task
    and exited in another, and every error inside of its context would be raised as an exception group.
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
