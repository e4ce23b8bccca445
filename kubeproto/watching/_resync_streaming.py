"""The streaming-list phase of the resync machine.

A streaming list is requested (Asking), arriving (Streaming) or overdue (Lagging): it is overdue when live
events arrive before its initial-events-end bookmark.
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

# After this many streaming lists without an initial-events-end bookmark, an endpoint gets plain lists.
MAX_MISSING_ENDS: Final = 3
LAG: Final = 10.0  # seconds; the bookmark follows the initial events immediately, so this is generous
SILENCE: Final = 30.0  # seconds without an event, after which the next event must be the bookmark

MISSING_BOOKMARK: Final = Garbled(
    f"no event for {SILENCE:g} s, then a live event, and no initial-events-end bookmark"
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
            context, reports = reach(note_activity(_reset_missing_ends(state), now), version, now)
            return Watching(context, version, state.opened_at), (Stage(), Replace(version), *reports)
        case Streaming() | Lagging(), Received(lost=True):
            return _to_plain_list(_count_missing_end(state), state.version, LOST, now, Close(), Discard())
        case Streaming() | Lagging(), Received(initial_events_end=True):
            # A watch cannot continue from here: the version of the snapshot is unknown.
            return _to_plain_list(
                _count_missing_end(state), state.version, NO_VERSION, now, Close(), Discard()
            )
        case Streaming(context, _, opened_at), Received(live=True) if (
            now - (context.received_at or opened_at) >= SILENCE
        ):
            # Bookmarks come each minute, so users would not wait for another.
            return _to_plain_list(
                _count_missing_end(state), state.version, MISSING_BOOKMARK, now, Close(), Discard()
            )
        case Streaming(context, version, opened_at, count), Received(live=True):
            context, count = note_activity(context, now), count + event.count
            return Lagging(context, version, opened_at, now, count), _STAGE
        case Streaming(context, version, opened_at, count), Received():
            return Streaming(note_activity(context, now), version, opened_at, count + event.count), _STAGE
        case Lagging(live_since=live_since), Received() if now - live_since >= LAG:
            # A server that ignores sendInitialEvents sends live events only, for minutes.
            return _to_plain_list(
                _count_missing_end(state), state.version, NO_BOOKMARK, now, Close(), Discard()
            )
        case Lagging(context, version, opened_at, live_since, count), Received():
            context, count = note_activity(context, now), count + event.count
            # A clock that was set back must not extend the wait for the bookmark by that time.
            return Lagging(context, version, opened_at, min(live_since, now), count), _STAGE

        case Streaming() | Lagging(), Closed() if _count_missing_end(state).endpoint.streaming:
            # A proxy may have ended it, so a single early end proves nothing about the server.
            context = fail(_count_missing_end(state), "list", NO_END, now)
            wait = wait_for(context, NO_END)
            return to_asking(context, state.version, now, Discard(), report(context), wait=wait)
        case Streaming() | Lagging(), Closed():
            return _to_plain_list(_count_missing_end(state), state.version, NO_END, now, Discard())

        case Streaming() | Lagging(), Failed(TimedOut() as outcome):
            # The server accepted the request and sent nothing: it may not know streaming lists.
            return _to_plain_list(_count_missing_end(state), state.version, outcome, now, Close(), Discard())
        case _, Failed((Expired() | TooLarge()) as outcome) if state.version:
            # The server cannot serve this version; it can serve the latest, which costs another request.
            context = note(state.context, "list", outcome, now)
            return to_asking(context, "", now, *_close_and_discard(state), report(context))
        case _, Failed(Unsupported() as outcome):
            # An older server; not a failure.
            context = note(_stop_streaming(state.context), "list", outcome, now)
            version = _list_version(context, state.version)
            return to_listing(context, version, now, *_close_and_discard(state), report(context))
        case _, Failed((Throttled() | Unreachable()) as outcome):
            # A plain list would be refused as well, and costs the server more.
            context = fail(state.context, "list", outcome, now)
            wait = wait_for(context, outcome)
            return to_asking(
                context, state.version, now, *_close_and_discard(state), report(context), wait=wait
            )
        case _, Failed(outcome):
            # Only the streaming may fail, for instance in a proxy that buffers.
            return _to_plain_list(state.context, state.version, outcome, now, *_close_and_discard(state))
        case _:
            raise refuse(state, event)


def _to_plain_list(
    context: SyncContext, version: str, outcome: Outcome, now: float, *actions: Action
) -> tuple[Listing, tuple[Action, ...]]:
    """Relist without streaming this time."""
    context = fail(context, "list", outcome, now)
    wait = wait_for(context, outcome)
    return to_listing(context, _list_version(context, version), now, *actions, report(context), wait=wait)


def _list_version(context: SyncContext, version: str) -> str:
    """Return the version for a plain list: the version of the streaming list, or the initial version."""
    return version if context.version else context.settings.initial_version


def _count_missing_end(state: Streaming | Lagging) -> SyncContext:
    """Count a streaming list that did not complete, although the server accepted it."""
    missing_ends = state.context.endpoint.missing_ends + 1
    context = replace(state.context, endpoint=replace(state.context.endpoint, missing_ends=missing_ends))
    return _stop_streaming(context) if missing_ends >= MAX_MISSING_ENDS else context


def _reset_missing_ends(state: Streaming | Lagging) -> SyncContext:
    endpoint = state.context.endpoint
    return (
        replace(state.context, endpoint=replace(endpoint, missing_ends=0))
        if endpoint.missing_ends
        else state.context
    )


def _stop_streaming(context: SyncContext) -> SyncContext:
    return replace(context, endpoint=replace(context.endpoint, streaming=False))


def _close_and_discard(state: Asking | Streaming | Lagging) -> tuple[Action, ...]:
    """Close the open response and drop the staged objects: the next list may not contain them."""
    return () if isinstance(state, Asking) else (Close(), Discard())
