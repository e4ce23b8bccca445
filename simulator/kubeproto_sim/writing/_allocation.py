"""What a server allocates to a Service: addresses and node ports, which it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from ..kinds._kinds import Served
from ..storage._json_values import listed, member, texts

Json = dict[str, Any]
SERVICES: Final = "services"
_FIRST_ADDRESS: Final = 10 << 24  # 10.0.0.0/24, the default range of a server
_FIRST_PORT: Final = 30_000
_KEPT: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def allocate(served: Served, obj: Json, *, dry_run: bool = False) -> None:
    """Give a new or changed Service the addresses and ports that it asks for and does not have yet."""
    if served.full_name != SERVICES:
        return
    spec = obj["spec"]
    kind = spec.get("type")
    if kind == "ExternalName":
        return
    headless = spec.get("clusterIP") == "None"
    if not spec.get("clusterIP"):
        spec["clusterIP"] = "10.0.0.0" if dry_run else _address({*_held(served, "clusterIP")})
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    both = headless and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if both else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if both else "SingleStack")
    if kind in ("NodePort", "LoadBalancer") and spec.get("allocateLoadBalancerNodePorts", True):
        taken = {*_held(served, "nodePort")}
        for port in listed(spec, "ports"):
            if not port.get("nodePort"):
                port["nodePort"] = next(one for one in range(_FIRST_PORT, 1 << 16) if one not in taken)
            taken.add(port["nodePort"])


def keep_allocated(served: Served, before: Json, obj: Json) -> None:
    """Keep what a Service was given and its replacement omits, as far as the new type needs it."""
    if served.full_name != SERVICES:
        return
    old, new = member(before, "spec"), member(obj, "spec")
    if "ExternalName" not in (old.get("type"), new.get("type")):
        for name in _KEPT:
            if name in old and not new.get(name):
                new[name] = old[name]
    if new.get("type") in ("NodePort", "LoadBalancer"):
        ports = {
            (one.get("protocol") or "TCP", one.get("port")): one.get("nodePort")
            for one in listed(old, "ports")
        }
        for port in listed(new, "ports"):
            if not port.get("nodePort") and (
                kept := ports.get((port.get("protocol") or "TCP", port.get("port")))
            ):
                port["nodePort"] = kept


def _held(served: Served, what: str) -> Iterator[Any]:
    for stored in served.storage.objects.values():
        spec = msgspec.json.decode(stored.data)["spec"]
        if what == "clusterIP":
            yield from texts(spec, "clusterIPs")
        else:
            yield from (one["nodePort"] for one in listed(spec, "ports") if "nodePort" in one)


def _address(taken: set[str]) -> str:
    number = _FIRST_ADDRESS + 1
    while (text := ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))) in taken:
        number += 1
    return text


__all__ = ["allocate", "keep_allocated"]
