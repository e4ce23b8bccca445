"""The status of ResourceQuotas: the usage of a namespace, recounted when it may have fallen.

The server charges new objects when it stores them. So a recount is needed only when a quota is new or has
changed, and when an object is deleted, finishes, or requests less.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeproto.objects import Quantity, Selector

from ..storage._json_values import member
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._quota_charges import QUOTAS
from ..writing._quota_usage import Usage, add, in_scope, names_for, usage_of
from .loops._control_loop import ControlLoop, Listener
from .objects._object_client import Json
from .objects._status_conditions import is_finished

_RECOUNTED_RESOURCES = ("pods", "services", "persistentvolumeclaims")


class QuotaController(ControlLoop):
    """The controller of ResourceQuotas."""

    name = "resourcequota-controller"

    def listeners(self) -> Mapping[str, Listener]:
        return {}  # a quota may limit any resource, so `on_event` looks at all changes

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        if storage.name == QUOTAS:
            if event.change != "DELETED":
                self.enqueue(event.stored.key)
            return
        keys = self.objects.state.quotas.get(event.stored.namespace)
        if not keys or event.change == "ADDED":
            return
        if event.change == "DELETED" or (
            storage.name in _RECOUNTED_RESOURCES and self._may_use_less(storage, event)
        ):
            for key in sorted(keys):
                self.enqueue(key)

    def sync(self, key: str) -> float | None:
        quota = self.objects.get(QUOTAS, key)
        if quota is None:
            return None
        hard: dict[str, str] = member(quota["spec"], "hard")
        usage = self._count(quota, set(hard))
        previous = member(member(quota, "status"), "used")
        used = {name: str(usage[name]) if name in usage else previous.get(name) for name in sorted(hard)}
        used = {name: text for name, text in used.items() if text is not None}
        status: Json = {"hard": dict(hard), "used": used} if hard else {}
        if status != member(quota, "status"):
            self.objects.set_status(QUOTAS, key, status, self.user)
        return None

    def _count(self, quota: Json, limited: set[str]) -> Usage:
        """Return the usage of each limited name in the namespace of a quota."""
        namespace, now = quota["metadata"]["namespace"], self.objects.now
        total: Usage = {}
        for resource, served in self.objects.state.kinds.by_storage.items():
            names = names_for(resource, limited)
            if not names or not served.namespaced:
                continue
            total = add({name: Quantity(0) for name in names}, total)
            for key in self._keys(resource, namespace):
                obj = self.objects.get(resource, key)
                if obj is not None and in_scope(quota, resource, obj):
                    usage = usage_of(resource, obj, now)
                    total = add(total, {name: amount for name, amount in usage.items() if name in names})
        return total

    def _keys(self, resource: str, namespace: str) -> list[str]:
        if resource == "pods":
            return self.context.pod_labels.candidates(namespace, Selector())
        objects = self.objects.state.storage.resource(resource).objects
        return [key for key, stored in objects.items() if stored.namespace == namespace]

    def _may_use_less(self, storage: ResourceStorage, event: StoredEvent) -> bool:
        obj = self.objects.get(storage.name, event.stored.key)
        return storage.name != "pods" or (obj is not None and is_finished(obj))
