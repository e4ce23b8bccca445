"""The columns of Tables: what kubectl shows of a kind, and the cells of one object."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from ..objects import parse_time
from ._apply_values import is_list, is_map
from ._kinds import Served
from ._parts import listed, member

_NAME: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may"
    " allow a client to request the generation of an appropriate name automatically. Name is primarily"
    " intended for creation idempotence and configuration definition. Cannot be updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_AGE: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not"
    " guaranteed to be set in happens-before order across separate operations. Clients may not set this"
    " value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for"
    " lists."
    " More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)
_DATA: Final = (
    "Data contains the configuration data. Each key must consist of alphanumeric characters, '-', '_' or '.'."
    " Values with non-UTF-8 byte sequences must use the BinaryData field. The keys stored in Data must not"
    " overlap with the keys in the BinaryData field, this is enforced during validation process."
)
_SECRET_DATA: Final = (
    "Data contains the secret data. Each key must consist of alphanumeric characters, '-', '_' or '.'. The"
    " serialized form of the secret data is a base64 encoded string, representing the arbitrary (possibly"
    " non-string) data value here. Described in https://tools.ietf.org/html/rfc4648#section-4"
)
_HOLDER: Final = (
    "holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is"
    " used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field."
)
_STEP: Final = re.compile(
    r"\.?((?:[^.\[\\]|\\.)+)|\[(\d+)\]|\[\?\(@\.([^=\s]+)\s*==\s*['\"]([^'\"]*)['\"]\)\]"
)

Cell = Callable[[dict[str, Any], float], Any]


class Column(Struct, frozen=True):
    """One column: its definition as it is sent, and how its cells are made."""

    definition: dict[str, Any]
    cell: Cell


def columns_of(served: Served) -> tuple[Column, ...]:
    """The columns in which a kind is shown."""
    name = _column("Name", _NAME, lambda obj, _: obj["metadata"].get("name", ""), format_="name")
    age = _column("Age", _AGE, _age)
    if served.defined and served.defined.columns:
        own: list[Column] = []
        for column in served.defined.columns:
            text = column.description or (
                f"Custom resource definition column (in JSONPath format): {column.json_path}"
            )
            cell = _path_cell(column.json_path, column.type)
            own.append(_column(column.name, text, cell, column.type, column.format, column.priority))
        return (name, *own)
    if served.custom:
        return (name, _column("Age", _AGE, _age, "date"))
    return (name, *_OWN.get(served.full_name, ()), age)


def ago(obj: dict[str, Any], stamp: str | None, time: float) -> str:
    """How long ago a time was, as kubectl shows it."""
    if not stamp:
        return "<unknown>"
    seconds = int(time - parse_time(stamp).timestamp())
    if seconds < 0:
        return "0s"
    if seconds < 120:
        return f"{seconds}s"
    minutes = seconds // 60
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"


def look_up(obj: Any, path: str) -> Any:
    """What a simple JSONPath finds first: members, indexes and filters by equality; None if nothing."""
    value = obj
    for step in _STEP.finditer(path):
        name, index, key, wanted = step.groups()
        if name is not None:
            value = value.get(name.replace("\\", "")) if is_map(value) else None
        elif not is_list(value):
            return None
        elif index is not None:
            value = value[int(index)] if int(index) < len(value) else None
        else:
            value = next((one for one in value if is_map(one) and str(one.get(key)) == wanted), None)
    return value


def _column(
    name: str, description: str, cell: Cell, type_: str = "string", format_: str = "", priority: int = 0
) -> Column:
    definition = {
        "name": name, "type": type_, "format": format_, "description": description, "priority": priority,
    }  # fmt: skip
    return Column(definition, cell)


def _age(obj: dict[str, Any], time: float) -> Any:
    return ago(obj, obj["metadata"].get("creationTimestamp"), time)


def _path_cell(path: str, type_: str) -> Cell:
    def cell(obj: dict[str, Any], time: float) -> Any:
        value = look_up(obj, path)
        if type_ == "date":
            return ago(obj, value, time) if isinstance(value, str) else None
        return value

    return cell


def _ready(obj: dict[str, Any], _: float) -> str:
    ready = sum(bool(one.get("ready")) for one in listed(member(obj, "status"), "containerStatuses"))
    return f"{ready}/{len(listed(obj['spec'], 'containers'))}"


def _restarts(obj: dict[str, Any], _: float) -> str:
    statuses = listed(member(obj, "status"), "containerStatuses")
    return str(sum(one.get("restartCount", 0) for one in statuses))


def _phase(obj: dict[str, Any], _: float) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    phase: str = obj.get("status", {}).get("phase", "Pending")
    return phase


def _number(path: str) -> Cell:
    def cell(obj: dict[str, Any], _: float) -> Any:
        return look_up(obj, path) or 0

    return cell


def _ready_replicas(obj: dict[str, Any], _: float) -> str:
    return f"{look_up(obj, '.status.readyReplicas') or 0}/{look_up(obj, '.spec.replicas') or 0}"


_OWN: Final[dict[str, tuple[Column, ...]]] = {
    "configmaps": (
        _column("Data", _DATA, lambda obj, _: len(obj.get("data", {})) + len(obj.get("binaryData", {}))),
    ),
    "secrets": (
        _column("Type", "Used to facilitate programmatic handling of secret data. More info:"
                " https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
                lambda obj, _: obj.get("type", "")),
        _column("Data", _SECRET_DATA, lambda obj, _: len(obj.get("data", {}))),
    ),
    "pods": (
        _column("Ready", "The aggregate readiness state of this pod for accepting traffic.", _ready),
        _column("Status", "The aggregate status of the containers in this pod.", _phase),
        _column("Restarts", "The number of times the containers in this pod have been restarted.", _restarts),
    ),
    "leases.coordination.k8s.io": (
        _column("Holder", _HOLDER, lambda obj, _: member(obj, "spec").get("holderIdentity", "")),
    ),
    "namespaces": (_column("Status", "The status of the namespace", _phase),),
    "deployments.apps": (
        _column("Ready", "Number of the pod with ready state", _ready_replicas),
        _column("Up-to-date", "Pods of the newest template.", _number(".status.updatedReplicas"), "integer"),
        _column("Available", "Pods that are available.", _number(".status.availableReplicas"), "integer"),
    ),
}  # fmt: skip
