"""Errors that a task group or an event loop would misinterpret.

- On asyncio, a task that awaits a cancelled future gets the same error as a cancelled task. So does a
function
  of the user that calls `result()` of a cancelled future. A task group would treat the task as cancelled: it
  cancels all its tasks and raises nothing. Such a cancellation is stray: no surrounding scope was cancelled.
- On asyncio, SystemExit and KeyboardInterrupt in a task other than the main task stop the event loop
  immediately, without cleanup: the lease would not be released. So the task raises `ExitRequested`, which
  reaches the task that runs the operator.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, cast

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator


class ExitRequested(BaseException):
    """A task raised SystemExit or KeyboardInterrupt, which is the cause of this error."""


def is_cancelled() -> bool:
    """Return whether a scope around the current task has been cancelled."""
    return anyio.current_effective_deadline() == -inf


def failures() -> tuple[type[BaseException], ...]:
    """Return the errors that are failures of a synchronous function.

    They include cancellations: a synchronous function cannot be cancelled, so these are stray.
    """
    return Exception, anyio.get_cancelled_exc_class()


def failure_of(error: BaseException) -> Exception:
    """Return the error of a failed reconcile, also for a stray cancellation; raise any other cancellation."""
    if isinstance(error, Exception):
        return error
    if is_cancelled():
        raise error
    failure = RuntimeError("the reconcile awaited something that was cancelled")
    failure.__cause__ = error
    return failure


async def supervise(work: Callable[..., Awaitable[Any]], *args: object) -> None:
    """Do the work of a task. Raise RuntimeError if a stray cancellation ends it."""
    try:
        await work(*args)
    except anyio.get_cancelled_exc_class() as error:
        if is_cancelled():
            raise
        raise RuntimeError(f"{work!r} awaited something that was cancelled") from error
    except (SystemExit, KeyboardInterrupt) as error:
        raise ExitRequested from error


def only_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error in a group; if it contains several, return a flat group of them."""
    leaves = list(_leaves(group))
    for error in leaves:
        if isinstance(error, ExitRequested) and error.__cause__ is not None:
            return error.__cause__  # SystemExit or KeyboardInterrupt: the task group has cleaned up before
    # A task that awaited a failed task raises the error of that task again.
    errors = [error for error in leaves if error.__cause__ not in leaves] or leaves
    return errors[0] if len(errors) == 1 else BaseExceptionGroup("several parts have failed", errors)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Generator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error
