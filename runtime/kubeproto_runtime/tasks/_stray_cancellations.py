"""Errors that a task group, or an event loop, would take for something else.

- On asyncio, a task that awaits a cancelled future gets the same error as a task that is itself cancelled. A
  task group takes it for the latter: it cancels all its tasks, and raises nothing. A function of the user's
  that asks a cancelled future for its result raises the same error. Such a cancellation is stray: it belongs
  to none of the scopes around.
- On asyncio, SystemExit and KeyboardInterrupt in any task but the main one leave the event loop at once, and
  nothing is cleaned up in order: a lease stays held. So they travel as `Exiting` to the task that runs the
  operator.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, cast

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator


class Exiting(BaseException):
    """A task has raised SystemExit or KeyboardInterrupt, which is the cause of this."""


def is_cancelled() -> bool:
    """Return whether a scope around the current task has been cancelled."""
    return anyio.current_effective_deadline() == -inf


def failures() -> tuple[type[BaseException], ...]:
    """Return the errors that are failures of a plain function, which cannot be cancelled."""
    return Exception, anyio.get_cancelled_exc_class()


def failure_of(error: BaseException) -> Exception:
    """Return the error of a run that failed, also for a stray cancellation; raise any other cancellation."""
    if isinstance(error, Exception):
        return error
    if is_cancelled():
        raise error
    failure = RuntimeError("the reconcile awaited something that was cancelled")
    failure.__cause__ = error
    return failure


async def supervise(work: Callable[..., Awaitable[Any]], *args: object) -> None:
    """Do the work of a task. A stray cancellation that ends it is raised as a `RuntimeError`."""
    try:
        await work(*args)
    except anyio.get_cancelled_exc_class() as error:
        if is_cancelled():
            raise
        raise RuntimeError(f"{work!r} awaited something that was cancelled") from error
    except (SystemExit, KeyboardInterrupt) as error:
        raise Exiting from error


def only_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the one error in a group; if there are several, a group of them."""
    leaves = list(_leaves(group))
    for error in leaves:
        if isinstance(error, Exiting) and error.__cause__ is not None:
            return error.__cause__  # SystemExit or KeyboardInterrupt: everything has been cleaned up by now
    # A task that awaited another task raises the error of that task once more.
    errors = [error for error in leaves if error.__cause__ not in leaves] or leaves
    return errors[0] if len(errors) == 1 else BaseExceptionGroup("several parts have failed", errors)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Generator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error
