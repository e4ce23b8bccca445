"""The transitions of the resync machine: what each next state requests, and what its context notes."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError, printable
from ..objects import compare_versions
from ..wire import Broken, Garbled, Outcome, TimedOut, Unreachable
from . import pager
from ._resync_pace import NOW, Wait, take_token, wait_after
from ._resync_values import (
    SHORTEST_WATCH,
    Action,
    Asking,
    Ended,
    Event,
    Listing,
    Opening,
    Report,
    SendWatch,
    State,
    SyncContext,
    SyncFailure,
)
from .pager import Abandon

IDLE: Final = 75.0  # seconds; bookmarks come each minute, and servers keep the events of 75 s

# Failures that no server reports, and the machine detects by itself.
LOST: Final = Garbled("an event whose object or version is not known")
NO_VERSION: Final = Garbled("the end of a list without a version")

Actions: TypeAlias = tuple[Action, ...]
Step: TypeAlias = tuple[State, Actions]
Paging: TypeAlias = pager.First | pager.Following | pager.Whole
About: TypeAlias = Literal["list", "watch", "transport", "version"]


def refuse(state: State, event: Event) -> LocalProtocolError:
    """Return the error for an event that cannot happen in a state."""
    return LocalProtocolError(f"the resync machine cannot take {event} in {type(state).__name__}")


# The next state. `before` are the actions that come before the request, `wait` is how long it waits.


def relist_or_end(
    context: SyncContext, version: str, outcome: Outcome, now: float, *before: Action
) -> tuple[Asking | Listing | Ended, Actions]:
    """Relist, because a watch cannot continue from here; or end if only following was wanted."""
    if context.settings.follow:
        return Ended(context), (*before, report(context), Abandon(outcome))
    return relist(context, version, now, *before, report(context), wait=wait_for(context, outcome))


def relist(
    context: SyncContext, version: str, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Asking | Listing, Actions]:
    """Ask for a snapshot at least as new as `version`, or for the latest."""
    context = replace(context, mute=0)
    if context.settings.streaming and context.endpoint.streaming:
        return to_asking(context, version, now, *before, wait=wait)
    first = version if context.version else context.settings.first
    return to_listing(context, first, now, *before, wait=wait)


def to_opening(
    context: SyncContext, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Opening, Actions]:
    """Ask for a watch that continues from the snapshot."""
    context, send = _send_watch(context, context.version, now, wait, initial=False)
    return Opening(context), (*before, send)


def to_asking(
    context: SyncContext, version: str, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Asking, Actions]:
    """Ask for a streaming list."""
    context, send = _send_watch(context, version, now, wait, initial=True)
    return Asking(context, version), (*before, send)


def to_listing(
    context: SyncContext, version: str, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Listing, Actions]:
    """Request the first page: in pages if the list does not come from a cache, or the program wants pages."""
    settings = context.settings
    known = version not in ("", "0")
    plan = pager.Plan(
        version=version,
        # Without a match a version with a limit means exactly that version, which has usually expired.
        match="NotOlderThan" if known else "",
        limit=settings.page_size or (0 if known and not context.endpoint.paged else pager.PAGE),
    )
    return to_listing_page(context, pager.First(plan), now, *before, wait=wait)


def to_listing_page(
    context: SyncContext, paging: Paging, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Listing, Actions]:
    """Ask for this page."""
    at, bucket = take_token(context.bucket, now + wait.delay)
    send = pager.request(paging, at=at, latest=at + wait.spread)
    return Listing(replace(context, bucket=bucket), paging), (*before, send)


def _send_watch(
    context: SyncContext, version: str, now: float, wait: Wait, *, initial: bool
) -> tuple[SyncContext, SendWatch]:
    at, bucket = take_token(context.bucket, now + wait.delay)
    least = max(SHORTEST_WATCH, context.settings.watch_seconds)
    return replace(context, bucket=bucket), SendWatch(
        at=at,
        latest=at + wait.spread,
        version=version,
        initial=initial,
        seconds=(least, 2 * least),
        idle=IDLE if initial or context.endpoint.bookmarks is not False else None,
    )


# What the context notes


def note_activity(context: SyncContext, now: float) -> SyncContext:
    return replace(context, heard=now)


def reach(context: SyncContext, version: str, now: float) -> tuple[SyncContext, tuple[Action, ...]]:
    """Note that a new snapshot is complete. It may be older than the last one, from a restored server."""
    reached = replace(context, version=version)
    if not context.version or order(version, context.version) >= 0:
        return reached, ()
    reached = note(reached, "version", gone_back(context.version, version), now)
    return reached, (report(reached),)


def fail(context: SyncContext, about: About, outcome: Outcome | str, now: float) -> SyncContext:
    return replace(note(context, about, outcome, now), failures=context.failures + 1)


def note(context: SyncContext, about: About, outcome: Outcome | str, now: float) -> SyncContext:
    if isinstance(outcome, str):
        return replace(context, failure=SyncFailure(now, about, outcome))
    if isinstance(outcome, Unreachable | Broken | TimedOut):
        about = "transport"
    return replace(context, failure=SyncFailure(now, about, outcome.reason, outcome))


def report(context: SyncContext) -> Report:
    assert context.failure is not None
    return Report(context.failure)


def wait_for(context: SyncContext, outcome: Outcome | None) -> Wait:
    return wait_after(outcome, context.failures, context.settings.backoff)


def gone_back(before: str, after: str) -> str:
    said = f"version {printable(after, 80)} came after {printable(before, 80)}"
    return f"{said}: the server has gone back in time"


def order(version: str, than: str) -> int:
    """Return 1 for progress: newer, or different if versions have no order; 0 for the same, -1 for older."""
    if version == than:
        return 0
    try:
        return compare_versions(version, than)
    except ValueError:
        return 1
