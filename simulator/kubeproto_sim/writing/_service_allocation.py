"""The addresses and node ports that a server allocates to Services."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubeproto.crd import Violation

from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in, strings_in

Json = dict[str, Any]
SERVICES: Final = "services"
_FIRST_ADDRESS: Final = 10 << 24  # 10.0.0.0/24, the default range of a server
_FIRST_PORT: Final = 30_000
_PRESERVED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")


def allocate(served: ServedKind, obj: Json, *, dry_run: bool = False) -> None:
    """Allocate the addresses and ports that a new or changed Service needs and does not have."""
    if served.full_name != SERVICES:
        return
    spec = obj["spec"]
    type_ = spec.get("type")
    if type_ == "ExternalName":
        return
    headless = spec.get("clusterIP") == "None"
    if not spec.get("clusterIP"):
        spec["clusterIP"] = "10.0.0.0" if dry_run else _free_address({*_used_values(served, "clusterIP")})
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    is_dual_stack = headless and not spec.get("selector")
    spec.setdefault("ipFamilies", ["IPv4", "IPv6"] if is_dual_stack else ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "RequireDualStack" if is_dual_stack else "SingleStack")
    if type_ in ("NodePort", "LoadBalancer") and spec.get("allocateLoadBalancerNodePorts", True):
        used_ports = {*_used_values(served, "nodePort")}
        for port in objects_in(spec, "ports"):
            if not port.get("nodePort"):
                port["nodePort"] = next(
                    number for number in range(_FIRST_PORT, 1 << 16) if number not in used_ports
                )
            used_ports.add(port["nodePort"])


def preserve_allocated(served: ServedKind, previous: Json, obj: Json) -> None:
    """Copy allocated values that a replacement omits, as far as its type needs them."""
    if served.full_name != SERVICES:
        return
    old, new = member(previous, "spec"), member(obj, "spec")
    if "ExternalName" not in (old.get("type"), new.get("type")):
        address = new.get("clusterIP")
        if (
            address
            and address != old.get("clusterIP")
            and new.get("clusterIPs") in (None, old.get("clusterIPs"))
        ):
            new["clusterIPs"] = [address]  # an older client knows the single address only
        for name in _PRESERVED:
            if name in old and not new.get(name):
                new[name] = old[name]
    if new.get("type") in ("NodePort", "LoadBalancer"):
        ports = {
            (old_port.get("protocol") or "TCP", old_port.get("port")): old_port.get("nodePort")
            for old_port in objects_in(old, "ports")
        }
        for port in objects_in(new, "ports"):
            if not port.get("nodePort") and (
                node_port := ports.get((port.get("protocol") or "TCP", port.get("port")))
            ):
                port["nodePort"] = node_port


def check_addresses(old: Json, new: Json) -> Iterator[Violation]:
    """Check that the first address of a Service does not change, unless its type is or was ExternalName."""
    if "ExternalName" in (old.get("type"), new.get("type")):
        return
    addresses = strings_in(new, "clusterIPs")
    if old.get("clusterIP") and addresses[:1] != strings_in(old, "clusterIPs")[:1]:
        yield Violation("FieldValueInvalid", "spec.clusterIPs[0]", addresses, "may not change once set")


def _used_values(served: ServedKind, field: str) -> Iterator[Any]:
    for stored in served.storage.objects.values():
        spec = msgspec.json.decode(stored.data)["spec"]
        if field == "clusterIP":
            yield from strings_in(spec, "clusterIPs")
        else:
            yield from (port["nodePort"] for port in objects_in(spec, "ports") if "nodePort" in port)


def _free_address(used_addresses: set[str]) -> str:
    number = _FIRST_ADDRESS + 1
    while (text := ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))) in used_addresses:
        number += 1
    return text
