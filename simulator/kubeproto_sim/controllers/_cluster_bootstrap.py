"""The initial objects of a new cluster and of each new namespace.

`tools/new_cluster` reads those of a cluster from a real server: roles and their bindings, priority classes,
flow schemas, API services and the `kubernetes` Service. A default ServiceAccount and the certificate of the
cluster's authority are created in each namespace, and again after their deletion.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from .._state import ServerState
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._server_writes import put

_ROOT_CERTIFICATE: Final = "kube-root-ca.crt"
_NAMESPACE_DEFAULTS: Final = (
    ("ServiceAccount", "serviceaccounts", "default"),
    ("ConfigMap", "configmaps", _ROOT_CERTIFICATE),
)


def populate(state: ServerState, group: str | None = None) -> None:
    """Store the initial objects of a cluster, or only those of an API group."""
    import pkgutil

    data = pkgutil.get_data("kubeproto_sim", "new_cluster.json")
    if data is None:
        raise RuntimeError("kubeproto_sim was installed without its new_cluster.json")
    objects: list[dict[str, Any]] = msgspec.json.decode(data)
    for obj in objects:
        if group is not None and obj["apiVersion"].rpartition("/")[0] != group:
            continue
        for condition in obj.get("status", {}).get("conditions", ()):
            condition["lastTransitionTime"] = state.clock.stamp()
        _store(state, obj)


def _store(state: ServerState, obj: dict[str, Any]) -> None:
    served = state.kinds.of_kind(obj["apiVersion"], obj["kind"])
    if served is None:
        return
    meta = obj["metadata"]
    meta |= {"uid": state.rng.uid(), "creationTimestamp": state.clock.stamp()}
    put(state, served, served.key(meta.get("namespace", ""), meta["name"]), obj)


class NamespaceDefaults:
    """Creates the default ServiceAccount and the certificate of the authority in each namespace."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._incomplete_namespaces: set[str] = set()

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Mark new namespaces, and those whose default objects were deleted."""
        stored = event.stored
        if storage.name == "namespaces" and event.change == "ADDED":
            self._incomplete_namespaces.add(stored.name)
        elif event.change == "DELETED" and any(
            storage.name == resource and stored.name == name for _, resource, name in _NAMESPACE_DEFAULTS
        ):
            self._incomplete_namespaces.add(stored.namespace)

    def work(self) -> bool:
        """Create the missing objects of marked namespaces; return whether there were any."""
        incomplete_namespaces, self._incomplete_namespaces = self._incomplete_namespaces, set()
        created = False
        for namespace in sorted(incomplete_namespaces):
            if namespace in self.state.terminating or not self._exists(namespace):
                continue
            for kind, resource, name in _NAMESPACE_DEFAULTS:
                if f"{namespace}/{name}" not in self.state.storage.resource(resource).objects:
                    _store(self.state, _default_object(kind, name, namespace))
                    created = True
        return created

    def _exists(self, namespace: str) -> bool:
        return namespace in self.state.storage.resource("namespaces").objects


def _default_object(kind: str, name: str, namespace: str) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "namespace": namespace}
    obj = {"apiVersion": "v1", "kind": kind, "metadata": meta}
    if kind == "ConfigMap":
        return obj | {"data": {"ca.crt": ""}}
    return obj
