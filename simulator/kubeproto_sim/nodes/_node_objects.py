"""The objects of a node: the Node with its status and taints, and its lease."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from ..storage._json_values import member, objects_in
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
    """The fixed properties of a node. Its addresses follow from its number."""

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
        """Return the address of the pod with this number."""
        return f"10.244.{self.number % 250}.{number % 250 + 2}"


def new_node(machine: Machine) -> Json:
    """Return the object by which a kubelet registers its node."""
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
        spec["taints"] = [dict(taint) for taint in machine.taints]
    meta = {"name": machine.name, "labels": labels | dict(machine.labels)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec}


def write_node(node: Json, machine: Machine, health: node_health.State, now: float, *, version: str) -> None:
    """Update the status and the taints of a node from its health; cordoned nodes are tainted too."""
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
    _update_taints(node, health, time_text(now))


def write_taints(node: Json, health: node_health.State, now: float) -> bool:
    """Update the taints of a node; return whether any changed."""
    previous = objects_in(member(node, "spec"), "taints")
    _update_taints(node, health, time_text(now))
    return objects_in(member(node, "spec"), "taints") != previous


def is_ready(health: node_health.State) -> bool:
    """Return whether the cluster considers a node ready: its silence is noticed late."""
    return isinstance(health, (node_health.Healthy, node_health.Silent))


def is_running(health: node_health.State) -> bool:
    """Return whether the kubelet of a node runs."""
    return isinstance(health, (node_health.Healthy, node_health.Unhealthy))


def _conditions(status: Json, health: node_health.State, stamp: str) -> list[Json]:
    previous_by_type = {entry["type"]: entry for entry in objects_in(status, "conditions")}
    rows: list[tuple[str, str, str, str]] = []
    match health:
        case node_health.Lost():
            unknown_fields = "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
            rows = [(type_, *unknown_fields) for type_ in (*(entry[0] for entry in _PRESSURES), "Ready")]
        case _:
            rows = [(type_, "False", reason, message) for type_, reason, message in _PRESSURES]
            if isinstance(health, node_health.Unhealthy):
                rows.append(("Ready", "False", "KubeletNotReady", health.message))
            else:
                rows.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    conditions: list[Json] = []
    for type_, value, reason, message in rows:
        previous = previous_by_type.get(type_, {})
        transition = previous.get("lastTransitionTime", stamp) if previous.get("status") == value else stamp
        # A lost node sends no heartbeat: the time of the last heartbeat stays.
        heartbeat = previous.get("lastHeartbeatTime", stamp) if value == "Unknown" else stamp
        conditions.append({
            "type": type_, "status": value, "lastHeartbeatTime": heartbeat, "lastTransitionTime": transition,
            "reason": reason, "message": message,
        })  # fmt: skip
    types = {entry[0] for entry in rows}
    return [*(entry for entry in previous_by_type.values() if entry["type"] not in types), *conditions]


def _update_taints(node: Json, health: node_health.State, stamp: str) -> None:
    spec: Json = node.setdefault("spec", {})
    health_taints: list[tuple[str, str]] = []
    if isinstance(health, node_health.Unhealthy):
        health_taints = [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]
    elif isinstance(health, node_health.Lost):
        health_taints = [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]
    if spec.get("unschedulable"):
        health_taints.append((UNSCHEDULABLE, "NoSchedule"))
    managed_keys = (NOT_READY, UNREACHABLE, UNSCHEDULABLE)
    present = {(taint["key"], taint["effect"]): taint for taint in objects_in(spec, "taints")}
    taints = [taint for key, taint in present.items() if key[0] not in managed_keys]
    for key, effect in health_taints:
        taints.append(present.get((key, effect)) or {"key": key, "effect": effect, "timeAdded": stamp})
    if taints:
        spec["taints"] = taints
    else:
        spec.pop("taints", None)


def new_lease(machine: Machine, uid: str, now: float) -> Json:
    """Return the lease of a node, renewed now."""
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
    """Return a time in the format of leases."""
    time = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


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
