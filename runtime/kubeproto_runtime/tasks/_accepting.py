"""`accept`: the connections of a port, each in a task; none of them ends the program that listens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ._stray_cancellations import failures, is_cancelled

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable

    from anyio.abc import Listener, SocketStream

# Seconds until it accepts again after the system refused. Go's servers wait for a second at most.
_PAUSE: Final = 1.0


async def accept(
    listener: Listener[SocketStream],
    handle: Callable[[SocketStream], Awaitable[None]],
    port: str,
    log: logging.Logger,
) -> None:
    """Handle each connection in a task, until cancelled. `port` is what the log calls the port."""

    async def attempt(stream: SocketStream) -> None:
        try:
            await handle(stream)
        except failures():
            if is_cancelled():
                raise
            log.exception("a request to the %s port failed", port)

    async with anyio.create_task_group() as tasks:
        while True:
            try:
                await listener.serve(attempt, tasks)
            except (OSError, anyio.BrokenResourceError) as error:
                # File descriptors have run out (EMFILE, ENFILE), or memory has: both may pass.
                log.warning("the %s port cannot accept connections, retried in %g s: %s", port, _PAUSE, error)
                await anyio.sleep(_PAUSE)
