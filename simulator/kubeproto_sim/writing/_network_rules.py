"""The checks of a server on Services, Ingresses and network policies."""

from __future__ import annotations

from typing import Any

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import listed, member, texts
from ._pod_rules import (
    Found,
    Json,
    check_labels,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from ._workload_rules import selector


def service(obj: Json) -> Found:
    """A Service."""
    spec = member(obj, "spec")
    kind, ports = spec.get("type"), listed(spec, "ports")
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName", "required for ExternalName services")
    names: set[str] = set()
    seen: set[tuple[Any, Any]] = set()
    for at, port in enumerate(ports):
        where, name = f"spec.ports[{at}]", port.get("name", "")
        if len(ports) > 1 and not name:
            yield required(f"{where}.name")
        elif name and name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)
        target = port.get("targetPort")
        if isinstance(target, int) and not 1 <= target <= 65535:
            yield invalid(f"{where}.targetPort", target, "must be between 1 and 65535, inclusive")
        elif isinstance(target, str) and not FORMATS["port-name"](target):
            yield invalid(f"{where}.targetPort", target, "must contain only alpha-numeric characters")
        if port.get("nodePort") and kind == "ClusterIP":
            yield forbidden(f"{where}.nodePort", "may not be used when `type` is 'ClusterIP'")
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            yield duplicate(where, {"port": port.get("port"), "protocol": port.get("protocol")})
            if kind in ("NodePort", "LoadBalancer") and not port.get("nodePort"):
                # Ports with the same number share one node port.
                yield duplicate(f"{where}.nodePort", 0)
        seen.add(key)
    if kind in ("NodePort", "LoadBalancer") and spec.get("clusterIP") == "None":
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName" and (spec.get("clusterIP") or spec.get("clusterIPs")):
        yield forbidden("spec.clusterIPs", "may not be set for ExternalName services")
    yield from check_labels(member(spec, "selector"), "spec.selector")
    policy = spec.get("externalTrafficPolicy")
    external = kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if policy and external and policy not in ("Cluster", "Local"):
        yield unsupported("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))
    if policy and not external:
        text = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, text)
    if spec.get("loadBalancerSourceRanges") and kind != "LoadBalancer":
        yield forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    for at, one in enumerate(texts(spec, "loadBalancerSourceRanges")):
        if not FORMATS["cidr"](one):
            yield invalid(f"spec.LoadBalancerSourceRanges[{at}]", one, "must be a valid CIDR value")


def addresses(obj: Json) -> Found:
    """Return what is wrong with the addresses of a Service, which a server checks before anything else."""
    spec = member(obj, "spec")
    if spec.get("type") == "ExternalName":
        return
    families = spec.get("ipFamilyPolicy")
    if families and families not in ("SingleStack", "PreferDualStack", "RequireDualStack"):
        known = ("PreferDualStack", "RequireDualStack", "SingleStack")
        yield unsupported("spec.ipFamilyPolicy", families, known)
    for at, one in enumerate(texts(spec, "ipFamilies")):
        if one not in ("IPv4", "IPv6"):
            yield unsupported(f"spec.ipFamilies[{at}]", one, ("IPv4", "IPv6"))
    address = spec.get("clusterIP")
    if address and address != "None" and not FORMATS["ip"](address):
        yield invalid("spec.clusterIPs[0]", address, "must be a valid IP address")


def ingress(obj: Json) -> Found:
    """An Ingress."""
    spec = member(obj, "spec")
    if not spec.get("rules") and not spec.get("defaultBackend"):
        yield invalid("spec", spec, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    for at, rule in enumerate(listed(spec, "rules")):
        where, host = f"spec.rules[{at}]", rule.get("host", "")
        if host and FORMATS["ip"](host):
            yield invalid(f"{where}.host", host, "must be a DNS name, not an IP address")
        if "http" not in rule:
            continue
        if not rule["http"].get("paths"):
            yield required(f"{where}.http.paths")
        for place, path in enumerate(listed(rule["http"], "paths")):
            yield from _path(path, f"{where}.http.paths[{place}]")


def _path(path: Json, where: str) -> Found:
    known = ("Exact", "ImplementationSpecific", "Prefix")
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        yield required(f"{where}.pathType", "pathType must be specified")
    elif kind not in known:
        yield unsupported(f"{where}.pathType", kind, known)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield invalid(f"{where}.path", text, "must be an absolute path")
    yield from _backend(member(path, "backend"), f"{where}.backend")


def _backend(backend: Json, where: str) -> Found:
    if ("service" in backend) == ("resource" in backend):
        yield invalid(where, "", "exactly one of service or resource must be given")
    elif "service" in backend and not any(member(backend["service"], "port").values()):
        yield required(where, "port name or number is required")


def policy(obj: Json) -> Found:
    """A NetworkPolicy."""
    spec = member(obj, "spec")
    yield from selector(spec.get("podSelector"), "spec.podSelector")
    for at, one in enumerate(texts(spec, "policyTypes")):
        if one not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{at}]", one, ("Egress", "Ingress"))
    for part, ends in (("ingress", "from"), ("egress", "to")):
        for at, rule in enumerate(listed(spec, part)):
            where = f"spec.{part}[{at}]"
            for place, port in enumerate(listed(rule, "ports")):
                low, high = port.get("port"), port.get("endPort")
                if isinstance(low, int) and high is not None and high < low:
                    text = "must be greater than or equal to `port`"
                    yield invalid(f"{where}.ports[{place}].endPort", high, text)
            for place, peer in enumerate(listed(rule, ends)):
                if not peer:
                    yield required(f"{where}.{ends}[{place}]", "must specify a peer")
                elif len(peer) > 1 and "ipBlock" in peer:
                    text = "may not specify both ipBlock and another peer"
                    yield forbidden(f"{where}.{ends}[{place}]", text)
                block = member(peer, "ipBlock").get("cidr", "")
                if block and not FORMATS["cidr"](block):
                    yield invalid(
                        f"{where}.{ends}[{place}].ipBlock.cidr", block, "must be a valid CIDR value"
                    )
