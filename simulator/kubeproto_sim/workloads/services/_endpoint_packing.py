"""How endpoints are spread over slices with as few changes as possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from ...storage._json_values import copied
from ..facts._objects import Json

MOST: Final = 100  # endpoints in a slice


class Packing(Struct):
    """What is to be done to the slices of a Service. An update is a slice before and after."""

    create: list[Json] = field(default_factory=list[Json])
    update: list[tuple[Json, Json]] = field(default_factory=list[tuple[Json, Json]])
    delete: list[Json] = field(default_factory=list[Json])


def pack(
    result: Packing,
    existing: list[Json],
    wanted: dict[bytes, Json],
    new: Json,
    labels: dict[str, str],
    identity: Callable[[Json], bytes],
) -> None:
    """Spread the endpoints of one set of ports over its slices; `new` is a slice without any."""
    unchanged: list[Json] = []
    changed: list[tuple[Json, Json]] = []
    for one in existing:
        before: list[Json] = one.get("endpoints") or []
        kept = [endpoint for it in before if (endpoint := wanted.pop(identity(it), None)) is not None]
        if kept == before and one["metadata"].get("labels") == labels:
            unchanged.append(one)
        elif not kept and before:
            result.delete.append(one)
        else:
            changed.append((one, _with(one, kept, labels)))
    left = list(wanted.values())
    for _, one in sorted(changed, key=lambda pair: -len(pair[1]["endpoints"])):
        _fill(one, left)
    while left:
        target = _roomy(unchanged, len(left)) if len(left) < MOST else None
        if target is not None:
            unchanged.remove(target)
            filled = _with(target, target.get("endpoints") or [], labels)
            _fill(filled, left)
            changed.append((target, filled))
        else:
            made: Json = copied(new)
            _fill(made, left)
            result.create.append(made)
    result.update += changed


def _with(one: Json, endpoints: list[Json], labels: dict[str, str]) -> Json:
    return {**one, "endpoints": list(endpoints), "metadata": {**one["metadata"], "labels": labels}}


def _fill(one: Json, left: list[Json]) -> None:
    room = MOST - len(one["endpoints"])
    one["endpoints"] += left[:room]
    del left[:room]


def _roomy(slices: list[Json], count: int) -> Json | None:
    """Return the fullest slice that has room for this many more."""
    fitting = [one for one in slices if len(one.get("endpoints") or []) + count <= MOST]
    fitting = [one for one in fitting if one.get("endpoints")] or fitting
    return max(fitting, key=lambda one: len(one.get("endpoints") or []), default=None)
