"""The controller of nodes: their health, leases and taints, and the pods that taints evict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto import LocalProtocolError
from kubeproto.objects import parse_time

from .._rejections import Rejection
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..reading._routes import Route
from ..storage._json_values import member, objects_in
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._object_deletion import DeleteOptions, delete
from ..writing._object_writer import Writer
from ..writing._server_writes import edit, remove
from . import node_health
from ._container_programs import Behaviour
from ._kubelets import Kubelets, PodRun
from ._node_objects import (
    Machine,
    is_ready,
    is_running,
    micro_time,
    new_lease,
    new_node,
    write_node,
    write_taints,
)
from ._pod_status import Placement, mark_disrupted
from ._scheduler import Scheduler
from ._scheduler_filters import toleration_seconds

Json = dict[str, Any]
CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
_LEASES: Final = "leases.coordination.k8s.io"


class NodeRun(Struct):
    """A simulated node: its machine, its health, and the number of pods that it has had."""

    machine: Machine
    health: node_health.State
    pod_count: int = 0


class NodeController:
    """All nodes of a cluster, with the kubelets and the scheduler."""

    def __init__(self, state: ServerState, behaviour: Behaviour) -> None:
        self.state = state
        self.behaviour = behaviour
        self._reset()

    def _reset(self) -> None:
        self._kubelets = Kubelets(self.state, self.behaviour, self)
        self._scheduler = Scheduler(self.state)
        self._runs: dict[str, NodeRun] = {}
        self._dirty_pods: dict[str, None] = {}
        self._dirty_nodes: dict[str, None] = {}
        self._evictions: dict[str, float] = {}  # the time at which a taint evicts a pod, by its key
        self._is_writing = False

    def add(
        self, name: str = "", *, labels: Mapping[str, str] | None = None, taints: Iterable[Json] = (),
        capacity: Mapping[str, str] | None = None,
    ) -> str:  # fmt: skip
        """Add a node, and return its name: by default ``node-1`` and so on."""
        number = 1 + max((run.machine.number for run in self._runs.values()), default=0)
        name = name or f"node-{number}"
        if name in self._runs:
            raise LocalProtocolError(f"the cluster has a node {name!r} already")
        machine = Machine(
            name=name, number=number, labels=dict(labels or {}), taints=tuple(taints),
            capacity={**CAPACITY, **(capacity or {})},
        )  # fmt: skip
        health, actions = node_health.begin(self.state.clock.time)
        self._runs[name] = NodeRun(machine, health)
        nodes = self._served("nodes")
        if name not in nodes.storage.objects:
            Writer(self.state, Route(nodes, "create"), {}, "kubelet").create(new_node(machine), [])
        self._perform(self._runs[name], actions)
        return name

    # Called by the cluster

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Mark a changed pod or node."""
        if storage.name == "pods":
            if event.change == "DELETED" or not self._kubelets.writing:
                self._dirty_pods[event.stored.key] = None
            elif b'"phase":"Running"' not in event.stored.data:
                self._dirty_pods[event.stored.key] = None  # the resources of a finished pod become free
        elif storage.name == "nodes" and not self._is_writing:
            self._dirty_nodes[event.stored.name] = None

    def work(self) -> bool:
        """Process marked objects and expired deadlines; return whether anything was written."""
        version = self.state.storage.version
        nodes, self._dirty_nodes = self._dirty_nodes, {}
        for name in nodes:
            self._update_node(name)
        pods, self._dirty_pods = self._dirty_pods, {}
        for key in pods:
            self._update_pod(key)
        self._advance_to()
        self._scheduler.work()
        return self.state.storage.version != version or bool(self._dirty_pods)

    @property
    def next_due(self) -> float | None:
        """The time of the next event; None if the next change comes first."""
        times = [self._kubelets.next_due, *(node_health.next_due(run.health) for run in self._runs.values())]
        times += self._evictions.values()
        return min((time for time in times if time is not None), default=None)

    def add_existing(self) -> None:
        """Mark all stored nodes and pods."""
        for name in ("nodes", "pods"):
            storage = self._served(name).storage
            for stored in storage.objects.values():
                self.on_event(storage, StoredEvent("ADDED", stored, None))

    def adopt(self, other: NodeController) -> None:
        """Copy the nodes of the cluster from which this cluster was forked."""
        self._runs = {name: msgspec.structs.replace(run) for name, run in other._runs.items()}
        self._kubelets.adopt(other._kubelets)
        self._scheduler.adopt(other._scheduler)
        self._dirty_pods, self._dirty_nodes = dict(other._dirty_pods), dict(other._dirty_nodes)
        self._evictions = dict(other._evictions)

    def resume(self) -> None:
        """Start again from the stored objects after a restart: nodes stay, the logs of containers do not."""
        machines = [run.machine for run in self._runs.values()]
        self._reset()
        for machine in machines:
            health, actions = node_health.begin(self.state.clock.time)
            run = self._runs[machine.name] = NodeRun(machine, health)
            if machine.name in self._served("nodes").storage.objects:
                self._perform(run, actions)

    def simulates(self, node: str) -> bool:
        """Return whether a node is simulated, so that its kubelet ends its pods."""
        return node in self._runs

    def find(self, key: str, uid: str) -> PodRun | None:
        """Return the run of a pod; None if it is on no simulated node."""
        run = self._kubelets.runs.get(key)
        return run if run is not None and run.uid == uid else None

    # Called by the kubelets

    def placement(self, node: str) -> Placement:
        """Return addresses for a new pod."""
        run = self._runs[node]
        run.pod_count += 1
        return Placement(run.machine.ip, run.machine.pod_ip(run.pod_count), self.state.clock.time)

    def is_running(self, node: str) -> bool:
        """Return whether the kubelet of a node runs."""
        run = self._runs.get(node)
        return run is not None and is_running(run.health)

    def is_ready(self, node: str) -> bool:
        """Return whether the cluster considers a node ready."""
        run = self._runs.get(node)
        return run is not None and is_ready(run.health)

    # Nodes

    def _change_health(self, node: str, event: node_health.Event) -> None:
        run = self._runs.get(node)
        if run is None:
            raise LocalProtocolError(
                f"no simulated node has the name {node!r}: the nodes are {', '.join(self._runs)}"
            )
        self._handle(run, event)

    def _handle(self, run: NodeRun, event: node_health.Event) -> None:
        was_ready, was_running = is_ready(run.health), is_running(run.health)
        run.health, actions = node_health.step(run.health, event, self.state.clock.time)
        self._perform(run, actions)
        name = run.machine.name
        if is_running(run.health) and not was_running:
            self._dirty_pods |= dict.fromkeys(self._kubelets.wake(name))
        if is_ready(run.health) != was_ready:
            for pod in list(self._kubelets.runs.values()):
                if pod.node == name:
                    self._kubelets.report(pod)

    def _perform(self, run: NodeRun, actions: Iterable[node_health.Action]) -> None:
        now, machine, version = self.state.clock.time, run.machine, self.state.release.version
        for action in actions:
            match action:
                case node_health.ReportNode():
                    self._edit_node(
                        machine.name, lambda node: write_node(node, machine, run.health, now, version=version)
                    )
                case node_health.RenewLease():
                    self._renew_lease(machine)

    def _renew_lease(self, machine: Machine) -> None:
        leases, now = self._served(_LEASES), self.state.clock.time
        lease = leases.storage.objects.get(leases.key("kube-node-lease", machine.name))
        if lease is not None:
            edit(self.state, leases, lease, lambda obj: obj["spec"].update(renewTime=micro_time(now)))
        elif (node := self._served("nodes").storage.objects.get(machine.name)) is not None:
            route = Route(leases, "create", "kube-node-lease")
            with suppress(Rejection):  # a namespace may be missing
                Writer(self.state, route, {}, "kubelet").create(new_lease(machine, node.uid, now), [])

    def _update_node(self, name: str) -> None:
        stored = self._served("nodes").storage.objects.get(name)
        self._scheduler.retry_waiting()
        run = self._runs.get(name)
        if stored is None:
            if run is not None:
                self._lose_node(name)
            return
        if run is None:
            return
        node: Json = msgspec.json.decode(stored.data)
        if write_taints(node, run.health, self.state.clock.time):
            health, now = run.health, self.state.clock.time
            self._edit_node(name, lambda obj: write_taints(obj, health, now))
        for pod in self._kubelets.runs.values():
            if pod.node == name:
                self._schedule_eviction(pod.key)

    def _lose_node(self, name: str) -> None:
        """Remove a deleted node and its pods, as the garbage collector of pods does."""
        del self._runs[name]
        pods = self._served("pods")
        for run in [run_of_pod for run_of_pod in self._kubelets.runs.values() if run_of_pod.node == name]:
            self._kubelets.forget(run.key)
            if (stored := pods.storage.objects.get(run.key)) is not None:
                remove(self.state, pods, stored)

    def _edit_node(self, name: str, change: Callable[[Json], object]) -> None:
        nodes = self._served("nodes")
        self._is_writing = True
        try:
            edit(self.state, nodes, nodes.storage.objects[name], change)
        finally:
            self._is_writing = False
        self._dirty_nodes[name] = None

    # Pods

    def _update_pod(self, key: str) -> None:
        stored = self._served("pods").storage.objects.get(key)
        if stored is None:
            self._kubelets.forget(key)
            self._scheduler.forget(key)
            self._evictions.pop(key, None)
            return
        pod: Json = msgspec.json.decode(stored.data)
        self._scheduler.update_pod(key, pod)
        if pod["spec"].get("nodeName") in self._runs:
            is_new = key not in self._kubelets.runs
            self._kubelets.update_pod(key, stored, pod)
            if is_new:
                self._schedule_eviction(key)

    def _schedule_eviction(self, key: str) -> None:
        """Schedule the eviction of a pod by the taints of its node."""
        self._evictions.pop(key, None)
        run = self._kubelets.runs.get(key)
        stored = self._served("pods").storage.objects.get(key)
        node = self._served("nodes").storage.objects.get(run.node) if run else None
        if stored is None or node is None or b'"deletionTimestamp":' in stored.data:
            return
        spec = msgspec.json.decode(stored.data)["spec"]
        times: list[float] = []
        for taint in objects_in(member(msgspec.json.decode(node.data), "spec"), "taints"):
            if taint["effect"] != "NoExecute":
                continue
            time_added = taint.get("timeAdded")
            start = self.state.clock.time if time_added is None else parse_time(time_added).timestamp()
            seconds = toleration_seconds(spec, taint)
            times.append(start + (seconds or 0.0))
        if times and min(times) < float("inf"):
            self._evictions[key] = min(times)

    def _advance_to(self) -> None:
        now = self.state.clock.time
        for run in list(self._runs.values()):
            while (next_due := node_health.next_due(run.health)) is not None and next_due <= now:
                self._handle(run, node_health.TimePassed())
        self._kubelets.pass_time()
        for key in [key for key, time in self._evictions.items() if time <= now]:
            del self._evictions[key]
            self._evict(key)

    def _evict(self, key: str) -> None:
        pods = self._served("pods")
        stored = pods.storage.objects.get(key)
        if stored is None:
            return
        mark_disrupted(
            self.state,
            pods,
            stored,
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        with suppress(Rejection):
            delete(self.state, pods, key, stored.name, DeleteOptions())

    def _served(self, name: str) -> ServedKind:
        served = self.state.kinds.of_storage(name)
        assert served is not None  # a built-in kind
        return served
