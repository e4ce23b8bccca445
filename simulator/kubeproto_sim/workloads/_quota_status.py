"""The status of quotas: what the objects of a namespace use, counted again when an object is deleted.

The server charges new objects when it stores them. So it is enough to count when a quota is new or has
changed, and when an object is deleted, ends, or requests less.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeproto.objects import Quantity, Selector

from ..storage._json_values import member
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._quota_usage import Usage, add, in_scope, names_for, usage_of
from ..writing._quotas import QUOTAS
from .facts._objects import Json
from .facts._pods import is_finished
from .loops._loop import ControlLoop, Listener

_RECOUNTED = ("pods", "services", "persistentvolumeclaims")


class ResourceQuotas(ControlLoop):
    """The controller of ResourceQuotas."""

    name = "resourcequota-controller"

    def follows(self) -> Mapping[str, Listener]:
        return {}

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        if storage.name == QUOTAS:
            if event.change != "DELETED":
                self.enqueue(event.stored.key)
            return
        keys = self.objects.state.quotas.get(event.stored.namespace)
        if not keys or event.change == "ADDED":
            return
        if event.change == "DELETED" or (storage.name in _RECOUNTED and self._takes_less(storage, event)):
            for key in sorted(keys):
                self.enqueue(key)

    def sync(self, key: str) -> float | None:
        quota = self.objects.get(QUOTAS, key)
        if quota is None:
            return None
        hard: dict[str, str] = member(quota["spec"], "hard")
        counted = self._count(quota, set(hard))
        old = member(member(quota, "status"), "used")
        used = {name: str(counted[name]) if name in counted else old.get(name) for name in sorted(hard)}
        used = {name: text for name, text in used.items() if text is not None}
        status: Json = {"hard": dict(hard), "used": used} if hard else {}
        if status != member(quota, "status"):
            self.objects.set_status(QUOTAS, key, status, self.user)
        return None

    def _count(self, quota: Json, names: set[str]) -> Usage:
        """Return the use of each resource that a quota limits in its namespace."""
        namespace, now = quota["metadata"]["namespace"], self.objects.now
        total: Usage = {}
        for resource, served in self.objects.state.kinds.by_storage.items():
            own = names_for(resource, names)
            if not own or not served.namespaced:
                continue
            total = add({name: Quantity(0) for name in own}, total)
            for key in self._keys(resource, namespace):
                obj = self.objects.get(resource, key)
                if obj is not None and in_scope(quota, resource, obj):
                    found = usage_of(resource, obj, now)
                    total = add(total, {name: amount for name, amount in found.items() if name in own})
        return total

    def _keys(self, resource: str, namespace: str) -> list[str]:
        if resource == "pods":
            return self.shared.labels["pods"].candidates(namespace, Selector())
        objects = self.objects.state.storage.resource(resource).objects
        return [key for key, stored in objects.items() if stored.namespace == namespace]

    def _takes_less(self, storage: ResourceStorage, event: StoredEvent) -> bool:
        """Whether a change may have freed something."""
        found = self.objects.get(storage.name, event.stored.key)
        return storage.name != "pods" or (found is not None and is_finished(found))
