"""The rules of Services, Ingresses and network policies."""

from __future__ import annotations

from typing import Any

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import member, objects_in, strings_in
from ._pod_rules import check_labels
from ._rule_violations import Json, Violations, duplicate, forbidden, invalid, required, unsupported
from ._workload_rules import check_selector


def check_service(obj: Json) -> Violations:
    """Check a Service."""
    spec = member(obj, "spec")
    type_, ports = spec.get("type"), objects_in(spec, "ports")
    if type_ == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName", "required for ExternalName services")
    names: set[str] = set()
    port_keys: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name", "")
        if len(ports) > 1 and not name:
            yield required(f"{path}.name")
        elif name and name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
        target = port.get("targetPort")
        if isinstance(target, int) and not 1 <= target <= 65535:
            yield invalid(f"{path}.targetPort", target, "must be between 1 and 65535, inclusive")
        elif isinstance(target, str) and not FORMATS["port-name"](target):
            yield invalid(f"{path}.targetPort", target, "must contain only alpha-numeric characters")
        if port.get("nodePort") and type_ == "ClusterIP":
            yield forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
        key = (port.get("protocol"), port.get("port"))
        if key in port_keys:
            yield duplicate(path, {"port": port.get("port"), "protocol": port.get("protocol")})
            if type_ in ("NodePort", "LoadBalancer") and not port.get("nodePort"):
                # Ports with the same number share one node port.
                yield duplicate(f"{path}.nodePort", 0)
        port_keys.add(key)
    if type_ in ("NodePort", "LoadBalancer") and spec.get("clusterIP") == "None":
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {type_} services")
    if type_ == "ExternalName" and (spec.get("clusterIP") or spec.get("clusterIPs")):
        yield forbidden("spec.clusterIPs", "may not be set for ExternalName services")
    yield from check_labels(member(spec, "selector"), "spec.selector")
    policy = spec.get("externalTrafficPolicy")
    is_external = type_ in ("NodePort", "LoadBalancer") or (type_ == "ClusterIP" and spec.get("externalIPs"))
    if policy and is_external and policy not in ("Cluster", "Local"):
        yield unsupported("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))
    if policy and not is_external:
        text = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, text)
    if spec.get("loadBalancerSourceRanges") and type_ != "LoadBalancer":
        yield forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    for index, source_range in enumerate(strings_in(spec, "loadBalancerSourceRanges")):
        if not FORMATS["cidr"](source_range):
            yield invalid(
                f"spec.LoadBalancerSourceRanges[{index}]", source_range, "must be a valid CIDR value"
            )


def check_addresses(obj: Json) -> Violations:
    """Check the addresses of a Service; a server does this before all other checks."""
    spec = member(obj, "spec")
    if spec.get("type") == "ExternalName":
        return
    families = spec.get("ipFamilyPolicy")
    if families and families not in ("SingleStack", "PreferDualStack", "RequireDualStack"):
        policies = ("PreferDualStack", "RequireDualStack", "SingleStack")
        yield unsupported("spec.ipFamilyPolicy", families, policies)
    for index, family in enumerate(strings_in(spec, "ipFamilies")):
        if family not in ("IPv4", "IPv6"):
            yield unsupported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6"))
    address = spec.get("clusterIP")
    if address and address != "None" and not FORMATS["ip"](address):
        yield invalid("spec.clusterIPs[0]", address, "must be a valid IP address")


def check_ingress(obj: Json) -> Violations:
    """Check an Ingress."""
    spec = member(obj, "spec")
    if not spec.get("rules") and not spec.get("defaultBackend"):
        yield invalid("spec", spec, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _check_backend(spec["defaultBackend"], "spec.defaultBackend")
    for index, rule in enumerate(objects_in(spec, "rules")):
        path, host = f"spec.rules[{index}]", rule.get("host", "")
        if host and FORMATS["ip"](host):
            yield invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        if "http" not in rule:
            continue
        if not rule["http"].get("paths"):
            yield required(f"{path}.http.paths")
        for path_index, ingress_path in enumerate(objects_in(rule["http"], "paths")):
            yield from _path(ingress_path, f"{path}.http.paths[{path_index}]")


def _path(path: Json, field_path: str) -> Violations:
    path_types = ("Exact", "ImplementationSpecific", "Prefix")
    path_type, text = path.get("pathType"), path.get("path", "")
    if path_type is None:
        yield required(f"{field_path}.pathType", "pathType must be specified")
    elif path_type not in path_types:
        yield unsupported(f"{field_path}.pathType", path_type, path_types)
    elif not text.startswith("/") and (text or path_type != "ImplementationSpecific"):
        yield invalid(f"{field_path}.path", text, "must be an absolute path")
    yield from _check_backend(member(path, "backend"), f"{field_path}.backend")


def _check_backend(backend: Json, field_path: str) -> Violations:
    if ("service" in backend) == ("resource" in backend):
        yield invalid(field_path, "", "exactly one of service or resource must be given")
    elif "service" in backend and not any(member(backend["service"], "port").values()):
        yield required(field_path, "port name or number is required")


def check_network_policy(obj: Json) -> Violations:
    """Check a NetworkPolicy."""
    spec = member(obj, "spec")
    yield from check_selector(spec.get("podSelector"), "spec.podSelector")
    for index, policy_type in enumerate(strings_in(spec, "policyTypes")):
        if policy_type not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{index}]", policy_type, ("Egress", "Ingress"))
    for direction, peers_field in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(objects_in(spec, direction)):
            path = f"spec.{direction}[{index}]"
            for entry_index, port in enumerate(objects_in(rule, "ports")):
                low, high = port.get("port"), port.get("endPort")
                if isinstance(low, int) and high is not None and high < low:
                    text = "must be greater than or equal to `port`"
                    yield invalid(f"{path}.ports[{entry_index}].endPort", high, text)
            for entry_index, peer in enumerate(objects_in(rule, peers_field)):
                if not peer:
                    yield required(f"{path}.{peers_field}[{entry_index}]", "must specify a peer")
                elif len(peer) > 1 and "ipBlock" in peer:
                    text = "may not specify both ipBlock and another peer"
                    yield forbidden(f"{path}.{peers_field}[{entry_index}]", text)
                block = member(peer, "ipBlock").get("cidr", "")
                if block and not FORMATS["cidr"](block):
                    yield invalid(
                        f"{path}.{peers_field}[{entry_index}].ipBlock.cidr",
                        block,
                        "must be a valid CIDR value",
                    )
