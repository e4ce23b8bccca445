"""A controller of objects that own others: it follows its owners, their dependents, and orphans to adopt."""

from __future__ import annotations

from collections.abc import Mapping

from ...storage._storage import StoredEvent
from ..objects._object_client import Json
from ..objects._ownership_claims import claim, selector_of
from ._control_loop import ControllerContext, ControlLoop, Listener
from ._controller_indexes import SelectorIndex, is_orphan


class OwnerLoop(ControlLoop):
    """A controller of the objects of `resource`, which own objects of `dependents`."""

    resource: str
    dependents: str = "pods"
    finalizer: str = ""  # added to an orphan that is adopted

    def __init__(self, context: ControllerContext) -> None:
        self.selectors = SelectorIndex()
        super().__init__(context)

    def listeners(self) -> Mapping[str, Listener]:
        return {self.resource: self.on_owner, self.dependents: self.on_dependent}

    def on_owner(self, event: StoredEvent) -> None:
        """Sync a changed owner."""
        key = event.stored.key
        if event.change == "DELETED":
            self.selectors.drop(key)
            self.queue.discard(key)
            return
        owner = self.objects.get(self.resource, key)
        if owner is not None:
            self.selectors.put(key, event.stored.namespace, selector_of(owner))
        self.enqueue(key)

    def on_dependent(self, event: StoredEvent) -> None:
        """Sync the owners of a changed dependent, or the owners that may adopt an orphan."""
        stored, previous = event.stored, event.previous
        for owner in self.owner_keys(event):
            self.enqueue(owner)
        if event.change == "DELETED" or not is_orphan(stored):
            return
        if previous is None or previous.labels != stored.labels or previous.owners != stored.owners:
            for key in self.selectors.matching(stored.namespace, stored.labels):
                self.enqueue(key)

    def owner_keys(self, event: StoredEvent) -> list[str]:
        """Return the keys of the present and the previous owners of a dependent."""
        uids = dict.fromkeys(event.stored.owners)
        if event.previous is not None:
            uids |= dict.fromkeys(event.previous.owners)
        known = self.context.owner_keys
        owners = self.objects.state.storage.resource(self.resource).objects
        keys = [(uid, known[uid]) for uid in uids if uid in known]
        return [key for uid, key in keys if key in owners and owners[key].uid == uid]

    def owned_or_orphaned(self, owner: Json) -> list[Json]:
        """Return the dependents of an owner, selected or not, and the orphans that it selects."""
        resource = self.dependents
        index, selector = self.context.dependents[resource], selector_of(owner)
        keys = index.owned(owner["metadata"]["uid"])
        for key in index.orphans(owner["metadata"]["namespace"]):
            stored = self.objects.stored(resource, key)
            if stored is not None and selector.matches(stored.labels or {}):
                keys.append(key)
        objects = (self.objects.get(resource, key) for key in dict.fromkeys(keys))
        return [obj for obj in objects if obj is not None]

    def claimed(self, owner: Json, candidates: list[Json] | None = None) -> list[Json]:
        """Adopt orphans and release unselected dependents; return the dependents of the owner."""
        if candidates is None:
            candidates = self.owned_or_orphaned(owner)
        return claim(self.objects, self.dependents, owner, candidates, self.user, self.finalizer)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, OwnerLoop):
            self.selectors = other.selectors.copy()
