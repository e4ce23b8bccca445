"""The scheduler: it binds pods to nodes, and reports the pods that fit no node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .._state import ServerState
from ..storage._json_values import member, objects_in
from ..storage._storage import StoredRecord
from ..writing._pod_writes import copy_topology
from ..writing._server_writes import edit
from ._pod_status import observed_generation, set_condition
from ._scheduler_filters import Candidate, NodeUsage, PodUsage, Unschedulable, choose_node, usage_of_pod

Json = dict[str, Any]
_FINAL_PHASES = ("Succeeded", "Failed")


class Scheduler:
    """Follows all pods: those that wait for a node, and the resources that bound pods use."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self.waiting: dict[str, None] = {}
        self._assignments: dict[str, tuple[str, PodUsage]] = {}
        self._usage_by_node: dict[str, NodeUsage] = {}
        self._stale = False  # whether a waiting pod may fit a node now

    def adopt(self, other: Scheduler) -> None:
        """Copy the state of the scheduler of the cluster from which this cluster was forked."""
        self.waiting, self._assignments = dict(other.waiting), dict(other._assignments)
        for node, usage in self._assignments.values():
            self._usage_by_node.setdefault(node, NodeUsage()).add(usage)
        self._stale = other._stale

    def retry_waiting(self) -> None:
        """Try the waiting pods again: a node has changed."""
        self._stale = True

    def forget(self, key: str) -> None:
        """Forget a deleted pod."""
        self.waiting.pop(key, None)
        self._release(key)

    def update_pod(self, key: str, pod: Json) -> None:
        """Update the state after a pod was added or changed."""
        spec = pod["spec"]
        phase = member(pod, "status").get("phase")
        if node := spec.get("nodeName"):
            self.waiting.pop(key, None)
            if phase in _FINAL_PHASES:
                self._release(key)
            elif key not in self._assignments:
                self._assign(key, node, usage_of_pod(pod))
        elif _needs_node(pod) and phase not in _FINAL_PHASES:
            if key not in self.waiting:
                self.waiting[key] = None
                self._stale = True
        else:
            self.waiting.pop(key, None)

    def work(self) -> bool:
        """Bind the pods that fit a node; return whether anything was written."""
        if not (self._stale and self.waiting):
            return False
        self._stale = False
        version = self.state.storage.version
        pods = self.state.kinds.of_storage("pods")
        assert pods is not None  # a kind of the server's own
        stored_pods = [pods.storage.objects[key] for key in self.waiting if key in pods.storage.objects]
        decoded: list[tuple[StoredRecord, Json]] = [
            (each, msgspec.json.decode(each.data)) for each in stored_pods
        ]
        decoded.sort(key=lambda pair: _queue_order(pair[1]))
        candidates = self._candidates()
        for stored, pod in decoded:
            placement = choose_node(pod, candidates, names_taints=self.state.release.names_taints)
            if isinstance(placement, Unschedulable):
                self._report_unschedulable(stored, pod, placement.message)
                continue
            self.waiting.pop(stored.key, None)
            self._assign(stored.key, placement.name, usage_of_pod(pod))
            self._bind(stored, placement.name)
        return self.state.storage.version != version

    def _candidates(self) -> list[Candidate]:
        nodes = self.state.kinds.of_storage("nodes")
        assert nodes is not None  # a kind of the server's own
        return [
            Candidate(
                node.name,
                msgspec.json.decode(node.data),
                self._usage_by_node.setdefault(node.name, NodeUsage()),
            )
            for node in nodes.storage.objects.values()
            if b'"deletionTimestamp":' not in node.data
        ]

    def _assign(self, key: str, node: str, usage: PodUsage) -> None:
        self._assignments[key] = node, usage
        self._usage_by_node.setdefault(node, NodeUsage()).add(usage)

    def _release(self, key: str) -> None:
        if (assignment := self._assignments.pop(key, None)) is not None:
            node, usage = assignment
            self._usage_by_node[node].add(usage, -1)
            self._stale = True

    def _bind(self, stored: StoredRecord, node: str) -> None:
        def change(pod: Json) -> None:
            pod["spec"]["nodeName"] = node
            copy_topology(self.state, pod, node)
            self._set_scheduled(pod, {"type": "PodScheduled", "status": "True"})

        self._edit(stored, change)

    def _report_unschedulable(self, stored: StoredRecord, pod: Json, message: str) -> None:
        current = [
            entry
            for entry in objects_in(member(pod, "status"), "conditions")
            if entry["type"] == "PodScheduled"
        ]
        if current and current[0].get("message") == message:
            return
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self._edit(stored, lambda pod: self._set_scheduled(pod, condition))

    def _set_scheduled(self, pod: Json, condition: Json) -> None:
        condition = observed_generation(pod, self.state.release) | condition
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        set_condition(conditions, condition, self.state.clock.stamp())

    def _edit(self, stored: StoredRecord, change: Callable[[Json], None]) -> None:
        pods = self.state.kinds.of_storage("pods")
        assert pods is not None  # a kind of the server's own
        edit(self.state, pods, stored, change)


def _needs_node(pod: Json) -> bool:
    spec = pod["spec"]
    return (
        not pod["metadata"].get("deletionTimestamp")
        and spec.get("schedulerName", "default-scheduler") == "default-scheduler"
        and not spec.get("schedulingGates")
    )


def _queue_order(pod: Json) -> tuple[int, str, str, str]:
    """Return the sort key of waiting pods: higher priority first, then older pods."""
    meta = pod["metadata"]
    return -pod["spec"].get("priority", 0), meta["creationTimestamp"], meta.get("namespace", ""), meta["name"]
