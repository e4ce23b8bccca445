"""The deletion of namespaces with their content."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from .._rejections import Rejection
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, strings_in
from ..storage._storage import ResourceStorage, StoredEvent, StoredRecord
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
    """Deletes the content of terminating namespaces, and removes them."""

    def __init__(self, state: ServerState) -> None:
        self.state = state

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Update the set of terminating namespaces."""
        if storage.name != "namespaces":
            return
        name = event.stored.name
        if event.change != "DELETED" and b'"phase":"Terminating"' in event.stored.data:
            self.state.terminating.add(name)
        else:
            self.state.terminating.discard(name)

    def work(self) -> bool:
        """Delete the content of terminating namespaces, pods first; remove empty ones."""
        version = self.state.storage.version
        for name in sorted(self.state.terminating):
            self._finalize(name)
        return self.state.storage.version != version

    def _finalize(self, name: str) -> None:
        served = self.state.kinds.of_storage("namespaces")
        assert served is not None  # a built-in kind is always served
        stored = served.storage.objects.get(name)
        if stored is None:
            self.state.terminating.discard(name)
            return
        remaining = self._delete_content(name)
        if not remaining:
            obj: dict[str, Any] = msgspec.json.decode(stored.data)
            finalizers = [
                finalizer
                for finalizer in strings_in(member(obj, "spec"), "finalizers")
                if finalizer != "kubernetes"
            ]
            if not finalizers and not obj["metadata"].get("finalizers"):
                remove(self.state, served, stored)
                return
        if b"NamespaceContentRemaining" not in stored.data:
            edit(self.state, served, stored, lambda obj: self._set_conditions(obj, remaining))

    def _delete_content(self, name: str) -> int:
        """Delete the content of a namespace; return the number of remaining objects."""
        remaining = 0
        kinds = sorted(
            self.state.kinds.by_storage.values(), key=lambda kind: (kind.full_name != "pods", kind.full_name)
        )
        for served in kinds:
            if not served.namespaced or "delete" not in served.verbs:
                continue
            content = [each for each in served.storage.objects.values() if each.namespace == name]
            for each in content:
                self._delete(served, each)
            remaining += sum(each.key in served.storage.objects for each in content)
            if remaining and served.full_name == "pods":
                break  # pods end before the objects that they use
        return remaining

    def _delete(self, served: ServedKind, stored: StoredRecord) -> None:
        if b'"deletionTimestamp":' in stored.data:
            return
        with suppress(Rejection):  # it may have been deleted in the meantime
            delete(
                self.state, served, stored.key, stored.name, DeleteOptions(propagation_policy="Background")
            )

    def _set_conditions(self, obj: dict[str, Any], object_count: int) -> None:
        stamp = self.state.clock.stamp()
        verdict = ("False", "ContentRemoved", "All content successfully removed")
        if object_count:
            verdict = ("True", "SomeResourcesRemain", f"Some resources are remaining: {object_count} objects")
        rows = [*_CONDITIONS, ("NamespaceContentRemaining", *verdict)]
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
