"""The status of a pod as a kubelet writes it, made from the state of its machine."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any, Final

from msgspec import Struct

from ..kinds._releases import Release
from ..storage._json_values import listed, member
from ._pod_values import (
    Container,
    ContainerState,
    Finished,
    Initializing,
    Removed,
    Running,
    State,
    Terminated,
    Waiting,
)

Json = dict[str, Any]
_TYPES: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_OVER: Final = {False: "PodCompleted", True: "PodFailed"}
_STATUSES: Final = (
    ("initContainerStatuses", "initContainers", ("init", "sidecar")),
    ("containerStatuses", "containers", ("main",)),
    ("ephemeralContainerStatuses", "ephemeralContainers", ("ephemeral",)),
)


class Placement(Struct, frozen=True):
    """Where a pod runs, and since when: the address of its node and its own."""

    host_ip: str
    pod_ip: str
    since: float


def time_text(seconds: float) -> str:
    """A time as objects carry it, in whole seconds."""
    # The sum of several times may be a little less than the whole second that it should be.
    when = datetime.datetime.fromtimestamp(int(seconds + 1e-6), datetime.UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def phase_of(state: State) -> str:
    """The phase of a pod."""
    match state:
        case Finished(failed=failed) | Removed(failed=failed):
            return "Failed" if failed else "Succeeded"
        case Initializing():
            return "Pending"
        case _:
            mains = [one for one in state.containers if one.role == "main"]
            unborn = any(isinstance(one.state, Waiting) and one.last is None for one in mains)
            return "Pending" if unborn else "Running"


def observed_generation(pod: Json, release: Release) -> Json:
    """Return what a status or condition says of the generation of a pod; older releases say nothing."""
    generation = pod["metadata"].get("generation")
    return {"observedGeneration": generation} if generation and release.observed_pod_generations else {}


def write_status(
    pod: Json, state: State, placement: Placement, now: float, release: Release, *, ready: bool = True
) -> None:
    """Update the status of a pod from its machine. `ready` is whether its node is."""
    status: Json = pod.setdefault("status", {})
    observed = observed_generation(pod, release)
    status |= observed
    status["phase"] = phase_of(state)
    for name, text in (("reason", _reason(state)), ("message", _message(state))):
        if text:
            status[name] = text
    status["conditions"] = _conditions(pod, state, time_text(now), observed, ready=ready)
    status["hostIP"], status["hostIPs"] = placement.host_ip, [{"ip": placement.host_ip}]
    if _begun(state):
        status["podIP"], status["podIPs"] = placement.pod_ip, [{"ip": placement.pod_ip}]
    status.setdefault("startTime", time_text(placement.since))
    for name, part, roles in _STATUSES:
        specs = {one["name"]: one for one in listed(pod["spec"], part)}
        found = [one for one in state.containers if one.role in roles and one.name in specs]
        if found:
            status[name] = [_container(pod, specs[one.name], one) for one in found]


def set_condition(conditions: list[Json], changed: Json, stamp: str) -> None:
    """Set a condition; the time of its transition stays while its status does."""
    for at, one in enumerate(conditions):
        if one["type"] == changed["type"]:
            kept = one["status"] == changed["status"]
            since = one.get("lastTransitionTime", stamp) if kept else stamp
            conditions[at] = {"lastProbeTime": None} | changed | {"lastTransitionTime": since}
            return
    conditions.append({"lastProbeTime": None} | changed | {"lastTransitionTime": stamp})


def _reason(state: State) -> str:
    return state.reason if isinstance(state, (Finished, Removed)) else ""


def _message(state: State) -> str:
    return state.message if isinstance(state, (Finished, Removed)) else ""


def _begun(state: State) -> bool:
    """Whether any container was ever started: from then on the pod has a network."""
    return any(not isinstance(one.state, Waiting) or one.last is not None for one in state.containers)


def _conditions(pod: Json, state: State, stamp: str, observed: Json, *, ready: bool) -> list[Json]:
    conditions = list(listed(member(pod, "status"), "conditions"))
    for changed in (_started(state), _initialized(state), *_readiness(pod, state, ready=ready)):
        set_condition(conditions, observed | changed, stamp)
    if not any(one["type"] == "PodScheduled" for one in conditions):
        set_condition(conditions, observed | {"type": "PodScheduled", "status": "True"}, stamp)
    order = {name: at for at, name in enumerate(_TYPES)}
    return sorted(conditions, key=lambda one: order.get(one["type"], -1))


def _started(state: State) -> Json:
    over = isinstance(state, (Finished, Removed))
    return {"type": _TYPES[0], "status": "True" if _begun(state) and not over else "False"}


def _initialized(state: State) -> Json:
    left = [
        one.name
        for one in state.containers
        if (one.role == "init" and not (isinstance(one.state, Terminated) and one.state.code == 0))
        or (one.role == "sidecar" and isinstance(one.state, Waiting) and one.last is None)
    ]
    if left:
        return _unmet("Initialized", "ContainersNotInitialized", "incomplete", left)
    done: Json = {"type": "Initialized", "status": "True"}
    if isinstance(state, Finished) and not state.failed:
        done["reason"] = _OVER[False]
    return done


def _readiness(pod: Json, state: State, *, ready: bool) -> tuple[Json, Json]:
    if isinstance(state, (Finished, Removed)):
        over: Json = {"status": "False", "reason": _OVER[state.failed]}
        return {"type": "Ready", **over}, {"type": "ContainersReady", **over}
    unready = [
        one.name
        for one in state.containers
        if one.role in ("main", "sidecar") and not (isinstance(one.state, Running) and one.state.ready)
    ]
    if unready:
        unmet = _unmet("Ready", "ContainersNotReady", "unready", unready)
        return unmet, unmet | {"type": "ContainersReady"}
    containers: Json = {"type": "ContainersReady", "status": "True"}
    if not ready:
        return {"type": "Ready", "status": "False", "reason": "NodeNotReady"}, containers
    gates = _closed_gates(pod)
    if gates:
        message = ", ".join(gates)
        closed: Json = {"status": "False", "reason": "ReadinessGatesNotReady", "message": message}
        return {"type": "Ready", **closed}, containers
    return {"type": "Ready", "status": "True"}, containers


def _closed_gates(pod: Json) -> list[str]:
    known = {one["type"]: one["status"] for one in listed(member(pod, "status"), "conditions")}
    said: list[str] = []
    for gate in listed(pod["spec"], "readinessGates"):
        name = gate["conditionType"]
        if name not in known:
            said.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif known[name] != "True":
            said.append(f'the status of pod readiness gate "{name}" is not "True", but {known[name]}')
    return said


def _unmet(type_: str, reason: str, how: str, names: list[str]) -> Json:
    message = f"containers with {how} status: [{' '.join(names)}]"
    return {"type": type_, "status": "False", "reason": reason, "message": message}


def _container(pod: Json, spec: Json, container: Container) -> Json:
    state = container.state
    begun = not isinstance(state, Waiting) or container.last is not None
    ready = isinstance(state, Running) and state.ready
    if container.role == "init":
        ready = isinstance(state, Terminated) and state.code == 0
    # While it waits to be restarted, its last run is the one that is counted.
    last = container.restarts - (0 if isinstance(state, Waiting) else 1)
    found: Json = {
        "name": container.name,
        "state": _state(pod, container, state, container.restarts),
        "lastState": _state(pod, container, container.last, last) if container.last else {},
        "ready": ready,
        "restartCount": container.restarts,
        "image": spec.get("image", ""),
        "imageID": f"{spec.get('image', '')}@sha256:{_digest(spec.get('image', ''))}" if begun else "",
        "started": isinstance(state, Running),
    }
    if begun:
        found["containerID"] = container_id(pod, container.name, container.restarts)
    if container.role == "ephemeral":
        found.pop("started")
        found["ready"] = False
    elif resources := member(spec, "resources"):
        found["resources"] = resources
        if requests := member(resources, "requests"):
            found["allocatedResources"] = requests
    return found


def _state(pod: Json, container: Container, state: ContainerState, restarts: int) -> Json:
    match state:
        case Waiting(reason, _, message):
            return {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        case Running(since):
            return {"running": {"startedAt": time_text(since)}}
        case Terminated(since, at, code, reason, message):
            over: Json = {"exitCode": code, "reason": reason, **({"message": message} if message else {})}
            over |= {"startedAt": time_text(since), "finishedAt": time_text(at)}
            return {"terminated": over | {"containerID": container_id(pod, container.name, restarts)}}


def container_id(pod: Json, name: str, restarts: int) -> str:
    """The id of a container: another one after each restart."""
    return f"containerd://{_digest(pod['metadata']['uid'], name, str(restarts))}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
