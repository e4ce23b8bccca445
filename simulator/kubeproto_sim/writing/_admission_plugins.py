"""Admission plugins that every cluster has: limit ranges, priorities, runtime classes and default classes.

`complete` sets the fields of a new object before webhooks see it; `validate` checks an object in its stored
form, after the rules of its kind. No manager owns the fields that a plugin sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from kubeproto.objects import Quantity

from .._rejections import Rejection, forbidden
from .._state import ServerState
from ..kinds._served_kinds import ServedKind
from ..storage._json_values import member, objects_in
from ._limit_ranges import limit_ranges, limit_violations, set_limits

Json = dict[str, Any]
_TRUE: Final = "true"
# Pods stay for five minutes on a node with problems.
_TOLERATIONS: Final = tuple(
    {
        "key": f"node.kubernetes.io/{condition}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for condition in ("not-ready", "unreachable")
)
_PRIORITY_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
_SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_CLASS_ANNOTATIONS: Final = {
    "storageclasses.storage.k8s.io": (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
    "ingressclasses.networking.k8s.io": ("ingressclass.kubernetes.io/is-default-class",),
}


def is_completed(served: ServedKind) -> bool:
    """Return whether `complete` may set fields of this kind."""
    return served.full_name in _COMPLETIONS


def complete(state: ServerState, served: ServedKind, obj: Json) -> None:
    """Set the fields of a new object that follow from other objects, or raise `Rejection`."""
    _COMPLETIONS[served.full_name](state, obj)


def validate(state: ServerState, served: ServedKind, obj: Json, old: Json | None) -> None:
    """Raise a `Rejection` for an object that a plugin does not admit."""
    match served.full_name:
        case "pods" if old is None:
            _refuse_excess(state, served, obj)
            _check_overhead(state, obj)
        case "persistentvolumeclaims":
            _refuse_excess(state, served, obj)
        case name if name == _PRIORITY_CLASSES and obj.get("globalDefault"):
            _check_single_default(state, obj)
        case _:
            pass


def preserve_admitted(previous: Json, pod: Json) -> None:
    """Set the fields of an updated pod that admission has set before, and that the update omits."""
    spec = member(pod, "spec")
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and name in previous["spec"]:
            spec[name] = previous["spec"][name]
    add_tolerations(spec)


def add_tolerations(spec: Json) -> None:
    """Add the tolerations that every pod has."""
    tolerations = spec.setdefault("tolerations", [])
    keys = {toleration.get("key") for toleration in tolerations}
    tolerations += [dict(toleration) for toleration in _TOLERATIONS if toleration["key"] not in keys]


def _complete_pod(state: ServerState, pod: Json) -> None:
    for limit_range in limit_ranges(state, pod["metadata"].get("namespace", "")):
        set_limits(limit_range, pod)
    _set_priority(state, pod)
    add_tolerations(pod["spec"])
    _set_runtime(state, pod)


def _set_priority(state: ServerState, pod: Json) -> None:
    spec = pod["spec"]
    name = spec.get("priorityClassName")
    priority, policy = 0, "PreemptLowerPriority"
    if not name:
        default = _default_priority(state)
        if default is not None:
            spec["priorityClassName"] = default["metadata"]["name"]
            priority, policy = default["value"], default.get("preemptionPolicy", policy)
    elif (priority_class := _object(state, _PRIORITY_CLASSES, name)) is not None:
        priority, policy = priority_class["value"], priority_class.get("preemptionPolicy", policy)
    elif name in _SYSTEM_PRIORITIES:
        priority = _SYSTEM_PRIORITIES[name]
    else:
        raise _refuse_pod(pod, f"no PriorityClass with name {name} was found")
    for field, kind, admitted in (("priority", "integer", priority), ("preemptionPolicy", "string", policy)):
        sent = spec.get(field)
        if sent is not None and sent != admitted:
            label = field if field == "priority" else "PreemptionPolicy"
            raise _refuse_pod(
                pod,
                f"the {kind} value of {label} ({sent}) must not be provided in pod spec; priority admission"
                f" controller computed {admitted} from the given PriorityClass name",
            )
        spec[field] = admitted


def _default_priority(state: ServerState) -> Json | None:
    defaults = [obj for obj in _objects(state, _PRIORITY_CLASSES) if obj.get("globalDefault")]
    return min(defaults, key=lambda obj: int(obj["value"]), default=None)


def _check_single_default(state: ServerState, obj: Json) -> None:
    default = _default_priority(state)
    if default is None or default["metadata"]["name"] == obj["metadata"]["name"]:
        return
    name = default["metadata"]["name"]
    problem = f"PriorityClass {name} is already marked as default. Only one default can exist"
    raise forbidden("priorityclasses", "scheduling.k8s.io", obj["metadata"]["name"], problem)


def _set_runtime(state: ServerState, pod: Json) -> None:
    """Set the overhead and the scheduling of the pod's RuntimeClass."""
    spec = pod["spec"]
    if (runtime := _runtime_class(state, pod)) is None:
        return
    if overhead := member(member(runtime, "overhead"), "podFixed"):
        if spec.get("overhead") and _amounts(spec["overhead"]) != _amounts(overhead):
            raise _refuse_pod(
                pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            )
        spec["overhead"] = overhead
    scheduling = member(runtime, "scheduling")
    node_selector = member(spec, "nodeSelector")
    for key, value in sorted(member(scheduling, "nodeSelector").items()):
        if node_selector.get(key, value) != value:
            raise _refuse_pod(
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value};"
                f" pod.spec.nodeSelector[{key}] = {node_selector[key]}",
            )
        spec["nodeSelector"] = node_selector = node_selector | {key: value}
    for toleration in objects_in(scheduling, "tolerations"):
        if toleration not in spec["tolerations"]:
            spec["tolerations"].append(toleration)


def _check_overhead(state: ServerState, pod: Json) -> None:
    if not pod["spec"].get("overhead"):
        return
    runtime = _runtime_class(state, pod)
    if runtime is None or not member(runtime, "overhead"):
        problem = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise _refuse_pod(pod, problem)


def _runtime_class(state: ServerState, pod: Json) -> Json | None:
    name = pod["spec"].get("runtimeClassName")
    if not name:
        return None
    runtime = _object(state, "runtimeclasses.node.k8s.io", name)
    if runtime is None:
        raise _refuse_pod(pod, f'pod rejected: RuntimeClass "{name}" not found')
    return runtime


def _set_storage_class(state: ServerState, claim: Json) -> None:
    annotations, spec = member(claim["metadata"], "annotations"), member(claim, "spec")
    has_class = "volume.beta.kubernetes.io/storage-class" in annotations or "storageClassName" in spec
    if not has_class and (name := _default_class(state, "storageclasses.storage.k8s.io")) is not None:
        spec["storageClassName"] = name


def _set_ingress_class(state: ServerState, ingress: Json) -> None:
    annotations, spec = member(ingress["metadata"], "annotations"), member(ingress, "spec")
    has_class = "kubernetes.io/ingress.class" in annotations or "ingressClassName" in spec
    if not has_class and (name := _default_class(state, "ingressclasses.networking.k8s.io")) is not None:
        spec["ingressClassName"] = name


def _default_class(state: ServerState, resource: str) -> str | None:
    """Return the name of the newest class that is marked as the default."""
    names = _CLASS_ANNOTATIONS[resource]
    defaults = [
        obj["metadata"]
        for obj in _objects(state, resource)
        if any(member(obj["metadata"], "annotations").get(name) == _TRUE for name in names)
    ]
    defaults.sort(key=lambda meta: str(meta["name"]))
    newest = max(defaults, key=lambda meta: str(meta["creationTimestamp"]), default=None)
    return None if newest is None else str(newest["name"])


def _refuse_excess(state: ServerState, served: ServedKind, obj: Json) -> None:
    """Raise a `Rejection` for an object outside of the limits of its namespace."""
    for limit_range in limit_ranges(state, obj["metadata"].get("namespace", "")):
        problems = list(dict.fromkeys(limit_violations(limit_range, served.full_name, obj)))
        if problems:
            problem = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise forbidden(served.plural, served.group, obj["metadata"]["name"], problem)


def _refuse_pod(pod: Json, problem: str) -> Rejection:
    meta = pod["metadata"]
    return forbidden("pods", "", meta.get("name") or meta.get("generateName", ""), problem)


def _amounts(values: Json) -> dict[str, Quantity]:
    return {name: Quantity(value) for name, value in values.items()}


def _objects(state: ServerState, resource: str) -> Iterable[Json]:
    return (msgspec.json.decode(stored.data) for stored in state.storage.resource(resource).objects.values())


def _object(state: ServerState, resource: str, name: str) -> Json | None:
    stored = state.storage.resource(resource).objects.get(name)
    return None if stored is None else msgspec.json.decode(stored.data)


_COMPLETIONS: Final[dict[str, Callable[[ServerState, Json], None]]] = {
    "pods": _complete_pod,
    "persistentvolumeclaims": _set_storage_class,
    "ingresses.networking.k8s.io": _set_ingress_class,
}
