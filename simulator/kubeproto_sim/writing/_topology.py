"""The topology of a pod: the labels of its node that a server copies to it, since Kubernetes 1.35."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .._state import ServerState
from ..storage._json_values import member

_LABELS: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone")


def copy_topology(state: ServerState, pod: dict[str, Any], node: str) -> None:
    """Give a pod the zone and the region of its node, in place of its own."""
    if not state.release.topology_labels:
        return
    stored = state.storage.resource("nodes").objects.get(node)
    if stored is None:
        return
    labels = member(msgspec.json.decode(stored.data)["metadata"], "labels")
    if found := {name: labels[name] for name in _LABELS if name in labels}:
        meta: dict[str, Any] = pod["metadata"]
        meta["labels"] = {**member(meta, "labels"), **found}
