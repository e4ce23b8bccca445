"""The fields of an Event of events.k8s.io/v1: references, names and strings that a server accepts."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from ..objects import KubeObject, MicroTime, check_dns_subdomain

if TYPE_CHECKING:
    from ..kinds.core_v1 import ObjectReference

_LONGEST_WORD: Final = 128
_LONGEST_NOTE: Final = 1024
_LONGEST_NAME: Final = 253

_EPOCH: Final = MicroTime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

# Which object, by apiVersion, kind, namespace, name and field.
EventKey: TypeAlias = tuple[str, ...]
_PARTS: Final = ("apiVersion", "kind", "namespace", "name", "fieldPath")


def reference(about: KubeObject | ObjectReference) -> dict[str, str]:
    """Return the reference of an Event to an object; ValueError for an object without a name."""
    if isinstance(about, KubeObject):
        meta = about.metadata
        parts = {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        }
    else:
        parts = {
            "apiVersion": about.api_version or "",
            "kind": about.kind or "",
            "namespace": about.namespace or "",
            "name": about.name or "",
            "uid": about.uid or "",
            "resourceVersion": about.resource_version or "",
            "fieldPath": about.field_path or "",
        }
    if not parts["name"]:
        raise ValueError("an Event is about an object that has a name")
    return {name: part for name, part in parts.items() if part}


def identity(said: dict[str, str] | None) -> EventKey:
    """Return the parts of a reference that stay the same while the object exists, and if it is recreated."""
    return () if said is None else tuple(said.get(part, "") for part in _PARTS)


def namespace(said: dict[str, str]) -> str:
    """Return the namespace of Events about an object: a fixed one for cluster-scoped objects."""
    return said.get("namespace", "default")


def event_name(about: str, at: MicroTime, number: int) -> str:
    """Return the object's name and a time that looks like nanoseconds, as other clients write it.

    The number, which takes the place of the digits below a microsecond, distinguishes names of the same
    moment.
    """
    suffix = f".{(at - _EPOCH) // _MICROSECOND * 1000 + number % 1000:x}"
    return _stem(about[: _LONGEST_NAME - len(suffix)].rstrip("-.")) + suffix


def word(what: str, text: str) -> str:
    """Return an action, a reason or an instance; ValueError for one that no server accepts."""
    if not 0 < len(text.encode()) <= _LONGEST_WORD:
        raise ValueError(f"the {what} of an Event has 1 to {_LONGEST_WORD} bytes, unlike {text[:200]!r}")
    return text


def cut(note: str) -> str:
    """Return the note, cut to what a server accepts."""
    data = note.encode(errors="replace")
    if len(data) <= _LONGEST_NOTE:
        return data.decode()
    return data[: _LONGEST_NOTE - len("…".encode())].decode(errors="ignore") + "…"


def _stem(name: str) -> str:
    try:
        check_dns_subdomain(name)
    except ValueError:
        # A ClusterRole may be called system:node; an Event may not have such a name.
        return "event"
    return name
