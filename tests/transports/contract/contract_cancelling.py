"""Cancel a coroutine at its n-th wait, on asyncio and on trio.

The coroutine is stepped by hand: it waits each time it yields to the event loop. At the requested wait the
task is cancelled by the method of its loop, before the loop receives the wait. So the cancellation arrives
exactly there, and a test can try every wait in turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from contract_transports import current_loop


async def cancelled_at(number: int, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    """Run the coroutine and cancel it at the wait of this number, from 0. Return False if it has fewer
    waits.
    """
    if current_loop() == "trio":
        return await _on_trio(number, work)
    return await _on_asyncio(number, work)


class _Stepped:
    def __init__(self, work: Coroutine[Any, Any, None], number: int, cancel: Callable[[], object]) -> None:
        self.reached = False
        self._work = work
        self._number = number
        self._cancel = cancel

    def __await__(self) -> Generator[Any, Any, None]:
        waits = 0
        step = _bound(self._work.send, None)
        while True:
            try:
                yielded = step()
            except StopIteration:
                return
            if waits == self._number:
                self.reached = True
                self._cancel()
            waits += 1
            try:
                value = yield yielded
            except BaseException as error:
                step = _bound(self._work.throw, error)
            else:
                step = _bound(self._work.send, value)


def _bound(function: Callable[[Any], Any], argument: object) -> Callable[[], Any]:
    return lambda: function(argument)


async def _on_trio(number: int, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    import trio

    scope = trio.CancelScope()
    stepped = _Stepped(work(), number, scope.cancel)
    with scope:
        await stepped
    return stepped.reached


async def _on_asyncio(number: int, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
    reached = False

    async def run() -> None:
        nonlocal reached
        task = asyncio.current_task()
        assert task is not None
        stepped = _Stepped(work(), number, task.cancel)
        try:
            await stepped
        finally:
            reached = stepped.reached

    try:
        await asyncio.create_task(run())
    except asyncio.CancelledError:
        assert reached
    return reached
