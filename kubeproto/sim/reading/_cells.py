"""The cells of Tables for built-in kinds, in the order of the columns in columns.json: what kubectl shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from ...objects import Selector
from ..storage._parts import listed, member, texts
from ..storage._values import is_map
from ._ages import ago

Json = dict[str, Any]
Row = Callable[[Json, float], list[Any]]

_NONE: Final = "<none>"
_UNSET: Final = "<unset>"
_UNKNOWN: Final = "<unknown>"
_ACCESS: Final = {
    "ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP",
}  # fmt: skip
_ROLE: Final = "node-role.kubernetes.io/"
_MOST_ENDPOINTS: Final = 3


def _at(obj: Json, path: str, otherwise: Any = "") -> Any:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if is_map(value) else None
    return otherwise if value is None else value


def _name(obj: Json) -> str:
    return str(_at(obj, "metadata.name"))


def _age(obj: Json, time: float) -> str:
    return ago(_at(obj, "metadata.creationTimestamp", None), time)


def _since(text: Any, time: float) -> str:
    return ago(text, time) if text else _UNKNOWN


def _joined(parts: Iterable[Any], otherwise: str = "") -> str:
    return ",".join(str(one) for one in parts) or otherwise


def _pairs(labels: Json) -> str:
    return _joined((f"{name}={value}" for name, value in sorted(labels.items())), _NONE)


def _selector(obj: Json, path: str) -> str:
    found = _at(obj, path, None)
    if not is_map(found):
        return _NONE
    return str(Selector.from_object(found)) or _NONE


def _held(spec: Json) -> list[str]:
    containers = listed(spec, "containers")
    return [_joined(one.get(name, "") for one in containers) for name in ("name", "image")]


def _template(obj: Json) -> list[str]:
    return _held(member(member(member(obj, "spec"), "template"), "spec"))


def _simple(*paths: str, otherwise: Any = "") -> Row:
    """Name, what stands under paths, and age."""
    return lambda obj, time: [_name(obj), *(_at(obj, path, otherwise) for path in paths), _age(obj, time)]


def _created(obj: Json, _: float) -> list[Any]:
    return [_name(obj), _at(obj, "metadata.creationTimestamp", None)]


def _counted(path: str) -> Row:
    def row(obj: Json, time: float) -> list[Any]:
        above, _, last = path.rpartition(".")
        return [_name(obj), len(listed(_at(obj, above, {}) if above else obj, last)), _age(obj, time)]

    return row


def _event(obj: Json, time: float) -> list[Any]:
    new = "regarding" in obj or "note" in obj
    about = member(obj, "regarding" if new else "involvedObject")
    source = member(obj, "deprecatedSource" if new else "source")
    first = obj.get("deprecatedFirstTimestamp" if new else "firstTimestamp")
    last = obj.get("deprecatedLastTimestamp" if new else "lastTimestamp")
    count = obj.get("deprecatedCount" if new else "count") or 0
    first_seen = _since(first or obj.get("eventTime"), time)
    last_seen = _since(last, time) if last else first_seen
    if series := member(obj, "series"):
        last_seen, count = _since(series.get("lastObservedTime"), time), series.get("count", 0)
    component = source.get("component") or _either(obj, "reportingController", "reportingComponent")
    instance = source.get("host") or obj.get("reportingInstance") or ""
    target = f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}" if about.get("name") else ""
    return [
        last_seen, obj.get("type", ""), obj.get("reason", ""), target or str(about.get("kind", "")).lower(),
        about.get("fieldPath", ""), f"{component}, {instance}" if instance else component,
        str(_either(obj, "note", "message")).strip(), first_seen, count or 1, _name(obj),
    ]  # fmt: skip


def _either(obj: Json, *names: str) -> Any:
    return next((obj[name] for name in names if obj.get(name)), "")


def _node(obj: Json, time: float) -> list[Any]:
    ready = next((c for c in listed(member(obj, "status"), "conditions") if c.get("type") == "Ready"), None)
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if _at(obj, "spec.unschedulable", False):
        state += ",SchedulingDisabled"
    labels = member(member(obj, "metadata"), "labels")
    roles = [name.removeprefix(_ROLE) for name in sorted(labels) if name.startswith(_ROLE)]
    addresses = listed(member(obj, "status"), "addresses")
    of = {one.get("type"): one.get("address") for one in reversed(addresses)}
    info = member(member(obj, "status"), "nodeInfo")
    return [
        _name(obj), state, _joined(roles, _NONE), _age(obj, time), info.get("kubeletVersion", ""),
        of.get("InternalIP", _NONE), of.get("ExternalIP", _NONE), info.get("osImage") or _UNKNOWN,
        info.get("kernelVersion") or _UNKNOWN, info.get("containerRuntimeVersion") or _UNKNOWN,
    ]  # fmt: skip


def _modes(modes: list[Any]) -> str:
    return _joined(_ACCESS[one] for one in _ACCESS if one in modes)


def _claim(obj: Json, time: float) -> list[Any]:
    phase = "Terminating" if _at(obj, "metadata.deletionTimestamp") else _at(obj, "status.phase")
    bound = bool(_at(obj, "spec.volumeName"))
    modes = texts(member(obj, "status"), "accessModes") if bound else []
    return [
        _name(obj), phase, _at(obj, "spec.volumeName"), _at(obj, "status.capacity.storage") if bound else "",
        _modes(modes), _at(obj, "spec.storageClassName"),
        _at(obj, "spec.volumeAttributesClassName", _UNSET), _age(obj, time),
        _at(obj, "spec.volumeMode", _UNSET),
    ]  # fmt: skip


def _volume(obj: Json, time: float) -> list[Any]:
    claim = member(member(obj, "spec"), "claimRef")
    phase = "Terminating" if _at(obj, "metadata.deletionTimestamp") else _at(obj, "status.phase")
    return [
        _name(obj), _at(obj, "spec.capacity.storage"), _modes(texts(member(obj, "spec"), "accessModes")),
        _at(obj, "spec.persistentVolumeReclaimPolicy"), phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        _at(obj, "spec.storageClassName"), _at(obj, "spec.volumeAttributesClassName", _UNSET),
        _at(obj, "status.reason"), _age(obj, time), _at(obj, "spec.volumeMode", _UNSET),
    ]  # fmt: skip


def _pod(obj: Json, time: float) -> list[Any]:
    spec, status = member(obj, "spec"), member(obj, "status")
    statuses = listed(status, "containerStatuses")
    ready = sum(bool(one.get("ready")) for one in statuses)
    phase = status.get("reason") or status.get("phase", "Pending")
    for one in statuses:
        state = member(one, "state")
        if reason := member(state, "waiting").get("reason") or member(state, "terminated").get("reason"):
            phase = reason
    if _at(obj, "metadata.deletionTimestamp"):
        phase = "Terminating"
    gates = listed(spec, "readinessGates")
    true = {c.get("type") for c in listed(status, "conditions") if c.get("status") == "True"}
    met = sum(one.get("conditionType") in true for one in gates)
    return [
        _name(obj), f"{ready}/{len(listed(spec, 'containers'))}", phase,
        str(sum(one.get("restartCount", 0) for one in statuses)), _age(obj, time),
        status.get("podIP") or _NONE, spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE, f"{met}/{len(gates)}" if gates else _NONE,
    ]  # fmt: skip


def _pod_template(obj: Json, _: float) -> list[Any]:
    template = member(obj, "template")
    labels = member(member(template, "metadata"), "labels")
    return [_name(obj), *_held(member(template, "spec")), _pairs(labels)]


def _replicas(obj: Json, time: float) -> list[Any]:
    plain = _at(obj, "kind") == "ReplicationController"
    selector = _pairs(member(member(obj, "spec"), "selector")) if plain else _selector(obj, "spec.selector")
    return [
        _name(obj), _at(obj, "spec.replicas", 0), _at(obj, "status.replicas", 0),
        _at(obj, "status.readyReplicas", 0), _age(obj, time), *_template(obj), selector,
    ]  # fmt: skip


def _quota(obj: Json, time: float) -> list[Any]:
    hard, used = member(member(obj, "status"), "hard"), member(member(obj, "status"), "used")
    parts: tuple[list[str], list[str]] = ([], [])
    for name in sorted(hard):
        shown = f"{name}: {used.get(name, '0')}/{hard[name]}"
        parts[name.startswith("limits")].append(shown)
    return [_name(obj), ", ".join(parts[0]), ", ".join(parts[1]), _age(obj, time)]


def _service(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    kind = spec.get("type", "")
    outside = ",".join(texts(spec, "externalIPs"))
    if kind == "LoadBalancer":
        given = listed(member(member(obj, "status"), "loadBalancer"), "ingress")
        outside = _joined((one.get("ip") or one.get("hostname") for one in given), outside or "<pending>")
    elif kind == "ExternalName":
        outside = spec.get("externalName", "")
    ports = _joined(
        (
            f"{one.get('port')}{':' + str(one['nodePort']) if one.get('nodePort') else ''}"
            f"/{one.get('protocol', 'TCP')}"
            for one in listed(spec, "ports")
        ),
        _NONE,
    )
    address = spec.get("clusterIP") or _NONE
    selector = _pairs(member(spec, "selector"))
    return [_name(obj), kind, address, outside or _NONE, ports, _age(obj, time), selector]


def _endpoints(obj: Json, time: float) -> list[Any]:
    found: list[str] = []
    for subset in listed(obj, "subsets"):
        for address in listed(subset, "addresses"):
            ports = [one.get("port") for one in listed(subset, "ports")] or [None]
            found += [f"{address.get('ip')}:{port}" if port else str(address.get("ip")) for port in ports]
    return [_name(obj), _few(found, _NONE), _age(obj, time)]


def _few(found: list[str], otherwise: str) -> str:
    more = f" + {len(found) - _MOST_ENDPOINTS} more..." if len(found) > _MOST_ENDPOINTS else ""
    return _joined(found[:_MOST_ENDPOINTS], otherwise) + more


def _slice(obj: Json, time: float) -> list[Any]:
    ports = _joined((one.get("port", "*") for one in listed(obj, "ports")), _UNSET)
    found = [text for one in listed(obj, "endpoints") for text in texts(one, "addresses")]
    return [_name(obj), obj.get("addressType", ""), ports, _few(found, _UNSET), _age(obj, time)]


def _api_service(obj: Json, time: float) -> list[Any]:
    service = member(member(obj, "spec"), "service")
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    found = [one for one in listed(member(obj, "status"), "conditions") if one.get("type") == "Available"]
    state = "Unknown"
    if found:
        [one] = found[:1]
        reason = f" ({one.get('reason', '')})" if one.get("status") != "True" else ""
        state = f"{one.get('status')}{reason}"
    return [_name(obj), where, state, _age(obj, time)]


def _revision(obj: Json, time: float) -> list[Any]:
    owners = listed(member(obj, "metadata"), "ownerReferences")
    owner = next((one for one in owners if one.get("controller")), None)
    shown = _NONE
    if owner:
        group = owner["apiVersion"].rpartition("/")[0]
        shown = f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"
    return [_name(obj), shown, obj.get("revision", 0), _age(obj, time)]


def _daemon_set(obj: Json, time: float) -> list[Any]:
    status = member(obj, "status")
    names = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled",
             "numberAvailable")  # fmt: skip
    spec = member(member(member(obj, "spec"), "template"), "spec")
    return [
        _name(obj), *(status.get(name, 0) for name in names), _pairs(member(spec, "nodeSelector")),
        _age(obj, time), *_template(obj), _selector(obj, "spec.selector"),
    ]  # fmt: skip


def _deployment(obj: Json, time: float) -> list[Any]:
    ready = f"{_at(obj, 'status.readyReplicas', 0)}/{_at(obj, 'spec.replicas', 0)}"
    return [
        _name(obj), ready, _at(obj, "status.updatedReplicas", 0), _at(obj, "status.availableReplicas", 0),
        _age(obj, time), *_template(obj), _selector(obj, "spec.selector"),
    ]  # fmt: skip


def _stateful_set(obj: Json, time: float) -> list[Any]:
    ready = f"{_at(obj, 'status.readyReplicas', 0)}/{_at(obj, 'spec.replicas', 0)}"
    return [_name(obj), ready, _age(obj, time), *_template(obj)]


def _autoscaler(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    target = member(spec, "scaleTargetRef")
    metrics = listed(spec, "metrics")
    shown: list[str] = []
    if (wanted := spec.get("targetCPUUtilizationPercentage")) is not None:
        now = _at(obj, "status.currentCPUUtilizationPercentage", None)
        shown.append(f"cpu: {_UNKNOWN if now is None else f'{now}%'}/{wanted}%")
    for metric, now in zip(
        metrics, [*listed(member(obj, "status"), "currentMetrics"), *metrics], strict=False
    ):
        shown.append(_metric(metric, now if now is not metric else {}))
    reference = f"{target.get('kind', '')}/{target.get('name', '')}"
    targets = ", ".join(shown[:2]) + (f" + {len(shown) - 2} more..." if len(shown) > 2 else "")
    least = spec.get("minReplicas")
    return [
        _name(obj), reference, targets or _NONE, _UNSET if least is None else str(least),
        spec.get("maxReplicas", 0), _at(obj, "status.currentReplicas", 0), _age(obj, time),
    ]  # fmt: skip


def _metric(metric: Json, now: Json) -> str:
    kind = {"Resource": "resource", "ContainerResource": "containerResource", "Pods": "pods",
            "Object": "object", "External": "external"}.get(metric.get("type", ""), "")  # fmt: skip
    held, current = member(metric, kind), member(member(now, kind), "current")
    target = member(held, "target")
    if "averageUtilization" in target:
        value = current.get("averageUtilization")
        shown = f"{_UNKNOWN if value is None else f'{value}%'}/{target['averageUtilization']}%"
    elif "averageValue" in target:
        suffix = " (avg)" if kind in ("object", "external") else ""
        shown = f"{current.get('averageValue', _UNKNOWN)}/{target['averageValue']}{suffix}"
    else:
        shown = f"{current.get('value', _UNKNOWN)}/{target.get('value', '<auto>')}"
    return (
        f"{held['name']}: {shown}" if kind in ("resource", "containerResource") and "name" in held else shown
    )


def _cron_job(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    last = _at(obj, "status.lastScheduleTime", None)
    job = member(member(spec, "jobTemplate"), "spec")
    return [
        _name(obj), spec.get("schedule", ""), spec.get("timeZone") or _NONE,
        str(bool(spec.get("suspend"))), len(listed(member(obj, "status"), "active")),
        ago(last, time) if last else _NONE, _age(obj, time),
        *_held(member(member(job, "template"), "spec")), _selector(job, "selector"),
    ]  # fmt: skip


def _job(obj: Json, time: float) -> list[Any]:
    spec, status = member(obj, "spec"), member(obj, "status")
    true = {c.get("type") for c in listed(status, "conditions") if c.get("status") == "True"}
    state = next((one for one in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet")
                  if one in true), "Running")  # fmt: skip
    if state == "Running" and _at(obj, "metadata.deletionTimestamp"):
        state = "Terminating"
    done, wanted = status.get("succeeded", 0), spec.get("completions")
    parallel = spec.get("parallelism", 0)
    many = f"1 of {parallel}" if parallel > 1 else "1"
    completions = f"{done}/{wanted if wanted is not None else many}"
    start, end = status.get("startTime"), status.get("completionTime")
    lasted = "" if not start else ago(start, time if not end else _seconds(end))
    return [
        _name(obj), state, completions, lasted, _age(obj, time), *_template(obj),
        _selector(obj, "spec.selector"),
    ]  # fmt: skip


def _seconds(stamp: str) -> float:
    from ...objects import parse_time

    return parse_time(stamp).timestamp()


def _request(obj: Json, time: float) -> list[Any]:
    conditions = listed(member(obj, "status"), "conditions")
    types = [one.get("type", "") for one in conditions]
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    state += ",Failed" if "Failed" in types else ""
    state += ",Issued" if _at(obj, "status.certificate") else ""
    asked = _at(obj, "spec.expirationSeconds", None)
    lasts = _NONE if asked is None else ago_of(asked)
    name, signer, who = _name(obj), _at(obj, "spec.signerName", _NONE), _at(obj, "spec.username")
    return [name, _age(obj, time), signer, who, lasts, state]


def ago_of(seconds: int) -> str:
    """So many seconds, as kubectl shows them."""
    from ...objects import format_time, parse_time

    start = parse_time("2026-01-01T00:00:00Z")
    return ago(format_time(start), start.timestamp() + seconds)


def _ingress(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    hosts = [one["host"] for one in listed(spec, "rules") if one.get("host")]
    given = listed(member(member(obj, "status"), "loadBalancer"), "ingress")
    address = _joined(one.get("ip") or one.get("hostname") or "" for one in given)
    more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""
    return [
        _name(obj), spec.get("ingressClassName") or _NONE, _joined(hosts[:3], "*") + more, address,
        "80, 443" if spec.get("tls") else "80", _age(obj, time),
    ]  # fmt: skip


def _ingress_class(obj: Json, time: float) -> list[Any]:
    found = member(member(obj, "spec"), "parameters")
    shown = _NONE
    if found:
        group = f".{found['apiGroup']}" if found.get("apiGroup") else ""
        shown = f"{found.get('kind', '')}{group}/{found.get('name', '')}"
    return [_name(obj), _at(obj, "spec.controller"), shown, _age(obj, time)]


def _address(obj: Json, time: float) -> list[Any]:
    found = member(member(obj, "spec"), "parentRef")
    parts = [found.get(name) for name in ("group", "resource", "namespace", "name")]
    return [_name(obj), "/".join(str(one) for one in parts if one), _age(obj, time)]


def _budget(obj: Json, time: float) -> list[Any]:
    least, most = _at(obj, "spec.minAvailable", "N/A"), _at(obj, "spec.maxUnavailable", "N/A")
    return [_name(obj), str(least), str(most), _at(obj, "status.disruptionsAllowed", 0), _age(obj, time)]


def _binding(obj: Json, time: float) -> list[Any]:
    of: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for one in listed(obj, "subjects"):
        if one.get("kind") in of:
            space = f"{one.get('namespace', '')}/" if one["kind"] == "ServiceAccount" else ""
            of[one["kind"]].append(f"{space}{one.get('name', '')}")
    role = f"{_at(obj, 'roleRef.kind')}/{_at(obj, 'roleRef.name')}"
    return [_name(obj), role, _age(obj, time), *(", ".join(found) for found in of.values())]


def _csi_driver(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    tokens = _joined((one.get("audience", "") for one in listed(spec, "tokenRequests")), _UNSET)
    return [
        _name(obj), spec.get("attachRequired", True), spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False), tokens, spec.get("requiresRepublish", False),
        _joined(texts(spec, "volumeLifecycleModes"), _NONE), _age(obj, time),
    ]  # fmt: skip


def _storage_class(obj: Json, time: float) -> list[Any]:
    default = (
        _at(obj, "metadata.annotations", {}).get("storageclass.kubernetes.io/is-default-class") == "true"
    )
    return [
        _name(obj) + (" (default)" if default else ""), obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"), obj.get("volumeBindingMode", _UNSET),
        bool(obj.get("allowVolumeExpansion")), _age(obj, time),
    ]  # fmt: skip


def _policy(field: str) -> Row:
    def row(obj: Json, time: float) -> list[Any]:
        kind = member(member(obj, "spec"), "paramKind")
        shown = f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}" if kind else _UNSET
        return [_name(obj), len(listed(member(obj, "spec"), field)), shown, _age(obj, time)]

    return row


def _policy_binding(obj: Json, time: float) -> list[Any]:
    found = member(member(obj, "spec"), "paramRef")
    shown = _UNSET
    if found:
        space = f"{found['namespace']}/" if found.get("namespace") else "*/"
        shown = f"{space}{found.get('name', '*')}"
    return [_name(obj), _at(obj, "spec.policyName"), shown, _age(obj, time)]


def _priority_class(obj: Json, time: float) -> list[Any]:
    return [
        _name(obj), obj.get("value", 0), bool(obj.get("globalDefault")), _age(obj, time),
        obj.get("preemptionPolicy", ""),
    ]  # fmt: skip


def _claim_of_devices(obj: Json, time: float) -> list[Any]:
    states = [
        *(["deleted"] if _at(obj, "metadata.deletionTimestamp") else []),
        *(["allocated"] if _at(obj, "status.allocation", None) else []),
        *(["reserved"] if _at(obj, "status.reservedFor", None) else []),
    ]
    return [_name(obj), _joined(states, "pending"), _age(obj, time)]


def _resource_slice(obj: Json, time: float) -> list[Any]:
    spec = member(obj, "spec")
    node = spec.get("nodeName") or ("<all>" if spec.get("allNodes") else "")
    return [_name(obj), node, spec.get("driver", ""), _at(obj, "spec.pool.name"), _age(obj, time)]


def _flow_schema(obj: Json, time: float) -> list[Any]:
    nothing: Json = {}
    dangling = next((one for one in listed(member(obj, "status"), "conditions")
                     if one.get("type") == "Dangling"), nothing)  # fmt: skip
    return [
        _name(obj), _at(obj, "spec.priorityLevelConfiguration.name"), _at(obj, "spec.matchingPrecedence", 0),
        _at(obj, "spec.distinguisherMethod.type", _NONE), _age(obj, time), dangling.get("status", "?"),
    ]  # fmt: skip


def _priority_level(obj: Json, time: float) -> list[Any]:
    limited = member(member(obj, "spec"), "limited")
    shares = limited.get("nominalConcurrencyShares", _NONE)
    queuing = member(member(limited, "limitResponse"), "queuing")
    names = ("queues", "handSize", "queueLengthLimit")
    kept = [queuing.get(name, _NONE) for name in names]
    return [_name(obj), _at(obj, "spec.type"), shares, *kept, _age(obj, time)]


def _config_map(obj: Json, time: float) -> list[Any]:
    return [_name(obj), len(member(obj, "data")) + len(member(obj, "binaryData")), _age(obj, time)]


def _secret(obj: Json, time: float) -> list[Any]:
    return [_name(obj), obj.get("type", ""), len(member(obj, "data")), _age(obj, time)]


def _namespace(obj: Json, time: float) -> list[Any]:
    return [_name(obj), _at(obj, "status.phase"), _age(obj, time)]


def _component(obj: Json, _: float) -> list[Any]:
    nothing: Json = {}
    found = next(iter(listed(obj, "conditions")), nothing)
    state = "Healthy" if found.get("status") == "True" else "Unhealthy"
    return [_name(obj), state, found.get("message", ""), found.get("error", "")]


def _volume_attachment(obj: Json, time: float) -> list[Any]:
    volume = _at(obj, "spec.source.persistentVolumeName")
    attached = bool(_at(obj, "status.attached", False))
    return [
        _name(obj),
        _at(obj, "spec.attacher"),
        volume,
        _at(obj, "spec.nodeName"),
        attached,
        _age(obj, time),
    ]


def _network_policy(obj: Json, time: float) -> list[Any]:
    return [_name(obj), _selector(obj, "spec.podSelector"), _age(obj, time)]


def _cidrs(obj: Json, time: float) -> list[Any]:
    return [_name(obj), _joined(texts(member(obj, "spec"), "cidrs")), _age(obj, time)]


ROWS: Final[dict[str, Row]] = {
    "componentstatuses": _component,
    "configmaps": _config_map,
    "endpoints": _endpoints,
    "events": _event,
    "limitranges": _created,
    "namespaces": _namespace,
    "nodes": _node,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "pods": _pod,
    "podtemplates": _pod_template,
    "replicationcontrollers": _replicas,
    "resourcequotas": _quota,
    "secrets": _secret,
    "serviceaccounts": _simple(),
    "services": _service,
    "apiservices.apiregistration.k8s.io": _api_service,
    "controllerrevisions.apps": _revision,
    "daemonsets.apps": _daemon_set,
    "deployments.apps": _deployment,
    "replicasets.apps": _replicas,
    "statefulsets.apps": _stateful_set,
    "events.events.k8s.io": _event,
    "horizontalpodautoscalers.autoscaling": _autoscaler,
    "cronjobs.batch": _cron_job,
    "jobs.batch": _job,
    "certificatesigningrequests.certificates.k8s.io": _request,
    "ingressclasses.networking.k8s.io": _ingress_class,
    "ingresses.networking.k8s.io": _ingress,
    "ipaddresses.networking.k8s.io": _address,
    "networkpolicies.networking.k8s.io": _network_policy,
    "servicecidrs.networking.k8s.io": _cidrs,
    "poddisruptionbudgets.policy": _budget,
    "clusterrolebindings.rbac.authorization.k8s.io": _binding,
    "clusterroles.rbac.authorization.k8s.io": _created,
    "rolebindings.rbac.authorization.k8s.io": _binding,
    "roles.rbac.authorization.k8s.io": _created,
    "csidrivers.storage.k8s.io": _csi_driver,
    "csinodes.storage.k8s.io": _counted("spec.drivers"),
    "csistoragecapacities.storage.k8s.io": _created,
    "storageclasses.storage.k8s.io": _storage_class,
    "volumeattachments.storage.k8s.io": _volume_attachment,
    "volumeattributesclasses.storage.k8s.io": _simple("driverName"),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _policy("mutations"),
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _counted("webhooks"),
    "validatingadmissionpolicies.admissionregistration.k8s.io": _policy("validations"),
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": _policy_binding,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _counted("webhooks"),
    "customresourcedefinitions.apiextensions.k8s.io": _created,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "leases.coordination.k8s.io": _simple("spec.holderIdentity"),
    "runtimeclasses.node.k8s.io": _simple("handler"),
    "endpointslices.discovery.k8s.io": _slice,
    "deviceclasses.resource.k8s.io": _simple(),
    "resourceclaims.resource.k8s.io": _claim_of_devices,
    "resourceclaimtemplates.resource.k8s.io": _simple(),
    "resourceslices.resource.k8s.io": _resource_slice,
    "flowschemas.flowcontrol.apiserver.k8s.io": _flow_schema,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _priority_level,
}
