"""The checks of a server on the spec of a pod beyond single fields: names, unions, dependencies of fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.objects import Quantity, dns_subdomain_errors, label_value_errors, qualified_name_errors

from ..kinds._builtin_rules import FORMATS
from ..storage._json_values import listed, member

Json = dict[str, Any]
Found = Iterator[Violation]
_PULLS: Final = ("Always", "IfNotPresent", "Never")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_COUNTS: Final = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold",
)  # fmt: skip
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


def required(field: str, detail: str = "") -> Violation:
    return Violation("FieldValueRequired", field, detail=detail)


def invalid(field: str, value: Any, detail: str) -> Violation:
    return Violation("FieldValueInvalid", field, value, detail)


def forbidden(field: str, detail: str) -> Violation:
    return Violation("FieldValueForbidden", field, detail=detail)


def duplicate(field: str, value: Any) -> Violation:
    return Violation("FieldValueDuplicate", field, value)


def unsupported(field: str, value: Any, known: tuple[str, ...]) -> Violation:
    shown = ", ".join(f'"{one}"' for one in known)
    return Violation("FieldValueNotSupported", field, value, f"supported values: {shown}")


def number(text: Any) -> float:
    """Return a quantity as a number to compare."""
    try:
        return float(Quantity(str(text)))
    except (ValueError, ArithmeticError):
        return 0.0


def check_pod(spec: Json, path: str) -> Found:
    """Return what is wrong with the spec of a pod."""
    volumes: set[str] = set()
    for at, volume in enumerate(listed(spec, "volumes")):
        where, name = f"{path}.volumes[{at}]", volume.get("name") or ""
        # The first source that a server checks counts; a volume with a fault does not take its name.
        sources = sorted((one for one in volume if one != "name"), key=_source_order)
        for extra in sources[1:]:
            yield forbidden(f"{where}.{extra}", "may not specify more than 1 volume type")
        if name in volumes:
            yield duplicate(f"{where}.name", name)
        elif len(sources) == 1:
            volumes.add(name)
    names: set[str] = set()
    for field in ("containers", "initContainers"):
        for at, container in enumerate(listed(spec, field)):
            where = f"{path}.{field}[{at}]"
            if (name := container.get("name")) in names:
                yield duplicate(f"{where}.name", name)
            names.add(name or "")
            plain = field == "initContainers" and container.get("restartPolicy") != "Always"
            yield from _container(container, where, volumes, ends=plain)
    for at, one in enumerate(listed(spec, "tolerations")):
        yield from _toleration(one, f"{path}.tolerations[{at}]")
    yield from check_labels(member(spec, "nodeSelector"), f"{path}.nodeSelector")
    if (account := spec.get("serviceAccountName")) and dns_subdomain_errors(account):
        yield invalid(f"{path}.serviceAccountName", account, "a lowercase RFC 1123 subdomain must be given")


def _source_order(name: str) -> int:
    return _SOURCES.index(name) if name in _SOURCES else len(_SOURCES)


def _toleration(one: Json, path: str) -> Found:
    key, operator, effect = one.get("key"), one.get("operator") or "", one.get("effect") or ""
    for fault in qualified_name_errors(key) if key else ():
        yield invalid(f"{path}.key", key, fault)
    if not key and operator != "Exists":
        yield invalid(f"{path}.operator", operator, "operator must be Exists when `key` is empty")
    if one.get("tolerationSeconds") is not None and effect != "NoExecute":
        text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield invalid(f"{path}.effect", effect, text)
    match operator:
        case "Equal" | "":
            for fault in label_value_errors(one.get("value") or ""):
                yield invalid(f"{path}.operator", one["value"], fault)
        case "Exists":
            if one.get("value"):
                yield invalid(
                    f"{path}.operator", one["value"], "value must be empty when `operator` is 'Exists'"
                )
        case _:
            yield unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield unsupported(f"{path}.effect", effect, _EFFECTS)


def check_labels(labels: Json, path: str) -> Found:
    """Keys and values of labels."""
    for key, value in labels.items():
        for fault in qualified_name_errors(key):
            yield invalid(path, key, fault)
        for fault in label_value_errors(value):
            yield invalid(path, value, fault)


def _container(container: Json, path: str, volumes: set[str], *, ends: bool) -> Found:
    """Return what is wrong with a container; one that `ends` before the others begin is not probed."""
    pull = container.get("imagePullPolicy")
    if pull and pull not in _PULLS:
        yield unsupported(f"{path}.imagePullPolicy", pull, _PULLS)
    names: set[str] = set()
    for at, port in enumerate(listed(container, "ports")):
        if (name := port.get("name")) and FORMATS["port-name"](name):
            if name in names:
                yield duplicate(f"{path}.ports[{at}].name", name)
            names.add(name)
    for at, one in enumerate(listed(container, "env")):
        yield from _env(one, f"{path}.env[{at}]")
    seen: set[str] = set()
    for at, mount in enumerate(listed(container, "volumeMounts")):
        where = f"{path}.volumeMounts[{at}]"
        if mount.get("name") and mount["name"] not in volumes:
            yield Violation("FieldValueNotFound", f"{where}.name", mount["name"])
        if not mount.get("mountPath"):
            yield required(f"{where}.mountPath")
        elif mount["mountPath"] in seen:
            yield invalid(f"{where}.mountPath", mount["mountPath"], "must be unique")
        seen.add(mount.get("mountPath", ""))
    yield from _resources(member(container, "resources"), f"{path}.resources")
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


def _env(one: Json, path: str) -> Found:
    source = one.get("valueFrom")
    if source is None:
        return
    kinds = [name for name in source if source[name] is not None]
    if one.get("value"):
        yield invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")
    elif not kinds:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield invalid(f"{path}.valueFrom", "", text)
    elif len(kinds) > 1:
        yield invalid(f"{path}.valueFrom", "", "may not have more than one field specified at a time")
    if field := member(source, "fieldRef"):
        found = field.get("fieldPath", "")
        if not found:
            yield required(f"{path}.valueFrom.fieldRef.fieldPath")
        elif found.partition("[")[0] not in _FIELD_PATHS:
            text = "error converting fieldPath: field label not supported"
            yield invalid(f"{path}.valueFrom.fieldRef.fieldPath", found, f"{text}: {found}")
    for name in ("secretKeyRef", "configMapKeyRef"):
        if name in source and not source[name].get("key"):
            yield required(f"{path}.valueFrom.{name}.key")


def _resources(resources: Json, path: str) -> Found:
    limits = member(resources, "limits")
    for part in ("limits", "requests"):
        for name, value in member(resources, part).items():
            if number(value) < 0:
                text = "must be greater than or equal to 0"
                yield invalid(f"{path}.{part}[{name}]", str(value), text)
    for name, value in member(resources, "requests").items():
        if name in limits and number(value) > number(limits[name]):
            text = f"must be less than or equal to {name} limit of {limits[name]}"
            yield invalid(f"{path}.requests", str(value), text)


def _handler(handler: Json, path: str) -> Found:
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


def _probe(probe: Json, path: str, *, readiness: bool) -> Found:
    yield from _handler(probe, path)
    for name in _COUNTS:
        if probe.get(name, 0) < 0:
            yield invalid(f"{path}.{name}", probe[name], "must be greater than or equal to 0")
    if not readiness and probe.get("successThreshold", 1) != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
