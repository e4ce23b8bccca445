"""Which pods are deleted first when there are too many.

Not yet on a node; pending before running; not ready; cheap to delete; with others of their kind on the node;
ready for a shorter time; restarted more often; younger. Ages are compared by their order of magnitude, so the
uid decides among pods of about the same age, which is practically random.
"""

from __future__ import annotations

from collections import Counter
from math import log2
from typing import Final

from ...storage._json_values import listed, member, seconds_of
from ._objects import Json
from ._pods import is_active, is_ready, phase, ready_since

_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS: Final = 1e9
Rank = tuple[int, int, int, int, int, int, int, int, str]


def in_order_of_deletion(pods: list[Json], related: list[Json], now: float) -> list[Json]:
    """Return pods in the order of their deletion. `related` are all that may share a node with them."""
    crowds = Counter(_node(pod) for pod in related if is_active(pod))
    return sorted(pods, key=lambda pod: _rank(pod, crowds, now))


def _rank(pod: Json, crowds: Counter[str], now: float) -> Rank:
    ready, since = is_ready(pod), ready_since(pod)
    return (
        1 if _node(pod) else 0,
        _PHASES.get(phase(pod), 0),
        1 if ready else 0,
        _cost(pod),
        -crowds[_node(pod)],
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
    return max(
        (one.get("restartCount", 0) for one in listed(member(pod, "status"), "containerStatuses")), default=0
    )


def _magnitude(seconds: float) -> int:
    return int(log2(seconds * _NANOSECONDS)) if seconds > 0 else -1
