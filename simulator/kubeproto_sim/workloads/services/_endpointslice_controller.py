"""EndpointSlices: the addresses of the pods of a Service, up to a hundred in a slice.

As few slices as possible are changed: missing endpoints are removed; new endpoints fill the slices that
change anyway, the fullest first, then a slice with room for all others, and then new slices. A Service
without pods has one slice without endpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kubeproto.objects import copy_json

from ..._rejections import Rejection, failure
from ...storage._json_values import member, objects_in
from ...storage._storage import StoredEvent
from ..loops._control_loop import ControllerContext, Listener
from ..loops._pod_control import is_namespace_terminating, sorted_json
from ..objects._object_client import Json, message_of
from ..objects._ownership_claims import key_of, reference_to
from ..objects._status_conditions import is_ready
from ._endpointslice_packing import SliceChanges, pack
from ._service_endpoints import (
    HEADLESS,
    TRIGGER_TIME,
    ServiceLoop,
    addresses_of,
    go_timestamp,
    has_address,
    hostname_of,
    is_reachable,
    port_of,
)

SLICES: Final = "endpointslices.discovery.k8s.io"
_SERVICE: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_MANAGER: Final = "endpointslice-controller.k8s.io"
_ZONE: Final = "topology.kubernetes.io/zone"
_OWN_LABELS: Final = (_SERVICE, _MANAGED_BY, HEADLESS)


class EndpointSliceController(ServiceLoop):
    """The controller of EndpointSlices."""

    name = "endpointslice-controller"
    component = "endpoint-slice-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._waiting: set[str] = set()  # Services with pods on a node that does not exist

    def listeners(self) -> Mapping[str, Listener]:
        return {**super().listeners(), SLICES: self._on_slice, "nodes": self._on_node}

    def sync(self, key: str) -> float | None:
        service = self.find_service_with_selector(key)
        if service is None:
            return None
        pods = self.pods_of(service)
        trigger_time = self.trigger_time(key, service, pods)
        slices = self._slices_of(service)
        families: list[str] = service["spec"].get("ipFamilies") or ["IPv4"]
        problems: list[str] = []
        try:
            for slice_ in slices:
                if slice_["addressType"] not in families:
                    self.objects.delete(SLICES, key_of(slice_), self.user)
            for family in families:
                existing = [slice_ for slice_ in slices if slice_["addressType"] == family]
                problems += self._update_family(service, pods, existing, family, trigger_time)
        except Rejection as rejection:
            if not is_namespace_terminating(rejection):
                self._record_failure(service, message_of(rejection))
                raise
        if problems:
            self._record_failure(service, f"skipping Pod {problems[0]}")
            self._waiting.add(key)
            raise Rejection(failure(500, problems[0]))
        return None

    def _update_family(
        self, service: Json, pods: list[Json], existing: list[Json], family: str, trigger_time: float | None
    ) -> list[str]:
        """Update the slices of an IP family; return a message for each pod on a missing node."""
        by_ports, problems = self._endpoints_by_ports(service, pods, family)
        changes = SliceChanges()
        existing_by_ports: dict[bytes, list[Json]] = {}
        for slice_ in existing:
            owner_uids = [reference["uid"] for reference in objects_in(slice_["metadata"], "ownerReferences")]
            if service["metadata"]["uid"] in owner_uids:
                existing_by_ports.setdefault(_ports_key(objects_in(slice_, "ports")), []).append(slice_)
            else:
                changes.delete.append(slice_)
        labels = _labels(service)
        for ports_key, (ports, endpoints) in by_ports.items():
            empty_slice = _new_slice(service, ports, family, labels)
            present = existing_by_ports.pop(ports_key, [])
            pack(changes, present, endpoints, empty_slice, labels, _identity)
        for slices in existing_by_ports.values():
            changes.delete += slices
        if len(existing) == len(changes.delete) and not changes.create:
            empty_slice = _new_slice(service, [], family, labels)
            if len(changes.delete) == 1 and _is_empty(changes.delete[0], labels):
                changes.delete.clear()
            else:
                changes.create.append(empty_slice)
        self._write(service, changes, trigger_time)
        return problems

    def _endpoints_by_ports(
        self, service: Json, pods: list[Json], family: str
    ) -> tuple[dict[bytes, tuple[list[Json], dict[bytes, Json]]], list[str]]:
        """Return the ports and the endpoints for each set of ports, and a message for each skipped pod."""
        by_ports: dict[bytes, tuple[list[Json], dict[bytes, Json]]] = {}
        problems: list[str] = []
        for pod in pods:
            if not is_reachable(pod, include_terminating=True):
                continue
            ports = _ports(service, pod)
            _, endpoints = by_ports.setdefault(_ports_key(ports), (ports, {}))
            node = self.objects.get("nodes", pod["spec"].get("nodeName") or "")
            if node is None and not service["spec"].get("publishNotReadyAddresses"):
                name, service_key = pod["metadata"]["name"], key_of(service)
                node_name = pod["spec"].get("nodeName", "")
                problems.append(f"{name} for Service {service_key}: Node {node_name} Not Found")
                continue
            endpoint = _endpoint(service, pod, node, family)
            if endpoint["addresses"]:
                endpoints[_identity(endpoint)] = endpoint
        return by_ports, problems

    def _write(self, service: Json, changes: SliceChanges, trigger_time: float | None) -> None:
        while changes.create and changes.delete:
            # A slice that would be deleted is reused as a new slice.
            old, new = changes.delete.pop(0), changes.create.pop()
            changes.update.append((old, new))
        for slice_ in changes.create if "deletionTimestamp" not in service["metadata"] else ():
            _annotate_trigger(slice_, trigger_time)
            self.objects.create(SLICES, slice_, self.user)
        for old, new in changes.update:
            self.objects.update(SLICES, key_of(old), _replace_content(new, trigger_time), self.user)
        for slice_ in changes.delete:
            self.objects.delete(SLICES, key_of(slice_), self.user)

    def _slices_of(self, service: Json) -> list[Json]:
        keys = self.context.dependents[SLICES].owned(service["metadata"]["uid"])
        slices = [slice_ for key in keys if (slice_ := self.objects.get(SLICES, key)) is not None]
        return [
            slice_
            for slice_ in slices
            if slice_["metadata"].get("labels", {}).get(_MANAGED_BY) == _MANAGER
            and slice_["metadata"]["labels"].get(_SERVICE) == service["metadata"]["name"]
            and "deletionTimestamp" not in slice_["metadata"]
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

    def _record_failure(self, service: Json, message: str) -> None:
        message = f"Error updating Endpoint Slices for Service {key_of(service)}: {message}"
        self.record(service, "FailedToUpdateEndpointSlices", message, warning=True)


def _endpoint(service: Json, pod: Json, node: Json | None, family: str) -> Json:
    meta, is_serving = pod["metadata"], is_ready(pod)
    terminating = "deletionTimestamp" in meta
    always = bool(service["spec"].get("publishNotReadyAddresses"))
    endpoint: Json = {
        "addresses": addresses_of(pod, family),
        "conditions": {
            "ready": always or (is_serving and not terminating), "serving": is_serving,
            "terminating": terminating,
        },
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
    for port in objects_in(service["spec"], "ports"):
        number = port_of(pod, port)
        if number is not None:
            protocol = port.get("protocol", "TCP")
            ports.append({"name": port.get("name", ""), "port": number, "protocol": protocol})
            if "appProtocol" in port:
                ports[-1]["appProtocol"] = port["appProtocol"]
    return ports


def _ports_key(ports: list[Json]) -> bytes:
    """Return a key for a set of ports, in whatever order they are listed."""
    return sorted_json(sorted(ports, key=sorted_json))


def _identity(endpoint: Json) -> bytes:
    """Return a key for an endpoint, whether it is ready or not."""
    return sorted_json(
        {name: value for name, value in endpoint.items() if name not in ("conditions", "hints")}
    )


def _labels(service: Json) -> dict[str, str]:
    """Return the labels of the slices: those of the Service, and those of the controller."""
    service_labels: dict[str, str] = service["metadata"].get("labels") or {}
    labels = {name: value for name, value in service_labels.items() if name not in _OWN_LABELS}
    if not has_address(service):
        labels[HEADLESS] = ""
    return labels | {_SERVICE: service["metadata"]["name"], _MANAGED_BY: _MANAGER}


def _new_slice(service: Json, ports: list[Json], family: str, labels: dict[str, str]) -> Json:
    meta = service["metadata"]
    return {
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{meta['name']}-", "namespace": meta["namespace"], "labels": labels,
            "ownerReferences": [reference_to(service)],
        },
        "addressType": family, "endpoints": [], "ports": copy_json(ports),
    }  # fmt: skip


def _is_empty(slice_: Json, labels: dict[str, str]) -> bool:
    same_labels = slice_["metadata"].get("labels") == labels
    return not slice_.get("endpoints") and not slice_.get("ports") and same_labels


def _annotate_trigger(slice_: Json, trigger_time: float | None) -> None:
    if trigger_time is not None:
        slice_["metadata"].setdefault("annotations", {})[TRIGGER_TIME] = go_timestamp(trigger_time)
    elif TRIGGER_TIME in (annotations := member(slice_["metadata"], "annotations")):
        del annotations[TRIGGER_TIME]


def _replace_content(new: Json, trigger_time: float | None) -> Callable[[Json], Any]:
    def change(obj: Json) -> None:
        obj["endpoints"], obj["ports"] = new["endpoints"], new.get("ports")
        obj["metadata"]["labels"] = new["metadata"]["labels"]
        _annotate_trigger(obj, trigger_time)

    return change
