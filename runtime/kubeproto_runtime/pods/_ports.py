"""Which local port leads to which port of a pod, from ``8080:80`` and the ports of a Service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from kubeproto import InvalidRequest

if TYPE_CHECKING:
    Json = dict[str, Any]

# 80, "80", "8080:80", ":80" for a local port that is free, or "8080:http" for a named one.
PortLike: TypeAlias = "int | str"


class PortPair(Struct, frozen=True):
    """A local port, 0 for one that is free, and the port that it leads to: a number or a name."""

    local: int
    remote: str


def parse_port(port: PortLike) -> PortPair:
    """Read a port as kubectl does; a number alone is the same on both sides."""
    text = str(port)
    local, colon, remote = text.partition(":")
    if not colon:
        remote = local
    number = local or "0"
    # A name alone has no local number.
    if not colon and not local.isdigit():
        number = "0"
    if not remote or not (number.isascii() and number.isdigit()) or int(number) > 65535 or _is_bad(remote):
        raise InvalidRequest(
            f"{text!r} is not a port: expected 80, 8080:80, :80 for a free local port, or 8080:NAME"
        )
    return PortPair(int(number), remote)


def _is_bad(remote: str) -> bool:
    if remote.lstrip("-").isdigit():
        return not 0 < int(remote) < 65536
    return not remote.replace("-", "").isalnum()


def pod_port(owner: Json, pod: Json, port: str) -> int:
    """Return the number of a port in a pod; a port of a Service leads to its targetPort."""
    if owner.get("kind") == "Service" and owner["spec"].get("clusterIP") != "None":
        port = _target(owner, port)
    if port.isdigit():
        return int(port)
    containers: list[Json] = pod["spec"]["containers"]
    named: list[Json] = []
    for container in containers:
        named += container.get("ports") or []
    for one in named:
        if one.get("name") == port:
            return int(one["containerPort"])
    names = ", ".join(str(one["name"]) for one in named if "name" in one)
    raise InvalidRequest(f"Pod {pod['metadata']['name']} has no port {port!r}; it names {names or 'none'}")


def _target(service: Json, port: str) -> str:
    ports: list[Json] = service["spec"].get("ports") or []
    for one in ports:
        if port in (str(one["port"]), one.get("name")):
            return str(one.get("targetPort") or one["port"])
    served = ", ".join(str(one["port"]) for one in ports)
    raise InvalidRequest(
        f"Service {service['metadata']['name']} has no port {port}; it has {served or 'none'}"
    )
