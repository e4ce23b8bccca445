"""What a server refuses of built-in kinds beyond single fields: workloads, Services, RBAC and more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from ...crd import Violation
from ..kinds._builtin_rules import FORMATS
from ..kinds._defaults import POD_SPECS
from ..kinds._kinds import Served
from ..storage._parts import listed, member, texts
from ._pod_rules import (
    Found,
    Json,
    check_labels,
    check_pod,
    duplicate,
    forbidden,
    invalid,
    number,
    required,
    unsupported,
)

_CRON: Final = re.compile(r"[\d*/,\-?A-Za-z]+")
_CRON_RANGES: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_ACCESS: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_QUOTAS: Final = frozenset((
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu",
    "limits.memory", "requests.storage", "services.nodeports", "services.loadbalancers",
    "ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage",
))  # fmt: skip
_SCOPES: Final = (
    "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass",
)  # fmt: skip
_RBAC: Final = "rbac.authorization.k8s.io"


def check_object(served: Served, obj: Json) -> list[Violation]:
    """What a server refuses of an object as a whole."""
    found: list[Violation] = []
    if (way := POD_SPECS.get(served.full_name)) is not None:
        spec = obj
        for name in way:
            spec = member(spec, name)
        if spec:
            found += check_pod(spec, ".".join(way))
            found += _restarts(served, spec, ".".join(way))
    if (rule := _RULES.get(served.full_name)) is not None:
        found += rule(obj)
    return found


def _restarts(served: Served, spec: Json, path: str) -> Found:
    policy, where = spec.get("restartPolicy"), f"{path}.restartPolicy"
    known = {"jobs.batch": ("OnFailure", "Never"), "cronjobs.batch": ("OnFailure", "Never")}.get(
        served.full_name, ("Always",)
    )
    if served.full_name in ("pods", "podtemplates") or policy in known:
        return
    if known == ("Always",):
        if policy in ("OnFailure", "Never"):
            yield unsupported(where, policy, known)
    elif policy in ("Always", None, ""):
        yield required(where, 'valid values: "OnFailure", "Never"')


def selector(found: Json | None, path: str) -> Found:
    """What is wrong with a label selector."""
    for key, value in member(found or {}, "matchLabels").items():
        yield from check_labels({key: value}, f"{path}.matchLabels")
    for at, one in enumerate(listed(found or {}, "matchExpressions")):
        where, operator = f"{path}.matchExpressions[{at}]", one.get("operator")
        if operator in ("In", "NotIn") and not one.get("values"):
            yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and one.get("values"):
            yield forbidden(f"{where}.values", "may not be specified when `operator` is 'Exists'")
        elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
            yield invalid(f"{where}.operator", operator or "", "not a valid selector operator")


def _workload(obj: Json) -> Found:
    found = member(obj, "spec").get("selector")
    faults = list(selector(found, "spec.selector"))
    yield from faults
    if found is not None and not member(found, "matchLabels") and not listed(found, "matchExpressions"):
        yield invalid("spec.selector", found, "empty selector is invalid for a workload")
    if any("matchExpressions" in one.field for one in faults):
        yield invalid("spec.selector", found, "invalid label selector")


def _zero(value: Any) -> bool:
    return value in (0, "0%", "0")


def _deployment(obj: Json) -> Found:
    yield from _workload(obj)
    strategy, path = member(member(obj, "spec"), "strategy"), "spec.strategy"
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in ("Recreate", "RollingUpdate"):
        yield unsupported(path, kind, ("Recreate", "RollingUpdate"))
    elif kind == "Recreate" and rolling is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden(f"{path}.rollingUpdate", text)
    elif rolling:
        most, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
        if _zero(most) and _zero(surge):
            text = "may not be 0 when `maxSurge` is 0"
            yield invalid(f"{path}.rollingUpdate.maxUnavailable", most, text)
        if _above(most):
            yield invalid(f"{path}.rollingUpdate.maxUnavailable", most, "must not be greater than 100%")


def _above(value: Any) -> bool:
    return isinstance(value, str) and value[:-1].isdigit() and value.endswith("%") and int(value[:-1]) > 100


def _update_strategy(obj: Json) -> Found:
    yield from _workload(obj)
    kind = member(member(obj, "spec"), "updateStrategy").get("type", "RollingUpdate")
    if kind not in ("RollingUpdate", "OnDelete"):
        yield unsupported("spec.updateStrategy", kind, ("RollingUpdate", "OnDelete"))


def _job(obj: Json) -> Found:
    spec = member(obj, "spec")
    labels = member(member(spec, "selector"), "matchLabels")
    if labels and not spec.get("manualSelector") and "batch.kubernetes.io/controller-uid" not in labels:
        text = "`selector` does not match template `labels`"
        yield invalid("spec.selector", spec["selector"], "`selector` not auto-generated")
        yield invalid("spec.template.metadata.labels", None, text)


def _cron_job(obj: Json) -> Found:
    spec = member(obj, "spec")
    schedule = spec.get("schedule", "")
    if schedule and not _is_cron(schedule):
        yield invalid("spec.schedule", schedule, "expected exactly 5 fields")
    zone = spec.get("timeZone")
    if zone is not None and (not zone or not _is_zone(zone)):
        yield invalid("spec.timeZone", zone, "unknown time zone")
    if len(obj["metadata"].get("name", "")) > 52:
        yield invalid("metadata.name", obj["metadata"]["name"], "must be no more than 52 characters")


def _is_cron(text: str) -> bool:
    if text.startswith("@"):
        return text in ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly") or (
            text.startswith("@every ")
        )
    parts = text.split()
    if len(parts) != 5 or not all(_CRON.fullmatch(one) for one in parts):
        return False
    for part, (low, high) in zip(parts, _CRON_RANGES, strict=True):
        for one in re.findall(r"\d+", part.partition("/")[0].replace(",", " ")):
            if not low <= int(one) <= high:
                return False
    return True


def _is_zone(name: str) -> bool:
    # A server knows the zones of its own database; the core reads none, so it goes by the continents.
    area, slash, _ = name.partition("/")
    known = ("Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Etc",
             "Indian", "Pacific", "US", "Canada", "Brazil", "Chile", "Mexico")  # fmt: skip
    return area in known if slash else name.lower() != "local"


def _service(obj: Json) -> Found:
    spec = member(obj, "spec")
    kind, ports = spec.get("type"), listed(spec, "ports")
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName", "required for ExternalName services")
    names: set[str] = set()
    seen: set[tuple[Any, Any]] = set()
    for at, port in enumerate(ports):
        where, name = f"spec.ports[{at}]", port.get("name", "")
        if len(ports) > 1 and not name:
            yield required(f"{where}.name")
        elif name and name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)
        target = port.get("targetPort")
        if isinstance(target, int) and not 1 <= target <= 65535:
            yield invalid(f"{where}.targetPort", target, "must be between 1 and 65535, inclusive")
        elif isinstance(target, str) and not FORMATS["port-name"](target):
            yield invalid(f"{where}.targetPort", target, "must contain only alpha-numeric characters")
        if port.get("nodePort") and kind == "ClusterIP":
            yield forbidden(f"{where}.nodePort", "may not be used when `type` is 'ClusterIP'")
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            yield duplicate(where, {"port": port.get("port"), "protocol": port.get("protocol")})
        seen.add(key)
    address = spec.get("clusterIP")
    if address and address != "None" and not FORMATS["ip"](address):
        yield invalid("spec.clusterIPs[0]", address, "must be a valid IP address")
    yield from check_labels(member(spec, "selector"), "spec.selector")
    policy = spec.get("externalTrafficPolicy")
    if policy and kind in ("ClusterIP", "ExternalName"):
        text = "may only be set for externally-accessible services"
        yield invalid("spec.externalTrafficPolicy", policy, text)
    if spec.get("loadBalancerSourceRanges") and kind != "LoadBalancer":
        yield forbidden("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")
    for at, one in enumerate(texts(spec, "loadBalancerSourceRanges")):
        if not FORMATS["cidr"](one):
            yield invalid(f"spec.LoadBalancerSourceRanges[{at}]", one, "must be a valid CIDR value")
    families = spec.get("ipFamilyPolicy")
    if families and families not in ("SingleStack", "PreferDualStack", "RequireDualStack"):
        known = ("PreferDualStack", "RequireDualStack", "SingleStack")
        yield unsupported("spec.ipFamilyPolicy", families, known)
    for at, one in enumerate(texts(spec, "ipFamilies")):
        if one not in ("IPv4", "IPv6"):
            yield unsupported(f"spec.ipFamilies[{at}]", one, ("IPv4", "IPv6"))


def _claim(obj: Json) -> Found:
    spec = member(obj, "spec")
    for one in texts(spec, "accessModes"):
        if one not in _ACCESS:
            yield unsupported("spec.accessModes", one, _ACCESS)
    storage = member(member(spec, "resources"), "requests").get("storage")
    if storage is None:
        yield required("spec.resources[storage]")
    elif number(storage) <= 0:
        yield invalid("spec.resources[storage]", storage, "must be greater than zero")


def _volume(obj: Json) -> Found:
    spec = member(obj, "spec")
    for one in texts(spec, "accessModes"):
        if one not in _ACCESS:
            yield unsupported("spec.accessModes", one, _ACCESS)
    if not spec.get("capacity"):
        yield required("spec.capacity")
    elif number(spec["capacity"].get("storage", 0)) < 0:
        yield invalid("spec.capacity[storage]", spec["capacity"]["storage"], "must be greater than zero")
    sources = [name for name in spec if name in _SOURCES]
    if not sources:
        yield required("spec", "must specify a volume type")
    for extra in sorted(sources)[1:]:
        yield forbidden(f"spec.{extra}", "may not specify more than 1 volume type")
    if ".." in member(spec, "hostPath").get("path", "").split("/"):
        yield invalid("spec.hostPath.path", spec["hostPath"]["path"], "must not contain '..'")


_SOURCES: Final = frozenset((
    "awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "csi", "fc", "flexVolume",
    "flocker", "gcePersistentDisk", "glusterfs", "hostPath", "iscsi", "local", "nfs",
    "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
))  # fmt: skip


def _role(obj: Json, *, everywhere: bool = False) -> Found:
    for at, rule in enumerate(listed(obj, "rules")):
        where = f"rules[{at}]"
        if rule.get("nonResourceURLs"):
            if not everywhere:
                text = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"{where}.nonResourceURLs", rule["nonResourceURLs"], text)
            elif rule.get("apiGroups") or rule.get("resources"):
                text = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{where}.nonResourceURLs", rule["nonResourceURLs"], text)
            continue
        if not rule.get("apiGroups"):
            yield required(f"{where}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{where}.resources", "resource rules must supply at least one resource")


def _role_binding(obj: Json, *, everywhere: bool = False) -> Found:
    kind = member(obj, "roleRef").get("kind", "")
    known = ("ClusterRole",) if everywhere else ("Role", "ClusterRole")
    if kind not in known:
        yield unsupported("roleRef.kind", kind, known)
    for at, one in enumerate(listed(obj, "subjects")):
        where, group = f"subjects[{at}]", one.get("apiGroup", "")
        if one.get("kind") == "ServiceAccount":
            if one.get("name") and not FORMATS["subdomain"](one["name"]):
                yield invalid(f"{where}.name", one["name"], "a lowercase RFC 1123 subdomain must be given")
            if everywhere and not one.get("namespace"):
                yield required(f"{where}.namespace")
        elif one.get("kind") in ("User", "Group") and group not in ("", _RBAC):
            yield unsupported(f"{where}.apiGroup", group, (_RBAC,))


def _autoscaler(obj: Json) -> Found:
    spec = member(obj, "spec")
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    if most >= 1 and least >= 1 and most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = member(spec, "scaleTargetRef")
    if not target.get("apiVersion") and "targetCPUUtilizationPercentage" not in spec:
        yield invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")
    for at, metric in enumerate(listed(spec, "metrics")):
        yield from _metric(metric, f"spec.metrics[{at}]")
    if least == 0:
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        if not any(one.get("type") in ("Object", "External") for one in listed(spec, "metrics")):
            yield forbidden("spec.metrics", text)
    for way in ("scaleUp", "scaleDown"):
        if rules := member(member(spec, "behavior"), way):
            yield from _scaling(rules, f"spec.behavior.{way}")


def _metric(metric: Json, path: str) -> Found:
    fields = {"ContainerResource": "containerResource", "External": "external", "Object": "object",
              "Pods": "pods", "Resource": "resource"}  # fmt: skip
    kind = metric.get("type", "")
    if kind not in fields:
        if kind:
            yield unsupported(f"{path}.type", kind, tuple(fields))
        return
    if fields[kind] not in metric:
        yield required(f"{path}.{fields[kind]}", "must populate information for the given metric source")
        return
    held, where = metric[fields[kind]], f"{path}.{fields[kind]}"
    if kind in ("Resource", "ContainerResource"):
        if not held.get("name"):
            yield required(f"{where}.name", "must specify a resource name")
        target = member(held, "target")
        if target.get("type") == "Utilization" and (target.get("averageUtilization") or 0) < 1:
            if "averageUtilization" in target:
                text = "must be greater than 0"
                yield invalid(f"{where}.target.averageUtilization", target["averageUtilization"], text)
            else:
                text = "must set either a target raw value or a target utilization"
                yield required(f"{where}.target.averageUtilization", text)


def _scaling(rules: Json, path: str) -> Found:
    known = ("Disabled", "Max", "Min")
    if (policy := rules.get("selectPolicy")) is not None and policy not in known:
        yield unsupported(f"{path}.selectPolicy", policy, known)
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and not 0 <= window <= 3600:
        text = "must be greater than or equal to zero"
        yield invalid(f"{path}.stabilizationWindowSeconds", window, text)
    for at, one in enumerate(listed(rules, "policies")):
        where = f"{path}.policies[{at}]"
        if one.get("type") not in ("Percent", "Pods"):
            yield unsupported(f"{where}.type", one.get("type", ""), ("Percent", "Pods"))
        if one.get("value", 0) <= 0:
            yield invalid(f"{where}.value", one.get("value", 0), "must be greater than zero")
        if not 0 < one.get("periodSeconds", 0) <= 1800:
            yield invalid(f"{where}.periodSeconds", one.get("periodSeconds", 0), "must be greater than zero")


def _budget(obj: Json) -> Found:
    spec = member(obj, "spec")
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        if _above(spec.get(name)):
            yield invalid(f"spec.{name}", spec[name], "must not be greater than 100%")
    yield from selector(spec.get("selector"), "spec.selector")


def _quota(obj: Json) -> Found:
    spec = member(obj, "spec")
    for name, value in member(spec, "hard").items():
        plain = name in _QUOTAS or ("/" in name and FORMATS["qualified"](name))
        if not plain:
            yield invalid(f"spec.hard[{name}]", name, "must be a standard resource for quota")
        if number(value) < 0:
            yield invalid(f"spec.hard[{name}]", str(value), "must be greater than or equal to 0")
    if any(one not in _SCOPES for one in texts(spec, "scopes")):
        yield invalid("spec.scopes", spec["scopes"], "unsupported scope")


def _limits(obj: Json) -> Found:
    seen: set[str] = set()
    for at, item in enumerate(listed(member(obj, "spec"), "limits")):
        where, kind = f"spec.limits[{at}]", item.get("type", "")
        if not kind:
            yield required(f"{where}.type")
        if kind in seen:
            yield duplicate(f"{where}.type", kind)
        seen.add(kind)
        bounds = {part: member(item, part) for part in ("min", "defaultRequest", "default", "max")}
        for name in sorted({one for part in bounds.values() for one in part}):
            low, asked, usual, high = (
                number(part[name]) if name in part else None for part in bounds.values()
            )
            for part, value, above in (
                ("min", low, high), ("defaultRequest", asked, high), ("default", usual, high),
                ("defaultRequest", asked, usual),
            ):  # fmt: skip
                if value is not None and above is not None and value > above:
                    yield invalid(f"{where}.{part}[{name}]", str(value), "is greater than the limit")
            for part, value in (("default", usual), ("defaultRequest", asked)):
                if low is not None and value is not None and low > value:
                    yield invalid(f"{where}.{part}[{name}]", str(value), "is less than min value")


def _webhooks(obj: Json) -> Found:
    operations = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
    for at, hook in enumerate(listed(obj, "webhooks")):
        where, name = f"webhooks[{at}]", hook.get("name", "")
        if name and name.count(".") < 2:
            yield invalid(f"{where}.name", name, "should be a domain with at least three segments")
        client = member(hook, "clientConfig")
        if "url" in client and "service" in client:
            yield required(f"{where}.clientConfig", "exactly one of url or service is required")
        versions = texts(hook, "admissionReviewVersions")
        if versions and not {"v1", "v1beta1"} & {*versions}:
            text = "must include at least one of v1, v1beta1"
            yield invalid(f"{where}.admissionReviewVersions", versions, text)
        for place, rule in enumerate(listed(hook, "rules")):
            inner = f"{where}.rules[{place}]"
            for part in ("operations", "apiGroups", "apiVersions", "resources"):
                if not rule.get(part):
                    yield required(f"{inner}.{part}")
            for spot, one in enumerate(texts(rule, "operations")):
                if one not in operations:
                    yield unsupported(f"{inner}.operations[{spot}]", one, operations)


def _ingress(obj: Json) -> Found:
    spec = member(obj, "spec")
    if not spec.get("rules") and not spec.get("defaultBackend"):
        yield invalid("spec", spec, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        yield from _backend(spec["defaultBackend"], "spec.defaultBackend")
    for at, rule in enumerate(listed(spec, "rules")):
        where, host = f"spec.rules[{at}]", rule.get("host", "")
        if host and FORMATS["ip"](host):
            yield invalid(f"{where}.host", host, "must be a DNS name, not an IP address")
        if "http" not in rule:
            continue
        if not rule["http"].get("paths"):
            yield required(f"{where}.http.paths")
        for place, path in enumerate(listed(rule["http"], "paths")):
            yield from _path(path, f"{where}.http.paths[{place}]")


def _path(path: Json, where: str) -> Found:
    known = ("Exact", "ImplementationSpecific", "Prefix")
    kind, text = path.get("pathType"), path.get("path", "")
    if kind is None:
        yield required(f"{where}.pathType", "pathType must be specified")
    elif kind not in known:
        yield unsupported(f"{where}.pathType", kind, known)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield invalid(f"{where}.path", text, "must be an absolute path")
    yield from _backend(member(path, "backend"), f"{where}.backend")


def _backend(backend: Json, where: str) -> Found:
    if ("service" in backend) == ("resource" in backend):
        yield invalid(where, "", "exactly one of service or resource must be given")
    elif "service" in backend and not any(member(backend["service"], "port").values()):
        yield required(where, "port name or number is required")


def _policy(obj: Json) -> Found:
    spec = member(obj, "spec")
    yield from selector(spec.get("podSelector"), "spec.podSelector")
    for at, one in enumerate(texts(spec, "policyTypes")):
        if one not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{at}]", one, ("Egress", "Ingress"))
    for part, ends in (("ingress", "from"), ("egress", "to")):
        for at, rule in enumerate(listed(spec, part)):
            where = f"spec.{part}[{at}]"
            for place, port in enumerate(listed(rule, "ports")):
                low, high = port.get("port"), port.get("endPort")
                if isinstance(low, int) and high is not None and high < low:
                    text = "must be greater than or equal to `port`"
                    yield invalid(f"{where}.ports[{place}].endPort", high, text)
            for place, peer in enumerate(listed(rule, ends)):
                if not peer:
                    yield required(f"{where}.{ends}[{place}]", "must specify a peer")
                block = member(peer, "ipBlock").get("cidr", "")
                if block and not FORMATS["cidr"](block):
                    yield invalid(
                        f"{where}.{ends}[{place}].ipBlock.cidr", block, "must be a valid CIDR value"
                    )


def _priority(obj: Json) -> Found:
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        yield forbidden("metadata.name", "priority class names with 'system-' prefix are reserved")
    elif value > 1_000_000_000:
        yield forbidden("value", "maximum allowed value of a user defined priority is 1000000000")


def _controller(obj: Json) -> Found:
    spec = member(obj, "spec")
    if not spec.get("selector"):
        yield required("spec.selector")
        return
    labels = member(member(member(spec, "template"), "metadata"), "labels")
    if "template" in spec and not spec["selector"].items() <= labels.items():
        yield invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _definition(obj: Json) -> Found:
    spec = member(obj, "spec")
    versions = listed(spec, "versions")
    if sum(bool(one.get("storage")) for one in versions) != 1:
        yield invalid("status.storedVersions", [], "must have at least one stored version")
    for one in versions[:1]:
        if not FORMATS["dns1035"](one.get("name", "")):
            yield invalid("spec.version", one.get("name", ""), "a DNS-1035 label must be given")
    if not member(spec, "names").get("kind"):
        yield invalid("spec.names.listKind", "List", "kind and listKind may not be the same")


def _storage_class(obj: Json) -> Found:
    if "" in member(obj, "parameters"):
        yield invalid("parameters", "", "field can not be empty.")


_RULES: Final[dict[str, Callable[[Json], Found]]] = {
    "replicationcontrollers": _controller,
    "deployments.apps": _deployment,
    "replicasets.apps": _workload,
    "daemonsets.apps": _update_strategy,
    "statefulsets.apps": _update_strategy,
    "jobs.batch": _job,
    "cronjobs.batch": _cron_job,
    "services": _service,
    "persistentvolumeclaims": _claim,
    "persistentvolumes": _volume,
    "roles.rbac.authorization.k8s.io": _role,
    "clusterroles.rbac.authorization.k8s.io": lambda obj: _role(obj, everywhere=True),
    "rolebindings.rbac.authorization.k8s.io": _role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": lambda obj: _role_binding(obj, everywhere=True),
    "horizontalpodautoscalers.autoscaling": _autoscaler,
    "poddisruptionbudgets.policy": _budget,
    "resourcequotas": _quota,
    "limitranges": _limits,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _webhooks,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _webhooks,
    "ingresses.networking.k8s.io": _ingress,
    "networkpolicies.networking.k8s.io": _policy,
    "priorityclasses.scheduling.k8s.io": _priority,
    "storageclasses.storage.k8s.io": _storage_class,
    "customresourcedefinitions.apiextensions.k8s.io": _definition,
}
