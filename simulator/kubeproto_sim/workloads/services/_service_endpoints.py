"""The base of both controllers of endpoints: Services with their pods, addresses and ports."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ...storage._json_values import seconds_of
from ...storage._storage import StoredEvent
from ..loops._control_loop import ControllerContext, ControlLoop, Listener
from ..loops._controller_indexes import SelectorIndex
from ..objects._object_client import Json
from ..objects._ownership_claims import selector_of
from ..objects._status_conditions import condition, is_finished

SERVICES: Final = "services"
HEADLESS: Final = "service.kubernetes.io/headless"
TRIGGER_TIME: Final = "endpoints.kubernetes.io/last-change-trigger-time"


class _TriggerTimes(Struct, frozen=True):
    """The creation and readiness times of a Service and its pods, as of the last write of its endpoints."""

    service: float
    pods: dict[str, float]


class ServiceLoop(ControlLoop):
    """A controller that creates objects from a Service and its pods."""

    def __init__(self, context: ControllerContext) -> None:
        self._selectors = SelectorIndex()
        self._trigger_times: dict[str, _TriggerTimes] = {}
        super().__init__(context)

    def listeners(self) -> Mapping[str, Listener]:
        return {SERVICES: self._on_service, "pods": self._on_pod}

    def find_service_with_selector(self, key: str) -> Json | None:
        """Return a Service with a selector: the endpoints of others are written by their users."""
        service = self.objects.get(SERVICES, key)
        if service is None or service["spec"].get("type") == "ExternalName":
            return None
        return service if service["spec"].get("selector") else None

    def pods_of(self, service: Json) -> list[Json]:
        """Return the pods that a Service selects, the oldest first."""
        return self.context.select_pods(service["metadata"]["namespace"], selector_of(service))

    def trigger_time(self, key: str, service: Json, pods: list[Json]) -> float | None:
        """Return the time of the earliest change since the last call; None if there was none."""
        previous = self._trigger_times.get(key)
        created = seconds_of(service["metadata"]["creationTimestamp"])
        times: dict[str, float] = {}
        for pod in pods:
            ready = condition(pod, "Ready")
            if ready is not None and ready.get("lastTransitionTime"):
                times[pod["metadata"]["name"]] = seconds_of(ready["lastTransitionTime"])
        self._trigger_times[key] = _TriggerTimes(created, times)
        if previous is None:
            return created
        changes = [time for name, time in times.items() if time > previous.pods.get(name, 0.0)]
        changes += [created] if created > previous.service else []
        return min(changes, default=None)

    def _on_service(self, event: StoredEvent) -> None:
        key = event.stored.key
        if event.change == "DELETED":
            self._selectors.drop(key)
            self._trigger_times.pop(key, None)
        elif (service := self.find_service_with_selector(key)) is not None:
            self._selectors.put(key, event.stored.namespace, selector_of(service))
        else:
            self._selectors.drop(key)
        self.enqueue(key)

    def _on_pod(self, event: StoredEvent) -> None:
        namespace = event.stored.namespace
        for stored in (event.stored, event.previous):
            if stored is not None:
                for key in self._selectors.matching(namespace, stored.labels):
                    self.enqueue(key)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, ServiceLoop):
            self._selectors, self._trigger_times = other._selectors.copy(), dict(other._trigger_times)


def is_reachable(pod: Json, *, include_terminating: bool) -> bool:
    """Return whether a pod has an address at which a Service may reach it."""
    status = pod.get("status", {})
    if is_finished(pod) or not (status.get("podIP") or status.get("podIPs")):
        return False
    return include_terminating or "deletionTimestamp" not in pod["metadata"]


def addresses_of(pod: Json, family: str) -> list[str]:
    """Return the addresses of a pod in an IP family."""
    addresses: list[str] = [entry["ip"] for entry in pod.get("status", {}).get("podIPs") or ()]
    return [address for address in addresses if (":" in address) == (family == "IPv6")]


def port_of(pod: Json, port: Json) -> int | None:
    """Return the number of a Service's port in a pod; None if the pod has no port of that name."""
    target = port.get("targetPort", port["port"])
    if not isinstance(target, str):
        return int(target or port["port"])
    sidecars = [
        container
        for container in pod["spec"].get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    ]
    for container in (*pod["spec"]["containers"], *sidecars):
        for candidate in container.get("ports") or ():
            if candidate.get("name") == target and candidate.get("protocol") == port.get("protocol"):
                return int(candidate["containerPort"])
    return None


def hostname_of(pod: Json, service: Json) -> str:
    """Return the host name of a pod in the domain of a Service; empty if it has none."""
    spec = pod["spec"]
    name: str = spec.get("hostname") or ""
    return name if spec.get("subdomain") == service["metadata"]["name"] else ""


def has_address(service: Json) -> bool:
    """Return whether a Service has an address of its own."""
    return service["spec"].get("clusterIP") not in (None, "", "None")


def go_timestamp(seconds: float) -> str:
    """Return a time since 1970 in the form in which Go prints it, with the digits of its fraction."""
    whole = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{seconds % 1:.9f}"[1:].rstrip("0").rstrip(".")
    return f"{whole}{fraction}Z"
