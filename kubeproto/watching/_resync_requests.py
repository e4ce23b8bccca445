"""The transitions of the resync machine: what each next state requests and records."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError, printable
from ..objects import compare_versions
from ..wire import Broken, Garbled, Outcome, TimedOut, Unreachable
from . import pager
from ._resync_pace import NOW, Wait, take_token, wait_after
from ._resync_values import (
    MIN_WATCH,
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

# Failures that the machine detects itself.
LOST: Final = Garbled("an event whose object or version is unknown")
NO_VERSION: Final = Garbled("the end of a list without a version")

Actions: TypeAlias = tuple[Action, ...]
Step: TypeAlias = tuple[State, Actions]
Paging: TypeAlias = pager.First | pager.Following | pager.Whole
FailureSource: TypeAlias = Literal["list", "watch", "transport", "version"]


def refuse(state: State, event: Event) -> LocalProtocolError:
    """Return the error for an event that cannot happen in a state."""
    return LocalProtocolError(f"the resync machine cannot process {event} in {type(state).__name__}")


# The next state. `actions` precede the request, which is sent after `wait`.


def relist_or_end(
    context: SyncContext, version: str, outcome: Outcome, now: float, *actions: Action
) -> tuple[Asking | Listing | Ended, Actions]:
    """Relist, because a watch cannot continue from here; or end, if the program only follows."""
    if context.settings.follow:
        return Ended(context), (*actions, report(context), Abandon(outcome))
    return relist(context, version, now, *actions, report(context), wait=wait_for(context, outcome))


def relist(
    context: SyncContext, version: str, now: float, *actions: Action, wait: Wait = NOW
) -> tuple[Asking | Listing, Actions]:
    """Request a snapshot at least as new as `version`, or the latest."""
    context = replace(context, mute_watches=0)
    if context.settings.streaming and context.endpoint.streaming:
        return to_asking(context, version, now, *actions, wait=wait)
    list_version = version if context.version else context.settings.initial_version
    return to_listing(context, list_version, now, *actions, wait=wait)


def to_opening(
    context: SyncContext, now: float, *actions: Action, wait: Wait = NOW
) -> tuple[Opening, Actions]:
    """Request a watch that continues from the snapshot."""
    context, send = _send_watch(context, context.version, now, wait, initial=False)
    return Opening(context), (*actions, send)


def to_asking(
    context: SyncContext, version: str, now: float, *actions: Action, wait: Wait = NOW
) -> tuple[Asking, Actions]:
    """Request a streaming list."""
    context, send = _send_watch(context, version, now, wait, initial=True)
    return Asking(context, version), (*actions, send)


def to_listing(
    context: SyncContext, version: str, now: float, *actions: Action, wait: Wait = NOW
) -> tuple[Listing, Actions]:
    """Request the first page: in pages if the list does not come from a cache, or the program wants pages."""
    settings = context.settings
    has_version = version not in ("", "0")
    plan = pager.Plan(
        version=version,
        # Without a match a version with a limit means exactly that version, which has usually expired.
        match="NotOlderThan" if has_version else "",
        limit=settings.page_size or (0 if has_version and not context.endpoint.paged else pager.PAGE),
    )
    return to_listing_page(context, pager.First(plan), now, *actions, wait=wait)


def to_listing_page(
    context: SyncContext, paging: Paging, now: float, *actions: Action, wait: Wait = NOW
) -> tuple[Listing, Actions]:
    """Request a page."""
    earliest, bucket = take_token(context.bucket, now + wait.delay)
    send = pager.request(paging, earliest=earliest, latest=earliest + wait.spread)
    return Listing(replace(context, bucket=bucket), paging), (*actions, send)


def _send_watch(
    context: SyncContext, version: str, now: float, wait: Wait, *, initial: bool
) -> tuple[SyncContext, SendWatch]:
    earliest, bucket = take_token(context.bucket, now + wait.delay)
    min_seconds = max(MIN_WATCH, context.settings.watch_seconds)
    return replace(context, bucket=bucket), SendWatch(
        earliest=earliest,
        latest=earliest + wait.spread,
        version=version,
        initial=initial,
        seconds=(min_seconds, 2 * min_seconds),
        idle=IDLE if initial or context.endpoint.bookmarks is not False else None,
    )


# Notes in the context


def note_activity(context: SyncContext, now: float) -> SyncContext:
    return replace(context, received_at=now)


def reach(context: SyncContext, version: str, now: float) -> tuple[SyncContext, tuple[Action, ...]]:
    """Note that a new snapshot is complete. From a restored server it may be older than the last snapshot."""
    reached = replace(context, version=version)
    if not context.version or order(version, context.version) >= 0:
        return reached, ()
    reached = note(reached, "version", gone_back(context.version, version), now)
    return reached, (report(reached),)


def fail(context: SyncContext, source: FailureSource, outcome: Outcome | str, now: float) -> SyncContext:
    return replace(note(context, source, outcome, now), failures=context.failures + 1)


def note(context: SyncContext, source: FailureSource, outcome: Outcome | str, now: float) -> SyncContext:
    if isinstance(outcome, str):
        return replace(context, failure=SyncFailure(now, source, outcome))
    if isinstance(outcome, Unreachable | Broken | TimedOut):
        source = "transport"
    return replace(context, failure=SyncFailure(now, source, outcome.reason, outcome))


def report(context: SyncContext) -> Report:
    assert context.failure is not None
    return Report(context.failure)


def wait_for(context: SyncContext, outcome: Outcome | None) -> Wait:
    return wait_after(outcome, context.failures, context.settings.backoff)


def gone_back(previous_version: str, version: str) -> str:
    versions = f"version {printable(version, 80)} came after {printable(previous_version, 80)}"
    return f"{versions}: the server has gone back in time"


def order(version: str, other: str) -> int:
    """Return 1 if the version is newer or cannot be compared, 0 if it is the same, -1 if it is older."""
    if version == other:
        return 0
    try:
        return compare_versions(version, other)
    except ValueError:
        return 1
