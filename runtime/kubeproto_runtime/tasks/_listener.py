"""`accept`: handles each connection of a port in a task. No error of a connection ends the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ._error_texts import log_failure
from ._stray_cancellations import failure_types, is_cancelled

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable

    from anyio.abc import Listener, SocketStream

# Seconds between a failure to accept and the next attempt. Servers in Go wait for at most a second.
_PAUSE: Final = 1.0


async def accept(
    listener: Listener[SocketStream],
    handle: Callable[[SocketStream], Awaitable[None]],
    port: str,
    log: logging.Logger,
) -> None:
    """Handle each connection in a task, until cancelled. `port` is the name of the port in log lines."""

    async def attempt(stream: SocketStream) -> None:
        try:
            await handle(stream)
        except failure_types() as error:
            if is_cancelled():
                raise
            log_failure(log, "a request to the %s port failed", port, error=error)

    async with anyio.create_task_group() as tasks:
        while True:
            try:
                await listener.serve(attempt, tasks)
            except (OSError, anyio.BrokenResourceError) as error:
                # File descriptors (EMFILE, ENFILE) or memory have run out, which may be temporary.
                log.warning("the %s port cannot accept connections, retried in %g s: %s", port, _PAUSE, error)
                await anyio.sleep(_PAUSE)
