"""The sync status of a cache, and its reason, in every state."""

from __future__ import annotations

import pytest

from kubeproto.watching import pager, resync
from kubeproto.watching.resync import (
    Asking,
    Ended,
    Endpoint,
    Idle,
    Lagging,
    Listing,
    Opening,
    Settings,
    Streaming,
    SyncContext,
    SyncFailure,
    Watching,
    sync_status,
)

NOW = 100.0
NEW = SyncContext(Settings(), Endpoint())
OLD = SyncContext(Settings(), Endpoint(), "7", 90.0)
DOWN = SyncContext(
    Settings(), Endpoint(), "7", 90.0, 3, 0, 0.0, SyncFailure(95.0, "transport", "connection refused")
)
FIRST = pager.First(pager.Plan())
SECOND = pager.Following(pager.Plan(), "two", "9")


@pytest.mark.parametrize(
    ("state", "expected_reason"),
    [
        (Idle(NEW), "it has not been started, or is paused"),
        (Asking(NEW, ""), "a streaming list has been requested"),
        (Streaming(OLD, "", 80.0, 4), ("a streaming list has delivered 4 events in 20 s, "
         "the last event 10 s ago, and no initial-events-end bookmark")),
        (Lagging(OLD, "", 80.0, 95.0, 4), ("a streaming list has delivered live events for 5 s "
         "without an initial-events-end bookmark")),
        (Listing(NEW, FIRST), "a list has been requested"),
        (Listing(NEW, SECOND, 500), "the next page of a list was requested after 500 objects"),
        (Opening(DOWN), ("a watch is being opened, after 3 consecutive failures; "
         "the last: connection refused")),
        (Ended(OLD), "it has been stopped"),
        (Watching(DOWN, "7", 95.0), ""),
    ],
)  # fmt: skip
def test_the_reason_why_it_is_not_live_is_a_sentence(state: resync.State, expected_reason: str) -> None:
    status = sync_status(state, NOW)
    assert (status.reason, status.live) == (expected_reason, not expected_reason)


def test_a_cache_with_a_snapshot_is_synced_whatever_the_watch_does() -> None:
    assert not sync_status(Asking(NEW, ""), NOW).synced
    assert sync_status(Opening(OLD), NOW).synced
    assert sync_status(Listing(OLD, FIRST), NOW).version == "7"


def test_w_24_the_last_byte_the_last_failure_and_their_number_are_reported() -> None:
    status = sync_status(Opening(DOWN), NOW)
    assert (status.received_at, status.silent_for, status.failures, status.failure) == (
        90.0,
        10.0,
        3,
        DOWN.failure,
    )
    assert sync_status(Idle(NEW), NOW).silent_for is None
    assert sync_status(Opening(OLD), 10.0).silent_for == 0.0
