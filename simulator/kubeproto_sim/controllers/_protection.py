"""Claims and volumes stay while something uses them: a controller removes their finalizer after that."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from .._state import ServerState
from ..kinds._kind_defaults import FINALIZERS
from ..storage._json_values import listed, member, texts
from ..storage._storage import ResourceStorage, Stored, StoredEvent
from ..writing._server_writes import edit


class Protection:
    """Removes the finalizer of what is being deleted and not in use."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._going: set[tuple[str, str]] = set()

    def follows(self, resource: str) -> bool:
        """Whether changes of a resource concern it."""
        return resource in FINALIZERS

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note what is being deleted."""
        if storage.name in FINALIZERS:
            place = (storage.name, event.stored.key)
            if event.change == "DELETED":
                self._going.discard(place)
            elif b'"deletionTimestamp":' in event.stored.data:
                self._going.add(place)

    def work(self) -> bool:
        """Remove the finalizer of what is not in use any more."""
        before = self.state.storage.version
        for name, key in sorted(self._going):
            served = self.state.kinds.of_storage(name)
            stored = served.storage.objects.get(key) if served else None
            if served and stored and not self._used(name, stored):
                finalizer = FINALIZERS[name]
                if finalizer in texts(msgspec.json.decode(stored.data)["metadata"], "finalizers"):
                    edit(self.state, served, stored, partial(_drop, finalizer=finalizer))
        return self.state.storage.version != before

    def adopt(self, other: Protection) -> None:
        """Take over what the controller of a forked cluster knows."""
        self._going = set(other._going)

    def _used(self, name: str, stored: Stored) -> bool:
        if name == "persistentvolumes":
            return bool(member(msgspec.json.decode(stored.data), "status").get("phase") == "Bound")
        if name != "persistentvolumeclaims":
            return False
        for pod in self.state.storage.resource("pods").objects.values():
            if pod.namespace == stored.namespace:
                for volume in listed(msgspec.json.decode(pod.data)["spec"], "volumes"):
                    if member(volume, "persistentVolumeClaim").get("claimName") == stored.name:
                        return True
        return False


def _drop(obj: dict[str, Any], *, finalizer: str) -> None:
    left = [one for one in obj["metadata"]["finalizers"] if one != finalizer]
    if left:
        obj["metadata"]["finalizers"] = left
    else:
        del obj["metadata"]["finalizers"]
