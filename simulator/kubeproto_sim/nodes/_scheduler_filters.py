"""The choice of a node for a pod: the filters of a scheduler, and then the node with the fewest pods.

The filters are cordoned nodes, taints, node selector and required node affinity, host ports, cpu, memory, and
the number of pods. Affinity between pods, topology spread, volumes and preemption are not simulated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import Quantity

from ..storage._json_values import member, objects_in
from ..workloads.objects._node_selection import selects, tolerates as toleration_matches

Json = dict[str, Any]
_NO_SCHEDULE: Final = ("NoSchedule", "NoExecute")


class Candidate(Struct):
    """A node as the scheduler sees it: the object, and the sum of its pods."""

    name: str
    node: Json
    usage: NodeUsage


class NodeUsage(Struct):
    """The resources and ports that the pods of a node use."""

    pods: int = 0
    cpu: int = 0  # in thousandths
    memory: int = 0
    ports: Counter[tuple[str, int]] = msgspec.field(default_factory=Counter[tuple[str, int]])

    def add(self, usage: PodUsage, count: int = 1) -> None:
        """Add a pod; with -1, subtract a pod that has ended."""
        self.pods += count
        self.cpu += count * usage.cpu
        self.memory += count * usage.memory
        for port in usage.ports:
            self.ports[port] += count


class PodUsage(Struct, frozen=True):
    """The resources and ports that a pod uses on its node."""

    cpu: int
    memory: int
    ports: frozenset[tuple[str, int]]


class Unschedulable(Struct, frozen=True):
    """The message of the scheduler about a pod that fits no node."""

    message: str


def choose_node(
    pod: Json, candidates: Sequence[Candidate], *, names_taints: bool = False
) -> Candidate | Unschedulable:
    """Return the node for a pod. With `names_taints` the message contains the untolerated taints."""
    reason_counts: Counter[str] = Counter()
    fitting: list[Candidate] = []
    for candidate in candidates:
        reasons_of_node = exclusion_reasons(pod, candidate, names_taints=names_taints)
        reason_counts.update(reasons_of_node)
        if not reasons_of_node:
            fitting.append(candidate)
    if fitting:
        return min(fitting, key=lambda candidate: (candidate.usage.pods, candidate.name))
    if not candidates:
        return Unschedulable("no nodes available to schedule pods")
    summary = ", ".join(sorted(f"{count} {reason}" for reason, count in reason_counts.items()))
    return Unschedulable(f"0/{len(candidates)} nodes are available: {summary}.")


def exclusion_reasons(pod: Json, candidate: Candidate, *, names_taints: bool = False) -> list[str]:
    """Return all reasons of the first filter that excludes a node; none if the pod fits."""
    spec = pod["spec"]
    node = candidate.node
    taints = objects_in(member(node, "spec"), "taints")
    if member(node, "spec").get("unschedulable") and not tolerates(
        spec, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    ):
        return ["node(s) were unschedulable"]
    for taint in taints:
        if taint["effect"] in _NO_SCHEDULE and not tolerates(spec, taint):
            taint_text = f" {{{taint['key']}: {taint.get('value', '')}}}" if names_taints else "(s)"
            return [f"node(s) had untolerated taint{taint_text}"]
    if not selects(spec, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    usage = usage_of_pod(pod)
    if any(candidate.usage.ports[port] for port in usage.ports):
        return ["node(s) didn't have free ports for the requested pod ports"]
    return _insufficient_resources(usage, candidate)


def tolerates(spec: Json, taint: Json) -> bool:
    """Return whether a pod tolerates a taint."""
    return toleration_seconds(spec, taint) is not None


def toleration_seconds(spec: Json, taint: Json) -> float | None:
    """Return for how many seconds a pod tolerates a taint: infinity without a limit, None if not at all."""
    durations: list[float] = []
    for toleration in objects_in(spec, "tolerations"):
        if toleration_matches(toleration, taint):
            seconds = toleration.get("tolerationSeconds")
            durations.append(float("inf") if seconds is None else max(float(seconds), 0.0))
    return min(durations, default=None)


def _insufficient_resources(usage: PodUsage, candidate: Candidate) -> list[str]:
    allocatable = member(member(candidate.node, "status"), "allocatable")
    node_usage = candidate.usage
    reasons: list[str] = []
    if node_usage.pods + 1 > int(allocatable.get("pods", 110)):
        reasons.append("Too many pods")
    if usage.cpu and node_usage.cpu + usage.cpu > Quantity(allocatable.get("cpu", "0")).to_millis():
        reasons.append("Insufficient cpu")
    if (
        usage.memory
        and node_usage.memory + usage.memory > Quantity(allocatable.get("memory", "0")).to_integer()
    ):
        reasons.append("Insufficient memory")
    return reasons


def usage_of_pod(pod: Json) -> PodUsage:
    """Return the usage of a pod: its containers' requests, or those of a larger init container."""
    cpu = memory = 0
    for container in objects_in(pod["spec"], "containers"):
        cpu += _request(container, "cpu")
        memory += _request(container, "memory")
    for container in objects_in(pod["spec"], "initContainers"):
        cpu, memory = max(cpu, _request(container, "cpu")), max(memory, _request(container, "memory"))
    return PodUsage(cpu, memory, _host_ports(pod))


def _request(container: Json, name: str) -> int:
    amount = member(member(container, "resources"), "requests").get(name)
    if amount is None:
        return 0
    quantity = Quantity(amount)
    return quantity.to_millis() if name == "cpu" else quantity.to_integer()


def _host_ports(pod: Json) -> frozenset[tuple[str, int]]:
    return frozenset(
        (port.get("protocol", "TCP"), port["hostPort"])
        for container in objects_in(pod["spec"], "containers")
        for port in objects_in(container, "ports")
        if port.get("hostPort")
    )
