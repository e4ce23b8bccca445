"""Conditions in the status of an object, as JSON: find one, drop one, set one."""

from __future__ import annotations

from ...storage._json_values import listed
from ._objects import Json


def find_condition(status: Json, type_: str) -> Json | None:
    """Return a condition of a status; None if it has none of this type."""
    return next((one for one in listed(status, "conditions") if one.get("type") == type_), None)


def drop_condition(status: Json, type_: str) -> None:
    """Take a condition out of a status."""
    left = [one for one in listed(status, "conditions") if one["type"] != type_]
    if left:
        status["conditions"] = left
    else:
        status.pop("conditions", None)


def set_condition(status: Json, condition: Json) -> None:
    """Put a condition into a status, unless it has the same status and reason already."""
    current = find_condition(status, condition["type"])
    if current is not None and current["status"] == condition["status"]:
        if current.get("reason") == condition["reason"]:
            return
        condition["lastTransitionTime"] = current["lastTransitionTime"]
    drop_condition(status, condition["type"])
    status["conditions"] = [*listed(status, "conditions"), condition]
