"""What a reconcile returns when it succeeds: another call after a time, or only when something changes."""

from __future__ import annotations

from math import isfinite
from typing import Final, TypeAlias

from msgspec import Struct


class Requeue(Struct, frozen=True, gc=False):
    """Call again after this many seconds, or sooner if something changes.

    `priority` changes its priority in the queue.
    """

    after: float
    priority: int | None = None


class AwaitChange(Struct, frozen=True, gc=False):
    """Call again when something changes, and not before."""


Action: TypeAlias = Requeue | AwaitChange

_AWAIT_CHANGE: Final = AwaitChange()


def requeue(*, after: float, priority: int | None = None) -> Action:
    """Call again after this many seconds; ValueError if the number is negative or not finite."""
    if not (isfinite(after) and after >= 0.0):
        raise ValueError(f"requeue after {after!r}: the seconds must be finite and not negative")
    return Requeue(float(after), priority)


def await_change() -> Action:
    """Call again when something changes."""
    return _AWAIT_CHANGE
