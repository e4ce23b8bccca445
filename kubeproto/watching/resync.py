"""The resync machine: keeps one cache in sync with the server, whatever the server and the network do.

It lists, watches, and recovers from failures. client-go calls something else a resync: a periodic delivery of
all objects, which kubeproto does not have. The usual path is Idle, Asking, Streaming, Watching if the server
has streaming lists, and Idle, Listing, Opening, Watching otherwise; then between Watching and Opening. All
transitions::

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
`_resync_listing`, watches in `_resync_watching`, and requests of the program in this file.

Rules

- The machine gets no objects. The driver summarizes a chunk (`Received`), steps, and then performs the
  actions: it stages the chunk (`Stage`), or updates the snapshot by it (`Update`). `Replace` publishes the
  staged snapshot atomically, so no reader sees a part of it; until then readers use the old snapshot and its
  `version`.
- After a 410 a relist requests the last known version or a newer one, which costs the server less; and the
  latest version only if that is refused too. If the version would always be refused (Rejected), or the
  snapshot must be newer (a lost event, an unreadable object, a refresh by the program), the relist requests
  the latest version immediately.
- A streaming list is requested for a new snapshot, never to continue from a snapshot. `Endpoint` remembers a
  server without streaming lists, and a server that has omitted the initial-events-end bookmark three times.
  If only live events, or no events, have arrived for a while, the relist continues with a plain list: a
  server may hold such a stream open for ten minutes.
- A regular end of a watch is normal: the next watch continues from its last version. A watch that ends within
  a second without an event counts as a failure: otherwise a proxy that closes each connection would cause a
  tight loop.
- Only progress resets the count of failures: a newer version on a watch, or a watch that stayed open for a
  minute. A successful list does not reset it, so list, watch and 410 cannot alternate at full speed.
- Every request, list or watch, takes a token from the same bucket, except the next page of a list without
  failures. So a server gets at most a burst of ten requests, and then one per second, whatever it responds.
- Bookmarks arrive about every minute and distinguish a quiet connection from a dead one: after 75 s without
  an event the watch is closed. Bytes without an event prove nothing: a server could send a byte now and then
  forever. A list must deliver an object every 60 s. Two consecutive mute watches show that a server sends no
  bookmarks, or four if it has sent bookmarks before: a single mute watch may have been a dead connection. A
  relist follows each time: a server that was restored to an older state keeps a watch at a future version
  open forever.
- If open watches fail on the server's side five times in a row without progress, the cause is at that
  version: a relist follows. While the server refuses to open a watch, the machine retries.
- After 401, 403, 404 and for wrong requests it waits at least ten seconds and retries: permissions and kinds
  may appear.
- The machine uses no randomness. An action has the earliest and the latest time of its request, and the
  driver draws a time between them; likewise the length of a watch. So a row of the test table shows both
  limits, and no event has to contain a random number.
- `now` may jump. If a clock is set back, a watch seems short, which costs a delay, never a loop or a crash.
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
    """Return a machine that has sent no request.

    With the `version` of a snapshot that the caller has, it continues from there. Raise `InvalidRequest`,
    which is a `ValueError`, for version "0", which is not a moment in history, and for following without a
    version.
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

        # Requests of the program.
        case Idle(context), Started() if context.version:
            # Readers have a snapshot already, and its version may still be in the server's history.
            return to_opening(context, now)
        case Idle(context), Started():
            return relist(context, "", now)
        case Asking() | Streaming() | Lagging() | Listing(), Refreshed():
            return state, ()  # a new snapshot has been requested
        case Opening(context) | Watching(context), Refreshed() if not context.settings.follow:
            # The latest version, because the program knows of a change that this cache lacks.
            return relist(context, "", now, Close())
        case Asking() | Streaming() | Lagging() | Listing() | Opening() | Watching(), Paused():
            return Idle(state.context), (Close(), Discard())
        case Idle() | Asking() | Streaming() | Lagging() | Listing() | Opening() | Watching(), Stopped():
            return Ended(state.context), (Close(), Discard())
        case _:
            raise refuse(state, event)
