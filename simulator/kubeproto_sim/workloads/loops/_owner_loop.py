"""A controller of objects that own others: it follows its own objects, theirs, and orphans to adopt."""

from __future__ import annotations

from collections.abc import Mapping

from ...storage._storage import Stored, StoredEvent
from ..facts._objects import Json
from ..facts._ownership import claim, selector_of
from ._indexes import SelectorIndex, is_orphan
from ._loop import ControlLoop, Listener, Shared


class OwnerLoop(ControlLoop):
    """A controller of the objects of `resource`, which own objects of `dependents`."""

    resource: str
    dependents: str = "pods"
    finalizer: str = ""  # added to an orphan that is adopted

    def __init__(self, shared: Shared) -> None:
        self.selectors = SelectorIndex()
        super().__init__(shared)

    def follows(self) -> Mapping[str, Listener]:
        return {self.resource: self.on_own, self.dependents: self.on_dependent}

    def on_own(self, event: StoredEvent) -> None:
        """Sync an object of its own kind."""
        key = event.stored.key
        if event.change == "DELETED":
            self.selectors.drop(key)
            self.queue.discard(key)
            return
        found = self.objects.get(self.resource, key)
        if found is not None:
            self.selectors.put(key, event.stored.namespace, selector_of(found))
        self.enqueue(key)

    def on_dependent(self, event: StoredEvent) -> None:
        """Sync the owner of a dependent, or the objects that may adopt an orphan."""
        stored, before = event.stored, event.before
        for owner in self.owners_in(event):
            self.enqueue(owner)
        if event.change == "DELETED" or not is_orphan(stored):
            return
        if before is None or before.labels != stored.labels or before.owners != stored.owners:
            for key in self.selectors.matching(stored.namespace, stored.labels):
                self.enqueue(key)

    def owners_in(self, event: StoredEvent) -> list[str]:
        """Return the keys of the owners that a dependent has, or had before."""
        uids = dict.fromkeys(event.stored.owners)
        if event.before is not None:
            uids |= dict.fromkeys(event.before.owners)
        places, own = self.shared.places, self.objects.state.storage.resource(self.resource).objects
        found = [(uid, places[uid]) for uid in uids if uid in places]
        return [key for uid, key in found if key in own and own[key].uid == uid]

    def owned_or_orphaned(self, owner: Json) -> list[Json]:
        """Return the dependents of an owner, selected or not, and the orphans that it selects."""
        resource = self.dependents
        index, selector = self.shared.owners[resource], selector_of(owner)
        keys = index.owned(owner["metadata"]["uid"])
        for key in index.orphans(owner["metadata"]["namespace"]):
            stored = self._stored(resource, key)
            if stored is not None and selector.matches(stored.labels or {}):
                keys.append(key)
        found = (self.objects.get(resource, key) for key in dict.fromkeys(keys))
        return [one for one in found if one is not None]

    def claimed(self, owner: Json, candidates: list[Json] | None = None) -> list[Json]:
        """Return the dependents of an owner, after it has adopted and released objects as it should."""
        found = self.owned_or_orphaned(owner) if candidates is None else candidates
        return claim(self.objects, self.dependents, owner, found, self.user, self.finalizer)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, OwnerLoop):
            self.selectors = other.selectors.copy()

    def _stored(self, resource: str, key: str) -> Stored | None:
        return self.objects.stored(resource, key)
