"""Errors that a task group or an event loop would misinterpret.

- On asyncio, a task that awaits a cancelled future gets the same error as a cancelled task. So does user
  code that calls `result()` on a cancelled future. A task group would treat the task as cancelled: it cancels
  all its tasks and raises nothing. Such a cancellation is stray: no surrounding scope was cancelled.
- Each event loop has its own class of cancellations. An error of asyncio's class is no cancellation on trio:
  a user function may raise it there, and it is a failure like any other.
- On asyncio, SystemExit and KeyboardInterrupt in a task other than the main task stop the event loop
  immediately, without cleanup: the lease would not be released. So the task raises `ExitRequested`, which
  reaches the task that runs the operator.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Any, cast

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Sequence


class ExitRequested(BaseException):
    """A task raised SystemExit or KeyboardInterrupt, which is the cause of this error."""


def is_cancelled() -> bool:
    """Return whether a scope around the current task has been cancelled."""
    return anyio.current_effective_deadline() == -inf


def failure_types() -> tuple[type[BaseException], ...]:
    """Return the errors that are failures of a synchronous function.

    They include cancellations: a synchronous function cannot be cancelled, so these are stray.
    """
    return Exception, asyncio.CancelledError, anyio.get_cancelled_exc_class()


def reconcile_error_types() -> tuple[type[BaseException], ...]:
    """Return the errors that may be failures of a reconcile: `failure_of` raises the others again."""
    return *failure_types(), BaseExceptionGroup


def failure_of(error: BaseException, function: str = "the reconcile") -> Exception:
    """Return the error of a failed reconcile, also for a stray cancellation.

    Raise any other cancellation, and a group that contains an error that ends the process.
    """
    if isinstance(error, Exception):
        return error
    cancelled_type = anyio.get_cancelled_exc_class() if is_cancelled() else ()
    if isinstance(error, cancelled_type):
        raise error
    if isinstance(error, BaseExceptionGroup):
        for leaf in _leaves(cast("BaseExceptionGroup[BaseException]", error)):
            if not isinstance(leaf, failure_types()) or isinstance(leaf, cancelled_type):
                raise error
    failure = RuntimeError(f"{function} awaited something that was cancelled")
    failure.__cause__ = error
    return failure


async def supervise(work: Callable[..., Awaitable[Any]], *args: object) -> None:
    """Do the work of a task. Raise RuntimeError if a stray cancellation ends it."""
    try:
        await work(*args)
    except (asyncio.CancelledError, anyio.get_cancelled_exc_class()) as error:
        if is_cancelled() and isinstance(error, anyio.get_cancelled_exc_class()):
            raise
        raise RuntimeError(f"{work!r} awaited something that was cancelled") from error
    except (SystemExit, KeyboardInterrupt) as error:
        raise ExitRequested from error


def only_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error in a group; if it contains several, return a flat group of them."""
    errors = root_errors(list(_leaves(group)))
    return errors[0] if len(errors) == 1 else BaseExceptionGroup("several parts have failed", errors)


def root_errors(errors: Sequence[BaseException]) -> Sequence[BaseException]:
    """Return the errors of tasks without those that only report the error of another task.

    A task that awaited a failed task raises an error with the error of that task as its cause. If a task
    requested the exit of the process, that request is the only root.
    """
    for error in errors:
        if type(error) is ExitRequested and error.__cause__ is not None:
            return [error.__cause__]  # SystemExit or KeyboardInterrupt: the task group has cleaned up before
    ids = set(map(id, errors))  # by id: user exceptions may define `__eq__`
    return [error for error in errors if id(error.__cause__) not in ids] or errors


def _leaves(group: BaseExceptionGroup[BaseException]) -> Generator[BaseException]:
    groups: list[BaseException] = [group]
    while groups:  # not recursive: the depth is the user's
        error = groups.pop()
        # `isinstance` would read `__class__`, which may be a failing property.
        if issubclass(type(error), BaseExceptionGroup):
            groups += reversed(cast("BaseExceptionGroup[BaseException]", error).exceptions)
        else:
            yield error
