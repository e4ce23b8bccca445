"""How a Deployment that is scaled during a rollout distributes its pods among its ReplicaSets."""

from __future__ import annotations

from ...storage._json_values import member
from ..facts._amounts import rounded
from ..facts._objects import Json
from ..facts._pods import created
from ..facts._revisions import MAXIMUM, size_noted
from ._deployment_status import limits, replicas_of


def sizes_in_proportion(deployment: Json, active: list[Json]) -> list[tuple[Json, int]]:
    """Return the new size of each of the ReplicaSets with pods, the largest first."""
    wanted = replicas_of(deployment)
    allowed = wanted + limits(deployment)[0] if wanted else 0
    missing = allowed - sum(map(replicas_of, active))
    newer_first = missing > 0
    in_order = sorted(active, key=lambda one: one["metadata"]["name"])
    in_order.sort(key=lambda one: created(one)[0], reverse=newer_first)
    in_order.sort(key=replicas_of, reverse=True)
    sizes: list[int] = []
    added = 0
    for one in in_order:
        part = _part(deployment, one, missing, added)
        sizes.append(replicas_of(one) + part)
        added += part
    if sizes and missing:
        sizes[0] = max(sizes[0] + missing - added, 0)
    return list(zip(in_order, sizes, strict=True))


def _part(deployment: Json, one: Json, missing: int, added: int) -> int:
    """Return how many of the missing or surplus pods fall to a set."""
    if not missing or missing == added:
        return 0
    fraction = _fraction(deployment, one)
    return min(fraction, missing - added) if missing > 0 else max(fraction, missing - added)


def _fraction(deployment: Json, one: Json) -> int:
    size, wanted = replicas_of(one), replicas_of(deployment)
    if not wanted:
        return -size
    before = size_noted(one, MAXIMUM) or member(deployment, "status").get("replicas", 0)
    if not before:
        return 0
    return rounded(size * (wanted + limits(deployment)[0]) / before) - size
