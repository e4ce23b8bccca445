"""The kubelets of all nodes: the driver of the pods' machines."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from kubeproto.objects import copy_json, parse_time

from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in
from ..storage._storage import StoredRecord
from ..writing._server_writes import edit
from . import pod_lifecycle
from ._container_logs import LogBuffer
from ._container_programs import Behaviour, files_of, plan_ephemeral, plan_pod, program_of
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
from ._running_container import RunningContainer

Json = dict[str, Any]


class PodRun(Struct, kw_only=True):
    """A pod on a node: the state of its machine, its running containers and their previous logs."""

    key: str
    uid: str
    node: str
    placement: Placement
    state: State
    generation: int = 0
    containers: dict[str, RunningContainer] = {}
    previous: dict[str, LogBuffer] = {}


class NodeStates(Protocol):
    """The nodes of the kubelets."""

    def placement(self, node: str) -> Placement:
        """Return addresses for a new pod."""
        ...

    def is_running(self, node: str) -> bool:
        """Return whether the kubelet of a node runs."""
        ...

    def is_ready(self, node: str) -> bool:
        """Return whether the cluster considers a node ready."""
        ...


class Kubelets:
    """All pods that are on nodes. Changes are ignored while `writing`: they are those of the kubelets."""

    def __init__(self, state: ServerState, behaviour: Behaviour, nodes: NodeStates) -> None:
        self.state = state
        self.behaviour = behaviour
        self.nodes = nodes
        self.runs: dict[str, PodRun] = {}
        self.writing = False
        self._timers: list[tuple[float, int, Callable[[], object]]] = []
        self._due_pods: list[tuple[float, str]] = []  # a heap; stale entries are skipped
        self._timer_count = 0

    def adopt(self, other: Kubelets) -> None:
        """Copy the pods and logs of the cluster from which this cluster was forked, but no connections."""
        for key, run in other.runs.items():
            clone = msgspec.structs.replace(run, containers={}, previous={})
            clone.previous = {name: log.copy() for name, log in run.previous.items()}
            for name, container in run.containers.items():
                clone.containers[name] = container.copy(self)
            self.runs[key] = clone
        self._due_pods = list(other._due_pods)

    # Time

    @property
    def now(self) -> float:
        """The virtual time."""
        return self.state.clock.time

    @property
    def next_due(self) -> float | None:
        """The time of the next event; None if the next change comes first."""
        while self._due_pods and not self._is_current(*self._due_pods[0]):
            heapq.heappop(self._due_pods)
        times = [heap[0][0] for heap in (self._due_pods, self._timers) if heap]
        return min(times, default=None)

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call an action after some time."""
        self._timer_count += 1
        heapq.heappush(self._timers, (self.now + seconds, self._timer_count, action))

    def pass_time(self) -> None:
        """Perform the timers and the events that are due."""
        while (next_due := self.next_due) is not None and next_due <= self.now:
            if self._timers and self._timers[0][0] <= next_due:
                heapq.heappop(self._timers)[2]()
            else:
                self.handle(self.runs[self._due_pods[0][1]], TimePassed())

    def wake(self, node: str) -> list[str]:
        """Schedule the pods of a node whose kubelet runs again; return their keys."""
        runs = [run for run in self.runs.values() if run.node == node]
        for run in runs:
            self._schedule(run)
        return [run.key for run in runs]

    def _is_current(self, time: float, key: str) -> bool:
        run = self.runs.get(key)
        if run is None or not self.nodes.is_running(run.node):
            return False
        return pod_lifecycle.next_due(run.state) == time

    def _schedule(self, run: PodRun) -> None:
        if (time := pod_lifecycle.next_due(run.state)) is not None:
            heapq.heappush(self._due_pods, (time, run.key))

    # Pods

    def update_pod(self, key: str, stored: StoredRecord, pod: Json) -> None:
        """Process a new or changed pod on a simulated node."""
        run = self.runs.get(key)
        node = pod["spec"]["nodeName"]
        if run is None or run.uid != stored.uid:
            if member(pod, "status").get("phase") in ("Succeeded", "Failed"):
                return
            run = self._admit(key, stored, pod, node)
        if not self.nodes.is_running(node):
            return
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") and meta.get("deletionGracePeriodSeconds"):
            self._delete(run, parse_time(meta["deletionTimestamp"]).timestamp())
        self._add_ephemeral_containers(run, pod)
        if run.generation != meta.get("generation", 0) or pod["spec"].get("readinessGates"):
            run.generation = meta.get("generation", 0)
            self.report(run)

    def forget(self, key: str) -> None:
        """End the containers of a removed pod."""
        run = self.runs.pop(key, None)
        if run is not None:
            for container in run.containers.values():
                container.output.close()

    def handle(self, run: PodRun, event: Event) -> None:
        """Pass an event to the machine of a pod, and perform the actions."""
        run.state, actions = pod_lifecycle.step(run.state, event, self.now)
        self._perform(run, actions)

    def _admit(self, key: str, stored: StoredRecord, pod: Json, node: str) -> PodRun:
        plan, containers = plan_pod(self.behaviour, pod, self.now)
        current = _restored_containers(pod, plan.restart, containers, self.now)
        state, actions = pod_lifecycle.begin(plan, current, self.now)
        run = PodRun(
            key=key, uid=stored.uid, node=node, placement=self.nodes.placement(node), state=state,
            generation=pod["metadata"].get("generation", 0),
        )  # fmt: skip
        self.runs[key] = run
        for container in state.containers:
            if isinstance(container.state, Running):
                self._start(run, container.name)
        self._perform(run, actions)
        return run

    def _delete(self, run: PodRun, deadline: float) -> None:
        if isinstance(run.state, Ending) and deadline >= run.state.ends_at:
            return
        if not isinstance(run.state, pod_lifecycle.Removed):
            self.handle(run, DeletionRequested(deadline))

    def _add_ephemeral_containers(self, run: PodRun, pod: Json) -> None:
        names = {container.name for container in run.state.containers}
        for spec in objects_in(pod["spec"], "ephemeralContainers"):
            if spec["name"] not in names and not isinstance(
                run.state, (pod_lifecycle.Finished, pod_lifecycle.Removed)
            ):
                self.handle(run, EphemeralAdded(spec["name"], plan_ephemeral(self.behaviour, spec)))

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
                    self.report(run, is_removed=True)
        if run.key in self.runs:
            self._schedule(run)

    def _start(self, run: PodRun, name: str) -> None:
        target = self._stored(run)
        if target is None:
            return
        pod = msgspec.json.decode(target[1].data)
        spec = container_spec(pod, name)
        if (previous := run.containers.get(name)) is not None:
            run.previous[name] = previous.output
        container = run.containers[name] = RunningContainer(self, pod, spec)
        program = program_of(self.behaviour, container.image)
        container.files = files_of(program)
        if program.log:
            container.log(program.log)

    def _stop(self, run: PodRun, name: str) -> None:
        if (container := run.containers.get(name)) is not None:
            container.output.close()

    def exit_container(self, container: RunningContainer, code: int) -> None:
        """End a container at the request of its program."""
        for run in self.runs.values():
            if run.containers.get(container.name) is container:
                self.handle(run, pod_lifecycle.ContainerExited(container.name, code))

    def report(self, run: PodRun, *, is_removed: bool = False) -> None:
        """Write the status of a pod if it has changed, and confirm its end if it `is_removed`."""
        target = self._stored(run)
        if target is None:
            return
        served, stored = target
        pod: Json = msgspec.json.decode(stored.data)
        previous_status = copy_json(pod.get("status"))
        node_ready = self.nodes.is_ready(run.node)
        write_status(pod, run.state, run.placement, self.now, self.state.release, node_ready=node_ready)
        if not is_removed and pod["status"] == previous_status:
            return

        def change(obj: Json) -> None:
            obj["status"] = pod["status"]
            if is_removed:
                obj["metadata"]["deletionGracePeriodSeconds"] = 0

        self.writing = True
        try:
            edit(self.state, served, stored, change)
        finally:
            self.writing = False

    def _stored(self, run: PodRun) -> tuple[ServedKind, StoredRecord] | None:
        served = self.state.kinds.of_storage("pods")
        assert served is not None  # a kind of the server's own
        stored = served.storage.objects.get(run.key)
        return None if stored is None or stored.uid != run.uid else (served, stored)


def container_spec(pod: Json, name: str) -> Json:
    """Return the spec of a container."""
    spec = pod["spec"]
    parts = ("containers", "initContainers", "ephemeralContainers")
    return next(
        container for field in parts for container in objects_in(spec, field) if container["name"] == name
    )


def _restored_containers(
    pod: Json, policy: pod_lifecycle.RestartPolicy, containers: Containers, now: float
) -> Containers:
    """Return containers in the states of the pod's status, from which a restarted kubelet continues."""
    status = member(pod, "status")
    status_by_name = {
        container["name"]: container
        for field in ("initContainerStatuses", "containerStatuses")
        for container in objects_in(status, field)
    }
    return tuple(
        _restored(container, status_by_name.get(container.name, {}), policy, now) for container in containers
    )


def _restored(
    container: Container, status: Json, policy: pod_lifecycle.RestartPolicy, now: float
) -> Container:
    state = _read_state(member(status, "state"), now, ready=bool(status.get("ready")))
    if state is None:
        return container
    if isinstance(state, Running) and container.plan.duration is not None:
        state = msgspec.structs.replace(state, ends_at=state.started_at + container.plan.duration)
    if isinstance(state, Terminated) and pod_lifecycle.restarts(container, policy, state.code):
        state = msgspec.structs.replace(state, restarts_at=now)
    last_state = _read_state(member(status, "lastState"), now, ready=False)
    return msgspec.structs.replace(
        container, state=state, restarts=status.get("restartCount", 0),
        last=last_state if isinstance(last_state, Terminated) else None,
    )  # fmt: skip


def _read_state(state: Json, now: float, *, ready: bool) -> ContainerState | None:
    """Return the state in the status of a container; None if it has not started."""
    if running := member(state, "running"):
        return Running(parse_time(running["startedAt"]).timestamp(), ready)
    if terminated := member(state, "terminated"):
        started, finished = (parse_time(terminated[name]).timestamp() for name in ("startedAt", "finishedAt"))
        return Terminated(
            started,
            finished,
            terminated["exitCode"],
            terminated.get("reason", ""),
            terminated.get("message", ""),
        )
    reason = member(state, "waiting").get("reason", "")
    return Waiting(reason, now) if reason == "CrashLoopBackOff" else None
