"""The fields of an Event of events.k8s.io/v1: references, names and texts that a server accepts."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from ..objects import KubeObject, MicroTime, check_dns_subdomain

if TYPE_CHECKING:
    from ..kinds.core_v1 import ObjectReference

_MAX_FIELD: Final = 128
_MAX_NOTE: Final = 1024
_MAX_NAME: Final = 253

_EPOCH: Final = MicroTime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

# The identity of an object: its apiVersion, kind, namespace, name and fieldPath.
EventKey: TypeAlias = tuple[str, ...]
_IDENTITY_FIELDS: Final = ("apiVersion", "kind", "namespace", "name", "fieldPath")


def make_reference(target: KubeObject | ObjectReference) -> dict[str, str]:
    """Return the reference of an Event to an object; raise ValueError for an object without a name."""
    if isinstance(target, KubeObject):
        meta = target.metadata
        fields = {
            "apiVersion": target.api_version,
            "kind": target.kind,
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        }
    else:
        fields = {
            "apiVersion": target.api_version or "",
            "kind": target.kind or "",
            "namespace": target.namespace or "",
            "name": target.name or "",
            "uid": target.uid or "",
            "resourceVersion": target.resource_version or "",
            "fieldPath": target.field_path or "",
        }
    if not fields["name"]:
        raise ValueError("the object of an Event must have a name: record the Event after its creation")
    return {name: value for name, value in fields.items() if value}


def identity_of(reference: dict[str, str] | None) -> EventKey:
    """Return the fields of a reference that do not change, even when the object is recreated."""
    return () if reference is None else tuple(reference.get(field, "") for field in _IDENTITY_FIELDS)


def event_namespace(reference: dict[str, str]) -> str:
    """Return the namespace of Events about an object: "default" for cluster-scoped objects."""
    return reference.get("namespace", "default")


def event_name(object_name: str, time: MicroTime, number: int) -> str:
    """Return the object's name with a time that looks like nanoseconds, as other clients write it.

    The number replaces the digits below a microsecond, and distinguishes names of the same microsecond.
    """
    suffix = f".{(time - _EPOCH) // _MICROSECOND * 1000 + number % 1000:x}"
    prefix = object_name[: _MAX_NAME - len(suffix)].rstrip("-.")
    try:
        check_dns_subdomain(prefix)
    except ValueError:
        # A ClusterRole may be called system:node; an Event must not.
        prefix = "event"
    return prefix + suffix


def check_event_field(field: str, text: str) -> str:
    """Return an action, a reason or an instance; raise ValueError if every server would reject it."""
    if not 0 < len(text.encode()) <= _MAX_FIELD:
        raise ValueError(f"the {field} of an Event must have 1 to {_MAX_FIELD} bytes: {text[:200]!r}")
    return text


def truncate_note(note: str) -> str:
    """Return the note, truncated to the bytes that a server accepts."""
    data = note.encode(errors="replace")
    if len(data) <= _MAX_NOTE:
        return data.decode()
    return data[: _MAX_NOTE - len("…".encode())].decode(errors="ignore") + "…"
