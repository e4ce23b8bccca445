"""Pairs of a local port and a port of a pod, from ``8080:80`` and the ports of a Service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from kubeproto import InvalidRequest

if TYPE_CHECKING:
    Json = dict[str, Any]

# 80, "80", "8080:80", ":80" for a free local port, or "8080:http" for a named port.
PortLike: TypeAlias = "int | str"


class PortPair(Struct, frozen=True):
    """A local port (0 for a free port), and the number or name of the port of the pod or Service."""

    local: int
    remote: str


def parse_port(port: PortLike) -> PortPair:
    """Parse a port like kubectl: a single number is both the local and the remote port."""
    text = str(port)
    local, colon, remote = text.partition(":")
    if not colon:
        remote, local = local, local if local.isdigit() else ""
    local = local or "0"
    is_number = local.isascii() and local.isdigit() and int(local) < 65536
    if not is_number or not _is_port(remote):
        raise InvalidRequest(
            f"{text!r} is not a port: expected 80, 8080:80, :80 for a free local port, or 8080:NAME"
        )
    return PortPair(int(local), remote)


def _is_port(remote: str) -> bool:
    if remote.lstrip("-").isdigit():
        return 0 < int(remote) < 65536
    return remote.replace("-", "").isalnum()


def pod_port(owner: Json, pod: Json, port: str) -> int:
    """Return the number of a port in a pod: for a port of a Service, its targetPort."""
    if owner.get("kind") == "Service" and owner["spec"].get("clusterIP") != "None":
        port = _target_port(owner, port)
    if port.isdigit():
        return int(port)
    containers: list[Json] = pod["spec"]["containers"]
    numbers: dict[str, int] = {}
    for container in containers:
        ports: list[Json] = container.get("ports") or []
        for container_port in ports:
            if "name" in container_port:
                numbers.setdefault(container_port["name"], int(container_port["containerPort"]))
    if port not in numbers:
        pod_name, names = pod["metadata"]["name"], ", ".join(numbers) or "none"
        raise InvalidRequest(f"Pod {pod_name} has no port {port!r}; its named ports are {names}")
    return numbers[port]


def _target_port(service: Json, port: str) -> str:
    ports: list[Json] = service["spec"].get("ports") or []
    for service_port in ports:
        if port in (str(service_port["port"]), service_port.get("name")):
            return str(service_port.get("targetPort") or service_port["port"])
    numbers = ", ".join(str(service_port["port"]) for service_port in ports) or "none"
    raise InvalidRequest(f"Service {service['metadata']['name']} has no port {port}; it has {numbers}")
