"""The distribution of endpoints over slices, with as few changed slices as possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from kubeproto.objects import copy_json

from ..objects._object_client import Json

MAX_ENDPOINTS: Final = 100  # in a slice


class SliceChanges(Struct):
    """The changes to the slices of a Service. An update is a pair: the present slice and its new content."""

    create: list[Json] = field(default_factory=list[Json])
    update: list[tuple[Json, Json]] = field(default_factory=list[tuple[Json, Json]])
    delete: list[Json] = field(default_factory=list[Json])


def pack(
    changes: SliceChanges,
    existing: list[Json],
    desired: dict[bytes, Json],
    empty_slice: Json,
    labels: dict[str, str],
    identity: Callable[[Json], bytes],
) -> None:
    """Distribute the desired endpoints of a set of ports over its slices, and add the changes."""
    unchanged: list[Json] = []
    changed: list[tuple[Json, Json]] = []
    for slice_ in existing:
        present: list[Json] = slice_.get("endpoints") or []
        staying = [new for old in present if (new := desired.pop(identity(old), None)) is not None]
        if staying == present and slice_["metadata"].get("labels") == labels:
            unchanged.append(slice_)
        elif not staying and present:
            changes.delete.append(slice_)
        else:
            changed.append((slice_, _with_endpoints(slice_, staying, labels)))
    unplaced = list(desired.values())
    for _, slice_ in sorted(changed, key=lambda pair: -len(pair[1]["endpoints"])):
        _fill(slice_, unplaced)
    while unplaced:
        target = _fullest_with_room(unchanged, len(unplaced)) if len(unplaced) < MAX_ENDPOINTS else None
        if target is not None:
            unchanged.remove(target)
            filled = _with_endpoints(target, target.get("endpoints") or [], labels)
            _fill(filled, unplaced)
            changed.append((target, filled))
        else:
            new_slice: Json = copy_json(empty_slice)
            _fill(new_slice, unplaced)
            changes.create.append(new_slice)
    changes.update += changed


def _with_endpoints(slice_: Json, endpoints: list[Json], labels: dict[str, str]) -> Json:
    return {**slice_, "endpoints": list(endpoints), "metadata": {**slice_["metadata"], "labels": labels}}


def _fill(slice_: Json, unplaced: list[Json]) -> None:
    room = MAX_ENDPOINTS - len(slice_["endpoints"])
    slice_["endpoints"] += unplaced[:room]
    del unplaced[:room]


def _fullest_with_room(slices: list[Json], count: int) -> Json | None:
    """Return the fullest slice with room for this many more endpoints."""

    def size(slice_: Json) -> int:
        return len(slice_.get("endpoints") or [])

    return max((each for each in slices if size(each) + count <= MAX_ENDPOINTS), key=size, default=None)
