"""The resync machine: keeps one cache in step with the server, whatever the server and the network do.

It recovers a list and watch. It is not what client-go calls a resync, a periodic delivery of everything
again: kubeproto does not do that. Normally it goes Idle, Asking, Streaming, Watching if the server has
streaming lists, and Idle, Listing, Opening, Watching otherwise; then from Watching to Opening and back. All
arrows::

    Idle ─────── Started ───► Asking, Listing, Opening
    Idle ─────── Stopped ───► Ended

    Asking ───── Opened ────► Streaming
    Asking ───── Failed ────► Asking, Listing
    Asking ───── Refreshed ─► Asking
    Asking ───── Paused ────► Idle
    Asking ───── Stopped ───► Ended
    Streaming ── Received ──► Streaming, Lagging, Watching, Listing
    Streaming ── Closed ────► Asking, Listing
    Streaming ── Failed ────► Asking, Listing
    Streaming ── Refreshed ─► Streaming
    Streaming ── Paused ────► Idle
    Streaming ── Stopped ───► Ended
    Lagging ──── Received ──► Lagging, Watching, Listing
    Lagging ──── Closed ────► Asking, Listing
    Lagging ──── Failed ────► Asking, Listing
    Lagging ──── Refreshed ─► Lagging
    Lagging ──── Paused ────► Idle
    Lagging ──── Stopped ───► Ended

    Listing ──── Received ──► Listing
    Listing ──── Listed ────► Listing, Opening
    Listing ──── Failed ────► Listing
    Listing ──── Refreshed ─► Listing
    Listing ──── Paused ────► Idle
    Listing ──── Stopped ───► Ended

    Opening ──── Opened ────► Watching
    Opening ──── Failed ────► Opening, Asking, Listing, Ended
    Opening ──── Refreshed ─► Asking, Listing
    Opening ──── Paused ────► Idle
    Opening ──── Stopped ───► Ended
    Watching ─── Received ──► Watching, Asking, Listing, Ended
    Watching ─── Closed ────► Opening, Asking, Listing
    Watching ─── Failed ────► Opening, Asking, Listing, Ended
    Watching ─── Refreshed ─► Asking, Listing
    Watching ─── Paused ────► Idle
    Watching ─── Stopped ───► Ended

The arms of a phase are in one file: streaming lists in `_resync_streaming`, plain lists in
`_resync_listing`, watches in `_resync_watching`, and what the program asks for in this one.

Rules

- Objects do not pass through here. The driver summarizes a chunk (`Received`), steps, and then does what the
  actions say: `Stage` the chunk, or `Update` with it. `Replace` publishes the staged snapshot atomically, so
  no reader ever sees half of one; until then readers keep the old snapshot and its `version`.
- After a 410 a relist asks for the last version or newer, which spares the server; only if that is refused
  too, for the latest one. If the version would always be refused (Rejected), or the snapshot must be newer (a
  lost event, an object that cannot be read, a refresh that the program asked for), the relist asks for the
  latest at once.
- A streaming list is requested to get a snapshot, never to continue from one. A server without streaming
  lists is remembered (`Endpoint`). So is one that leaves out the initial-events-end bookmark three times; and
  as soon as live events have come for ten seconds, or nothing at all, this one relist is made with a plain
  list, for a server may hold such a stream open for ten minutes.
- A clean end of a watch is normal: the next one starts where it left off. A watch that ends within a second
  with nothing new did not work, and counts as a failure: otherwise a proxy that hangs up politely would cause
  a tight loop.
- Only progress forgives failures: a version that advanced on a watch, or a watch that stayed open for a
  minute. A list that worked does not reset the failures, so list, watch and 410 cannot spin at full speed.
- Every request, list or watch, takes a token from one bucket; only the next page of a list that works takes
  none. So a server gets at most a burst of ten requests, and then one per second, whatever it responds.
- Bookmarks come about every minute and distinguish a quiet connection from a dead one: after 75 s without an
  event the watch is closed. Bytes without an event prove nothing: a server could send one now and then
  forever. A list must deliver an object every 60 s. It takes two mute watches in a row to find out that a
  server sends no bookmarks, and two more if it has sent some: a single one may have been a dead connection.
  Each time a relist follows: a server that was restored to an older state keeps a watch at a future version
  open forever.
- A watch that opens, and fails on the server's side five times in a row without progress, fails because of
  something at that version: a relist follows. While a server does not let a watch open, the machine retries.
- After 401, 403, 404 and for wrong requests it waits at least ten seconds and retries: permissions and kinds
may
  appear.
- The machine uses no randomness. A request has the earliest and the latest time for it, and the driver
  draws the time between them, as it draws the length of a watch. So a row of the test table shows both
  ends, and no event has to carry a number that it may not need.
- `now` may jump. A clock set back makes a watch look short, and costs a delay, never a loop or a crash.
"""

from __future__ import annotations

from typing import Final

from .._errors import InvalidRequest
from . import _resync_listing as listing, _resync_streaming as streaming, _resync_watching as watching
from ._resync_digest import digest, newer
from ._resync_pace import Backoff
from ._resync_requests import Step, refuse, relist, to_opening
from ._resync_status import SyncStatus, sync_status
from ._resync_values import (
    Action,
    Asking,
    Close,
    Closed,
    Ended,
    Endpoint,
    Event,
    Idle,
    Lagging,
    Listing,
    Opened,
    Opening,
    Paused,
    Received,
    Refreshed,
    Report,
    SendWatch,
    Settings,
    State,
    Stopped,
    Streaming,
    SyncContext,
    SyncFailure,
    Update,
    Watching,
)
from .pager import Abandon, Discard, Failed, Listed, Replace, SendList, Stage, Started

__all__ = [
    "Abandon",
    "Action",
    "Asking",
    "Backoff",
    "Close",
    "Closed",
    "Discard",
    "Ended",
    "Endpoint",
    "Event",
    "Failed",
    "Idle",
    "Lagging",
    "Listed",
    "Listing",
    "Opened",
    "Opening",
    "Paused",
    "Received",
    "Refreshed",
    "Replace",
    "Report",
    "SendList",
    "SendWatch",
    "Settings",
    "Stage",
    "Started",
    "State",
    "Stopped",
    "Streaming",
    "SyncContext",
    "SyncFailure",
    "SyncStatus",
    "Update",
    "Watching",
    "begin",
    "digest",
    "newer",
    "step",
    "sync_status",
]

_SETTINGS: Final = Settings()
_ENDPOINT: Final = Endpoint()


def begin(settings: Settings = _SETTINGS, *, version: str = "", endpoint: Endpoint = _ENDPOINT) -> Idle:
    """Return a machine that has made no request yet.

    With the version of a snapshot that the caller has kept, it continues from there. InvalidRequest, which is
    a ValueError, for "0", which is not a place in history, and for following without a version.
    """
    if version == "0" or (settings.follow and not version):
        raise InvalidRequest(
            f"a watch cannot continue from version {version!r}: it names no moment in history"
        )
    return Idle(SyncContext(settings, endpoint, version))


def step(state: State, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event."""
    match state, event:
        case Opening() | Watching(), Opened() | Received() | Closed() | Failed():
            return watching.step(state, event, now)
        case Asking() | Streaming() | Lagging(), Opened() | Received() | Closed() | Failed():
            return streaming.step(state, event, now)
        case Listing(), Received() | Listed() | Failed():
            return listing.step(state, event, now)

        # What the program asks for.
        case Idle(context), Started() if context.version:
            # Readers have a snapshot already, and its version may still be in the server's history.
            return to_opening(context, now)
        case Idle(context), Started():
            return relist(context, "", now)
        case Asking() | Streaming() | Lagging() | Listing(), Refreshed():
            return state, ()  # a new snapshot is on its way
        case Opening(context) | Watching(context), Refreshed() if not context.settings.follow:
            # The latest, because the program knows of something that this cache has not seen.
            return relist(context, "", now, Close())
        case Asking() | Streaming() | Lagging() | Listing() | Opening() | Watching(), Paused():
            return Idle(state.context), (Close(), Discard())
        case Idle() | Asking() | Streaming() | Lagging() | Listing() | Opening() | Watching(), Stopped():
            return Ended(state.context), (Close(), Discard())
        case _:
            raise refuse(state, event)
