"""`NodeController`: what happens to nodes apart from their pods: health, leases, taints, evictions."""

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
from ..kinds._kinds import Served
from ..reading._routes import Route
from ..storage._json_values import listed, member
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._deletes import DeleteOptions, delete
from ..writing._edits import edit, remove
from ..writing._writes import Writer
from . import node_health
from ._disruptions import mark_disrupted
from ._kubelets import Kubelets, PodRun
from ._node_objects import (
    Machine,
    answers,
    is_ready,
    micro_time,
    new_lease,
    new_node,
    write_node,
    write_taints,
)
from ._placing import tolerated_for
from ._pod_status import Placement
from ._programs import Behaviour
from ._scheduler import Scheduler

Json = dict[str, Any]
CAPACITY: Final = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
_LEASES: Final = "leases.coordination.k8s.io"


class NodeRun(Struct):
    """A simulated node: its machine, its health, and how many pods it has had."""

    machine: Machine
    health: node_health.State
    pods: int = 0


class NodeController:
    """All nodes of a cluster, and what is on them."""

    def __init__(self, state: ServerState, behaviour: Behaviour) -> None:
        self.state = state
        self.behaviour = behaviour
        self._begin()

    def _begin(self) -> None:
        self._kubelets = Kubelets(self.state, self.behaviour, self)
        self._scheduler = Scheduler(self.state)
        self._runs: dict[str, NodeRun] = {}
        self._dirty_pods: dict[str, None] = {}
        self._dirty_nodes: dict[str, None] = {}
        self._evictions: dict[str, float] = {}  # pods that a taint evicts, and when
        self._writing = False

    def add(
        self, name: str = "", *, labels: Mapping[str, str] | None = None, taints: Iterable[Json] = (),
        capacity: Mapping[str, str] | None = None,
    ) -> str:  # fmt: skip
        """Add a node, and return its name: ``node-1`` and so on, unless it is given."""
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

    # What the cluster calls

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note a change of a pod or a node."""
        if storage.name == "pods":
            if event.change == "DELETED" or not self._kubelets.writing:
                self._dirty_pods[event.stored.key] = None
            elif b'"phase":"Running"' not in event.stored.data:
                self._dirty_pods[event.stored.key] = None  # a pod that has ended leaves room for others
        elif storage.name == "nodes" and not self._writing:
            self._dirty_nodes[event.stored.name] = None

    def work(self) -> bool:
        """Do what has become necessary; return whether there was anything."""
        before = self.state.storage.version
        nodes, self._dirty_nodes = self._dirty_nodes, {}
        for name in nodes:
            self._note_node(name)
        pods, self._dirty_pods = self._dirty_pods, {}
        for key in pods:
            self._note_pod(key)
        self._pass_time()
        self._scheduler.work()
        return self.state.storage.version != before or bool(self._dirty_pods)

    @property
    def due(self) -> float | None:
        """The next time at which something happens by itself."""
        times = [self._kubelets.due, *(node_health.due(run.health) for run in self._runs.values())]
        times += self._evictions.values()
        return min((time for time in times if time is not None), default=None)

    def learn(self) -> None:
        """Note what is stored already."""
        for name in ("nodes", "pods"):
            storage = self._served(name).storage
            for stored in storage.objects.values():
                self.on_event(storage, StoredEvent("ADDED", stored, None))

    def adopt(self, other: NodeController) -> None:
        """Take over the nodes of a forked cluster."""
        self._runs = {name: msgspec.structs.replace(run) for name, run in other._runs.items()}
        self._kubelets.adopt(other._kubelets)
        self._scheduler.adopt(other._scheduler)
        self._dirty_pods, self._dirty_nodes = dict(other._dirty_pods), dict(other._dirty_nodes)
        self._evictions = dict(other._evictions)

    def resume(self) -> None:
        """Start again from what is stored, after a restart: the nodes stay, the logs of containers do not."""
        machines = [run.machine for run in self._runs.values()]
        self._begin()
        for machine in machines:
            health, actions = node_health.begin(self.state.clock.time)
            run = self._runs[machine.name] = NodeRun(machine, health)
            if machine.name in self._served("nodes").storage.objects:
                self._perform(run, actions)

    def keeps(self, node: str) -> bool:
        """Whether a node is simulated, so that its kubelet decides when its pods end."""
        return node in self._runs

    def find(self, key: str, uid: str) -> PodRun | None:
        """Return the run of a pod; None if it is not on any of the nodes."""
        run = self._kubelets.runs.get(key)
        return run if run is not None and run.uid == uid else None

    # What kubelets call

    def placement(self, node: str) -> Placement:
        """Return addresses for a new pod."""
        run = self._runs[node]
        run.pods += 1
        return Placement(run.machine.ip, run.machine.pod_ip(run.pods), self.state.clock.time)

    def answers(self, node: str) -> bool:
        """Whether the kubelet of a node runs."""
        run = self._runs.get(node)
        return run is not None and answers(run.health)

    def is_ready(self, node: str) -> bool:
        """Whether the cluster considers a node ready."""
        run = self._runs.get(node)
        return run is not None and is_ready(run.health)

    # Nodes

    def _change(self, node: str, event: node_health.Event) -> None:
        run = self._runs.get(node)
        if run is None:
            raise LocalProtocolError(
                f"no simulated node has the name {node!r}: the nodes are {', '.join(self._runs)}"
            )
        self._happen(run, event)

    def _happen(self, run: NodeRun, event: node_health.Event) -> None:
        were_ready, answered = is_ready(run.health), answers(run.health)
        run.health, actions = node_health.step(run.health, event, self.state.clock.time)
        self._perform(run, actions)
        name = run.machine.name
        if answers(run.health) and not answered:
            self._dirty_pods |= dict.fromkeys(self._kubelets.wake(name))
        if is_ready(run.health) != were_ready:
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
                    self._renew(machine)

    def _renew(self, machine: Machine) -> None:
        leases, now = self._served(_LEASES), self.state.clock.time
        lease = leases.storage.objects.get(leases.key("kube-node-lease", machine.name))
        if lease is not None:
            edit(self.state, leases, lease, lambda obj: obj["spec"].update(renewTime=micro_time(now)))
        elif (node := self._served("nodes").storage.objects.get(machine.name)) is not None:
            route = Route(leases, "create", "kube-node-lease")
            with suppress(Rejection):  # a namespace may be missing
                Writer(self.state, route, {}, "kubelet").create(new_lease(machine, node.uid, now), [])

    def _note_node(self, name: str) -> None:
        stored = self._served("nodes").storage.objects.get(name)
        self._scheduler.look_again()
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
                self._plan_eviction(pod.key)

    def _lose_node(self, name: str) -> None:
        """A node was deleted: what was on it is lost, and the collector of pods removes it."""
        del self._runs[name]
        pods = self._served("pods")
        for run in [one for one in self._kubelets.runs.values() if one.node == name]:
            self._kubelets.forget(run.key)
            if (stored := pods.storage.objects.get(run.key)) is not None:
                remove(self.state, pods, stored)

    def _edit_node(self, name: str, change: Callable[[Json], object]) -> None:
        nodes = self._served("nodes")
        self._writing = True
        try:
            edit(self.state, nodes, nodes.storage.objects[name], change)
        finally:
            self._writing = False
        self._dirty_nodes[name] = None

    # Pods

    def _note_pod(self, key: str) -> None:
        stored = self._served("pods").storage.objects.get(key)
        if stored is None:
            self._kubelets.forget(key)
            self._scheduler.forget(key)
            self._evictions.pop(key, None)
            return
        pod: Json = msgspec.json.decode(stored.data)
        self._scheduler.note(key, pod)
        if pod["spec"].get("nodeName") in self._runs:
            new = key not in self._kubelets.runs
            self._kubelets.note(key, stored, pod)
            if new:
                self._plan_eviction(key)

    def _plan_eviction(self, key: str) -> None:
        """Note when the taints of its node evict a pod, if they do."""
        self._evictions.pop(key, None)
        run = self._kubelets.runs.get(key)
        stored = self._served("pods").storage.objects.get(key)
        node = self._served("nodes").storage.objects.get(run.node) if run else None
        if stored is None or node is None or b'"deletionTimestamp":' in stored.data:
            return
        spec = msgspec.json.decode(stored.data)["spec"]
        ends: list[float] = []
        for taint in listed(member(msgspec.json.decode(node.data), "spec"), "taints"):
            if taint["effect"] != "NoExecute":
                continue
            since = taint.get("timeAdded")
            begun = self.state.clock.time if since is None else parse_time(since).timestamp()
            seconds = tolerated_for(spec, taint)
            ends.append(begun + (seconds or 0.0))
        if ends and min(ends) < float("inf"):
            self._evictions[key] = min(ends)

    def _pass_time(self) -> None:
        now = self.state.clock.time
        for run in list(self._runs.values()):
            while (due := node_health.due(run.health)) is not None and due <= now:
                self._happen(run, node_health.TimePassed())
        self._kubelets.pass_time()
        for key in [key for key, at in self._evictions.items() if at <= now]:
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

    def _served(self, name: str) -> Served:
        served = self.state.kinds.of_storage(name)
        assert served is not None  # a kind of the server's own
        return served
