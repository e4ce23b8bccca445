"""The status of a pod, which a kubelet derives from the state of the pod's machine."""

from __future__ import annotations

import datetime
import hashlib
from typing import Any, Final

from msgspec import Struct

from .._state import ServerState
from ..kinds._kubernetes_releases import Release
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in
from ..storage._storage import StoredRecord
from ..writing._server_writes import edit
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
_CONDITION_TYPES: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)
_FINAL_REASONS: Final = {False: "PodCompleted", True: "PodFailed"}
_STATUSES: Final = (
    ("initContainerStatuses", "initContainers", ("init", "sidecar")),
    ("containerStatuses", "containers", ("main",)),
    ("ephemeralContainerStatuses", "ephemeralContainers", ("ephemeral",)),
)


class Placement(Struct, frozen=True):
    """The addresses of a pod and of its node, and the time at which it was bound."""

    host_ip: str
    pod_ip: str
    since: float


def time_text(seconds: float) -> str:
    """Return a time in the format of objects, in whole seconds."""
    # A sum of floats may be slightly less than the whole second that it stands for.
    time = datetime.datetime.fromtimestamp(int(seconds + 1e-6), datetime.UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def phase_of(state: State) -> str:
    """Return the phase of a pod."""
    match state:
        case Finished(failed=failed) | Removed(failed=failed):
            return "Failed" if failed else "Succeeded"
        case Initializing():
            return "Pending"
        case _:
            mains = [container for container in state.containers if container.role == "main"]
            has_unstarted = any(
                isinstance(container.state, Waiting) and container.last is None for container in mains
            )
            return "Pending" if has_unstarted else "Running"


def observed_generation(pod: Json, release: Release) -> Json:
    """Return the field `observedGeneration` of a status or condition; older releases have none."""
    generation = pod["metadata"].get("generation")
    return {"observedGeneration": generation} if generation and release.observed_pod_generations else {}


def write_status(
    pod: Json,
    state: State,
    placement: Placement,
    now: float,
    release: Release,
    *,
    node_ready: bool = True,
) -> None:
    """Update the status of a pod from the state of its machine."""
    status: Json = pod.setdefault("status", {})
    observed_fields = observed_generation(pod, release)
    status |= observed_fields
    status["phase"] = phase_of(state)
    for field, text in (("reason", _reason(state)), ("message", _message(state))):
        if text:
            status[field] = text
    status["conditions"] = _conditions(pod, state, time_text(now), observed_fields, node_ready=node_ready)
    status["hostIP"], status["hostIPs"] = placement.host_ip, [{"ip": placement.host_ip}]
    if _has_started(state):
        status["podIP"], status["podIPs"] = placement.pod_ip, [{"ip": placement.pod_ip}]
    status.setdefault("startTime", time_text(placement.since))
    for field, spec_field, roles in _STATUSES:
        specs_by_name = {container["name"]: container for container in objects_in(pod["spec"], spec_field)}
        shown_containers = [
            container
            for container in state.containers
            if container.role in roles and container.name in specs_by_name
        ]
        if shown_containers:
            status[field] = [
                _container(pod, specs_by_name[container.name], container) for container in shown_containers
            ]


def set_condition(conditions: list[Json], changed: Json, stamp: str) -> None:
    """Set a condition; the time of its transition stays while its status stays."""
    for index, condition in enumerate(conditions):
        if condition["type"] == changed["type"]:
            is_same_status = condition["status"] == changed["status"]
            transition = condition.get("lastTransitionTime", stamp) if is_same_status else stamp
            conditions[index] = {"lastProbeTime": None} | changed | {"lastTransitionTime": transition}
            return
    conditions.append({"lastProbeTime": None} | changed | {"lastTransitionTime": stamp})


def _reason(state: State) -> str:
    return state.reason if isinstance(state, (Finished, Removed)) else ""


def _message(state: State) -> str:
    return state.message if isinstance(state, (Finished, Removed)) else ""


def _has_started(state: State) -> bool:
    """Return whether any container was ever started: from then on the pod has a network."""
    return any(
        not isinstance(container.state, Waiting) or container.last is not None
        for container in state.containers
    )


def _conditions(
    pod: Json, state: State, stamp: str, observed_fields: Json, *, node_ready: bool
) -> list[Json]:
    conditions = list(objects_in(member(pod, "status"), "conditions"))
    for condition in (_started(state), _initialized(state), *_readiness(pod, state, node_ready=node_ready)):
        set_condition(conditions, observed_fields | condition, stamp)
    if not any(entry["type"] == "PodScheduled" for entry in conditions):
        set_condition(conditions, observed_fields | {"type": "PodScheduled", "status": "True"}, stamp)
    order_by_type = {name: index for index, name in enumerate(_CONDITION_TYPES)}
    return sorted(conditions, key=lambda condition: order_by_type.get(condition["type"], -1))


def _started(state: State) -> Json:
    is_over = isinstance(state, (Finished, Removed))
    return {"type": _CONDITION_TYPES[0], "status": "True" if _has_started(state) and not is_over else "False"}


def _initialized(state: State) -> Json:
    incomplete = [
        container.name
        for container in state.containers
        if (
            container.role == "init"
            and not (isinstance(container.state, Terminated) and container.state.code == 0)
        )
        or (container.role == "sidecar" and isinstance(container.state, Waiting) and container.last is None)
    ]
    if incomplete:
        return _unmet("Initialized", "ContainersNotInitialized", "incomplete", incomplete)
    condition: Json = {"type": "Initialized", "status": "True"}
    if isinstance(state, Finished) and not state.failed:
        condition["reason"] = _FINAL_REASONS[False]
    return condition


def _readiness(pod: Json, state: State, *, node_ready: bool) -> tuple[Json, Json]:
    if isinstance(state, (Finished, Removed)):
        outcome: Json = {"status": "False", "reason": _FINAL_REASONS[state.failed]}
        return {"type": "Ready", **outcome}, {"type": "ContainersReady", **outcome}
    unready = [
        container.name
        for container in state.containers
        if container.role in ("main", "sidecar")
        and not (isinstance(container.state, Running) and container.state.ready)
    ]
    if unready:
        unready_condition = _unmet("Ready", "ContainersNotReady", "unready", unready)
        return unready_condition, unready_condition | {"type": "ContainersReady"}
    containers: Json = {"type": "ContainersReady", "status": "True"}
    if not node_ready:
        return {"type": "Ready", "status": "False", "reason": "NodeNotReady"}, containers
    gates = _closed_gates(pod)
    if gates:
        message = ", ".join(gates)
        failure: Json = {"status": "False", "reason": "ReadinessGatesNotReady", "message": message}
        return {"type": "Ready", **failure}, containers
    return {"type": "Ready", "status": "True"}, containers


def _closed_gates(pod: Json) -> list[str]:
    status_by_type = {
        entry["type"]: entry["status"] for entry in objects_in(member(pod, "status"), "conditions")
    }
    messages: list[str] = []
    for gate in objects_in(pod["spec"], "readinessGates"):
        name = gate["conditionType"]
        if name not in status_by_type:
            messages.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif status_by_type[name] != "True":
            messages.append(
                f'the status of pod readiness gate "{name}" is not "True", but {status_by_type[name]}'
            )
    return messages


def _unmet(type_: str, reason: str, status_word: str, names: list[str]) -> Json:
    message = f"containers with {status_word} status: [{' '.join(names)}]"
    return {"type": type_, "status": "False", "reason": reason, "message": message}


def _container(pod: Json, spec: Json, container: Container) -> Json:
    state = container.state
    was_started = not isinstance(state, Waiting) or container.last is not None
    ready = isinstance(state, Running) and state.ready
    if container.role == "init":
        ready = isinstance(state, Terminated) and state.code == 0
    # A container that waits for its restart has not counted that restart yet.
    last_restarts = container.restarts - (0 if isinstance(state, Waiting) else 1)
    status: Json = {
        "name": container.name,
        "state": _state(pod, container, state, container.restarts),
        "lastState": _state(pod, container, container.last, last_restarts) if container.last else {},
        "ready": ready,
        "restartCount": container.restarts,
        "image": spec.get("image", ""),
        "imageID": f"{spec.get('image', '')}@sha256:{_digest(spec.get('image', ''))}" if was_started else "",
        "started": isinstance(state, Running),
    }
    if was_started:
        status["containerID"] = container_id(pod, container.name, container.restarts)
    if container.role == "ephemeral":
        status.pop("started")
        status["ready"] = False
    elif resources := member(spec, "resources"):
        status["resources"] = resources
        if requests := member(resources, "requests"):
            status["allocatedResources"] = requests
    return status


def _state(pod: Json, container: Container, state: ContainerState, restarts: int) -> Json:
    match state:
        case Waiting(reason, _, message):
            return {"waiting": {"reason": reason, **({"message": message} if message else {})}}
        case Running(started):
            return {"running": {"startedAt": time_text(started)}}
        case Terminated(started, finished, code, reason, message):
            terminated: Json = {
                "exitCode": code,
                "reason": reason,
                **({"message": message} if message else {}),
            }
            terminated |= {"startedAt": time_text(started), "finishedAt": time_text(finished)}
            return {"terminated": terminated | {"containerID": container_id(pod, container.name, restarts)}}


def container_id(pod: Json, name: str, restarts: int) -> str:
    """Return the id of a container, which changes with each restart."""
    return f"containerd://{_digest(pod['metadata']['uid'], name, str(restarts))}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def mark_disrupted(
    state: ServerState, pods: ServedKind, stored: StoredRecord, reason: str, message: str
) -> None:
    """Set the condition DisruptionTarget of a pod that is about to be deleted."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message}

    def change(pod: Json) -> None:
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        observed = observed_generation(pod, state.release)
        set_condition(conditions, observed | condition, state.clock.stamp())

    edit(state, pods, stored, change)
