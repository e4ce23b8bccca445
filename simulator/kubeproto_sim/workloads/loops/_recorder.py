"""The Events that controllers write about what they do, counted and combined as Go's recorder does it.

The same Event again raises its count. After ten that differ only in their message, further ones are combined
into one; and for one object, 25 are accepted at once, then one in five minutes.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..._rejections import Rejection
from ..facts._objects import Json, Objects

_ALIKE: Final = 10  # messages of one reason, before they are combined
_ALIKE_FOR: Final = 600.0
_BURST: Final = 25.0
_REFILL: Final = 1 / 300
_COMBINED: Final = "(combined from similar events): "


class _Known(Struct):
    key: str
    count: int


class _Alike(Struct):
    messages: set[str]
    since: float


class _Bucket(Struct):
    tokens: float
    at: float


class EventWriter:
    """Writes Events for the controllers of one cluster."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._known: dict[tuple[str, ...], _Known] = {}
        self._alike: dict[tuple[str, ...], _Alike] = {}
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def record(
        self, about: Json, reason: str, message: str, component: str, *, warning: bool = False
    ) -> None:
        """Write an Event about an object, or raise its count."""
        type_ = "Warning" if warning else "Normal"
        uid: str = about["metadata"]["uid"]
        now = self._objects.now
        group = (component, uid, type_, reason)
        alike = self._alike.get(group)
        if alike is None or now - alike.since > _ALIKE_FOR:
            alike = self._alike[group] = _Alike(set(), now)
        alike.messages.add(message)
        alike.since = now
        combined = len(alike.messages) >= _ALIKE
        if not self._takes(component, uid, now):
            return
        identity = (*group, "" if combined else message)
        if combined:
            message = _COMBINED + message
        try:
            known = self._known.get(identity)
            if known is not None and self._objects.stored("events", known.key) is not None:
                known.count += 1
                self._count(known, message, component)
            else:
                key = self._create(about, type_, reason, message, component)
                self._known[identity] = _Known(key, 1)
        except Rejection:
            return  # a recorder drops an Event that the server refuses

    def _takes(self, component: str, uid: str, now: float) -> bool:
        bucket = self._buckets.setdefault((component, uid), _Bucket(_BURST, now))
        bucket.tokens = min(_BURST, bucket.tokens + (now - bucket.at) * _REFILL)
        bucket.at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _count(self, known: _Known, message: str, component: str) -> None:
        change = {"count": known.count, "lastTimestamp": self._objects.stamp, "message": message}
        user = component_user(component)
        self._objects.update("events", known.key, lambda event: event.update(change), user)

    def _create(self, about: Json, type_: str, reason: str, message: str, component: str) -> str:
        meta, stamp = about["metadata"], self._objects.stamp
        namespace = meta.get("namespace") or "default"
        name = f"{meta['name']}.{self._objects.state.rng.bits() >> 4:015x}"
        regarding: Json = {"kind": about["kind"], "apiVersion": about["apiVersion"], "name": meta["name"]}
        regarding |= {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        if "namespace" in meta:
            regarding["namespace"] = meta["namespace"]
        event: Json = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace},
            "involvedObject": regarding, "reason": reason, "message": message, "type": type_, "count": 1,
            "firstTimestamp": stamp, "lastTimestamp": stamp, "source": {"component": component},
            "reportingComponent": component,
        }  # fmt: skip
        self._objects.create("events", event, component_user(component))
        return f"{namespace}/{name}"


def component_user(component: str) -> str:
    """Return the service account of a component."""
    return f"system:serviceaccount:kube-system:{component}"
