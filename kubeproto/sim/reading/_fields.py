"""Field selectors on stored objects: which fields a kind can be asked for, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...objects import FieldSelector
from .._refusals import Rejection, bad_request, quoted
from ..kinds._kinds import Served
from ..storage._storage import Stored
from ..storage._values import is_map
from ._query import ListQuery

Matches = Callable[[Stored], bool]

_EVERYWHERE: Final = ("metadata.name", "metadata.namespace")


def check_fields(served: Served, selector: FieldSelector | None) -> None:
    """Refuse a selector on a field that this kind does not index."""
    for requirement in selector.requirements if selector else ():
        if requirement.path in _EVERYWHERE or requirement.path in served.fields:
            continue
        raise _unsupported(served, requirement.path)


def _unsupported(served: Served, path: str) -> Rejection:
    if served.custom or served.fields:
        return bad_request(f"field label not supported: {path}")
    known = ", ".join(quoted(name) for name in _EVERYWHERE)
    return bad_request(f"{quoted(path)} is not a known field selector: only {known}")


def matcher(options: ListQuery) -> Matches | None:
    """Whether an object is meant; None if all are."""
    labels, fields = options.labels, options.fields
    if labels is None and fields is None:
        return None
    # The one name that a field selector pins is by far the most frequent selector of all.
    if labels is None and fields is not None and len(fields.requirements) == 1:
        [only] = fields.requirements
        if only.path == "metadata.name" and only.operator == "=":
            name = only.value
            return lambda stored: stored.name == name
    if fields is None:
        assert labels is not None  # both are None above
        return lambda stored: labels.matches(stored.labels)
    return lambda stored: (
        (labels is None or labels.matches(stored.labels)) and fields.matches(_values(fields, stored))
    )


def _values(selector: FieldSelector, stored: Stored) -> dict[str, str]:
    values = {"metadata.name": stored.name, "metadata.namespace": stored.namespace}
    if all(requirement.path in values for requirement in selector.requirements):
        return values
    obj = msgspec.json.decode(stored.data)
    for requirement in selector.requirements:
        if requirement.path not in values:
            values[requirement.path] = _text(obj, requirement.path)
    return values


def _text(obj: Any, path: str) -> str:
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if is_map(value) else None
    if value is None:
        # Go's zero values: a boolean that is not there has one.
        return "false" if path.endswith(("hostNetwork", "unschedulable")) else ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
