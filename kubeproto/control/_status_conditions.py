"""`set_condition`: updates the conditions of a status only where they differ.

A controller that finds everything in order therefore writes nothing, and two controllers do not react to each
other's writes forever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from datetime import datetime


class ConditionLike(Protocol):
    """A condition of any kind: metav1's, or that of a custom resource."""

    @property
    def type(self) -> str:
        """Its type, such as Ready."""
        ...

    @property
    def status(self) -> str:
        """True, False or Unknown."""
        ...

    last_transition_time: datetime | None


C = TypeVar("C", bound=ConditionLike)


def set_condition(conditions: list[C], condition: C, *, now: datetime) -> bool:
    """Add a condition to the list, or replace the condition of its type; return whether anything changed.

    The transition time of the old condition is copied while the status stays the same. When the status
    changes, it is the time in the new condition, or `now` if that has none. All other fields are those of the
    new condition, such as the observed generation.
    """
    old = next((existing for existing in conditions if existing.type == condition.type), None)
    if old is not None and old.status == condition.status:
        condition.last_transition_time = old.last_transition_time or condition.last_transition_time or now
    elif condition.last_transition_time is None:
        condition.last_transition_time = now
    if old is None:
        conditions.append(condition)
        return True
    conditions[conditions.index(old)] = condition
    return old != condition
