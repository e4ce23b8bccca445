"""The error with which an operator ends, found in the groups of its task groups."""

from __future__ import annotations

from collections.abc import Generator

from ..tasks._stray_cancellations import Exiting


def only_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the one error in a group; if there are several, a group of them."""
    found = list(_leaves(group))
    for error in found:
        if isinstance(error, Exiting) and error.__cause__ is not None:
            return error.__cause__  # SystemExit or KeyboardInterrupt: everything has been cleaned up by now
    # A task that waited for one that failed raises the same error once more.
    errors = [error for error in found if error.__cause__ not in found] or found
    return errors[0] if len(errors) == 1 else BaseExceptionGroup("several parts have failed", errors)


def _leaves(group: BaseExceptionGroup[BaseException]) -> Generator[BaseException]:
    for error in group.exceptions:
        match error:
            case BaseExceptionGroup():
                yield from _leaves(error)
            case _:
                yield error
