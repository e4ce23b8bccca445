"""Tasks that must not end unnoticed: what a task group, or an event loop, would take for something else.

- On asyncio, a task that awaits something cancelled gets the same error as one that is itself cancelled. A
  task group takes it for the latter: it ends all its tasks, and raises nothing. The same error comes out of a
  function of the user's that asks a cancelled future for its result.
- On asyncio, SystemExit and KeyboardInterrupt in any task but the main one leave the event loop at once, and
  nothing is cleaned up in order: a lease stays held. So they travel as `Exiting` to the task that runs the
  operator.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class Exiting(BaseException):
    """A task has raised SystemExit or KeyboardInterrupt, which is the cause of this."""


def is_cancelled() -> bool:
    """Return whether the current task is being cancelled, by whichever scope around it."""
    return anyio.current_effective_deadline() == -inf


def is_stray() -> bool:
    """Return whether a cancellation that has come out here belongs to none of the scopes around."""
    return not is_cancelled()


def failures() -> tuple[type[BaseException], ...]:
    """Return what counts as a failure of a function that is not a coroutine: it cannot be cancelled."""
    return Exception, anyio.get_cancelled_exc_class()


def failure_of(error: BaseException) -> Exception:
    """Return the error of a run that failed. A stray cancellation is one; any other is raised."""
    if isinstance(error, Exception):
        return error
    if not is_stray():
        raise error
    stray = RuntimeError("what the reconcile waited for was cancelled")
    stray.__cause__ = error
    return stray


async def complain(work: Callable[..., Awaitable[Any]], *args: object) -> None:
    """Do the work of a task; if a stray cancellation ends it, it has failed."""
    try:
        await work(*args)
    except anyio.get_cancelled_exc_class() as error:
        if not is_stray():
            raise
        raise RuntimeError(f"what {work!r} waited for was cancelled") from error
    except (SystemExit, KeyboardInterrupt) as error:
        raise Exiting from error
