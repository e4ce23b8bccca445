"""The garbage collector: it deletes or orphans the dependents of deleted owners.

Background: the owner is deleted first. Foreground: dependents that block its deletion are deleted first.
Orphan: dependents stay, without the reference. An object whose owners are all missing is deleted too.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from .._rejections import Rejection
from .._state import ObjectAddress, ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import objects_in, strings_in
from ..storage._storage import ResourceStorage, StoredEvent, StoredRecord
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._server_writes import edit, remove_finalizer, remove_owner

_FOREGROUND: Final = "foregroundDeletion"


class GarbageCollector:
    """Follows owner references, and collects garbage in `work`."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self.dependents: dict[str, set[ObjectAddress]] = {}
        self.waiting: dict[str, ObjectAddress] = {}  # owners whose dependents are deleted or orphaned first
        self._deleted_owners: list[str] = []
        self._unverified: list[ObjectAddress] = []

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Update the index of dependents, and mark objects to check."""
        stored, address = event.stored, (storage.name, event.stored.key)
        if event.change == "DELETED":
            for uid in stored.owners:
                self.dependents.get(uid, set()).discard(address)
            self.waiting.pop(stored.uid, None)
            if self.dependents.get(stored.uid):
                self._deleted_owners.append(stored.uid)
            return
        if event.previous is not None and event.previous.owners != stored.owners:
            for uid in event.previous.owners:
                self.dependents.get(uid, set()).discard(address)
        for uid in stored.owners:
            self.dependents.setdefault(uid, set()).add(address)
        if stored.owners and (event.previous is None or event.previous.owners != stored.owners):
            self._unverified.append(address)
        if b'"deletionTimestamp":' in stored.data and (
            b'"foregroundDeletion"' in stored.data or b'"orphan"' in stored.data
        ):
            self.waiting[stored.uid] = address

    def work(self) -> bool:
        """Process the marked objects; return whether anything was written."""
        if not (self._deleted_owners or self._unverified or self.waiting):
            return False
        version = self.state.storage.version
        deleted_owners, self._deleted_owners = self._deleted_owners, []
        for uid in deleted_owners:
            for address in sorted(self.dependents.pop(uid, ())):
                self._collect(address)
        unverified, self._unverified = self._unverified, []
        for address in unverified:
            self._collect(address)
        for uid, address in list(self.waiting.items()):
            self._unblock(uid, address)
        return self.state.storage.version != version

    def adopt(self, other: GarbageCollector) -> None:
        """Copy the state of the cluster from which this cluster was forked."""
        self.dependents = {uid: set(places) for uid, places in other.dependents.items()}
        self.waiting = dict(other.waiting)

    def _collect(self, address: ObjectAddress) -> None:
        """Delete an object without existing owners, or drop its references to missing owners."""
        target = self.state.find(address)
        if target is None or not target[1].owners:
            return
        served, stored = target
        owners: list[dict[str, Any]] = msgspec.json.decode(stored.data)["metadata"]["ownerReferences"]
        existing_owners = [owner for owner in owners if self._exists(owner, stored.namespace)]
        if not existing_owners:
            self._delete(served, stored, "Background")
        elif len(existing_owners) < len(owners):
            edit(
                self.state,
                served,
                stored,
                lambda obj: obj["metadata"].update(ownerReferences=existing_owners),
            )

    def _exists(self, owner: dict[str, Any], namespace: str) -> bool:
        served = self.state.kinds.of_kind(owner["apiVersion"], owner["kind"])
        if served is None:
            return True  # an unknown kind: a real collector waits until it is served
        stored = served.storage.objects.get(served.key(namespace, owner["name"]))
        return stored is not None and stored.uid == owner["uid"]

    def _unblock(self, uid: str, address: ObjectAddress) -> None:
        """Continue with an owner that waits for its dependents."""
        target = self.state.find(address)
        if target is None or target[1].uid != uid:
            self.waiting.pop(uid, None)
            return
        served, stored = target
        finalizers = strings_in(msgspec.json.decode(stored.data)["metadata"], "finalizers")
        targets = (self.state.find(key) for key in sorted(self.dependents.get(uid, ())))
        dependents = [target for target in targets if target is not None]
        if "orphan" in finalizers:
            for kind, dependent in dependents:
                edit(self.state, kind, dependent, lambda obj: remove_owner(obj, uid))
            self._remove_finalizer(served, stored, "orphan")
        elif _FOREGROUND in finalizers:
            blocking = [dependent for _, dependent in dependents if _blocks_deletion(dependent, uid)]
            for kind, dependent in dependents:
                if b'"deletionTimestamp":' not in dependent.data:
                    self._delete_dependent(kind, dependent)
            if not blocking:
                self._remove_finalizer(served, stored, _FOREGROUND)
        else:
            self.waiting.pop(uid, None)

    def _delete_dependent(self, served: ServedKind, stored: StoredRecord) -> None:
        """Delete a dependent of a terminating owner, or only its reference if it has another owner."""
        owners: list[dict[str, Any]] = msgspec.json.decode(stored.data)["metadata"]["ownerReferences"]
        remaining_owners = [owner for owner in owners if self._remains(owner, stored.namespace)]
        if remaining_owners:
            edit(
                self.state,
                served,
                stored,
                lambda obj: obj["metadata"].update(ownerReferences=remaining_owners),
            )
            return
        dependents = [
            dependent for key in self.dependents.get(stored.uid, ()) if (dependent := self.state.find(key))
        ]
        if any(not self._keeps(dependent[1].uid) for dependent in dependents):
            # A cycle: without this, each owner would wait for the other.
            edit(self.state, served, stored, _unblock_owners)
        self._delete(served, stored, "Foreground" if dependents else "Background")

    def _remains(self, owner: dict[str, Any], namespace: str) -> bool:
        return self._exists(owner, namespace) and self._keeps(owner["uid"])

    def _keeps(self, uid: str) -> bool:
        """Return whether an owner is kept, i.e. not in foreground deletion."""
        address = self.waiting.get(uid)
        target = self.state.find(address) if address else None
        if target is None:
            return True
        return _FOREGROUND not in strings_in(msgspec.json.decode(target[1].data)["metadata"], "finalizers")

    def _remove_finalizer(self, served: ServedKind, stored: StoredRecord, finalizer: str) -> None:
        self.waiting.pop(stored.uid, None)
        edit(self.state, served, stored, lambda obj: remove_finalizer(obj, finalizer))

    def _delete(self, served: ServedKind, stored: StoredRecord, policy: str) -> None:
        # Some namespaces cannot be deleted, and an object may have been deleted in the meantime.
        with suppress(Rejection):
            delete(self.state, served, stored.key, stored.name, DeleteOptions(propagation_policy=policy))


def _unblock_owners(obj: dict[str, Any]) -> None:
    for owner in obj["metadata"]["ownerReferences"]:
        owner["blockOwnerDeletion"] = False


def _blocks_deletion(stored: StoredRecord, uid: str) -> bool:
    owners = objects_in(msgspec.json.decode(stored.data)["metadata"], "ownerReferences")
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)
