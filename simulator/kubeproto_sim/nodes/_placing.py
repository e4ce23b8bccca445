"""Which node a pod goes to: the filters of a scheduler, and then the node with the fewest pods.

What is considered: cordoned nodes, taints, node selector and required node affinity, host ports, cpu, memory,
and the number of pods. What is not: affinity between pods, topology spread, volumes, preemption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import Quantity

from ..storage._json_values import listed, member
from ..workloads.objects._node_selection import selects
from ..workloads.objects._node_selection import tolerates as one_tolerates

Json = dict[str, Any]
_NO_SCHEDULE: Final = ("NoSchedule", "NoExecute")


class Candidate(Struct):
    """A node as the scheduler sees it: the object, and what its pods use."""

    name: str
    node: Json
    taken: Taken


class Taken(Struct):
    """What the pods of a node use."""

    pods: int = 0
    cpu: int = 0  # in thousandths
    memory: int = 0
    ports: Counter[tuple[str, int]] = msgspec.field(default_factory=Counter[tuple[str, int]])

    def add(self, share: Share, count: int = 1) -> None:
        """Count a pod; with -1, remove one that has ended from the count."""
        self.pods += count
        self.cpu += count * share.cpu
        self.memory += count * share.memory
        for port in share.ports:
            self.ports[port] += count


class Share(Struct, frozen=True):
    """What one pod uses of its node."""

    cpu: int
    memory: int
    ports: frozenset[tuple[str, int]]


class Unschedulable(Struct, frozen=True):
    """No node takes the pod, and why."""

    message: str


def place(
    pod: Json, candidates: Sequence[Candidate], *, names_taints: bool = False
) -> Candidate | Unschedulable:
    """Return the node for a pod. `names_taints` is whether a refusal says which taint is not tolerated."""
    reasons: Counter[str] = Counter()
    fitting: list[Candidate] = []
    for candidate in candidates:
        why = refusals(pod, candidate, names_taints=names_taints)
        reasons.update(why)
        if not why:
            fitting.append(candidate)
    if fitting:
        return min(fitting, key=lambda one: (one.taken.pods, one.name))
    if not candidates:
        return Unschedulable("no nodes available to schedule pods")
    said = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return Unschedulable(f"0/{len(candidates)} nodes are available: {said}.")


def refusals(pod: Json, candidate: Candidate, *, names_taints: bool = False) -> list[str]:
    """Why a node does not take a pod: all messages of the first filter that refuses it."""
    spec = pod["spec"]
    node = candidate.node
    taints = listed(member(node, "spec"), "taints")
    if member(node, "spec").get("unschedulable") and not tolerates(
        spec, {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    ):
        return ["node(s) were unschedulable"]
    for taint in taints:
        if taint["effect"] in _NO_SCHEDULE and not tolerates(spec, taint):
            named = f" {{{taint['key']}: {taint.get('value', '')}}}" if names_taints else "(s)"
            return [f"node(s) had untolerated taint{named}"]
    if not selects(spec, node):
        return ["node(s) didn't match Pod's node affinity/selector"]
    share = share_of(pod)
    if any(candidate.taken.ports[port] for port in share.ports):
        return ["node(s) didn't have free ports for the requested pod ports"]
    return _lacking(share, candidate)


def tolerates(spec: Json, taint: Json) -> bool:
    """Whether a pod tolerates a taint."""
    return tolerated_for(spec, taint) is not None


def tolerated_for(spec: Json, taint: Json) -> float | None:
    """For how many seconds a pod tolerates a taint: infinity forever, None not at all."""
    found: list[float] = []
    for one in listed(spec, "tolerations"):
        if one_tolerates(one, taint):
            seconds = one.get("tolerationSeconds")
            found.append(float("inf") if seconds is None else max(float(seconds), 0.0))
    return min(found, default=None)


def _lacking(share: Share, candidate: Candidate) -> list[str]:
    allocatable = member(member(candidate.node, "status"), "allocatable")
    taken = candidate.taken
    lacking: list[str] = []
    if taken.pods + 1 > int(allocatable.get("pods", 110)):
        lacking.append("Too many pods")
    if share.cpu and taken.cpu + share.cpu > Quantity(allocatable.get("cpu", "0")).to_millis():
        lacking.append("Insufficient cpu")
    if share.memory and taken.memory + share.memory > Quantity(allocatable.get("memory", "0")).to_integer():
        lacking.append("Insufficient memory")
    return lacking


def share_of(pod: Json) -> Share:
    """What a pod uses: the requests of its containers, or of the largest init container if that is more."""
    cpu = memory = 0
    for one in listed(pod["spec"], "containers"):
        cpu += _asked(one, "cpu")
        memory += _asked(one, "memory")
    for one in listed(pod["spec"], "initContainers"):
        cpu, memory = max(cpu, _asked(one, "cpu")), max(memory, _asked(one, "memory"))
    return Share(cpu, memory, _host_ports(pod))


def _asked(container: Json, name: str) -> int:
    asked = member(member(container, "resources"), "requests").get(name)
    if asked is None:
        return 0
    quantity = Quantity(asked)
    return quantity.to_millis() if name == "cpu" else quantity.to_integer()


def _host_ports(pod: Json) -> frozenset[tuple[str, int]]:
    return frozenset(
        (port.get("protocol", "TCP"), port["hostPort"])
        for one in listed(pod["spec"], "containers")
        for port in listed(one, "ports")
        if port.get("hostPort")
    )
