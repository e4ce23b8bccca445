"""The rules of the spec of a pod: unique names, unions, dependencies between fields."""

from __future__ import annotations

import re
from typing import Final

from kubeproto.crd import Violation
from kubeproto.objects import dns_subdomain_errors, label_value_errors, qualified_name_errors

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import member, objects_in
from ._rule_violations import Json, Violations, duplicate, forbidden, invalid, number, required, unsupported

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
)  # fmt: skip
_PREEMPTION_POLICIES: Final = ("PreemptLowerPriority", "Never")
_SYSTEMS: Final = ("linux", "windows")
_SYSCTL: Final = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_MAX_SYSCTL: Final = 253
_RESIZED: Final = ("cpu", "memory")
_RESIZE_POLICIES: Final = ("NotRequired", "RestartContainer")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
# In the order in which a server checks them.
_SOURCES: Final = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "quobyte", "downwardAPI",
    "fc", "flexVolume", "configMap", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "storageos", "projected", "scaleIO", "csi", "ephemeral", "image",
)  # fmt: skip
_FIELD_PATHS: Final = frozenset((
    "metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations",
    "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",
    "status.podIPs",
))  # fmt: skip


def check_pod(spec: Json, path: str) -> Violations:
    """Check the spec of a pod."""
    volumes: set[str] = set()
    for index, volume in enumerate(objects_in(spec, "volumes")):
        if number(member(volume, "emptyDir").get("sizeLimit", 0)) < 0:
            text = "SizeLimit field must be a valid resource quantity"
            yield forbidden(f"{path}.volumes[{index}].emptyDir.sizeLimit", text)
        field_path, name = f"{path}.volumes[{index}]", volume.get("name") or ""
        # Only the first source that a server checks counts; an invalid volume does not occupy its name.
        sources = sorted((toleration for toleration in volume if toleration != "name"), key=_source_order)
        for extra in sources[1:]:
            yield forbidden(f"{field_path}.{extra}", "may not specify more than 1 volume type")
        if name in volumes:
            yield duplicate(f"{field_path}.name", name)
        elif len(sources) == 1:
            volumes.add(name)
    yield from _host_ports(spec, path)
    names: set[str] = set()
    for field in ("containers", "initContainers"):
        for index, container in enumerate(objects_in(spec, field)):
            field_path = f"{path}.{field}[{index}]"
            if (name := container.get("name")) in names:
                yield duplicate(f"{field_path}.name", name)
            names.add(name or "")
            ends_early = field == "initContainers" and container.get("restartPolicy") != "Always"
            yield from _container(container, field_path, volumes, ends=ends_early)
    for index, toleration in enumerate(objects_in(spec, "tolerations")):
        yield from _toleration(toleration, f"{path}.tolerations[{index}]")
    yield from check_labels(member(spec, "nodeSelector"), f"{path}.nodeSelector")
    for field in ("serviceAccountName", "priorityClassName", "runtimeClassName"):
        for fault in dns_subdomain_errors(spec[field]) if spec.get(field) else ():
            yield invalid(f"{path}.{field}", spec[field], fault)
    yield from _host(spec, path)
    for index, gate in enumerate(objects_in(spec, "schedulingGates")):
        for fault in qualified_name_errors(gate.get("name") or ""):
            yield invalid(f"{path}.schedulingGates[{index}]", gate.get("name") or "", fault)
    if (policy := spec.get("preemptionPolicy")) and policy not in _PREEMPTION_POLICIES:
        yield unsupported(f"{path}.preemptionPolicy", policy, _PREEMPTION_POLICIES)
    if "os" in spec:
        yield from _check_operating_system(member(spec, "os").get("name") or "", f"{path}.os")


def _host_ports(spec: Json, path: str) -> Violations:
    host_ports: set[str] = set()
    for index, container in enumerate(objects_in(spec, "containers")):
        for port_index, port in enumerate(objects_in(container, "ports")):
            if host_port := port.get("hostPort"):
                key = f"{port.get('protocol', 'TCP')}/{port.get('hostIP', '')}/{host_port}"
                if key in host_ports:
                    yield duplicate(f"{path}.containers[{index}].ports[{port_index}].hostPort", key)
                host_ports.add(key)


def _host(spec: Json, path: str) -> Violations:
    """Check how a pod shares the namespaces and the kernel of its node."""
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field):
                yield forbidden(f"{path}.{field}", "when `hostUsers` is false")
    context_path = f"{path}.securityContext"
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{context_path}.shareProcessNamespace", value=True, detail=text)
    for index, sysctl in enumerate(objects_in(member(spec, "securityContext"), "sysctls")):
        name, name_path = sysctl.get("name") or "", f"{context_path}.sysctls[{index}].name"
        if not name:
            yield required(name_path)
        elif len(name) > _MAX_SYSCTL or not re.fullmatch(_SYSCTL, name):
            text = f"must have at most {_MAX_SYSCTL} characters and match regex ^{_SYSCTL}$"
            yield invalid(name_path, name, text)


def _check_operating_system(name: str, path: str) -> Violations:
    if not name:
        yield required(f"{path}.name")
    elif name not in _SYSTEMS:
        yield unsupported(path, name, _SYSTEMS)


def _source_order(name: str) -> int:
    return _SOURCES.index(name) if name in _SOURCES else len(_SOURCES)


def _toleration(toleration: Json, path: str) -> Violations:
    key, operator, effect = (
        toleration.get("key"),
        toleration.get("operator") or "",
        toleration.get("effect") or "",
    )
    for fault in qualified_name_errors(key) if key else ():
        yield invalid(f"{path}.key", key, fault)
    if not key and operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield invalid(f"{path}.operator", operator, text)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, text)
    match operator:
        case "Equal" | "":
            for fault in label_value_errors(toleration.get("value") or ""):
                yield invalid(f"{path}.operator", toleration["value"], fault)
        case "Exists":
            if toleration.get("value"):
                yield invalid(
                    f"{path}.operator", toleration["value"], "value must be empty when `operator` is 'Exists'"
                )
        case _:
            yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield unsupported(f"{path}.effect", effect, _EFFECTS)


def check_labels(labels: Json, path: str) -> Violations:
    """Check the keys and values of labels."""
    for key, value in labels.items():
        for fault in qualified_name_errors(key):
            yield invalid(path, key, fault)
        for fault in label_value_errors(value):
            yield invalid(path, value, fault)


def _container(container: Json, path: str, volumes: set[str], *, ends: bool) -> Violations:
    """Check a container; a container that `ends` before the others start has no probes."""
    pull_policy = container.get("imagePullPolicy")
    if pull_policy and pull_policy not in _PULL_POLICIES:
        yield unsupported(f"{path}.imagePullPolicy", pull_policy, _PULL_POLICIES)
    names: set[str] = set()
    for index, port in enumerate(objects_in(container, "ports")):
        if (name := port.get("name")) and FORMATS["port-name"](name):
            if name in names:
                yield duplicate(f"{path}.ports[{index}].name", name)
            names.add(name)
    for index, variable in enumerate(objects_in(container, "env")):
        yield from _env(variable, f"{path}.env[{index}]")
    for index, source in enumerate(objects_in(container, "envFrom")):
        yield from _env_from(source, f"{path}.envFrom", index)
    mount_paths: set[str] = set()
    for index, mount in enumerate(objects_in(container, "volumeMounts")):
        mount_path = f"{path}.volumeMounts[{index}]"
        if mount.get("name") and mount["name"] not in volumes:
            yield Violation("FieldValueNotFound", f"{mount_path}.name", mount["name"])
        if not mount.get("mountPath"):
            yield required(f"{mount_path}.mountPath")
        elif mount["mountPath"] in mount_paths:
            yield invalid(f"{mount_path}.mountPath", mount["mountPath"], "must be unique")
        mount_paths.add(mount.get("mountPath", ""))
    for index, device in enumerate(objects_in(container, "volumeDevices")):
        if device.get("name") and device["name"] not in volumes:
            yield Violation("FieldValueNotFound", f"{path}.volumeDevices[{index}].name", device["name"])
    for policy in objects_in(container, "resizePolicy"):
        if (resource := policy.get("resourceName") or "") not in _RESIZED:
            yield unsupported(f"{path}.resizePolicy", resource, _RESIZED)
        if (restart := policy.get("restartPolicy") or "") not in _RESIZE_POLICIES:
            yield unsupported(f"{path}.resizePolicy", restart, _RESIZE_POLICIES)
    yield from _check_resources(member(container, "resources"), f"{path}.resources")
    for name in ("lifecycle", *_PROBES) if ends else ():
        if name in container:
            yield forbidden(
                f"{path}.{name}", "may not be set for init containers without restartPolicy=Always"
            )
    for name in () if ends else _PROBES:
        if name in container:
            yield from _probe(container[name], f"{path}.{name}", readiness=name == "readinessProbe")
    for name, handler in member(container, "lifecycle").items():
        if not ends and name in ("postStart", "preStop"):
            yield from _handler(handler, f"{path}.lifecycle.{name}")
    context = member(container, "securityContext")
    if context.get("privileged") and context.get("allowPrivilegeEscalation") is False:
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield invalid(f"{path}.securityContext", context, text)


def _env(variable: Json, path: str) -> Violations:
    name, source = variable.get("name") or "", variable.get("valueFrom")
    if "=" in name or not (name.isascii() and name.isprintable()):
        text = (
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
        yield invalid(f"{path}.name", name, text)
    if source is None:
        return
    kinds = [name for name in source if source[name] is not None]
    if variable.get("value"):
        yield invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")
    elif not kinds:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield invalid(f"{path}.valueFrom", "", text)
    elif len(kinds) > 1:
        yield invalid(f"{path}.valueFrom", "", "may not have more than one field specified at a time")
    if field := member(source, "fieldRef"):
        pod_field = field.get("fieldPath", "")
        if not pod_field:
            yield required(f"{path}.valueFrom.fieldRef.fieldPath")
        elif pod_field.partition("[")[0] not in _FIELD_PATHS:
            text = "error converting fieldPath: field label not supported"
            yield invalid(f"{path}.valueFrom.fieldRef.fieldPath", pod_field, f"{text}: {pod_field}")
    for name in ("secretKeyRef", "configMapKeyRef"):
        if name in source and not source[name].get("key"):
            yield required(f"{path}.valueFrom.{name}.key")


def _env_from(source: Json, path: str, index: int) -> Violations:
    kinds = [name for name in ("configMapRef", "secretRef") if name in source]
    if not kinds:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(kinds) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")
    for name in kinds:
        if not source[name].get("name"):
            yield required(f"{path}[{index}].{name}.name")


def _check_resources(resources: Json, path: str) -> Violations:
    limits = member(resources, "limits")
    for group in ("limits", "requests"):
        for name, value in member(resources, group).items():
            if number(value) < 0:
                text = "must be greater than or equal to 0"
                yield invalid(f"{path}.{group}[{name}]", str(value), text)
    for name, value in member(resources, "requests").items():
        if name in limits and number(value) > number(limits[name]):
            text = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid(f"{path}.requests", str(value), text)


def _handler(handler: Json, path: str) -> Violations:
    kinds = [name for name in (*_HANDLERS, "sleep") if name in handler]
    if not kinds:
        yield required(path, "must specify a handler type")
    for extra in kinds[1:]:
        yield forbidden(f"{path}.{extra}", "may not specify more than 1 handler type")
    for name in ("httpGet", "tcpSocket"):
        port = handler[name].get("port", 0) if name in handler else 1
        if isinstance(port, str):
            for fault in (
                () if FORMATS["port-name"](port) else ("must contain only alpha-numeric characters",)
            ):
                yield invalid(f"{path}.{name}.port", port, fault)
        elif not 1 <= port <= 65535:
            yield invalid(f"{path}.{name}.port", port, "must be between 1 and 65535, inclusive")


def _probe(probe: Json, path: str, *, readiness: bool) -> Violations:
    yield from _handler(probe, path)
    for name in _PROBE_NUMBERS:
        if probe.get(name, 0) < 0:
            yield invalid(f"{path}.{name}", probe[name], "must be greater than or equal to 0")
    if not readiness and probe.get("successThreshold", 1) != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
