"""The sizes of the ReplicaSets of a Deployment: its replicas, its surge, and proportions during a rollout."""

from __future__ import annotations

from ...storage._json_values import member
from ..objects._object_client import Json
from ..objects._replica_counts import resolve_percentage
from ..objects._status_conditions import age_order
from ._deployment_revisions import MAX_REPLICAS, annotated_size


def replicas_of(obj: Json) -> int:
    """Return the replicas in the spec of an object."""
    replicas: int = obj["spec"].get("replicas", 1)
    return replicas


def is_rolling(deployment: Json) -> bool:
    """Return whether the strategy of a Deployment is RollingUpdate."""
    return bool(member(deployment["spec"], "strategy").get("type") == "RollingUpdate")


def rolling_limits(deployment: Json) -> tuple[int, int]:
    """Return how many pods may be surplus, and how many may be unavailable."""
    if not is_rolling(deployment):
        return 0, 0
    replicas = replicas_of(deployment)
    rolling = member(member(deployment["spec"], "strategy"), "rollingUpdate")
    surge = resolve_percentage(rolling.get("maxSurge"), replicas, round_up=True)
    unavailable = resolve_percentage(rolling.get("maxUnavailable"), replicas, round_up=False)
    if not surge and not unavailable:
        unavailable = 1  # both were rounded to 0: without this the rollout would never progress
    return surge, min(unavailable, replicas)


def sizes_in_proportion(deployment: Json, active: list[Json]) -> list[tuple[Json, int]]:
    """Return the new size of each of the ReplicaSets with pods, the largest set first."""
    replicas = replicas_of(deployment)
    total = replicas + rolling_limits(deployment)[0] if replicas else 0
    missing = total - sum(map(replicas_of, active))
    newer_first = missing > 0
    in_order = sorted(active, key=lambda replicaset: replicaset["metadata"]["name"])
    in_order.sort(key=lambda replicaset: age_order(replicaset)[0], reverse=newer_first)
    in_order.sort(key=replicas_of, reverse=True)
    sizes: list[int] = []
    added = 0
    for replicaset in in_order:
        share = _share_of(deployment, replicaset, missing, added)
        sizes.append(replicas_of(replicaset) + share)
        added += share
    if sizes and missing:
        sizes[0] = max(sizes[0] + missing - added, 0)
    return list(zip(in_order, sizes, strict=True))


def round_half_away(value: float) -> int:
    """Return the nearest whole number; halves go away from zero, as in Go."""
    return int(value - 0.5) if value < 0 else int(value + 0.5)


def _share_of(deployment: Json, replicaset: Json, missing: int, added: int) -> int:
    """Return how many of the missing or surplus pods a ReplicaSet takes."""
    if not missing or missing == added:
        return 0
    change = _proportional_change(deployment, replicaset)
    return min(change, missing - added) if missing > 0 else max(change, missing - added)


def _proportional_change(deployment: Json, replicaset: Json) -> int:
    size, replicas = replicas_of(replicaset), replicas_of(deployment)
    if not replicas:
        return -size
    previous_total = annotated_size(replicaset, MAX_REPLICAS) or member(deployment, "status").get(
        "replicas", 0
    )
    if not previous_total:
        return 0
    return round_half_away(size * (replicas + rolling_limits(deployment)[0]) / previous_total) - size
