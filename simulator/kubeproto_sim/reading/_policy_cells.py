"""The cells of networks, roles, storage classes, policies and devices."""

from __future__ import annotations

from typing import Any

from kubeproto.objects import human_duration

from ..storage._json_values import listed, member, texts
from ._cell_values import NONE, UNSET, Json, Row, age_of, joined, name_of, selector_at, value_at


def api_service(obj: Json, time: float) -> list[Any]:
    service = member(member(obj, "spec"), "service")
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    found = [one for one in listed(member(obj, "status"), "conditions") if one.get("type") == "Available"]
    state = "Unknown"
    if found:
        [one] = found[:1]
        reason = f" ({one.get('reason', '')})" if one.get("status") != "True" else ""
        state = f"{one.get('status')}{reason}"
    return [name_of(obj), where, state, age_of(obj, time)]


def request(obj: Json, time: float) -> list[Any]:
    conditions = listed(member(obj, "status"), "conditions")
    types = [one.get("type", "") for one in conditions]
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    state += ",Failed" if "Failed" in types else ""
    state += ",Issued" if value_at(obj, "status.certificate") else ""
    asked = value_at(obj, "spec.expirationSeconds", None)
    lasts = NONE if asked is None else human_duration(asked)
    name, signer, who = name_of(obj), value_at(obj, "spec.signerName", NONE), value_at(obj, "spec.username")
    return [name, age_of(obj, time), signer, who, lasts, state]


def ingress(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    hosts = [one["host"] for one in listed(spec, "rules") if one.get("host")]
    given = listed(member(member(obj, "status"), "loadBalancer"), "ingress")
    address = joined(one.get("ip") or one.get("hostname") or "" for one in given)
    more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""
    return [
        name_of(obj), spec.get("ingressClassName") or NONE, joined(hosts[:3], "*") + more, address,
        "80, 443" if spec.get("tls") else "80", age_of(obj, time),
    ]  # fmt: skip


def ingress_class(obj: Json, time: float) -> list[Any]:
    found = member(member(obj, "spec"), "parameters")
    shown = NONE
    if found:
        group = f".{found['apiGroup']}" if found.get("apiGroup") else ""
        shown = f"{found.get('kind', '')}{group}/{found.get('name', '')}"
    return [name_of(obj), value_at(obj, "spec.controller"), shown, age_of(obj, time)]


def address(obj: Json, time: float) -> list[Any]:
    found = member(member(obj, "spec"), "parentRef")
    parts = [found.get(name) for name in ("group", "resource", "namespace", "name")]
    return [name_of(obj), "/".join(str(one) for one in parts if one), age_of(obj, time)]


def binding(obj: Json, time: float) -> list[Any]:
    of: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in listed(obj, "subjects"):
        if one.get("kind") in of:
            space = f"{one.get('namespace', '')}/" if one["kind"] == "ServiceAccount" else ""
            of[one["kind"]].append(f"{space}{one.get('name', '')}")
    role = f"{value_at(obj, 'roleRef.kind')}/{value_at(obj, 'roleRef.name')}"
    return [name_of(obj), role, age_of(obj, time), *(", ".join(found) for found in of.values())]


def csi_driver(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    tokens = joined((one.get("audience", "") for one in listed(spec, "tokenRequests")), UNSET)
    return [
        name_of(obj), spec.get("attachRequired", True), spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False), tokens, spec.get("requiresRepublish", False),
        joined(texts(spec, "volumeLifecycleModes"), NONE), age_of(obj, time),
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
        shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else UNSET
        return [name_of(obj), len(listed(member(obj, "spec"), field)), shown, age_of(obj, time)]

    return row


def policy_binding(obj: Json, time: float) -> list[Any]:
    found = member(member(obj, "spec"), "paramRef")
    shown = UNSET
    if found:
        space = f"{found['namespace']}/" if found.get("namespace") else "*/"
        shown = f"{space}{found.get('name', '*')}"
    return [name_of(obj), value_at(obj, "spec.policyName"), shown, age_of(obj, time)]


def priority_class(obj: Json, time: float) -> list[Any]:
    return [
        name_of(obj), obj.get("value", 0), bool(obj.get("globalDefault")), age_of(obj, time),
        obj.get("preemptionPolicy", ""),
    ]  # fmt: skip


def claim_of_devices(obj: Json, time: float) -> list[Any]:
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
    nothing: Json = {}
    dangling = next((one for one in listed(member(obj, "status"), "conditions")
                     if one.get("type") == "Dangling"), nothing)  # fmt: skip
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
    kept = [queuing.get(name, NONE) for name in names]
    return [name_of(obj), value_at(obj, "spec.type"), shares, *kept, age_of(obj, time)]


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
    return [name_of(obj), joined(texts(member(obj, "spec"), "cidrs")), age_of(obj, time)]
