"""`Recorder`: what a controller reports about objects, in as few Events of events.k8s.io/v1 as possible.

::

    record ──► a new series ──► CreateEvent ──► on the server ──► forgotten after 6 minutes without another
                   ▲                              │  ▲
                   │ another note, or gone (404)  ▼  │ the same again
                   └───────────────────────── PatchEvent: count and last time

- A repetition is not a new Event but counts in the existing one. It is one with the same type, action and
  reason about the same object, by kind, namespace and name. Neither the version nor the note matters; an
  object with another uid is another object, though, and begins a series of its own.
- The newest note is shown. A server does not allow the note of an Event to change, so another note is another
  Event, which continues the count of the other one.
- One request at a time for a series. What happens meanwhile is counted, and sent in the next one.
- An object gets 25 requests at once and then one every 300 s, as in Go's clients, so that a hot loop does no
  harm. What exceeds that is counted if there is a series, and lost otherwise: Events are not a log.
- A request that may have arrived is repeated unchanged, so "already exists" then means that it had arrived.
- What the server refuses for good is dropped: nothing waits for an Event.
- At most 4,096 series and as many objects are kept, as in Go's clients. Beyond that the least recently used
  series is dropped, sent or not: an outage must not use memory without bound.
- `now` is a monotonic clock, for the rules; `at` is a wall clock, which is written into the Events and makes
  their names unique.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from .._pacing import Rate
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
from ._events import EventKey, cut, event_name, identity, namespace, reference, word
from ._queue_backoff import Exponential

if TYPE_CHECKING:
    from datetime import datetime

    from ..kinds.core_v1 import ObjectReference
    from ..kinds.events_v1 import Event
else:
    # For help() and inspect.signature(); importing the built-in kinds would cost milliseconds.
    Event = ObjectReference = Any

FORGOTTEN: Final = 360.0  # seconds without a repetition; Go's and Rust's clients have the same six minutes
PER_OBJECT: Final = Rate(300.0, burst=25)
RETRIES: Final = 12  # as Go's client, which waits 10 s each time
WAIT: Final = Exponential(1.0, 60.0)

# Series and buckets that are kept. Go's event correlator keeps as many of each.
MOST: Final = 4096

# Type, action, reason, regarding and related.
_Key: TypeAlias = tuple[str, str, str, EventKey, EventKey]


class CreateEvent(Struct, frozen=True):
    """Create this Event in this namespace."""

    namespace: str
    event: Event
    ticket: int


class PatchEvent(Struct, frozen=True):
    """Change an Event by this merge patch."""

    namespace: str
    name: str
    patch: Mapping[str, Any]
    ticket: int


EventRequest: TypeAlias = CreateEvent | PatchEvent


class _Series(Struct, eq=False):
    """Something that happens repeatedly, and how much of it the server knows.

    `name` is that of the Event on the server, "" while there is none; `unsure` that of the one that may
    exist.
    """

    key: _Key
    regarding: dict[str, str]
    related: dict[str, str] | None
    note: str
    first: MicroTime
    last: MicroTime
    seen: float
    count: int = 1
    name: str = ""
    told: tuple[int, str] = (0, "")
    unsure: Event | None = None
    sending: bool = False
    again: bool = False
    failures: int = 0


class Recorder:
    """Gathers what happens into Events, and returns the requests for them. `kind` is that of
    events.k8s.io/v1.

    After `record`, perform what `next` returns, and pass the outcome of each to `learn`. `sent`, `suppressed`
    and `failed` count the Events that were sent, exceeded the limit, and were given up.
    """

    def __init__(self, kind: type[Event], *, controller: str, instance: str) -> None:
        """Raise ValueError for a controller that is not a qualified name, or a bad instance."""
        check_label_key(controller)
        self._kind = kind
        self._controller = controller
        self._instance = word("instance", instance)
        self._series: OrderedDict[_Key, _Series] = OrderedDict()
        self._pending: OrderedDict[_Key, None] = OrderedDict()
        self._sending: dict[int, _Series] = {}
        self._buckets: OrderedDict[EventKey, float] = OrderedDict()
        self._quiet_until = -inf
        self._tickets = 0
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
        at: datetime,
    ) -> bool:
        """Note that something has happened; return False if it exceeds the limit, so that no request follows.

        ValueError for a reason or action that no server accepts; a note that is too long is cut.
        """
        about, other = reference(regarding), None if related is None else reference(related)
        kind = "Warning" if warning else "Normal"
        key = kind, word("action", action), word("reason", reason), identity(about), identity(other)
        time = MicroTime.of(at)
        self._forget(now)
        series = self._series.get(key)
        if series is not None and _is_another(series.regarding, about):
            self._drop(series)
            series = None
        allowed = self._allow(identity(about), now)
        self.suppressed += not allowed
        if series is not None:
            series.count += 1
            series.note, series.last, series.seen = cut(note), time, now
            self._series.move_to_end(key)
        elif allowed:
            series = self._series[key] = _Series(key, about, other, cut(note), time, time, now)
            self._make_room()
        if series is not None and allowed:
            self._report(series)
        return allowed

    def next(self, now: float) -> EventRequest | None:
        """Return the next request, or None: then `next_at` returns when to call again."""
        if not self._pending or now < self._quiet_until:
            return None
        key, _ = self._pending.popitem(last=False)
        series = self._series[key]
        series.sending = True
        self._tickets += 1
        self._sending[self._tickets] = series
        place = namespace(series.regarding)
        if series.unsure is not None:
            series.again = series.told != (series.count, series.note)
            return CreateEvent(place, series.unsure, self._tickets)
        same_note = series.told[1] == series.note
        series.again, series.told = False, (series.count, series.note)
        if series.name and same_note:
            return PatchEvent(place, series.name, {"series": _counted(series)}, self._tickets)
        series.name = ""
        return CreateEvent(place, self._event(series), self._tickets)

    def next_at(self, now: float) -> float | None:
        """Return when there is a request; None if only after another `record` or `learn`."""
        return max(now, self._quiet_until) if self._pending else None

    def learn(self, request: EventRequest, failure: Outcome | None, now: float) -> None:
        """Note the outcome of a request; None is success."""
        series = self._sending.pop(request.ticket)
        series.sending = False
        if self._series.get(series.key) is not series:
            return  # an object with another uid has replaced it
        match request, failure:
            case CreateEvent(event=event), None:
                self._succeed(series, event.metadata.name)
            case PatchEvent(name=name), None:
                self._succeed(series, name)
            case CreateEvent(event=event), Rejected(code=409) if series.unsure is not None:
                self._succeed(series, event.metadata.name)
            case CreateEvent(), Rejected(code=409):
                # Another recorder took the same name in the same microsecond: the next name is free.
                self._retry_later(series)
            case PatchEvent(), Refused(code=404) | Rejected(code=422):
                series.name = ""
                self._retry_later(series)
            case CreateEvent(event=event), Broken() | TimedOut() | ServerFailed() | Garbled():
                series.unsure = event
                self._wait(series, failure, now)
            case _, Broken() | TimedOut() | ServerFailed() | Garbled() | Unreachable() | Throttled():
                self._wait(series, failure, now)
            case _, Conflicted() | Refused(code=401):
                self._wait(series, failure, now)
            case _:
                self._give_up(series)

    # What is known

    def _report(self, series: _Series) -> None:
        if series.sending:
            series.again = True
        else:
            self._pending[series.key] = None

    def _succeed(self, series: _Series, name: str) -> None:
        self.sent += 1
        series.name, series.unsure, series.failures = name, None, 0
        if series.again:
            self._report(series)

    def _wait(self, series: _Series, failure: Outcome, now: float) -> None:
        # What prevents one request usually prevents all.
        self._quiet_until = now + max(WAIT(series.failures + 1), failure.retry_after or 0.0)
        self._retry_later(series)

    def _retry_later(self, series: _Series) -> None:
        series.failures += 1
        if series.failures > RETRIES:
            self._give_up(series)
        else:
            self._report(series)

    def _give_up(self, series: _Series) -> None:
        self.failed += 1
        self._drop(series)

    def _drop(self, series: _Series) -> None:
        del self._series[series.key]
        self._pending.pop(series.key, None)

    def _forget(self, now: float) -> None:
        """Drop the series that have ended: the first ones, because what is in use moves to the end."""
        while self._series:
            key, series = next(iter(self._series.items()))
            if series.seen + FORGOTTEN > now or series.sending or key in self._pending:
                return
            del self._series[key]

    def _allow(self, about: EventKey, now: float) -> bool:
        full_at = PER_OBJECT.at_rest(self._buckets.get(about, now), now)
        if PER_OBJECT.next_at(full_at) > now:
            return False
        self._buckets[about] = PER_OBJECT.take(full_at)
        self._buckets.move_to_end(about)
        while len(self._buckets) > MOST:
            self._buckets.popitem(last=False)
        return True

    def _make_room(self) -> None:
        """Drop the least recently used series; requests under way stay."""
        while len(self._series) > MOST:
            oldest = next((one for one in self._series.values() if not one.sending), None)
            if oldest is None:
                return
            if oldest.key in self._pending:
                self.failed += 1
            self._drop(oldest)

    def _event(self, series: _Series) -> Event:
        kind, action, reason, _, _ = series.key
        place, about = namespace(series.regarding), series.regarding
        fields: dict[str, Any] = {
            "metadata": {"name": event_name(about["name"], series.last, self._tickets), "namespace": place},
            "eventTime": str(series.first),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "type": kind,
            "action": action,
            "reason": reason,
            "note": series.note,
            "regarding": about,
        }
        if series.related is not None:
            fields["related"] = series.related
        if series.count > 1:
            fields["series"] = _counted(series)
        return decode(msgspec.json.encode(fields), self._kind, strict=True)


def _counted(series: _Series) -> dict[str, Any]:
    return {"count": series.count, "lastObservedTime": str(series.last)}


def _is_another(before: dict[str, str], about: dict[str, str]) -> bool:
    """Return whether this is another object of the same name; a reference without a uid may mean any."""
    return "uid" in before and "uid" in about and before["uid"] != about["uid"]
