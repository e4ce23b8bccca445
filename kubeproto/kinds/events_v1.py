"""The kinds of events.k8s.io/v1 and their parts, generated from Kubernetes 1.36.3."""

from __future__ import annotations

from datetime import datetime

from ..objects import KubeObject, MicroTime
from ._generated_base import ALL_VERBS, Part
from .core_v1 import EventSource, ObjectReference

__all__ = ["Event", "EventSeries"]


class EventSeries(Part):
    count: int
    last_observed_time: MicroTime | None = None


class Event(
    KubeObject, group="events.k8s.io", version="v1", plural="events", short_names=("ev",), verbs=ALL_VERBS
):
    action: str | None = None
    deprecated_count: int | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_source: EventSource | None = None
    event_time: MicroTime | None = None
    note: str | None = None
    reason: str | None = None
    regarding: ObjectReference | None = None
    related: ObjectReference | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None
    series: EventSeries | None = None
    type: str | None = None
