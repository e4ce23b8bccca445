"""The streaming-list phase of the resync machine: one is asked for, arriving, or overdue.

The states are Asking, Streaming and Lagging: overdue is one whose live events come before its
initial-events-end bookmark.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..wire import Expired, Garbled, Outcome, Throttled, TimedOut, TooLarge, Unreachable, Unsupported
from ._pager import Commit, Discard, Failed, Stage
from ._resync_requests import (
    LOST,
    NO_VERSION,
    Step,
    fail,
    note,
    note_activity,
    reach,
    refuse,
    report,
    to_asking,
    to_listing,
    wait_for,
)
from ._resync_values import (
    Action,
    Asking,
    Close,
    Closed,
    Course,
    Event,
    Lagging,
    Listing,
    Opened,
    Received,
    Streaming,
    Watching,
)

UNMARKED: Final = 3  # streaming lists without an end bookmark before an endpoint is asked for none any more
LAG: Final = 10.0  # seconds; the end bookmark follows the initial events at once, so this is generous

NO_MARK: Final = Garbled(f"live events for {LAG:g} s, and no end mark of the streaming list")
NO_END: Final = Garbled("the streaming list ended without its end mark")

_STAGE: Final = (Stage(),)


def step(state: Asking | Streaming | Lagging, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the streaming-list phase."""
    match state, event:
        case Asking(course, version), Opened():
            return Streaming(note_activity(course, now), version, now), ()

        case Streaming() | Lagging(), Received(marked=True, lost=False, version=version) if version:
            # The list is complete, and its stream is the watch from now on.
            course, reports = reach(note_activity(_forgive(state), now), version, now)
            return Watching(course, version, state.opened), (Stage(), Commit(version), *reports)
        case Streaming() | Lagging(), Received(lost=True):
            return _to_plain_list(_count(state), state.version, LOST, now, Close(), Discard())
        case Streaming() | Lagging(), Received(marked=True):
            # A watch cannot go on from here: nothing says which version the snapshot has.
            return _to_plain_list(_count(state), state.version, NO_VERSION, now, Close(), Discard())
        case Streaming(course, version, opened, count), Received(live=True):
            course, count = note_activity(course, now), count + event.count
            return Lagging(course, version, opened, now, count), _STAGE
        case Streaming(course, version, opened, count), Received():
            return Streaming(note_activity(course, now), version, opened, count + event.count), _STAGE
        case Lagging(live=live), Received() if now - live >= LAG:
            # A server that ignores sendInitialEvents sends live events only, for minutes.
            return _to_plain_list(_count(state), state.version, NO_MARK, now, Close(), Discard())
        case Lagging(course, version, opened, live, count), Received():
            course, count = note_activity(course, now), count + event.count
            return Lagging(course, version, opened, live, count), _STAGE

        case Streaming() | Lagging(), Closed() if _count(state).endpoint.streaming:
            # A proxy may have ended it, so once or twice proves nothing about the server.
            course = fail(_count(state), "list", NO_END, now)
            wait = wait_for(course, NO_END)
            return to_asking(course, state.version, now, Discard(), report(course), wait=wait)
        case Streaming() | Lagging(), Closed():
            return _to_plain_list(_count(state), state.version, NO_END, now, Discard())

        case Streaming() | Lagging(), Failed(TimedOut() as outcome):
            # The server took it on and sent nothing: it may not know what was asked for.
            return _to_plain_list(_count(state), state.version, outcome, now, Close(), Discard())
        case _, Failed((Expired() | TooLarge()) as outcome) if state.version:
            # This version cannot be had; the latest can, and another request now is the only one it costs.
            course = note(state.course, "list", outcome, now)
            return to_asking(course, "", now, *_drop(state), report(course))
        case _, Failed(Unsupported() as outcome):
            # An older server, and no failure of it.
            course = note(_stop_streaming(state.course), "list", outcome, now)
            version = _first(course, state.version)
            return to_listing(course, version, now, *_drop(state), report(course))
        case _, Failed((Throttled() | Unreachable()) as outcome):
            # A plain list would be refused just as well, and costs the server more.
            course = fail(state.course, "list", outcome, now)
            wait = wait_for(course, outcome)
            return to_asking(course, state.version, now, *_drop(state), report(course), wait=wait)
        case _, Failed(outcome):
            # It may be the streaming that fails, for instance in a proxy that buffers.
            return _to_plain_list(state.course, state.version, outcome, now, *_drop(state))
        case _:
            raise refuse(state, event)


def _to_plain_list(
    course: Course, version: str, outcome: Outcome, now: float, *before: Action
) -> tuple[Listing, tuple[Action, ...]]:
    """Relist without streaming this time."""
    course = fail(course, "list", outcome, now)
    wait = wait_for(course, outcome)
    return to_listing(course, _first(course, version), now, *before, report(course), wait=wait)


def _first(course: Course, version: str) -> str:
    """The version for a plain list: that of the streaming list, or what the program wants first."""
    return version if course.version else course.settings.first


def _count(state: Streaming | Lagging) -> Course:
    """Count a streaming list that came to nothing, though the server took it on."""
    times = state.course.endpoint.unmarked + 1
    course = replace(state.course, endpoint=replace(state.course.endpoint, unmarked=times))
    return _stop_streaming(course) if times >= UNMARKED else course


def _forgive(state: Streaming | Lagging) -> Course:
    endpoint = state.course.endpoint
    return (
        replace(state.course, endpoint=replace(endpoint, unmarked=0)) if endpoint.unmarked else state.course
    )


def _stop_streaming(course: Course) -> Course:
    return replace(course, endpoint=replace(course.endpoint, streaming=False))


def _drop(state: Asking | Streaming | Lagging) -> tuple[Action, ...]:
    """End what is open, and forget what has come of it: the next list may not contain it."""
    return () if isinstance(state, Asking) else (Close(), Discard())
