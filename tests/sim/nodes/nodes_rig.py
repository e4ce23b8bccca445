"""Clusters with nodes, and short accessors for their tests."""

from __future__ import annotations

from typing import Any

import kubeproto_sim as sim

Json = dict[str, Any]


def pod(name: str = "web", *, image: str = "nginx", **spec: Any) -> Json:
    """Return a pod with a single container, which has the pod's name."""
    spec.setdefault("containers", [{"name": name, "image": image}])
    meta: Json = {"name": name}
    for part in ("labels", "ownerReferences", "finalizers"):
        if part in spec:
            meta[part] = spec.pop(part)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


class Rig:
    """A cluster with nodes."""

    def __init__(self, count: int = 1, **options: Any) -> None:
        self.cluster = sim.Cluster()
        self.nodes = self.cluster.nodes(count, **options)

    def run(self, name: str = "web", *, until: float | None = None, **spec: Any) -> Json:
        """Create a pod, let it run, and return it."""
        self.cluster.put(pod(name, **spec))
        self.cluster.settle()
        self.cluster.advance(self.nodes.behaviour.ready_after if until is None else until)
        return self.pod(name)

    def pod(self, name: str = "web") -> Json:
        """Return a pod that exists."""
        pod = self.cluster.get("v1/Pod", name)
        assert pod is not None, f"pod {name} does not exist"
        return pod

    def phase(self, name: str = "web") -> str:
        """The phase of a pod."""
        phase: str = self.pod(name)["status"]["phase"]
        return phase

    def condition(self, name: str, type_: str, kind: str = "v1/Pod") -> Json:
        """A condition of an object."""
        obj = self.cluster.get(kind, name)
        assert obj is not None
        condition: Json = next(entry for entry in obj["status"]["conditions"] if entry["type"] == type_)
        return condition

    def container(self, name: str = "web") -> Json:
        """The status of the only container of a pod."""
        (status,) = self.pod(name)["status"]["containerStatuses"]
        only: Json = status
        return only
