"""A loop that follows Services and the pods that they select: the base of both endpoints controllers."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ...storage._json_values import seconds_of
from ...storage._storage import StoredEvent
from ..facts._objects import Json
from ..facts._ownership import selector_of
from ..facts._pods import condition, is_finished
from ..loops._indexes import SelectorIndex
from ..loops._loop import ControlLoop, Listener, Shared

SERVICES = "services"


class Triggers(Struct, frozen=True):
    """When the pods of a Service became ready or unready, as its endpoints were written last."""

    service: float
    pods: dict[str, float]


class ServiceLoop(ControlLoop):
    """A controller that makes objects from a Service and its pods."""

    def __init__(self, shared: Shared) -> None:
        self.selectors = SelectorIndex()
        self._triggers: dict[str, Triggers] = {}
        super().__init__(shared)

    def follows(self) -> Mapping[str, Listener]:
        return {SERVICES: self._on_service, "pods": self._on_pod}

    def pods_of(self, service: Json) -> list[Json]:
        """Return the pods that a Service selects, the oldest first."""
        selector, namespace = selector_of(service), service["metadata"]["namespace"]
        found: list[Json] = []
        for key in self.shared.labels["pods"].candidates(namespace, selector):
            stored = self.objects.stored("pods", key)
            if stored is not None and selector.matches(stored.labels or {}):
                pod = self.objects.get("pods", key)
                if pod is not None:
                    found.append(pod)
        return found

    def selecting(self, key: str) -> Json | None:
        """Return a Service, if it exists and a controller makes its endpoints."""
        service = self.objects.get(SERVICES, key)
        if service is None or service["spec"].get("type") == "ExternalName":
            return None
        return service if service["spec"].get("selector") else None

    def triggered_at(self, key: str, service: Json, pods: list[Json]) -> float | None:
        """Return the time of the earliest change since the last call; None if there is none."""
        known = self._triggers.get(key)
        created = seconds_of(service["metadata"]["creationTimestamp"])
        times: dict[str, float] = {}
        for pod in pods:
            ready = condition(pod, "Ready")
            if ready is not None and ready.get("lastTransitionTime"):
                times[pod["metadata"]["name"]] = seconds_of(ready["lastTransitionTime"])
        self._triggers[key] = Triggers(created, times)
        if known is None:
            return created
        changed = [at for name, at in times.items() if at > known.pods.get(name, 0.0)]
        changed += [created] if created > known.service else []
        return min(changed, default=None)

    def _on_service(self, event: StoredEvent) -> None:
        key = event.stored.key
        if event.change == "DELETED":
            self.selectors.drop(key)
            self._triggers.pop(key, None)
        elif (service := self.selecting(key)) is not None:
            self.selectors.put(key, event.stored.namespace, selector_of(service))
        else:
            self.selectors.drop(key)
        self.enqueue(key)

    def _on_pod(self, event: StoredEvent) -> None:
        namespace = event.stored.namespace
        for stored in (event.stored, event.before):
            if stored is not None:
                for key in self.selectors.matching(namespace, stored.labels):
                    self.enqueue(key)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, ServiceLoop):
            self.selectors, self._triggers = other.selectors.copy(), dict(other._triggers)


def belongs(pod: Json, *, terminating: bool) -> bool:
    """Whether a pod has an address at which a Service may reach it."""
    status = pod.get("status", {})
    if is_finished(pod) or not (status.get("podIP") or status.get("podIPs")):
        return False
    return terminating or "deletionTimestamp" not in pod["metadata"]


def addresses_of(pod: Json, family: str) -> list[str]:
    """Return the addresses of a pod that are of one family."""
    found: list[str] = [one["ip"] for one in pod.get("status", {}).get("podIPs") or ()]
    return [ip for ip in found if (":" in ip) == (family == "IPv6")]


def port_of(pod: Json, port: Json) -> int | None:
    """Return the number of a Service's port in one pod; None if the pod has none of that name."""
    target = port.get("targetPort", port["port"])
    if not isinstance(target, str):
        return int(target or port["port"])
    sidecars = [
        one for one in pod["spec"].get("initContainers") or () if one.get("restartPolicy") == "Always"
    ]
    for container in (*pod["spec"]["containers"], *sidecars):
        for one in container.get("ports") or ():
            if one.get("name") == target and one.get("protocol") == port.get("protocol"):
                return int(one["containerPort"])
    return None


def hostname_of(pod: Json, service: Json) -> str:
    """Return the name by which a pod is known in the domain of a Service; empty if it is not."""
    spec = pod["spec"]
    name: str = spec.get("hostname") or ""
    return name if spec.get("subdomain") == service["metadata"]["name"] else ""


def has_address(service: Json) -> bool:
    """Whether a Service has an address of its own."""
    return service["spec"].get("clusterIP") not in (None, "", "None")
