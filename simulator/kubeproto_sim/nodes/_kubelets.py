"""The kubelets of all nodes: they drive the machine of each pod, and perform its actions."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from kubeproto.objects import parse_time

from .._state import ServerState
from ..kinds._kinds import Served
from ..storage._json_values import copied, listed, member
from ..storage._storage import Stored
from ..writing._edits import edit
from . import pod_lifecycle
from ._containers import LogBuffer, RunningContainer
from ._pod_status import Placement, write_status
from ._pod_values import (
    Action,
    Container,
    Containers,
    ContainerState,
    DeletionRequested,
    Ending,
    EphemeralAdded,
    Event,
    RemovePod,
    ReportStatus,
    Running,
    StartContainer,
    State,
    StopContainer,
    Terminated,
    TimePassed,
    Waiting,
)
from ._programs import Behaviour, files_of, plan_ephemeral, plan_pod, program_of

Json = dict[str, Any]


class PodRun(Struct, kw_only=True):
    """A pod on a node: its machine, and what runs in its containers. `generation` is the latest one seen."""

    key: str
    uid: str
    node: str
    placement: Placement
    state: State
    generation: int = 0
    containers: dict[str, RunningContainer] = {}
    previous: dict[str, LogBuffer] = {}


class NodeStates(Protocol):
    """What kubelets know of the nodes they run on."""

    def placement(self, node: str) -> Placement:
        """Return addresses for a new pod."""
        ...

    def answers(self, node: str) -> bool:
        """Whether the kubelet of a node runs."""
        ...

    def is_ready(self, node: str) -> bool:
        """Whether the cluster considers a node ready."""
        ...


class Kubelets:
    """All pods that are on nodes. `writing` is True while they write: their own changes are ignored."""

    def __init__(self, state: ServerState, behaviour: Behaviour, nodes: NodeStates) -> None:
        self.state = state
        self.behaviour = behaviour
        self.nodes = nodes
        self.runs: dict[str, PodRun] = {}
        self.writing = False
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._due: list[tuple[float, str]] = []  # with stale entries, which are skipped when they come up
        self._count = 0

    def adopt(self, other: Kubelets) -> None:
        """Take over the pods of a forked cluster. Logs are copied; connections to a pod are not."""
        for key, run in other.runs.items():
            twin = msgspec.structs.replace(run, containers={}, previous={})
            twin.previous = {name: log.copy() for name, log in run.previous.items()}
            for name, container in run.containers.items():
                twin.containers[name] = container.copy(self)
            self.runs[key] = twin
        self._due = list(other._due)

    # What becomes due

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.state.clock.time

    @property
    def due(self) -> float | None:
        """The next time at which something happens by itself."""
        while self._due and not self._is_current(*self._due[0]):
            heapq.heappop(self._due)
        times = [heap[0][0] for heap in (self._due, self._timers) if heap]
        return min(times, default=None)

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Do something when so much time has passed."""
        self._count += 1
        heapq.heappush(self._timers, (self.now + seconds, self._count, action))

    def pass_time(self) -> None:
        """Do what is due."""
        while (due := self.due) is not None and due <= self.now:
            if self._timers and self._timers[0][0] <= due:
                heapq.heappop(self._timers)[2]()
            else:
                self.happen(self.runs[self._due[0][1]], TimePassed())

    def wake(self, node: str) -> list[str]:
        """Look again at the pods of a node whose kubelet runs again; return their keys."""
        found = [run for run in self.runs.values() if run.node == node]
        for run in found:
            self._schedule(run)
        return [run.key for run in found]

    def _is_current(self, at: float, key: str) -> bool:
        run = self.runs.get(key)
        return run is not None and self.nodes.answers(run.node) and pod_lifecycle.due(run.state) == at

    def _schedule(self, run: PodRun) -> None:
        if (at := pod_lifecycle.due(run.state)) is not None:
            heapq.heappush(self._due, (at, run.key))

    # Pods come, change, and go

    def note(self, key: str, stored: Stored, pod: Json) -> None:
        """Take note of a pod that is on a node of the simulation."""
        run = self.runs.get(key)
        node = pod["spec"]["nodeName"]
        if run is None or run.uid != stored.uid:
            if member(pod, "status").get("phase") in ("Succeeded", "Failed"):
                return
            run = self._admit(key, stored, pod, node)
        if not self.nodes.answers(node):
            return
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds"):
            self._delete(run, parse_time(meta["deletionTimestamp"]).timestamp())
        self._add_ephemeral(run, pod)
        if run.generation != meta.get("generation", 0) or pod["spec"].get("readinessGates"):
            run.generation = meta.get("generation", 0)
            self.report(run)

    def forget(self, key: str) -> None:
        """The pod is gone."""
        run = self.runs.pop(key, None)
        if run is not None:
            for container in run.containers.values():
                container.output.close()

    def happen(self, run: PodRun, event: Event) -> None:
        """Pass an event to the machine of a pod."""
        run.state, actions = pod_lifecycle.step(run.state, event, self.now)
        self._perform(run, actions)

    def _admit(self, key: str, stored: Stored, pod: Json, node: str) -> PodRun:
        plan, containers = plan_pod(self.behaviour, pod, self.now)
        found = _found_running(pod, plan.restart, containers, self.now)
        state, actions = pod_lifecycle.begin(plan, found, self.now)
        run = PodRun(
            key=key, uid=stored.uid, node=node, placement=self.nodes.placement(node), state=state,
            generation=pod["metadata"].get("generation", 0),
        )  # fmt: skip
        self.runs[key] = run
        for one in state.containers:
            if isinstance(one.state, Running):
                self._start(run, one.name)
        self._perform(run, actions)
        return run

    def _delete(self, run: PodRun, by: float) -> None:
        if isinstance(run.state, Ending) and by >= run.state.at:
            return
        if not isinstance(run.state, pod_lifecycle.Removed):
            self.happen(run, DeletionRequested(by))

    def _add_ephemeral(self, run: PodRun, pod: Json) -> None:
        known = {one.name for one in run.state.containers}
        for spec in listed(pod["spec"], "ephemeralContainers"):
            if spec["name"] not in known and not isinstance(
                run.state, (pod_lifecycle.Finished, pod_lifecycle.Removed)
            ):
                self.happen(run, EphemeralAdded(spec["name"], plan_ephemeral(self.behaviour, spec)))

    # Actions

    def _perform(self, run: PodRun, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case StartContainer(name):
                    self._start(run, name)
                case StopContainer(name):
                    self._stop(run, name)
                case ReportStatus():
                    self.report(run)
                case RemovePod():
                    self.report(run, gone=True)
        if run.key in self.runs:
            self._schedule(run)

    def _start(self, run: PodRun, name: str) -> None:
        found = self._stored(run)
        if found is None:
            return
        pod = msgspec.json.decode(found[1].data)
        spec = container_spec(pod, name)
        if (before := run.containers.get(name)) is not None:
            run.previous[name] = before.output
        container = run.containers[name] = RunningContainer(self, pod, spec)
        program = program_of(self.behaviour, container.image)
        container.files = files_of(program)
        if program.log:
            container.log(program.log)

    def _stop(self, run: PodRun, name: str) -> None:
        if (container := run.containers.get(name)) is not None:
            container.output.close()

    def exit_container(self, container: RunningContainer, code: int) -> None:
        """End a container, as its program says."""
        for run in self.runs.values():
            if run.containers.get(container.name) is container:
                self.happen(run, pod_lifecycle.ContainerExited(container.name, code))

    def report(self, run: PodRun, *, gone: bool = False) -> None:
        """Write the status of a pod if it has changed; with `gone`, remove the pod."""
        found = self._stored(run)
        if found is None:
            return
        served, stored = found
        pod: Json = msgspec.json.decode(stored.data)
        before = copied(pod.get("status"))
        ready = self.nodes.is_ready(run.node)
        write_status(pod, run.state, run.placement, self.now, self.state.release, ready=ready)
        if not gone and pod["status"] == before:
            return

        def change(obj: Json) -> None:
            obj["status"] = pod["status"]
            if gone:
                obj["metadata"]["deletionGracePeriodSeconds"] = 0

        self.writing = True
        try:
            edit(self.state, served, stored, change)
        finally:
            self.writing = False

    def _stored(self, run: PodRun) -> tuple[Served, Stored] | None:
        served = self.state.kinds.of_storage("pods")
        assert served is not None  # a kind of the server's own
        stored = served.storage.objects.get(run.key)
        return None if stored is None or stored.uid != run.uid else (served, stored)


def container_spec(pod: Json, name: str) -> Json:
    """The part of a pod that describes one container."""
    spec = pod["spec"]
    parts = ("containers", "initContainers", "ephemeralContainers")
    return next(one for part in parts for one in listed(spec, part) if one["name"] == name)


def _found_running(
    pod: Json, policy: pod_lifecycle.RestartPolicy, containers: Containers, now: float
) -> Containers:
    """Containers as the status of their pod shows them: a restarted kubelet continues from there."""
    status = member(pod, "status")
    rows = {
        one["name"]: one
        for part in ("initContainerStatuses", "containerStatuses")
        for one in listed(status, part)
    }
    return tuple(_found(one, rows.get(one.name, {}), policy, now) for one in containers)


def _found(container: Container, row: Json, policy: pod_lifecycle.RestartPolicy, now: float) -> Container:
    state = _shown(member(row, "state"), now, ready=bool(row.get("ready")))
    if state is None:
        return container
    if isinstance(state, Running) and container.plan.takes is not None:
        state = msgspec.structs.replace(state, ends_at=state.since + container.plan.takes)
    if isinstance(state, Terminated) and pod_lifecycle.restarts(container, policy, state.code):
        state = msgspec.structs.replace(state, restarts_at=now)
    last = _shown(member(row, "lastState"), now, ready=False)
    return msgspec.structs.replace(
        container, state=state, restarts=row.get("restartCount", 0),
        last=last if isinstance(last, Terminated) else None,
    )  # fmt: skip


def _shown(shown: Json, now: float, *, ready: bool) -> ContainerState | None:
    """The state of a container as its status shows it; None if it has not started."""
    if running := member(shown, "running"):
        return Running(parse_time(running["startedAt"]).timestamp(), ready)
    if over := member(shown, "terminated"):
        since, at = (parse_time(over[name]).timestamp() for name in ("startedAt", "finishedAt"))
        return Terminated(since, at, over["exitCode"], over.get("reason", ""), over.get("message", ""))
    reason = member(shown, "waiting").get("reason", "")
    return Waiting(reason, now) if reason == "CrashLoopBackOff" else None
