"""Endpoints: the older form of EndpointSlices, one object with all addresses of a Service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ...storage._json_values import listed
from ...storage._storage import StoredEvent
from ..facts._objects import Json
from ..facts._pods import is_ready
from ..loops._loop import Listener
from ._service_loop import SERVICES, ServiceLoop, addresses_of, belongs, has_address, hostname_of, port_of
from ._times import precise

ENDPOINTS: Final = "endpoints"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_HEADLESS: Final = "service.kubernetes.io/headless"
_TRIGGER: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
_MOST: Final = 1000
_MANAGER: Final = "endpoint-controller"
_sorted_json: Final = msgspec.json.Encoder(order="sorted").encode


class Endpoints(ServiceLoop):
    """The controller of Endpoints."""

    name = "endpoints-controller"
    component = "endpoint-controller"

    def follows(self) -> Mapping[str, Listener]:
        return {**super().follows(), ENDPOINTS: self._on_endpoints}

    def _on_endpoints(self, event: StoredEvent) -> None:
        if event.change == "DELETED":
            self.enqueue(event.stored.key)

    def sync(self, key: str) -> float | None:
        if self.objects.get(SERVICES, key) is None:
            self.objects.delete(ENDPOINTS, key, self.user)
            return None
        service = self.selecting(key)
        if service is None:
            return None
        pods = self.pods_of(service)
        at = self.triggered_at(key, service, pods)
        subsets, truncated = _truncate(_subsets(service, pods))
        current = self.objects.get(ENDPOINTS, key)
        labels = _labels(service)
        same = current is not None and (current.get("subsets") or []) == subsets
        if same and current is not None and current["metadata"].get("labels") == labels:
            return None
        annotations = {_TRIGGER: precise(at) if at is not None else "", _OVER_CAPACITY: truncated}

        def change(obj: Json) -> None:
            meta = obj["metadata"]
            meta["labels"] = labels
            others: dict[str, str] = meta.pop("annotations", None) or {}
            own = {name: value for name, value in others.items() if name not in annotations}
            own |= {name: value for name, value in annotations.items() if value}
            if own:
                meta["annotations"] = own
            obj.pop("subsets", None)
            if subsets:
                obj["subsets"] = subsets

        if current is not None:
            self.objects.update(ENDPOINTS, key, change, self.user)
            return None
        namespace, _, name = key.partition("/")
        made: Json = {
            "apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace},
        }  # fmt: skip
        change(made)
        self.objects.create(ENDPOINTS, made, self.user)
        return None


def _labels(service: Json) -> dict[str, str]:
    """Return the labels of a Service, and those of the controller."""
    labels: dict[str, str] = dict(service["metadata"].get("labels") or {})
    labels.pop(_HEADLESS, None)
    if not has_address(service):
        labels[_HEADLESS] = ""
    labels[_MANAGED_BY] = _MANAGER
    return labels


def _subsets(service: Json, pods: list[Json]) -> list[Json]:
    """Return the addresses of a Service, grouped by their ports."""
    spec = service["spec"]
    always = bool(spec.get("publishNotReadyAddresses"))
    by_port: dict[bytes, tuple[Json | None, list[Json], list[Json]]] = {}
    for pod in pods:
        address = _address(service, pod) if belongs(pod, terminating=always) else None
        if address is None:
            continue
        for port in _ports(service, pod):
            _, ready, unready = by_port.setdefault(_sorted_json(port), (port, [], []))
            (ready if always or is_ready(pod) else unready).append(address)
    grouped: dict[bytes, Json] = {}
    for port, ready, unready in by_port.values():
        ready, unready = sorted(ready, key=_place), sorted(unready, key=_place)
        subset = grouped.setdefault(_sorted_json([ready, unready]), {})
        if ready:
            subset["addresses"] = ready
        if unready:
            subset["notReadyAddresses"] = unready
        if port is not None:
            subset.setdefault("ports", []).append(port)
    return list(grouped.values())


def _ports(service: Json, pod: Json) -> list[Json | None]:
    """Return the ports at which a pod is reached; only None if the Service has no ports and no address."""
    ports = listed(service["spec"], "ports")
    if not ports:
        return [None] if service["spec"].get("clusterIP") == "None" else []
    found: list[Json | None] = []
    for port in ports:
        number = port_of(pod, port)
        if number is not None:
            one: Json = {"port": number, "protocol": port.get("protocol", "TCP")}
            one |= {name: port[name] for name in ("name", "appProtocol") if port.get(name)}
            found.append(one)
    return found


def _address(service: Json, pod: Json) -> Json | None:
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    found = addresses_of(pod, families[0])
    if not found:
        return None
    meta = pod["metadata"]
    about = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    address: Json = {"ip": found[0], "nodeName": pod["spec"].get("nodeName") or "", "targetRef": about}
    if hostname := hostname_of(pod, service):
        address["hostname"] = hostname
    return address


def _place(address: Json) -> tuple[str, str]:
    return address["ip"], address["targetRef"]["uid"]


def _truncate(subsets: list[Json]) -> tuple[list[Json], str]:
    """Return subsets with at most a thousand addresses, ready ones first, and the annotation about that."""
    kinds = ("addresses", "notReadyAddresses")
    total = sum(len(one.get(name, ())) for one in subsets for name in kinds)
    if total <= _MOST:
        return subsets, ""
    left = _MOST
    for name in kinds:
        for one in subsets:
            kept = one.get(name, [])[:left]
            left -= len(kept)
            one.pop(name, None)
            if kept:
                one[name] = kept
    return [one for one in subsets if any(name in one for name in kinds)], "truncated"
