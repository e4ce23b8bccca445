"""`SyncStatus`: how the resync machine is doing at any moment."""

from __future__ import annotations

from msgspec import Struct

from . import pager
from ._resync_values import (
    Asking,
    Ended,
    Idle,
    Lagging,
    Listing,
    Opening,
    State,
    Streaming,
    SyncFailure,
    Watching,
)


class SyncStatus(Struct, frozen=True, gc=False):
    """How a cache is doing.

    `synced`: there is a snapshot, and it was complete at `version`. `live`: a watch keeps it so. `why` is a
    sentence that says why it is not live, "" if it is. `heard` is the time of the last byte, `silent` the
    seconds since; None before there was one. `failures` counts those without progress between them, and
    `failure` is the last thing that went wrong, whether it is over or not.
    """

    synced: bool
    live: bool
    why: str
    version: str
    heard: float | None
    silent: float | None
    failures: int
    failure: SyncFailure | None


def sync_status(state: State, now: float) -> SyncStatus:
    """Return the status at this time."""
    context = state.context
    return SyncStatus(
        synced=bool(context.version),
        live=isinstance(state, Watching),
        why=_why(state, now),
        version=context.version,
        heard=context.heard,
        silent=None if context.heard is None else max(0.0, now - context.heard),
        failures=context.failures,
        failure=context.failure,
    )


def _why(state: State, now: float) -> str:
    match state:
        case Watching():
            return ""
        case Idle():
            return "it has not been started, or is paused"
        case Ended():
            return "it has been stopped" + _after_failure(state)
        case Opening():
            return "a watch is being opened" + _after_failure(state)
        case Asking():
            return "a streaming list has been requested" + _after_failure(state)
        case Streaming(context=context, count=count, opened=opened):
            silent = now - (context.heard if context.heard is not None else opened)
            return (
                f"a streaming list has brought {count} events in {now - opened:.0f} s, the last one "
                f"{silent:.0f} s ago, and not come to its initial-events-end bookmark"
            )
        case Lagging(live=live):
            return (
                f"a streaming list has gone on with live events for {now - live:.0f} s without its"
                " initial-events-end bookmark"
            )
        case Listing(paging=pager.Following(), count=count):
            return f"a further page of a list has been requested after {count} objects" + _after_failure(
                state
            )
        case Listing():
            return "a list has been requested" + _after_failure(state)


def _after_failure(state: State) -> str:
    failure, failures = state.context.failure, state.context.failures
    if failure is None or not failures:
        return ""
    if failures == 1:
        return f", after a failure: {failure.text}"
    return f", after {failures} failures in a row; the last: {failure.text}"
