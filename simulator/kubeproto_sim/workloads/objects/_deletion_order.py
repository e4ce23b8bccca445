"""The order in which surplus pods are deleted.

First those without a node; then pending before running, unready before ready, a low deletion cost before a
high one, pods that share their node with others of their kind, pods that have been ready for a shorter time,
pods with more restarts, and younger pods. Ages are compared by their order of magnitude; the uid decides
among pods of about the same age, which is practically random.
"""

from __future__ import annotations

from collections import Counter
from math import log2
from typing import Final

from ...storage._json_values import member, objects_in, seconds_of
from ._object_client import Json
from ._status_conditions import is_active, is_ready, phase, ready_since

_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS: Final = 1e9
Rank = tuple[int, int, int, int, int, int, int, int, str]


def in_order_of_deletion(pods: list[Json], related: list[Json], now: float) -> list[Json]:
    """Return pods in the order of their deletion; `related` includes the pods that may share a node."""
    pods_by_node = Counter(_node(pod) for pod in related if is_active(pod))
    return sorted(pods, key=lambda pod: _rank(pod, pods_by_node, now))


def _rank(pod: Json, pods_by_node: Counter[str], now: float) -> Rank:
    ready, since = is_ready(pod), ready_since(pod)
    return (
        1 if _node(pod) else 0,
        _PHASES.get(phase(pod), 0),
        1 if ready else 0,
        _cost(pod),
        -pods_by_node[_node(pod)],
        _magnitude(now - since) if since is not None else -2,
        -_restarts(pod),
        _magnitude(now - seconds_of(pod["metadata"]["creationTimestamp"])),
        pod["metadata"]["uid"],
    )


def _node(pod: Json) -> str:
    node: str = pod["spec"].get("nodeName") or ""
    return node


def _cost(pod: Json) -> int:
    text = member(pod["metadata"], "annotations").get(_COST, "0")
    try:
        return int(text)
    except ValueError:
        return 0


def _restarts(pod: Json) -> int:
    containers = objects_in(member(pod, "status"), "containerStatuses")
    return max((container.get("restartCount", 0) for container in containers), default=0)


def _magnitude(seconds: float) -> int:
    return int(log2(seconds * _NANOSECONDS)) if seconds > 0 else -1
