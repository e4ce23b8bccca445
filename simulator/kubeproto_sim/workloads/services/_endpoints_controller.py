"""Endpoints: the older form of EndpointSlices, one object with all addresses of a Service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...storage._json_values import objects_in
from ...storage._storage import StoredEvent
from ..loops._control_loop import Listener
from ..loops._pod_control import sorted_json
from ..objects._object_client import Json
from ..objects._status_conditions import is_ready
from ._service_endpoints import (
    HEADLESS,
    SERVICES,
    TRIGGER_TIME,
    ServiceLoop,
    addresses_of,
    go_timestamp,
    has_address,
    hostname_of,
    is_reachable,
    port_of,
)

ENDPOINTS: Final = "endpoints"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_MAX_ADDRESSES: Final = 1000
_MANAGER: Final = "endpoint-controller"


class EndpointsController(ServiceLoop):
    """The controller of Endpoints."""

    name = "endpoints-controller"
    component = "endpoint-controller"

    def listeners(self) -> Mapping[str, Listener]:
        return {**super().listeners(), ENDPOINTS: self._on_endpoints}

    def _on_endpoints(self, event: StoredEvent) -> None:
        if event.change == "DELETED":
            self.enqueue(event.stored.key)

    def sync(self, key: str) -> float | None:
        if self.objects.get(SERVICES, key) is None:
            self.objects.delete(ENDPOINTS, key, self.user)
            return None
        service = self.find_service_with_selector(key)
        if service is None:
            return None
        pods = self.pods_of(service)
        trigger_time = self.trigger_time(key, service, pods)
        subsets, over_capacity = _truncate(_subsets(service, pods))
        current = self.objects.get(ENDPOINTS, key)
        labels = _labels(service)
        same_subsets = current is not None and (current.get("subsets") or []) == subsets
        if same_subsets and current is not None and current["metadata"].get("labels") == labels:
            return None
        annotations = {
            TRIGGER_TIME: go_timestamp(trigger_time) if trigger_time is not None else "",
            _OVER_CAPACITY: over_capacity,
        }

        def change(obj: Json) -> None:
            meta = obj["metadata"]
            meta["labels"] = labels
            present: dict[str, str] = meta.pop("annotations", None) or {}
            updated = {name: value for name, value in present.items() if name not in annotations}
            updated |= {name: value for name, value in annotations.items() if value}
            if updated:
                meta["annotations"] = updated
            obj.pop("subsets", None)
            if subsets:
                obj["subsets"] = subsets

        if current is not None:
            self.objects.update(ENDPOINTS, key, change, self.user)
            return None
        namespace, _, name = key.partition("/")
        endpoints: Json = {
            "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace},
        }  # fmt: skip
        change(endpoints)
        self.objects.create(ENDPOINTS, endpoints, self.user)
        return None


def _labels(service: Json) -> dict[str, str]:
    """Return the labels of a Service, and those of the controller."""
    labels: dict[str, str] = dict(service["metadata"].get("labels") or {})
    labels.pop(HEADLESS, None)
    if not has_address(service):
        labels[HEADLESS] = ""
    labels[_MANAGED_BY] = _MANAGER
    return labels


def _subsets(service: Json, pods: list[Json]) -> list[Json]:
    """Return the addresses of a Service, grouped by their ports."""
    spec = service["spec"]
    always = bool(spec.get("publishNotReadyAddresses"))
    by_port: dict[bytes, tuple[Json | None, list[Json], list[Json]]] = {}
    for pod in pods:
        address = _address(service, pod) if is_reachable(pod, include_terminating=always) else None
        if address is None:
            continue
        for port in _ports(service, pod):
            _, ready, unready = by_port.setdefault(sorted_json(port), (port, [], []))
            (ready if always or is_ready(pod) else unready).append(address)
    by_addresses: dict[bytes, Json] = {}
    for port, ready, unready in by_port.values():
        ready, unready = sorted(ready, key=_address_order), sorted(unready, key=_address_order)
        subset = by_addresses.setdefault(sorted_json([ready, unready]), {})
        if ready:
            subset["addresses"] = ready
        if unready:
            subset["notReadyAddresses"] = unready
        if port is not None:
            subset.setdefault("ports", []).append(port)
    return list(by_addresses.values())


def _ports(service: Json, pod: Json) -> list[Json | None]:
    """Return the ports of a pod; only None for a Service without ports and without an address."""
    service_ports = objects_in(service["spec"], "ports")
    if not service_ports:
        return [None] if service["spec"].get("clusterIP") == "None" else []
    ports: list[Json | None] = []
    for service_port in service_ports:
        number = port_of(pod, service_port)
        if number is not None:
            port: Json = {"port": number, "protocol": service_port.get("protocol", "TCP")}
            names = ("name", "appProtocol")
            ports.append(port | {name: service_port[name] for name in names if service_port.get(name)})
    return ports


def _address(service: Json, pod: Json) -> Json | None:
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    addresses = addresses_of(pod, families[0])
    if not addresses:
        return None
    meta = pod["metadata"]
    target = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    address: Json = {"ip": addresses[0], "nodeName": pod["spec"].get("nodeName") or "", "targetRef": target}
    if hostname := hostname_of(pod, service):
        address["hostname"] = hostname
    return address


def _address_order(address: Json) -> tuple[str, str]:
    return address["ip"], address["targetRef"]["uid"]


def _truncate(subsets: list[Json]) -> tuple[list[Json], str]:
    """Return subsets with at most a thousand addresses, ready ones first, and the annotation about that."""
    groups = ("addresses", "notReadyAddresses")
    total = sum(len(subset.get(group, ())) for subset in subsets for group in groups)
    if total <= _MAX_ADDRESSES:
        return subsets, ""
    room = _MAX_ADDRESSES
    for group in groups:
        for subset in subsets:
            addresses = subset.get(group, [])[:room]
            room -= len(addresses)
            subset.pop(group, None)
            if addresses:
                subset[group] = addresses
    return [subset for subset in subsets if any(group in subset for group in groups)], "truncated"
