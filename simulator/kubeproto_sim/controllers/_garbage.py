"""The garbage collector: what happens to dependents when their owner is deleted.

Background: the owner is deleted first. Foreground: dependents that block its deletion are deleted first.
Orphan: dependents stay, and lose their reference. An object whose owners are all missing is deleted too.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import msgspec

from .._rejections import Rejection
from .._state import ServerState
from ..kinds._served_kinds import Served
from ..storage._json_values import listed, texts
from ..storage._storage import ResourceStorage, Stored, StoredEvent
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._server_writes import edit

_FOREGROUND: Final = "foregroundDeletion"
Place = tuple[str, str]
"""The name of a resource and a key in its storage."""


class Garbage:
    """Follows owner references. `work` does what has become necessary since the last time."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self.dependents: dict[str, set[Place]] = {}
        self.waiting: dict[str, Place] = {}  # owners whose dependents are deleted or orphaned first
        self._gone: list[str] = []
        self._doubtful: list[Place] = []

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note what a change means for owners and dependents."""
        stored, place = event.stored, (storage.name, event.stored.key)
        if event.change == "DELETED":
            for uid in stored.owners:
                self.dependents.get(uid, set()).discard(place)
            self.waiting.pop(stored.uid, None)
            if self.dependents.get(stored.uid):
                self._gone.append(stored.uid)
            return
        if event.previous is not None and event.previous.owners != stored.owners:
            for uid in event.previous.owners:
                self.dependents.get(uid, set()).discard(place)
        for uid in stored.owners:
            self.dependents.setdefault(uid, set()).add(place)
        if stored.owners and (event.previous is None or event.previous.owners != stored.owners):
            self._doubtful.append(place)
        if b'"deletionTimestamp":' in stored.data and (
            b'"foregroundDeletion"' in stored.data or b'"orphan"' in stored.data
        ):
            self.waiting[stored.uid] = place

    def work(self) -> bool:
        """Do what is left to do; return whether there was anything."""
        if not (self._gone or self._doubtful or self.waiting):
            return False
        before = self.state.storage.version
        gone, self._gone = self._gone, []
        for uid in gone:
            for place in sorted(self.dependents.pop(uid, ())):
                self._collect(place)
        doubtful, self._doubtful = self._doubtful, []
        for place in doubtful:
            self._collect(place)
        for uid, place in list(self.waiting.items()):
            self._unblock(uid, place)
        return self.state.storage.version != before

    def adopt(self, other: Garbage) -> None:
        """Take over what the controller of a forked cluster knows."""
        self.dependents = {uid: set(places) for uid, places in other.dependents.items()}
        self.waiting = dict(other.waiting)

    def _find(self, place: Place) -> tuple[Served, Stored] | None:
        served = self.state.kinds.of_storage(place[0])
        stored = served.storage.objects.get(place[1]) if served else None
        return (served, stored) if served and stored else None

    def _collect(self, place: Place) -> None:
        """Delete an object if none of its owners is left; drop the references to those that are missing."""
        found = self._find(place)
        if found is None or not found[1].owners:
            return
        served, stored = found
        owners: list[dict[str, Any]] = msgspec.json.decode(stored.data)["metadata"]["ownerReferences"]
        left = [owner for owner in owners if self._is_there(owner, stored.namespace)]
        if not left:
            self._delete(served, stored, "Background")
        elif len(left) < len(owners):
            edit(self.state, served, stored, lambda obj: obj["metadata"].update(ownerReferences=left))

    def _is_there(self, owner: dict[str, Any], namespace: str) -> bool:
        served = self.state.kinds.of_kind(owner["apiVersion"], owner["kind"])
        if served is None:
            return True  # an unknown kind: a real collector waits until it is served
        found = served.storage.objects.get(served.key(namespace, owner["name"]))
        return found is not None and found.uid == owner["uid"]

    def _unblock(self, uid: str, place: Place) -> None:
        """Continue with an owner that waits for its dependents."""
        found = self._find(place)
        if found is None or found[1].uid != uid:
            self.waiting.pop(uid, None)
            return
        served, stored = found
        finalizers = texts(msgspec.json.decode(stored.data)["metadata"], "finalizers")
        dependents = [one for place in sorted(self.dependents.get(uid, ())) if (one := self._find(place))]
        if "orphan" in finalizers:
            for kind, dependent in dependents:
                edit(self.state, kind, dependent, lambda obj: _let_go(obj, uid))
            self._drop(served, stored, "orphan")
        elif _FOREGROUND in finalizers:
            blocking = [one for one in dependents if _blocks(one[1], uid)]
            for kind, dependent in dependents:
                if b'"deletionTimestamp":' not in dependent.data:
                    self._attempt(kind, dependent)
            if not blocking:
                self._drop(served, stored, _FOREGROUND)
        else:
            self.waiting.pop(uid, None)

    def _attempt(self, served: Served, stored: Stored) -> None:
        """Delete a dependent of an owner that is being deleted, or its reference if it has another owner."""
        owners: list[dict[str, Any]] = msgspec.json.decode(stored.data)["metadata"]["ownerReferences"]
        left = [owner for owner in owners if self._stays(owner, stored.namespace)]
        if left:
            edit(self.state, served, stored, lambda obj: obj["metadata"].update(ownerReferences=left))
        else:
            self._delete(served, stored, "Foreground" if self.dependents.get(stored.uid) else "Background")

    def _stays(self, owner: dict[str, Any], namespace: str) -> bool:
        if not self._is_there(owner, namespace):
            return False
        place = self.waiting.get(owner["uid"])
        found = self._find(place) if place else None
        if found is None:
            return True
        return _FOREGROUND not in texts(msgspec.json.decode(found[1].data)["metadata"], "finalizers")

    def _drop(self, served: Served, stored: Stored, finalizer: str) -> None:
        def change(obj: dict[str, Any]) -> None:
            left = [one for one in obj["metadata"]["finalizers"] if one != finalizer]
            if left:
                obj["metadata"]["finalizers"] = left
            else:
                del obj["metadata"]["finalizers"]

        self.waiting.pop(stored.uid, None)
        edit(self.state, served, stored, change)

    def _delete(self, served: Served, stored: Stored, policy: str) -> None:
        # Some namespaces cannot be deleted, and an object may have been deleted meanwhile.
        with suppress(Rejection):
            delete(self.state, served, stored.key, stored.name, DeleteOptions(propagation_policy=policy))


def _blocks(stored: Stored, uid: str) -> bool:
    owners = listed(msgspec.json.decode(stored.data)["metadata"], "ownerReferences")
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)


def _let_go(obj: dict[str, Any], uid: str) -> None:
    meta = obj["metadata"]
    left = [owner for owner in listed(meta, "ownerReferences") if owner["uid"] != uid]
    if left:
        meta["ownerReferences"] = left
    else:
        meta.pop("ownerReferences", None)
