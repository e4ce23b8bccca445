"""The watch phase of the resync machine: a watch is requested (Opening) or open (Watching)."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..wire import Expired, Garbled, Outcome, Refused, Rejected, ServerFailed, TooLarge, Unreadable
from ._resync_requests import (
    LOST,
    Step,
    fail,
    gone_back,
    note,
    note_activity,
    order,
    refuse,
    relist,
    relist_or_end,
    report,
    to_opening,
    wait_for,
)
from ._resync_values import (
    Action,
    Close,
    Closed,
    Event,
    Opened,
    Opening,
    Received,
    SyncContext,
    Update,
    Watching,
)
from .pager import Failed

SHORT: Final = 1.0  # seconds; a watch that ends sooner without an event counts as a failure
STEADY: Final = 60.0  # seconds; a watch that was open for this long counts as progress
MAX_MUTE_WATCHES: Final = 2  # consecutive watches without a byte before a relist
MAX_FAILURES: Final = 5  # consecutive failures of open watches before a relist

_UPDATE: Final = (Update(),)


def step(state: Opening | Watching, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the watch phase."""
    match state, event:
        case Watching(), Received(lost=False):
            return _receive(state, event, now)
        case Watching(), Received():
            # The changed object is unknown, and a list at the last version or newer might not contain the
            # change.
            context = fail(note_activity(state.context, now), "watch", LOST, now)
            return relist_or_end(context, "", LOST, now, *_UPDATE, Close())

        case Opening(context), Opened():
            # Mute until a byte arrives: `_receive` resets it.
            return Watching(
                replace(note_activity(context, now), mute_watches=context.mute_watches + 1),
                context.version,
                now,
            ), ()

        case Watching(), Closed() if _is_mute(state, now):
            # A watch at a far future version looks like this, and never ends.
            context = note(_count_watch(state, now), "watch", "watches stay open without an event", now)
            return relist(context, context.version, now, report(context))
        case Watching(SyncContext(version=version), start_version, opened_at), Closed() if (
            now - opened_at < SHORT and version == start_version
        ):
            # Without a delay, a proxy that closes each connection would cause a tight loop.
            context = fail(
                _count_watch(state, now), "watch", "the watch ended immediately, without an event", now
            )
            return to_opening(context, now, report(context), wait=wait_for(context, None))
        case Watching(), Closed():
            # The server ends each watch after its timeout: no failure, and no delay.
            return to_opening(_count_watch(state, now), now)

        case Opening() | Watching(), Failed((Expired() | TooLarge()) as outcome):
            # The version has left the server's history, or a restored server has not reached it yet.
            context = _fail(state, outcome, now)
            return relist_or_end(context, context.version, outcome, now, *_close(state))
        case Opening() | Watching(), Failed((Unreadable() | Rejected()) as outcome):
            # The server would refuse this version each time.
            return relist_or_end(_fail(state, outcome, now), "", outcome, now, *_close(state))
        case Opening() | Watching(), Failed(Refused() as outcome) if state.context.settings.follow:
            # A follower has lost the permission or the kind; a cache waits for it instead.
            return relist_or_end(_fail(state, outcome, now), "", outcome, now, *_close(state))
        case Watching(), Failed((ServerFailed() | Garbled()) as outcome) if _fails_repeatedly(state, now):
            # The server fails each time at this version.
            context = _fail(state, outcome, now)
            return relist_or_end(context, context.version, outcome, now, Close())
        case Opening() | Watching(), Failed(outcome) if _is_mute(state, now):
            # Like a mute watch that was closed.
            context = _fail(state, outcome, now)
            return relist_or_end(context, context.version, outcome, now, *_close(state))
        case Opening() | Watching(), Failed(outcome):
            # Busy, unreachable, disconnected: the server still has this version.
            context = _fail(state, outcome, now)
            return to_opening(context, now, *_close(state), report(context), wait=wait_for(context, outcome))
        case _:
            raise refuse(state, event)


def _receive(state: Watching, event: Received, now: float) -> tuple[Watching, tuple[Action, ...]]:
    """Note the new version of the snapshot. An older version is accepted and reported."""
    context = state.context
    version = event.version or context.version
    progress = order(version, context.version)
    endpoint = context.endpoint
    if event.bookmark and not endpoint.bookmarks:
        endpoint = replace(endpoint, bookmarks=True)
    failures = 0 if progress > 0 else context.failures
    next_context = replace(
        context, endpoint=endpoint, version=version, received_at=now, failures=failures, mute_watches=0
    )
    # A follower has no Store, which would detect repetitions.
    actions: tuple[Action, ...] = (Update(state.start_version),) if context.settings.follow else _UPDATE
    if progress < 0:
        next_context = note(next_context, "version", gone_back(context.version, version), now)
        actions = (*actions, report(next_context))
    return Watching(next_context, state.start_version, state.opened_at), actions


def _count_watch(state: Opening | Watching, now: float) -> SyncContext:
    """Update the counts of failures and mute watches after the end of a watch."""
    context = state.context
    if isinstance(state, Opening):
        return context
    if now - state.opened_at < STEADY:
        return replace(context, mute_watches=max(0, context.mute_watches - 1))
    bookmarks = context.endpoint.bookmarks
    if context.mute_watches >= MAX_MUTE_WATCHES:  # a single mute watch may have been a dead connection
        bookmarks = None if bookmarks else False
    return replace(context, failures=0, endpoint=replace(context.endpoint, bookmarks=bookmarks))


def _fail(state: Opening | Watching, outcome: Outcome, now: float) -> SyncContext:
    return fail(_count_watch(state, now), "watch", outcome, now)


def _close(state: Opening | Watching) -> tuple[Action, ...]:
    return (Close(),) if isinstance(state, Watching) else ()


def _is_mute(state: Opening | Watching, now: float) -> bool:
    return _count_watch(state, now).mute_watches >= MAX_MUTE_WATCHES and not state.context.settings.follow


def _fails_repeatedly(state: Watching, now: float) -> bool:
    failures = _count_watch(state, now).failures + 1
    return failures % MAX_FAILURES == 0 and not state.context.settings.follow
