"""The scheduler: it binds pods to nodes, and reports why no node takes the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .._state import ServerState
from ..storage._json_values import listed, member
from ..storage._storage import Stored
from ..writing._edits import edit
from ..writing._topology import copy_topology
from ._placing import Candidate, Share, Taken, Unschedulable, place, share_of
from ._pod_status import observed_generation, set_condition

Json = dict[str, Any]
_OVER = ("Succeeded", "Failed")


class Scheduler:
    """Follows all pods: those that wait for a node, and what the others use of theirs."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self.waiting: dict[str, None] = {}
        self._taken: dict[str, tuple[str, Share]] = {}
        self._nodes: dict[str, Taken] = {}
        self._stale = False  # whether a pod that found no node might find one now

    def adopt(self, other: Scheduler) -> None:
        """Copy what another scheduler knows."""
        self.waiting, self._taken = dict(other.waiting), dict(other._taken)
        for node, share in self._taken.values():
            self._nodes.setdefault(node, Taken()).add(share)
        self._stale = other._stale

    def look_again(self) -> None:
        """A node has changed: waiting pods may fit now."""
        self._stale = True

    def forget(self, key: str) -> None:
        """A pod is gone."""
        self.waiting.pop(key, None)
        self._release(key)

    def note(self, key: str, pod: Json) -> None:
        """A pod was added or changed."""
        spec = pod["spec"]
        phase = member(pod, "status").get("phase")
        if node := spec.get("nodeName"):
            self.waiting.pop(key, None)
            if phase in _OVER:
                self._release(key)
            elif key not in self._taken:
                self._take(key, node, share_of(pod))
        elif _wants_node(pod) and phase not in _OVER:
            if key not in self.waiting:
                self.waiting[key] = None
                self._stale = True
        else:
            self.waiting.pop(key, None)

    def work(self) -> bool:
        """Bind what can be bound; return whether anything was written."""
        if not (self._stale and self.waiting):
            return False
        self._stale = False
        before = self.state.storage.version
        pods = self.state.kinds.of_storage("pods")
        assert pods is not None  # a kind of the server's own
        found = [pods.storage.objects[key] for key in self.waiting if key in pods.storage.objects]
        decoded: list[tuple[Stored, Json]] = [(one, msgspec.json.decode(one.data)) for one in found]
        decoded.sort(key=lambda one: _turn(one[1]))
        candidates = self._candidates()
        for stored, pod in decoded:
            choice = place(pod, candidates, names_taints=self.state.release.names_taints)
            if isinstance(choice, Unschedulable):
                self._refuse(stored, pod, choice.message)
                continue
            self.waiting.pop(stored.key, None)
            self._take(stored.key, choice.name, share_of(pod))
            self._bind(stored, choice.name)
        return self.state.storage.version != before

    def _candidates(self) -> list[Candidate]:
        nodes = self.state.kinds.of_storage("nodes")
        assert nodes is not None  # a kind of the server's own
        return [
            Candidate(one.name, msgspec.json.decode(one.data), self._nodes.setdefault(one.name, Taken()))
            for one in nodes.storage.objects.values()
            if b'"deletionTimestamp":' not in one.data
        ]

    def _take(self, key: str, node: str, share: Share) -> None:
        self._taken[key] = node, share
        self._nodes.setdefault(node, Taken()).add(share)

    def _release(self, key: str) -> None:
        if (taken := self._taken.pop(key, None)) is not None:
            node, share = taken
            self._nodes[node].add(share, -1)
            self._stale = True

    def _bind(self, stored: Stored, node: str) -> None:
        def change(pod: Json) -> None:
            pod["spec"]["nodeName"] = node
            copy_topology(self.state, pod, node)
            self._scheduled(pod, {"type": "PodScheduled", "status": "True"})

        self._edit(stored, change)

    def _refuse(self, stored: Stored, pod: Json, message: str) -> None:
        known = [one for one in listed(member(pod, "status"), "conditions") if one["type"] == "PodScheduled"]
        if known and known[0].get("message") == message:
            return
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self._edit(stored, lambda pod: self._scheduled(pod, condition))

    def _scheduled(self, pod: Json, condition: Json) -> None:
        condition = observed_generation(pod, self.state.release) | condition
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        set_condition(conditions, condition, self.state.clock.stamp())

    def _edit(self, stored: Stored, change: Callable[[Json], None]) -> None:
        pods = self.state.kinds.of_storage("pods")
        assert pods is not None  # a kind of the server's own
        edit(self.state, pods, stored, change)


def _wants_node(pod: Json) -> bool:
    spec = pod["spec"]
    return (
        not pod["metadata"].get("deletionTimestamp")
        and spec.get("schedulerName", "default-scheduler") == "default-scheduler"
        and not spec.get("schedulingGates")
    )


def _turn(pod: Json) -> tuple[int, str, str, str]:
    """The order of waiting pods: higher priority first, then the older."""
    meta = pod["metadata"]
    return -pod["spec"].get("priority", 0), meta["creationTimestamp"], meta.get("namespace", ""), meta["name"]
