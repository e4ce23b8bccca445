"""The streaming-list phase of the resync machine: one is requested, arriving, or overdue.

The states are Asking, Streaming and Lagging: overdue is one whose live events come before its
initial-events-end bookmark.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..wire import Expired, Garbled, Outcome, Throttled, TimedOut, TooLarge, Unreachable, Unsupported
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
    Event,
    Lagging,
    Listing,
    Opened,
    Received,
    Streaming,
    SyncContext,
    Watching,
)
from .pager import Discard, Failed, Replace, Stage

# Streaming lists without an initial-events-end bookmark, after which no more are requested of an endpoint.
MISSING_ENDS: Final = 3
LAG: Final = 10.0  # seconds; the bookmark follows the initial events at once, so this is generous
SILENCE: Final = 30.0  # seconds without an event, after which the next one is the bookmark or comes too late

NO_BOOKMARK_IN_SILENCE: Final = Garbled(
    f"nothing for {SILENCE:g} s, then a live event, and no initial-events-end bookmark"
)
NO_BOOKMARK: Final = Garbled(f"live events for {LAG:g} s, and no initial-events-end bookmark")
NO_END: Final = Garbled("the streaming list ended without its initial-events-end bookmark")

_STAGE: Final = (Stage(),)


def step(state: Asking | Streaming | Lagging, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the streaming-list phase."""
    match state, event:
        case Asking(context, version), Opened():
            return Streaming(note_activity(context, now), version, now), ()

        case Streaming() | Lagging(), Received(initial_events_end=True, lost=False, version=version) if (
            version
        ):
            # The list is complete, and its stream is the watch from now on.
            context, reports = reach(note_activity(_forgive(state), now), version, now)
            return Watching(context, version, state.opened), (Stage(), Replace(version), *reports)
        case Streaming() | Lagging(), Received(lost=True):
            return _to_plain_list(_count(state), state.version, LOST, now, Close(), Discard())
        case Streaming() | Lagging(), Received(initial_events_end=True):
            # A watch cannot continue from here: the version of the snapshot is unknown.
            return _to_plain_list(_count(state), state.version, NO_VERSION, now, Close(), Discard())
        case Streaming(context, _, opened), Received(live=True) if now - (context.heard or opened) >= SILENCE:
            # Bookmarks come each minute, so waiting for another one takes longer than users wait.
            return _to_plain_list(
                _count(state), state.version, NO_BOOKMARK_IN_SILENCE, now, Close(), Discard()
            )
        case Streaming(context, version, opened, count), Received(live=True):
            context, count = note_activity(context, now), count + event.count
            return Lagging(context, version, opened, now, count), _STAGE
        case Streaming(context, version, opened, count), Received():
            return Streaming(note_activity(context, now), version, opened, count + event.count), _STAGE
        case Lagging(live=live), Received() if now - live >= LAG:
            # A server that ignores sendInitialEvents sends live events only, for minutes.
            return _to_plain_list(_count(state), state.version, NO_BOOKMARK, now, Close(), Discard())
        case Lagging(context, version, opened, live, count), Received():
            context, count = note_activity(context, now), count + event.count
            return Lagging(context, version, opened, live, count), _STAGE

        case Streaming() | Lagging(), Closed() if _count(state).endpoint.streaming:
            # A proxy may have ended it, so once or twice proves nothing about the server.
            context = fail(_count(state), "list", NO_END, now)
            wait = wait_for(context, NO_END)
            return to_asking(context, state.version, now, Discard(), report(context), wait=wait)
        case Streaming() | Lagging(), Closed():
            return _to_plain_list(_count(state), state.version, NO_END, now, Discard())

        case Streaming() | Lagging(), Failed(TimedOut() as outcome):
            # The server accepted it and sent nothing: it may not know what was requested.
            return _to_plain_list(_count(state), state.version, outcome, now, Close(), Discard())
        case _, Failed((Expired() | TooLarge()) as outcome) if state.version:
            # The server cannot serve this version; it can serve the latest, for the cost of one more request.
            context = note(state.context, "list", outcome, now)
            return to_asking(context, "", now, *_drop(state), report(context))
        case _, Failed(Unsupported() as outcome):
            # An older server, which has not failed.
            context = note(_stop_streaming(state.context), "list", outcome, now)
            version = _first(context, state.version)
            return to_listing(context, version, now, *_drop(state), report(context))
        case _, Failed((Throttled() | Unreachable()) as outcome):
            # A plain list would be refused just as well, and costs the server more.
            context = fail(state.context, "list", outcome, now)
            wait = wait_for(context, outcome)
            return to_asking(context, state.version, now, *_drop(state), report(context), wait=wait)
        case _, Failed(outcome):
            # It may be the streaming that fails, for instance in a proxy that buffers.
            return _to_plain_list(state.context, state.version, outcome, now, *_drop(state))
        case _:
            raise refuse(state, event)


def _to_plain_list(
    context: SyncContext, version: str, outcome: Outcome, now: float, *before: Action
) -> tuple[Listing, tuple[Action, ...]]:
    """Relist without streaming this time."""
    context = fail(context, "list", outcome, now)
    wait = wait_for(context, outcome)
    return to_listing(context, _first(context, version), now, *before, report(context), wait=wait)


def _first(context: SyncContext, version: str) -> str:
    """Return the version for a plain list: that of the streaming list, or what the program wants first."""
    return version if context.version else context.settings.first


def _count(state: Streaming | Lagging) -> SyncContext:
    """Count a streaming list that did not complete, although the server accepted it."""
    times = state.context.endpoint.missing_ends + 1
    context = replace(state.context, endpoint=replace(state.context.endpoint, missing_ends=times))
    return _stop_streaming(context) if times >= MISSING_ENDS else context


def _forgive(state: Streaming | Lagging) -> SyncContext:
    endpoint = state.context.endpoint
    return (
        replace(state.context, endpoint=replace(endpoint, missing_ends=0))
        if endpoint.missing_ends
        else state.context
    )


def _stop_streaming(context: SyncContext) -> SyncContext:
    return replace(context, endpoint=replace(context.endpoint, streaming=False))


def _drop(state: Asking | Streaming | Lagging) -> tuple[Action, ...]:
    """End what is open, and drop what has arrived: the next list may not contain it."""
    return () if isinstance(state, Asking) else (Close(), Discard())
