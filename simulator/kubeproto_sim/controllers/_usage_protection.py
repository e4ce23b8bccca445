"""The protection of claims and volumes in use: their finalizer is removed when nothing uses them."""

from __future__ import annotations

from functools import partial

import msgspec

from .._state import ServerState
from ..kinds._kind_defaults import FINALIZERS
from ..storage._json_values import member, objects_in, strings_in
from ..storage._storage import ResourceStorage, StoredEvent, StoredRecord
from ..writing._server_writes import edit, remove_finalizer


class ProtectionController:
    """Removes the finalizer of deleted objects that nothing uses."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._terminating: set[tuple[str, str]] = set()

    def follows(self, resource: str) -> bool:
        """Return whether the controller needs the changes of a resource."""
        return resource in FINALIZERS

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Update the list of objects that are being deleted."""
        if storage.name in FINALIZERS:
            address = (storage.name, event.stored.key)
            if event.change == "DELETED":
                self._terminating.discard(address)
            elif b'"deletionTimestamp":' in event.stored.data:
                self._terminating.add(address)

    def work(self) -> bool:
        """Remove the finalizers of unused objects; return whether anything was written."""
        version = self.state.storage.version
        for name, key in sorted(self._terminating):
            served = self.state.kinds.of_storage(name)
            stored = served.storage.objects.get(key) if served else None
            if served and stored and not self._is_used(name, stored):
                finalizer = FINALIZERS[name]
                if finalizer in strings_in(msgspec.json.decode(stored.data)["metadata"], "finalizers"):
                    edit(self.state, served, stored, partial(remove_finalizer, finalizer=finalizer))
        return self.state.storage.version != version

    def adopt(self, other: ProtectionController) -> None:
        """Copy the state of the cluster from which this cluster was forked."""
        self._terminating = set(other._terminating)

    def _is_used(self, name: str, stored: StoredRecord) -> bool:
        if name == "persistentvolumes":
            return bool(member(msgspec.json.decode(stored.data), "status").get("phase") == "Bound")
        if name != "persistentvolumeclaims":
            return False
        for pod in self.state.storage.resource("pods").objects.values():
            if pod.namespace == stored.namespace:
                for volume in objects_in(msgspec.json.decode(pod.data)["spec"], "volumes"):
                    if member(volume, "persistentVolumeClaim").get("claimName") == stored.name:
                        return True
        return False
