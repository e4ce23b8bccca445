"""Strays: cancellations that nobody meant for the task in which they come out.

On asyncio, who awaits something that somebody has cancelled is thrown the same error as who is cancelled. A
task group takes it for the latter: it ends all its tasks, and raises nothing.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def is_stray() -> bool:
    """Whether a cancellation that has come out here is none of the scopes around."""
    return anyio.current_effective_deadline() != -inf


async def complain(work: Callable[..., Awaitable[Any]], *args: object) -> None:
    """Do the work; one that is ended by a stray has failed."""
    try:
        await work(*args)
    except anyio.get_cancelled_exc_class() as error:
        if not is_stray():
            raise
        raise RuntimeError(f"what {work!r} waited for was cancelled") from error
