"""`SyncStatus`: the state of a cache for health checks, metrics and people."""

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
    """The state of a cache.

    `synced`: there is a snapshot, which was complete at `version`. `live`: a watch keeps it up to date.
    `reason` explains why it is not live, "" if it is. `received_at` is the time of the last byte,
    `silent_for` the seconds since then; both are None before the first byte. `failures` counts failures
    without progress between them, and `failure` is the last failure, even if the machine has recovered.
    """

    synced: bool
    live: bool
    reason: str
    version: str
    received_at: float | None
    silent_for: float | None
    failures: int
    failure: SyncFailure | None


def sync_status(state: State, now: float) -> SyncStatus:
    """Return the status at this time."""
    context = state.context
    return SyncStatus(
        synced=bool(context.version),
        live=isinstance(state, Watching),
        reason=_explain(state, now),
        version=context.version,
        received_at=context.received_at,
        silent_for=None if context.received_at is None else max(0.0, now - context.received_at),
        failures=context.failures,
        failure=context.failure,
    )


def _explain(state: State, now: float) -> str:
    match state:
        case Watching():
            return ""
        case Idle():
            return "it has not been started, or is paused"
        case Ended():
            return "it has been stopped" + _failure_suffix(state)
        case Opening():
            return "a watch is being opened" + _failure_suffix(state)
        case Asking():
            return "a streaming list has been requested" + _failure_suffix(state)
        case Streaming(context=context, count=count, opened_at=opened_at):
            silent_for = now - (context.received_at if context.received_at is not None else opened_at)
            return (
                f"a streaming list has delivered {count} events in {now - opened_at:.0f} s, the last event "
                f"{silent_for:.0f} s ago, and no initial-events-end bookmark"
            )
        case Lagging(live_since=live_since):
            return (
                f"a streaming list has delivered live events for {now - live_since:.0f} s without an"
                " initial-events-end bookmark"
            )
        case Listing(paging=pager.Following(), count=count):
            return f"the next page of a list was requested after {count} objects" + _failure_suffix(state)
        case Listing():
            return "a list has been requested" + _failure_suffix(state)


def _failure_suffix(state: State) -> str:
    failure, failures = state.context.failure, state.context.failures
    if failure is None or not failures:
        return ""
    if failures == 1:
        return f", after a failure: {failure.text}"
    return f", after {failures} consecutive failures; the last: {failure.text}"
