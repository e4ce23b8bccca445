"""Rows of Tables for pods, volumes, Services and the other kinds of the core group."""

from __future__ import annotations

from typing import Any, Final

from ..storage._json_values import member, objects_in, strings_in
from ._cell_values import (
    NONE,
    UNKNOWN,
    UNSET,
    Json,
    age_of,
    containers_of,
    either,
    first_few,
    joined,
    name_of,
    pairs,
    selector_at,
    since,
    template_containers,
    true_conditions,
    value_at,
)

_ACCESS: Final = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP",
}  # fmt: skip
_GATED: Final = "SchedulingGated"
_ROLE: Final = "node-role.kubernetes.io/"


def event(obj: Json, time: float) -> list[Any]:
    is_events_v1 = "regarding" in obj or "note" in obj
    subject = member(obj, "regarding" if is_events_v1 else "involvedObject")
    source = member(obj, "deprecatedSource" if is_events_v1 else "source")
    first = obj.get("deprecatedFirstTimestamp" if is_events_v1 else "firstTimestamp")
    last = obj.get("deprecatedLastTimestamp" if is_events_v1 else "lastTimestamp")
    count = obj.get("deprecatedCount" if is_events_v1 else "count") or 0
    first_seen = since(first or obj.get("eventTime"), time)
    last_seen = since(last, time) if last else first_seen
    if series := member(obj, "series"):
        last_seen, count = since(series.get("lastObservedTime"), time), series.get("count", 0)
    component = source.get("component") or either(obj, "reportingController", "reportingComponent")
    instance = source.get("host") or obj.get("reportingInstance") or ""
    target = (
        f"{str(subject.get('kind', '')).lower()}/{subject.get('name', '')}" if subject.get("name") else ""
    )
    return [
        last_seen, obj.get("type", ""), obj.get("reason", ""), target or str(subject.get("kind", "")).lower(),
        subject.get("fieldPath", ""), f"{component}, {instance}" if instance else component,
        str(either(obj, "note", "message")).strip(), first_seen, count or 1, name_of(obj),
    ]  # fmt: skip


def node(obj: Json, time: float) -> list[Any]:
    conditions = objects_in(member(obj, "status"), "conditions")
    ready = next((condition for condition in conditions if condition.get("type") == "Ready"), None)
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if value_at(obj, "spec.unschedulable", False):
        state += ",SchedulingDisabled"
    labels = member(member(obj, "metadata"), "labels")
    roles = [name.removeprefix(_ROLE) for name in sorted(labels) if name.startswith(_ROLE)]
    addresses = objects_in(member(obj, "status"), "addresses")
    address_by_type = {address.get("type"): address.get("address") for address in reversed(addresses)}
    info = member(member(obj, "status"), "nodeInfo")
    return [
        name_of(obj), state, joined(roles, NONE), age_of(obj, time), info.get("kubeletVersion", ""),
        address_by_type.get("InternalIP", NONE), address_by_type.get("ExternalIP", NONE),
        info.get("osImage") or UNKNOWN, info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]  # fmt: skip


def _modes(modes: list[Any]) -> str:
    return joined(_ACCESS[mode] for mode in _ACCESS if mode in modes)


def claim(obj: Json, time: float) -> list[Any]:
    phase = "Terminating" if value_at(obj, "metadata.deletionTimestamp") else value_at(obj, "status.phase")
    bound = bool(value_at(obj, "spec.volumeName"))
    modes = strings_in(member(obj, "status"), "accessModes") if bound else []
    return [
        name_of(obj), phase, value_at(obj, "spec.volumeName"),
        value_at(obj, "status.capacity.storage") if bound else "",
        _modes(modes), value_at(obj, "spec.storageClassName"),
        value_at(obj, "spec.volumeAttributesClassName", UNSET), age_of(obj, time),
        value_at(obj, "spec.volumeMode", UNSET),
    ]  # fmt: skip


def volume(obj: Json, time: float) -> list[Any]:
    claim = member(member(obj, "spec"), "claimRef")
    phase = "Terminating" if value_at(obj, "metadata.deletionTimestamp") else value_at(obj, "status.phase")
    return [
        name_of(obj), value_at(obj, "spec.capacity.storage"),
        _modes(strings_in(member(obj, "spec"), "accessModes")),
        value_at(obj, "spec.persistentVolumeReclaimPolicy"), phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        value_at(obj, "spec.storageClassName"), value_at(obj, "spec.volumeAttributesClassName", UNSET),
        value_at(obj, "status.reason"), age_of(obj, time), value_at(obj, "spec.volumeMode", UNSET),
    ]  # fmt: skip


def pod(obj: Json, time: float) -> list[Any]:
    spec, status = member(obj, "spec"), member(obj, "status")
    sidecars = {
        container["name"]
        for container in objects_in(spec, "initContainers")
        if container.get("restartPolicy") == "Always"
    }
    init_statuses = objects_in(status, "initContainerStatuses")
    statuses = objects_in(status, "containerStatuses")
    sidecar_statuses = [entry for entry in init_statuses if entry.get("name") in sidecars]
    container_count = len(objects_in(spec, "containers")) + len(sidecars)
    phase = status.get("reason") or status.get("phase", "Pending")
    conditions = {str(entry.get("type")): entry for entry in objects_in(status, "conditions")}
    if member(conditions, "PodScheduled").get("reason") == _GATED:
        phase = _GATED
    init_phase = _init_phase(objects_in(spec, "initContainers"), init_statuses, sidecars)
    if init_phase is None or member(conditions, "Initialized").get("status") == "True":
        counted_statuses = [*sidecar_statuses, *statuses]
        phase = _containers_phase(phase, statuses, is_ready="Ready" in true_conditions(status))
    else:
        counted_statuses, phase = init_statuses, init_phase
    ready = sum(bool(entry.get("ready")) for entry in (*sidecar_statuses, *statuses))
    if value_at(obj, "metadata.deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            phase = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            phase = "Terminating"
    gates = objects_in(spec, "readinessGates")
    met_gates = sum(gate.get("conditionType") in true_conditions(status) for gate in gates)
    return [
        name_of(obj), f"{ready}/{container_count}", phase, _restarts(counted_statuses, time),
        age_of(obj, time),
        status.get("podIP") or NONE, spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE, f"{met_gates}/{len(gates)}" if gates else NONE,
    ]  # fmt: skip


def _init_phase(init_containers: list[Json], statuses: list[Json], sidecars: set[str]) -> str | None:
    """Return the phase of the first init container that has not ended; None if all have."""
    for index, container_status in enumerate(statuses):
        state = member(container_status, "state")
        terminated, waiting = member(state, "terminated"), member(state, "waiting")
        if (terminated and not terminated.get("exitCode")) or (
            container_status.get("name") in sidecars and container_status.get("started")
        ):
            continue
        if terminated:
            return f"Init:{terminated.get('reason') or _exit_text(terminated)}"
        if waiting.get("reason", "PodInitializing") != "PodInitializing":
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{len(init_containers)}"
    return None


def _containers_phase(phase: str, statuses: list[Json], *, is_ready: bool) -> str:
    is_running = False
    for container_status in reversed(statuses):
        state = member(container_status, "state")
        terminated = member(state, "terminated")
        if reason := member(state, "waiting").get("reason"):
            phase = reason
        elif terminated:
            phase = terminated.get("reason") or _exit_text(terminated)
        elif container_status.get("ready") and "running" in state:
            is_running = True
    if phase == "Completed" and is_running:
        return "Running" if is_ready else "NotReady"
    return phase


def _exit_text(terminated: Json) -> str:
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _restarts(statuses: list[Json], time: float) -> str:
    """Return the number of restarts, and the time since the last restart."""
    count = sum(container_status.get("restartCount", 0) for container_status in statuses)
    ends = [
        finished
        for container_status in statuses
        if (finished := value_at(container_status, "lastState.terminated.finishedAt"))
    ]
    return f"{count} ({since(max(ends), time)} ago)" if ends and count else str(count)


def pod_template(obj: Json, _: float) -> list[Any]:
    template = member(obj, "template")
    labels = member(member(template, "metadata"), "labels")
    return [name_of(obj), *containers_of(member(template, "spec")), pairs(labels)]


def replicas(obj: Json, time: float) -> list[Any]:
    plain = value_at(obj, "kind") == "ReplicationController"
    selector = pairs(member(member(obj, "spec"), "selector")) if plain else selector_at(obj, "spec.selector")
    return [
        name_of(obj), value_at(obj, "spec.replicas", 0), value_at(obj, "status.replicas", 0),
        value_at(obj, "status.readyReplicas", 0), age_of(obj, time), *template_containers(obj), selector,
    ]  # fmt: skip


def quota(obj: Json, time: float) -> list[Any]:
    hard, used = member(member(obj, "status"), "hard"), member(member(obj, "status"), "used")
    parts: tuple[list[str], list[str]] = ([], [])
    for name in sorted(hard):
        text = f"{name}: {used.get(name, '0')}/{hard[name]}"
        parts[name.startswith("limits")].append(text)
    return [name_of(obj), ", ".join(parts[0]), ", ".join(parts[1]), age_of(obj, time)]


def service(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    kind = spec.get("type", "")
    outside = ",".join(strings_in(spec, "externalIPs"))
    if kind == "LoadBalancer":
        addresses = objects_in(member(member(obj, "status"), "loadBalancer"), "ingress")
        outside = joined(
            (address.get("ip") or address.get("hostname") for address in addresses), outside or "<pending>"
        )
    elif kind == "ExternalName":
        outside = spec.get("externalName", "")
    ports = joined(
        (
            f"{port.get('port')}{':' + str(port['nodePort']) if port.get('nodePort') else ''}"
            f"/{port.get('protocol', 'TCP')}"
            for port in objects_in(spec, "ports")
        ),
        NONE,
    )
    address = spec.get("clusterIP") or NONE
    selector = pairs(member(spec, "selector"))
    return [name_of(obj), kind, address, outside or NONE, ports, age_of(obj, time), selector]


def endpoints(obj: Json, time: float) -> list[Any]:
    sockets: list[str] = []
    for subset in objects_in(obj, "subsets"):
        for address in objects_in(subset, "addresses"):
            ports = [port.get("port") for port in objects_in(subset, "ports")] or [None]
            sockets += [f"{address.get('ip')}:{port}" if port else str(address.get("ip")) for port in ports]
    return [name_of(obj), first_few(sockets, NONE), age_of(obj, time)]


def endpoint_slice(obj: Json, time: float) -> list[Any]:
    ports = joined((port.get("port", "*") for port in objects_in(obj, "ports")), UNSET)
    addresses = [
        text for endpoint in objects_in(obj, "endpoints") for text in strings_in(endpoint, "addresses")
    ]
    return [name_of(obj), obj.get("addressType", ""), ports, first_few(addresses, UNSET), age_of(obj, time)]


def config_map(obj: Json, time: float) -> list[Any]:
    return [name_of(obj), len(member(obj, "data")) + len(member(obj, "binaryData")), age_of(obj, time)]


def secret(obj: Json, time: float) -> list[Any]:
    return [name_of(obj), obj.get("type", ""), len(member(obj, "data")), age_of(obj, time)]


def namespace(obj: Json, time: float) -> list[Any]:
    return [name_of(obj), value_at(obj, "status.phase"), age_of(obj, time)]


def component(obj: Json, _: float) -> list[Any]:
    nothing: Json = {}
    condition = next(iter(objects_in(obj, "conditions")), nothing)
    state = "Healthy" if condition.get("status") == "True" else "Unhealthy"
    return [name_of(obj), state, condition.get("message", ""), condition.get("error", "")]
