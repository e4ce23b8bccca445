"""EndpointSlices: the addresses of the pods of a Service, up to a hundred in a slice.

As few slices as possible are changed: endpoints that are gone are removed, new endpoints fill the slices that
change anyway, the fullest first, then one that has room for all of the rest, and then new slices. A Service
without any pods has one slice without endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ..._rejections import Rejection, failure
from ...storage._json_values import copied, member
from ...storage._storage import StoredEvent
from ..facts._objects import Json, message_of
from ..facts._ownership import key_of, reference_to
from ..facts._pods import is_ready
from ..loops._loop import Listener, Shared
from ..loops._pod_control import is_namespace_going
from ._endpoint_packing import Packing, pack
from ._service_loop import ServiceLoop, addresses_of, belongs, has_address, hostname_of, port_of
from ._times import precise

SLICES: Final = "endpointslices.discovery.k8s.io"
_SERVICE: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_HEADLESS: Final = "service.kubernetes.io/headless"
_MANAGER: Final = "endpointslice-controller.k8s.io"
_TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_ZONE: Final = "topology.kubernetes.io/zone"
_RESERVED: Final = (_SERVICE, _MANAGED_BY, _HEADLESS)
_sorted_json: Final = msgspec.json.Encoder(order="sorted").encode


class EndpointSlices(ServiceLoop):
    """The controller of EndpointSlices."""

    name = "endpointslice-controller"
    component = "endpoint-slice-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._waiting: set[str] = set()  # Services with pods on a node that does not exist

    def follows(self) -> Mapping[str, Listener]:
        return {**super().follows(), SLICES: self._on_slice, "nodes": self._on_node}

    def sync(self, key: str) -> float | None:
        service = self.selecting(key)
        if service is None:
            return None
        pods = self.pods_of(service)
        at = self.triggered_at(key, service, pods)
        slices = self._slices_of(service)
        families: list[str] = service["spec"].get("ipFamilies") or ["IPv4"]
        missing: list[str] = []
        try:
            for one in slices:
                if one["addressType"] not in families:
                    self.objects.delete(SLICES, key_of(one), self.user)
            for family in families:
                existing = [one for one in slices if one["addressType"] == family]
                missing += self._reconcile(service, pods, existing, family, at)
        except Rejection as refused:
            if not is_namespace_going(refused):
                self._complain(service, message_of(refused))
                raise
        if missing:
            self._complain(service, f"skipping Pod {missing[0]}")
            self._waiting.add(key)
            raise Rejection(failure(500, missing[0]))
        return None

    def _reconcile(
        self, service: Json, pods: list[Json], existing: list[Json], family: str, at: float | None
    ) -> list[str]:
        """Update the slices of one family; return which pods are on a node that does not exist."""
        wanted: dict[bytes, tuple[list[Json], dict[bytes, Json]]] = {}
        missing: list[str] = []
        for pod in pods:
            if not belongs(pod, terminating=True):
                continue
            ports = _ports(service, pod)
            _, endpoints = wanted.setdefault(_sorted_json(sorted(ports, key=_sorted_json)), (ports, {}))
            node = self.objects.get("nodes", pod["spec"].get("nodeName") or "")
            if node is None and not service["spec"].get("publishNotReadyAddresses"):
                name, of = pod["metadata"]["name"], key_of(service)
                missing.append(f"{name} for Service {of}: Node {pod['spec'].get('nodeName', '')} Not Found")
                continue
            endpoint = _endpoint(service, pod, node, family)
            if endpoint["addresses"]:
                endpoints[_identity(endpoint)] = endpoint
        result = Packing()
        by_ports: dict[bytes, list[Json]] = {}
        for one in existing:
            if any(
                owner["uid"] == service["metadata"]["uid"]
                for owner in one["metadata"].get("ownerReferences", ())
            ):
                by_ports.setdefault(
                    _sorted_json(sorted(one.get("ports") or [], key=_sorted_json)), []
                ).append(one)
            else:
                result.delete.append(one)
        labels = _labels(service)
        for ports_key, (ports, endpoints) in wanted.items():
            new = _new_slice(service, ports, family, labels)
            pack(result, by_ports.pop(ports_key, []), endpoints, new, labels, _identity)
        for left in by_ports.values():
            result.delete += left
        if len(existing) == len(result.delete) and not result.create:
            empty = _new_slice(service, [], family, labels)
            if len(result.delete) == 1 and _is_empty(result.delete[0], labels):
                result.delete.clear()
            else:
                result.create.append(empty)
        self._write(service, result, at)
        return missing

    def _write(self, service: Json, result: Packing, at: float | None) -> None:
        while result.create and result.delete:
            # A slice that would be deleted is reused for a new one.
            old, new = result.delete.pop(0), result.create.pop()
            result.update.append((old, new))
        for one in result.create if "deletionTimestamp" not in service["metadata"] else ():
            _note_trigger(one, at)
            self.objects.create(SLICES, one, self.user)
        for old, new in result.update:
            self.objects.update(SLICES, key_of(old), _replacing(new, at), self.user)
        for one in result.delete:
            self.objects.delete(SLICES, key_of(one), self.user)

    def _slices_of(self, service: Json) -> list[Json]:
        keys = self.shared.owners[SLICES].owned(service["metadata"]["uid"])
        found = [one for key in keys if (one := self.objects.get(SLICES, key)) is not None]
        return [
            one
            for one in found
            if one["metadata"].get("labels", {}).get(_MANAGED_BY) == _MANAGER
            and one["metadata"]["labels"].get(_SERVICE) == service["metadata"]["name"]
            and "deletionTimestamp" not in one["metadata"]
        ]

    def _on_slice(self, event: StoredEvent) -> None:
        """Sync a Service whose slice another client has changed or deleted."""
        labels = event.stored.labels or {}
        if labels.get(_MANAGED_BY) == _MANAGER and event.change != "ADDED" and _SERVICE in labels:
            self.enqueue(f"{event.stored.namespace}/{labels[_SERVICE]}")

    def _on_node(self, event: StoredEvent) -> None:
        """Sync the Services that wait for a node of their pods."""
        if event.change == "ADDED":
            for key in sorted(self._waiting):
                self.enqueue(key)
            self._waiting.clear()

    def _complain(self, service: Json, why: str) -> None:
        name = key_of(service)
        said = f"Error updating Endpoint Slices for Service {name}: {why}"
        self.shared.recorder.record(
            service, "FailedToUpdateEndpointSlices", said, self.component, warning=True
        )


def _endpoint(service: Json, pod: Json, node: Json | None, family: str) -> Json:
    meta, ready = pod["metadata"], is_ready(pod)
    going = "deletionTimestamp" in meta
    always = bool(service["spec"].get("publishNotReadyAddresses"))
    endpoint: Json = {
        "addresses": addresses_of(pod, family),
        "conditions": {"ready": always or (ready and not going), "serving": ready, "terminating": going},
        "targetRef": {
            "kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"],
        },
    }  # fmt: skip
    if name := pod["spec"].get("nodeName"):
        endpoint["nodeName"] = name
    zone = (node or {"metadata": {}})["metadata"].get("labels", {}).get(_ZONE)
    if zone:
        endpoint["zone"] = zone
    if hostname := hostname_of(pod, service):
        endpoint["hostname"] = hostname
    return endpoint


def _ports(service: Json, pod: Json) -> list[Json]:
    ports: list[Json] = []
    for port in service["spec"].get("ports") or ():
        number = port_of(pod, port)
        if number is not None:
            found = {"name": port.get("name", ""), "port": number, "protocol": port.get("protocol", "TCP")}
            if "appProtocol" in port:
                found["appProtocol"] = port["appProtocol"]
            ports.append(found)
    return ports


def _identity(endpoint: Json) -> bytes:
    """Return what identifies an endpoint, whether it is ready or not."""
    return _sorted_json(
        {name: value for name, value in endpoint.items() if name not in ("conditions", "hints")}
    )


def _labels(service: Json) -> dict[str, str]:
    own: dict[str, str] = service["metadata"].get("labels") or {}
    labels = {name: value for name, value in own.items() if name not in _RESERVED}
    if not has_address(service):
        labels[_HEADLESS] = ""
    return labels | {_SERVICE: service["metadata"]["name"], _MANAGED_BY: _MANAGER}


def _new_slice(service: Json, ports: list[Json], family: str, labels: dict[str, str]) -> Json:
    meta = service["metadata"]
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{meta['name']}-", "namespace": meta["namespace"], "labels": labels,
            "ownerReferences": [reference_to(service)],
        },
        "addressType": family, "endpoints": [], "ports": copied(ports),
    }  # fmt: skip


def _is_empty(one: Json, labels: dict[str, str]) -> bool:
    return not one.get("endpoints") and not one.get("ports") and one["metadata"].get("labels") == labels


def _note_trigger(one: Json, at: float | None) -> None:
    if at is not None:
        one["metadata"].setdefault("annotations", {})[_TRIGGER] = precise(at)
    elif _TRIGGER in (annotations := member(one["metadata"], "annotations")):
        del annotations[_TRIGGER]


def _replacing(new: Json, at: float | None) -> Any:
    def change(obj: Json) -> None:
        obj["endpoints"], obj["ports"] = new["endpoints"], new.get("ports")
        obj["metadata"]["labels"] = new["metadata"]["labels"]
        _note_trigger(obj, at)

    return change
