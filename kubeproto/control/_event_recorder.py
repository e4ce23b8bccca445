"""`Recorder`: reports what happens to objects in as few Events of events.k8s.io/v1 as possible.

::

    record ──► new series ──► CreateEvent ──► on the server ──► dropped after 6 minutes without a repetition
                   ▲                              │  ▲
                   │ another note, or deleted     ▼  │ a repetition
                   └───────────────────────── PatchEvent: count and last time

- A repetition creates no Event but increments the count of the existing Event. It has the same type, action
  and reason about the same object, by kind, namespace and name. Neither the version nor the note matters. An
  object with another uid is another object, though, and starts its own series.
- The newest note is visible. A server refuses to change the note of an Event, so another note creates another
  Event, which continues the count.
- A series has at most one request under way. Repetitions meanwhile are counted, and sent in the next request.
- An object gets a burst of 25 requests, and then one every 300 s, as in client-go, so that a hot loop does no
  harm. Excess repetitions are counted if there is a series, and lost otherwise: Events are not a log.
- A request that may have arrived is repeated unchanged, so "already exists" then means that it had arrived.
- Permanently refused requests are dropped: nothing waits for an Event.
- At most 4,096 series and as many objects are remembered, as in client-go. Beyond that the least recently
  used series is dropped, sent or not: an outage must not use memory without bound.
- `now` is a monotonic clock, for the rules. `wall_time` is a wall clock: it is written into the Events, and
  makes their names unique.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from .._pacing import Rate, exponential_backoff
from ..objects import KubeObject, MicroTime, check_label_key, decode
from ..wire import (
    Broken,
    Conflicted,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    Unreachable,
)
from ._event_fields import (
    EventKey,
    check_event_field,
    event_name,
    event_namespace,
    identity_of,
    make_reference,
    truncate_note,
)

if TYPE_CHECKING:
    from datetime import datetime

    from ..kinds.core_v1 import ObjectReference
    from ..kinds.events_v1 import Event
else:
    # For help() and inspect.signature(); importing the built-in kinds would cost milliseconds.
    Event = ObjectReference = Any

SERIES_LIFETIME: Final = 360.0  # seconds without a repetition, as in client-go and kube-rs
RATE_PER_OBJECT: Final = Rate(300.0, burst=25)
MAX_RETRIES: Final = 12  # as in client-go, which waits 10 s each time
INITIAL_BACKOFF: Final = 1.0
MAX_BACKOFF: Final = 60.0

# Series and buckets in memory. client-go's event correlator has the same limit for each.
MAX_SERIES: Final = 4096

# The type, action, reason, regarding and related of an Event.
_SeriesKey: TypeAlias = tuple[str, str, str, EventKey, EventKey]


class CreateEvent(Struct, frozen=True):
    """Create `event` in `namespace`."""

    namespace: str
    event: Event
    ticket: int


class PatchEvent(Struct, frozen=True):
    """Change the Event `name` by a merge patch."""

    namespace: str
    name: str
    patch: Mapping[str, Any]
    ticket: int


EventRequest: TypeAlias = CreateEvent | PatchEvent


class _Series(Struct, eq=False):
    """The repetitions of an Event.

    `name` is that of the Event on the server, "" while there is none. `reported` is the count and the note
    that the last request sent. `unconfirmed` is an Event whose creation may have arrived. `changed` is true
    if the series has changed since the request under way.
    """

    key: _SeriesKey
    regarding: dict[str, str]
    related: dict[str, str] | None
    note: str
    first_time: MicroTime
    last_time: MicroTime
    last_seen: float
    count: int = 1
    name: str = ""
    reported: tuple[int, str] = (0, "")
    unconfirmed: Event | None = None
    sending: bool = False
    changed: bool = False
    failures: int = 0


class Recorder:
    """Collects Events, and returns the requests for them. `kind` is the Event class of events.k8s.io/v1.

    After `record`, perform the requests of `next_request`, and pass the outcome of each to `finish`. `sent`,
    `suppressed` and `failed` count Events that were sent, exceeded the limit, and were given up.
    """

    def __init__(self, kind: type[Event], *, controller: str, instance: str) -> None:
        """Raise ValueError if the controller is not a qualified name, or the instance is invalid."""
        check_label_key(controller)
        self._kind = kind
        self._controller = controller
        self._instance = check_event_field("instance", instance)
        self._series: OrderedDict[_SeriesKey, _Series] = OrderedDict()
        self._pending: OrderedDict[_SeriesKey, None] = OrderedDict()
        self._sending: dict[int, _Series] = {}
        self._buckets: OrderedDict[EventKey, float] = OrderedDict()
        self._paused_until = -inf
        self._last_ticket = 0
        self.sent = self.suppressed = self.failed = 0

    def record(
        self,
        regarding: KubeObject | ObjectReference,
        *,
        reason: str,
        action: str,
        note: str = "",
        warning: bool = False,
        related: KubeObject | ObjectReference | None = None,
        now: float,
        wall_time: datetime,
    ) -> bool:
        """Record an Event; return False if it exceeds the limit, so that no request follows.

        ValueError for a reason or action that every server refuses. A long note is truncated.
        """
        reference = make_reference(regarding)
        related_reference = None if related is None else make_reference(related)
        key = (
            "Warning" if warning else "Normal",
            check_event_field("action", action),
            check_event_field("reason", reason),
            identity_of(reference),
            identity_of(related_reference),
        )
        note, time = truncate_note(note), MicroTime.of(wall_time)
        self._drop_expired(now)
        series = self._series.get(key)
        if series is not None and _is_recreated(series.regarding, reference):
            self._drop(series)
            series = None
        allowed = self._take_token(identity_of(reference), now)
        self.suppressed += not allowed
        if series is not None:
            series.count += 1
            series.note, series.last_time, series.last_seen = note, time, now
            self._series.move_to_end(key)
        elif allowed:
            series = _Series(key, reference, related_reference, note, time, time, now)
            self._series[key] = series
            self._drop_excess()
        if series is not None and allowed:
            self._schedule(series)
        return allowed

    def next_request(self, now: float) -> EventRequest | None:
        """Return the next request, or None: then `next_at` returns when to call again."""
        if not self._pending or now < self._paused_until:
            return None
        key, _ = self._pending.popitem(last=False)
        series = self._series[key]
        series.sending = True
        self._last_ticket += 1
        ticket = self._last_ticket
        self._sending[ticket] = series
        namespace = event_namespace(series.regarding)
        if series.unconfirmed is not None:
            series.changed = series.reported != (series.count, series.note)
            return CreateEvent(namespace, series.unconfirmed, ticket)
        same_note = series.reported[1] == series.note
        series.changed, series.reported = False, (series.count, series.note)
        if series.name and same_note:
            return PatchEvent(namespace, series.name, {"series": _series_fields(series)}, ticket)
        series.name = ""
        return CreateEvent(namespace, self._make_event(series), ticket)

    def next_at(self, now: float) -> float | None:
        """Return when there is a request; None if only `record` or `finish` can cause one."""
        return max(now, self._paused_until) if self._pending else None

    def finish(self, request: EventRequest, failure: Outcome | None, now: float) -> None:
        """Process the outcome of a request; None is success."""
        series = self._sending.pop(request.ticket)
        series.sending = False
        if self._series.get(series.key) is not series:
            return  # dropped because the object was recreated
        match request, failure:
            case CreateEvent(event=event), None:
                self._succeed(series, event.metadata.name)
            case PatchEvent(name=name), None:
                self._succeed(series, name)
            case CreateEvent(event=event), Rejected(code=409) if series.unconfirmed is not None:
                self._succeed(series, event.metadata.name)
            case CreateEvent(), Rejected(code=409):
                # Another recorder used the same name in the same microsecond: the next name is free.
                self._retry(series)
            case PatchEvent(), Refused(code=404) | Rejected(code=422):
                series.name = ""
                self._retry(series)
            case CreateEvent(event=event), Broken() | TimedOut() | ServerFailed() | Garbled():
                series.unconfirmed = event
                self._back_off(series, failure, now)
            case _, Broken() | TimedOut() | ServerFailed() | Garbled() | Unreachable() | Throttled():
                self._back_off(series, failure, now)
            case _, Conflicted() | Refused(code=401):
                self._back_off(series, failure, now)
            case _:
                self._give_up(series)

    # Requests of a series

    def _schedule(self, series: _Series) -> None:
        if series.sending:
            series.changed = True
        else:
            self._pending[series.key] = None

    def _succeed(self, series: _Series, name: str) -> None:
        self.sent += 1
        series.name, series.unconfirmed, series.failures = name, None, 0
        if series.changed:
            self._schedule(series)

    def _back_off(self, series: _Series, failure: Outcome, now: float) -> None:
        # The reason of one failed request usually concerns the requests of all series.
        delay = exponential_backoff(series.failures + 1, initial=INITIAL_BACKOFF, maximum=MAX_BACKOFF)
        self._paused_until = now + max(delay, failure.retry_after or 0.0)
        self._retry(series)

    def _retry(self, series: _Series) -> None:
        series.failures += 1
        if series.failures > MAX_RETRIES:
            self._give_up(series)
        else:
            self._schedule(series)

    def _give_up(self, series: _Series) -> None:
        self.failed += 1
        self._drop(series)

    # Limits

    def _drop(self, series: _Series) -> None:
        del self._series[series.key]
        self._pending.pop(series.key, None)

    def _drop_expired(self, now: float) -> None:
        """Drop the series without a repetition for `SERIES_LIFETIME`, which are the first ones."""
        while self._series:
            key, series = next(iter(self._series.items()))
            if series.last_seen + SERIES_LIFETIME > now or series.sending or key in self._pending:
                return
            del self._series[key]

    def _take_token(self, identity: EventKey, now: float) -> bool:
        full_at = RATE_PER_OBJECT.refill(self._buckets.get(identity, now), now)
        if RATE_PER_OBJECT.next_at(full_at) > now:
            self._buckets.move_to_end(identity)  # it is in use: without it, the object would get a new burst
            return False
        self._buckets[identity] = RATE_PER_OBJECT.take(full_at)
        self._buckets.move_to_end(identity)
        while len(self._buckets) > MAX_SERIES:
            self._buckets.popitem(last=False)
        return True

    def _drop_excess(self) -> None:
        """Drop the least recently used series beyond the limit, except those with a request under way."""
        while len(self._series) > MAX_SERIES:
            oldest = next((series for series in self._series.values() if not series.sending), None)
            if oldest is None:
                return
            if oldest.key in self._pending:
                self.failed += 1
            self._drop(oldest)

    def _make_event(self, series: _Series) -> Event:
        event_type, action, reason, _, _ = series.key
        regarding = series.regarding
        fields: dict[str, Any] = {
            "metadata": {
                "name": event_name(regarding["name"], series.last_time, self._last_ticket),
                "namespace": event_namespace(regarding),
            },
            "eventTime": str(series.first_time),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "type": event_type,
            "action": action,
            "reason": reason,
            "note": series.note,
            "regarding": regarding,
        }
        if series.related is not None:
            fields["related"] = series.related
        if series.count > 1:
            fields["series"] = _series_fields(series)
        return decode(msgspec.json.encode(fields), self._kind, strict=True)


def _series_fields(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": str(series.last_time)}


def _is_recreated(previous: dict[str, str], reference: dict[str, str]) -> bool:
    """Return whether two references have different uids; a reference without a uid fits any object."""
    return "uid" in previous and "uid" in reference and previous["uid"] != reference["uid"]
