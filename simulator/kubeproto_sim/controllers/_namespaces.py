"""The lifecycle of namespaces, and the deletion of pods without a kubelet."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from kubeproto.objects import parse_time

from .._rejections import Rejection
from .._state import ServerState
from ..kinds._served_kinds import Served
from ..storage._json_values import member, texts
from ..storage._storage import ResourceStorage, Stored, StoredEvent
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._server_writes import edit, remove

_CONDITIONS: Final = (
    ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",
     "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",
     "All legacy kube types successfully parsed"),
    ("NamespaceDeletionContentFailure", "False", "ContentDeleted",
     "All content successfully deleted, may be waiting on finalization"),
)  # fmt: skip


class NamespaceController:
    """Empties namespaces that are being deleted, and removes them."""

    def __init__(self, state: ServerState) -> None:
        self.state = state

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note which namespaces are being deleted."""
        if storage.name != "namespaces":
            return
        name = event.stored.name
        if event.change != "DELETED" and b'"phase":"Terminating"' in event.stored.data:
            self.state.terminating.add(name)
        else:
            self.state.terminating.discard(name)

    def work(self) -> bool:
        """Delete the objects in them, pods first; remove those that are empty."""
        before = self.state.storage.version
        for name in sorted(self.state.terminating):
            self._work_on(name)
        return self.state.storage.version != before

    def _work_on(self, name: str) -> None:
        served = self.state.kinds.of_storage("namespaces")
        assert served is not None  # a built-in kind is always served
        stored = served.storage.objects.get(name)
        if stored is None:
            self.state.terminating.discard(name)
            return
        left = self._empty(name)
        if not left:
            obj: dict[str, Any] = msgspec.json.decode(stored.data)
            finalizers = [one for one in texts(member(obj, "spec"), "finalizers") if one != "kubernetes"]
            if not finalizers and not obj["metadata"].get("finalizers"):
                remove(self.state, served, stored)
                return
        if b"NamespaceContentRemaining" not in stored.data:
            edit(self.state, served, stored, lambda obj: self._condition(obj, left))

    def _empty(self, name: str) -> int:
        """Delete the content of a namespace; return how many objects are left."""
        left = 0
        kinds = sorted(
            self.state.kinds.by_storage.values(), key=lambda one: (one.full_name != "pods", one.full_name)
        )
        for served in kinds:
            if not served.namespaced or "delete" not in served.verbs:
                continue
            content = [one for one in served.storage.objects.values() if one.namespace == name]
            for one in content:
                self._delete(served, one)
            left += sum(one.key in served.storage.objects for one in content)
            if left and served.full_name == "pods":
                break  # pods end before what they use
        return left

    def _delete(self, served: Served, one: Stored) -> None:
        if b'"deletionTimestamp":' in one.data:
            return
        with suppress(Rejection):  # it may have been deleted meanwhile
            delete(self.state, served, one.key, one.name, DeleteOptions(propagation_policy="Background"))

    def _condition(self, obj: dict[str, Any], left: int) -> None:
        stamp = self.state.clock.stamp()
        remaining = ("False", "ContentRemoved", "All content successfully removed")
        if left:
            remaining = ("True", "SomeResourcesRemain", f"Some resources are remaining: {left} objects")
        rows = [*_CONDITIONS, ("NamespaceContentRemaining", *remaining)]
        obj.setdefault("status", {})["conditions"] = [
            {
                "type": type_,
                "status": status,
                "lastTransitionTime": stamp,
                "reason": reason,
                "message": message,
            }
            for type_, status, reason, message in rows
        ]


class Pods:
    """Acts for the kubelets: a pod that is being deleted is removed after its grace period."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._ending: dict[str, float] = {}

    def follows(self, resource: str) -> bool:
        """Whether changes of a resource concern it."""
        return resource == "pods"

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note pods that are being deleted, and until when."""
        if storage.name != "pods":
            return
        key = event.stored.key
        if event.change == "DELETED":
            self._ending.pop(key, None)
        elif b'"deletionTimestamp":' in event.stored.data:
            pod = msgspec.json.decode(event.stored.data)
            meta, nodes = pod["metadata"], self.state.nodes
            if nodes is not None and nodes.keeps(pod["spec"].get("nodeName", "")):
                return  # the kubelet decides when the pod ends, and does nothing while it is silent
            if meta.get("deletionGracePeriodSeconds"):
                self._ending[key] = parse_time(meta["deletionTimestamp"]).timestamp()

    def adopt(self, other: Pods) -> None:
        """Take over what the controller of a forked cluster knows."""
        self._ending = dict(other._ending)

    @property
    def due(self) -> float | None:
        """When the next grace period ends."""
        return min(self._ending.values(), default=None)

    def work(self) -> bool:
        """Remove the pods whose grace period has ended, as a kubelet does: by a delete without grace."""
        over = sorted(key for key, at in self._ending.items() if at <= self.state.clock.time)
        served = self.state.kinds.of_storage("pods")
        assert served is not None  # a built-in kind is always served
        for key in over:
            del self._ending[key]
            stored = served.storage.objects.get(key)
            if stored is None:
                continue
            edit(self.state, served, stored, lambda pod: pod["metadata"].update(deletionGracePeriodSeconds=0))
        return bool(over)
