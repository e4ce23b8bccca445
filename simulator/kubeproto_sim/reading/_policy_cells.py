"""Rows of Tables for networks, roles, storage classes, policies and devices."""

from __future__ import annotations

from typing import Any

from kubeproto.objects import human_duration

from ..storage._json_values import member, objects_in, strings_in
from ._cell_values import NONE, UNSET, Json, Row, age_of, joined, name_of, selector_at, value_at


def api_service(obj: Json, time: float) -> list[Any]:
    service = member(member(obj, "spec"), "service")
    target = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    conditions = objects_in(member(obj, "status"), "conditions")
    available = [condition for condition in conditions if condition.get("type") == "Available"]
    state = "Unknown"
    if available:
        [condition] = available[:1]
        reason = f" ({condition.get('reason', '')})" if condition.get("status") != "True" else ""
        state = f"{condition.get('status')}{reason}"
    return [name_of(obj), target, state, age_of(obj, time)]


def request(obj: Json, time: float) -> list[Any]:
    conditions = objects_in(member(obj, "status"), "conditions")
    types = [condition.get("type", "") for condition in conditions]
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    state += ",Failed" if "Failed" in types else ""
    state += ",Issued" if value_at(obj, "status.certificate") else ""
    requested_seconds = value_at(obj, "spec.expirationSeconds", None)
    lifetime = NONE if requested_seconds is None else human_duration(requested_seconds)
    signer, username = value_at(obj, "spec.signerName", NONE), value_at(obj, "spec.username")
    return [name_of(obj), age_of(obj, time), signer, username, lifetime, state]


def ingress(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    hosts = [rule["host"] for rule in objects_in(spec, "rules") if rule.get("host")]
    addresses = objects_in(member(member(obj, "status"), "loadBalancer"), "ingress")
    address = joined(address.get("ip") or address.get("hostname") or "" for address in addresses)
    suffix = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""
    return [
        name_of(obj), spec.get("ingressClassName") or NONE, joined(hosts[:3], "*") + suffix, address,
        "80, 443" if spec.get("tls") else "80", age_of(obj, time),
    ]  # fmt: skip


def ingress_class(obj: Json, time: float) -> list[Any]:
    parameters = member(member(obj, "spec"), "parameters")
    text = NONE
    if parameters:
        group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") else ""
        text = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [name_of(obj), value_at(obj, "spec.controller"), text, age_of(obj, time)]


def address(obj: Json, time: float) -> list[Any]:
    parent = member(member(obj, "spec"), "parentRef")
    parts = [parent.get(name) for name in ("group", "resource", "namespace", "name")]
    return [name_of(obj), "/".join(str(part) for part in parts if part), age_of(obj, time)]


def binding(obj: Json, time: float) -> list[Any]:
    names_by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in objects_in(obj, "subjects"):
        if subject.get("kind") in names_by_kind:
            prefix = f"{subject.get('namespace', '')}/" if subject["kind"] == "ServiceAccount" else ""
            names_by_kind[subject["kind"]].append(f"{prefix}{subject.get('name', '')}")
    role = f"{value_at(obj, 'roleRef.kind')}/{value_at(obj, 'roleRef.name')}"
    return [name_of(obj), role, age_of(obj, time), *(", ".join(names) for names in names_by_kind.values())]


def csi_driver(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    tokens = joined(
        (token_request.get("audience", "") for token_request in objects_in(spec, "tokenRequests")), UNSET
    )
    return [
        name_of(obj), spec.get("attachRequired", True), spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False), tokens, spec.get("requiresRepublish", False),
        joined(strings_in(spec, "volumeLifecycleModes"), NONE), age_of(obj, time),
    ]  # fmt: skip


def storage_class(obj: Json, time: float) -> list[Any]:
    default = (
        value_at(obj, "metadata.annotations", {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    )
    return [
        name_of(obj) + (" (default)" if default else ""), obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", UNSET),
        bool(obj.get("allowVolumeExpansion")), age_of(obj, time),
    ]  # fmt: skip


def policy(field: str) -> Row:
    def row(obj: Json, time: float) -> list[Any]:
        kind = member(member(obj, "spec"), "paramKind")
        text = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
        return [name_of(obj), len(objects_in(member(obj, "spec"), field)), text, age_of(obj, time)]

    return row


def policy_binding(obj: Json, time: float) -> list[Any]:
    parameters = member(member(obj, "spec"), "paramRef")
    text = UNSET
    if parameters:
        prefix = f"{parameters['namespace']}/" if parameters.get("namespace") else "*/"
        text = f"{prefix}{parameters.get('name', '*')}"
    return [name_of(obj), value_at(obj, "spec.policyName"), text, age_of(obj, time)]


def priority_class(obj: Json, time: float) -> list[Any]:
    return [
        name_of(obj), obj.get("value", 0), bool(obj.get("globalDefault")), age_of(obj, time),
        obj.get("preemptionPolicy", ""),
    ]  # fmt: skip


def resource_claim(obj: Json, time: float) -> list[Any]:
    states = [
        *(["deleted"] if value_at(obj, "metadata.deletionTimestamp") else []),
        *(["allocated"] if value_at(obj, "status.allocation", None) else []),
        *(["reserved"] if value_at(obj, "status.reservedFor", None) else []),
    ]
    return [name_of(obj), joined(states, "pending"), age_of(obj, time)]


def resource_slice(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    node = spec.get("nodeName") or ("<all>" if spec.get("allNodes") else "")
    return [name_of(obj), node, spec.get("driver", ""), value_at(obj, "spec.pool.name"), age_of(obj, time)]


def flow_schema(obj: Json, time: float) -> list[Any]:
    no_condition: Json = {}
    dangling = next((condition for condition in objects_in(member(obj, "status"), "conditions")
                     if condition.get("type") == "Dangling"), no_condition)  # fmt: skip
    return [
        name_of(obj), value_at(obj, "spec.priorityLevelConfiguration.name"),
        value_at(obj, "spec.matchingPrecedence", 0),
        value_at(obj, "spec.distinguisherMethod.type", NONE), age_of(obj, time), dangling.get("status", "?"),
    ]  # fmt: skip


def priority_level(obj: Json, time: float) -> list[Any]:
    limited = member(member(obj, "spec"), "limited")
    shares = limited.get("nominalConcurrencyShares", NONE)
    queuing = member(member(limited, "limitResponse"), "queuing")
    names = ("queues", "handSize", "queueLengthLimit")
    limits = [queuing.get(name, NONE) for name in names]
    return [name_of(obj), value_at(obj, "spec.type"), shares, *limits, age_of(obj, time)]


def volume_attachment(obj: Json, time: float) -> list[Any]:
    volume = value_at(obj, "spec.source.persistentVolumeName")
    attached = bool(value_at(obj, "status.attached", False))
    return [
        name_of(obj),
        value_at(obj, "spec.attacher"),
        volume,
        value_at(obj, "spec.nodeName"),
        attached,
        age_of(obj, time),
    ]


def network_policy(obj: Json, time: float) -> list[Any]:
    return [name_of(obj), selector_at(obj, "spec.podSelector"), age_of(obj, time)]


def cidrs(obj: Json, time: float) -> list[Any]:
    return [name_of(obj), joined(strings_in(member(obj, "spec"), "cidrs")), age_of(obj, time)]
