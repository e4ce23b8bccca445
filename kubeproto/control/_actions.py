"""The result of a successful reconcile: when to run it next."""

from __future__ import annotations

from math import isfinite
from typing import Final

from msgspec import Struct


class Action(Struct, frozen=True, gc=False):
    """When a reconcile that has succeeded is called again; `requeue` and `await_change` return it.

    A change of the object always calls again. `requeue_after` is the number of seconds after which the
    object is reconciled even without a change, or None. `priority` is that of the requeued key.
    """

    requeue_after: float | None = None
    priority: int | None = None


_AWAIT_CHANGE: Final = Action()


def requeue(*, after: float, priority: int | None = None) -> Action:
    """Call again after this many seconds, or sooner if something changes.

    `priority` replaces the key's priority in the queue. ValueError if `after` is negative or not finite.
    """
    if not (isfinite(after) and after >= 0.0):
        raise ValueError(f"requeue after {after!r}: the seconds must be finite and not negative")
    return Action(float(after), priority)


def await_change() -> Action:
    """Call again when something changes, and not before."""
    return _AWAIT_CHANGE
