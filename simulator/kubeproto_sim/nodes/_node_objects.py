"""The objects of a node: the Node, with the status that a kubelet writes, and its lease."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from ..storage._json_values import listed, member
from . import node_health
from ._pod_status import time_text

Json = dict[str, Any]
LEASE_SECONDS: Final = 40
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class Machine(Struct, frozen=True, kw_only=True):
    """What a node is made of. Its addresses follow from its number."""

    name: str
    number: int
    labels: Mapping[str, str]
    taints: tuple[Json, ...] = ()
    capacity: Mapping[str, str]

    @property
    def ip(self) -> str:
        """The address of the node."""
        return f"172.18.{self.number // 250}.{self.number % 250 + 2}"

    def pod_ip(self, number: int) -> str:
        """The address of its pod with this number."""
        return f"10.244.{self.number % 250}.{number % 250 + 2}"


def new_node(machine: Machine) -> Json:
    """A node as its kubelet registers it."""
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": machine.name,
        "kubernetes.io/os": "linux",
    }
    spec: Json = {"podCIDR": f"10.244.{machine.number % 250}.0/24"}
    spec["podCIDRs"] = [spec["podCIDR"]]
    spec["providerID"] = f"sim://{machine.name}"
    if machine.taints:
        spec["taints"] = [dict(one) for one in machine.taints]
    meta = {"name": machine.name, "labels": labels | dict(machine.labels)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec}


def write_node(node: Json, machine: Machine, health: node_health.State, now: float, *, version: str) -> None:
    """Update the status and the taints of a node from its health, and from whether it is cordoned."""
    status: Json = node.setdefault("status", {})
    status.setdefault("capacity", dict(machine.capacity))
    status.setdefault("allocatable", dict(machine.capacity))
    status["addresses"] = [
        {"type": "InternalIP", "address": machine.ip},
        {"type": "Hostname", "address": machine.name},
    ]
    status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 10250}}
    status["nodeInfo"] = _node_info(machine.name, version)
    status["conditions"] = _conditions(member(node, "status"), health, time_text(now))
    _taint(node, health, time_text(now))


def write_taints(node: Json, health: node_health.State, now: float) -> bool:
    """Update only the taints of a node; return whether any changed."""
    before = listed(member(node, "spec"), "taints")
    _taint(node, health, time_text(now))
    return listed(member(node, "spec"), "taints") != before


def is_ready(health: node_health.State) -> bool:
    """Whether the cluster considers a node ready: a silent one too, until that is noticed."""
    return isinstance(health, (node_health.Healthy, node_health.Silent))


def answers(health: node_health.State) -> bool:
    """Whether the kubelet of a node does anything."""
    return isinstance(health, (node_health.Healthy, node_health.Unhealthy))


def _conditions(status: Json, health: node_health.State, stamp: str) -> list[Json]:
    before = {one["type"]: one for one in listed(status, "conditions")}
    rows: list[tuple[str, str, str, str]] = []
    match health:
        case node_health.Lost():
            unknown = "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
            rows = [(type_, *unknown) for type_ in (*(one[0] for one in _PRESSURES), "Ready")]
        case _:
            rows = [(type_, "False", reason, message) for type_, reason, message in _PRESSURES]
            if isinstance(health, node_health.Unhealthy):
                rows.append(("Ready", "False", "KubeletNotReady", health.message))
            else:
                rows.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    conditions: list[Json] = []
    for type_, value, reason, message in rows:
        old = before.get(type_, {})
        since = old.get("lastTransitionTime", stamp) if old.get("status") == value else stamp
        # A lost node sends no heartbeat: the time of the last one stays.
        beat = old.get("lastHeartbeatTime", stamp) if value == "Unknown" else stamp
        conditions.append({
            "type": type_, "status": value, "lastHeartbeatTime": beat, "lastTransitionTime": since,
            "reason": reason, "message": message,
        })  # fmt: skip
    known = {one[0] for one in rows}
    return [*(one for one in before.values() if one["type"] not in known), *conditions]


def _taint(node: Json, health: node_health.State, stamp: str) -> None:
    spec: Json = node.setdefault("spec", {})
    wanted: list[tuple[str, str]] = []
    if isinstance(health, node_health.Unhealthy):
        wanted = [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]
    elif isinstance(health, node_health.Lost):
        wanted = [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]
    if spec.get("unschedulable"):
        wanted.append((UNSCHEDULABLE, "NoSchedule"))
    own = (NOT_READY, UNREACHABLE, UNSCHEDULABLE)
    before = {(one["key"], one["effect"]): one for one in listed(spec, "taints")}
    taints = [one for key, one in before.items() if key[0] not in own]
    for key, effect in wanted:
        taints.append(before.get((key, effect)) or {"key": key, "effect": effect, "timeAdded": stamp})
    if taints:
        spec["taints"] = taints
    else:
        spec.pop("taints", None)


def new_lease(machine: Machine, uid: str, now: float) -> Json:
    """The lease of a node, renewed now."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": machine.name, "uid": uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": machine.name, "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": machine.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_time(now),
        },
    }


def micro_time(seconds: float) -> str:
    """A time as leases carry it."""
    when = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _node_info(name: str, version: str) -> Json:
    seed = hashlib.sha256(name.encode()).hexdigest()
    uuid = "-".join((seed[:8], seed[8:12], seed[12:16], seed[16:20], seed[20:32]))
    return {
        "machineID": seed[:32],
        "systemUUID": uuid,
        "bootID": uuid,
        "kernelVersion": "6.12.0",
        "osImage": "simulated",
        "containerRuntimeVersion": "containerd://2.1.0",
        "kubeletVersion": f"v{version}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
