"""Pods that come to a node by each way, and the labels and annotations that they have there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
Send = Callable[[str, str, Json], Json]
PODS: Final = "/api/v1/namespaces/default/pods"
_LOOKS: Final = 10_000  # a minute of a real server that answers at once
PLACE: Final = {"topology.kubernetes.io/region": "r1", "topology.kubernetes.io/zone": "z1"}


def _pod(name: str, node: str = "", labels: Json | None = None) -> Json:
    spec: Json = {"containers": [{"name": "c", "image": "i"}]} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": {"schedulerName": "nobody"} | spec}


def _binding(name: str, node: str, **meta: Json) -> Json:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"metadata": {"name": name, **meta}, "target": target}


def _until_known(send: Send, node: str) -> None:
    """Wait until admission knows a node: it follows them by a watch of its own."""
    for _ in range(_LOOKS):
        tried = send("POST", f"{PODS}?dryRun=All", _pod("tried", node))
        if tried["metadata"].get("labels", {}).items() >= PLACE.items():
            return
    raise AssertionError(f"admission does not know the node {node}")


def placed(send: Send, *, real: bool = False) -> Json:
    """What each pod carries once it is on a node; on a real server, once its admission knows that node."""
    labels: Json = {}
    other = {"topology.kubernetes.io/zone": "elsewhere", "app": "x"}
    send("POST", "/api/v1/nodes", {"metadata": {"name": "placed", "labels": PLACE | {"size": "large"}}})
    send("POST", "/api/v1/nodes", {"metadata": {"name": "unplaced"}})
    if real:
        _until_known(send, "placed")
    for node in ("placed", "unplaced", "missing"):
        created = send("POST", PODS, _pod(f"named-{node}", node, other))
        labels[f"named {node}"] = created["metadata"].get("labels")
        send("POST", PODS, _pod(f"bound-{node}", labels=other))
        more = {"annotations": {"by": "me"}, "labels": {"app": "y", "rack": "7"}}
        send("POST", f"{PODS}/bound-{node}/binding", _binding(f"bound-{node}", node, **more))
        meta = send("GET", f"{PODS}/bound-{node}", {})["metadata"]
        labels[f"bound {node}"] = [meta.get("labels"), meta.get("annotations")]
    return labels
