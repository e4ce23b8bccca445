"""The Events of the controllers, counted and combined as by the recorder of client-go.

A repeated Event raises the count of the first. After ten Events that differ in their message alone, the next
are combined into one. For each object 25 Events are accepted immediately, then one in five minutes.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..._rejections import Rejection
from ..objects._object_client import Json, ObjectClient

_MAX_MESSAGES: Final = 10  # of a reason, before its Events are combined
_COMBINE_WINDOW: Final = 600.0
_BURST: Final = 25.0
_REFILL_RATE: Final = 1 / 300
_COMBINED_PREFIX: Final = "(combined from similar events): "


class _RecordedEvent(Struct):
    key: str
    count: int


class _MessageGroup(Struct):
    messages: set[str]
    last_time: float


class _TokenBucket(Struct):
    tokens: float
    last_time: float


class EventRecorder:
    """Records Events for the controllers of a cluster."""

    def __init__(self, objects: ObjectClient) -> None:
        self._objects = objects
        self._recorded: dict[tuple[str, ...], _RecordedEvent] = {}
        self._groups: dict[tuple[str, ...], _MessageGroup] = {}
        self._buckets: dict[tuple[str, str], _TokenBucket] = {}

    def record(self, obj: Json, reason: str, message: str, component: str, *, warning: bool = False) -> None:
        """Create an Event about an object, or increment the count of an equal Event."""
        type_ = "Warning" if warning else "Normal"
        uid: str = obj["metadata"]["uid"]
        now = self._objects.now
        group_key = (component, uid, type_, reason)
        group = self._groups.get(group_key)
        if group is None or now - group.last_time > _COMBINE_WINDOW:
            group = self._groups[group_key] = _MessageGroup(set(), now)
        group.messages.add(message)
        group.last_time = now
        is_combined = len(group.messages) >= _MAX_MESSAGES
        if not self._take_token(component, uid, now):
            return
        event_key = (*group_key, "" if is_combined else message)
        if is_combined:
            message = _COMBINED_PREFIX + message
        try:
            recorded = self._recorded.get(event_key)
            if recorded is not None and self._objects.stored("events", recorded.key) is not None:
                recorded.count += 1
                self._write_count(recorded, message, component)
            else:
                key = self._create(obj, type_, reason, message, component)
                self._recorded[event_key] = _RecordedEvent(key, 1)
        except Rejection:
            return  # the recorder of client-go drops an Event that the server rejects

    def _take_token(self, component: str, uid: str, now: float) -> bool:
        bucket = self._buckets.setdefault((component, uid), _TokenBucket(_BURST, now))
        bucket.tokens = min(_BURST, bucket.tokens + (now - bucket.last_time) * _REFILL_RATE)
        bucket.last_time = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _write_count(self, recorded: _RecordedEvent, message: str, component: str) -> None:
        changes = {"count": recorded.count, "lastTimestamp": self._objects.stamp, "message": message}
        user = _user_of(component)
        self._objects.update("events", recorded.key, lambda event: event.update(changes), user)

    def _create(self, obj: Json, type_: str, reason: str, message: str, component: str) -> str:
        meta, stamp = obj["metadata"], self._objects.stamp
        namespace = meta.get("namespace") or "default"
        name = f"{meta['name']}.{self._objects.state.rng.bits() >> 4:015x}"
        involved: Json = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "name": meta["name"]}
        involved |= {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        if "namespace" in meta:
            involved["namespace"] = meta["namespace"]
        event: Json = {
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace},
            "involvedObject": involved, "reason": reason, "message": message, "type": type_, "count": 1,
            "firstTimestamp": stamp, "lastTimestamp": stamp, "source": {"component": component},
            "reportingComponent": component,
        }  # fmt: skip
        self._objects.create("events", event, _user_of(component))
        return f"{namespace}/{name}"


def _user_of(component: str) -> str:
    return f"system:serviceaccount:kube-system:{component}"
