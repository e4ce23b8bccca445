"""Pods that are placed on a node in different ways, and their labels and annotations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
Send = Callable[[str, str, Json], Json]
PODS: Final = "/api/v1/namespaces/default/pods"
_MAX_POLLS: Final = 10_000  # about a minute on a real server that responds immediately
PLACE: Final = {"topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": "z1"}


def _pod(name: str, node: str = "", labels: Json | None = None) -> Json:
    spec: Json = {"containers": [{"name": "c", "image": "i"}]} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"schedulerName": "nobody"} | spec}


def _binding(name: str, node: str, **meta: Json) -> Json:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"metadata": {"name": name, **meta}, "target": target}


def _wait_until_known(send: Send, node: str) -> None:
    """Wait until admission knows a node, which it watches separately."""
    for _ in range(_MAX_POLLS):
        tried = send("POST", f"{PODS}?dryRun=All", _pod("tried", node))
        if tried["metadata"].get("labels", {}).items() >= PLACE.items():
            return
    raise AssertionError(f"admission does not know the node {node}")


def placed(send: Send, *, real: bool = False) -> Json:
    """Return the labels and annotations of each pod on a node; on a real server, after its admission knows
    that node.
    """
    labels: Json = {}
    other = {"topology.kubernetes.io/zone": "elsewhere", "app": "x"}
    send("POST", "/api/v1/nodes", {"metadata": {"name": "placed", "labels": PLACE | {"size": "large"}}})
    send("POST", "/api/v1/nodes", {"metadata": {"name": "unplaced"}})
    if real:
        _wait_until_known(send, "placed")
    for node in ("placed", "unplaced", "missing"):
        created = send("POST", PODS, _pod(f"named-{node}", node, other))
        labels[f"named {node}"] = created["metadata"].get("labels")
        send("POST", PODS, _pod(f"bound-{node}", labels=other))
        more = {"annotations": {"by": "me"}, "labels": {"app": "y", "rack": "7"}}
        send("POST", f"{PODS}/bound-{node}/binding", _binding(f"bound-{node}", node, **more))
        meta = send("GET", f"{PODS}/bound-{node}", {})["metadata"]
        labels[f"bound {node}"] = [meta.get("labels"), meta.get("annotations")]
    return labels
