"""The states, events and actions of the resync machine, and what they are made of."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..wire import Outcome
from . import pager
from ._resync_pace import Backoff
from .pager import Abandon, Discard, Failed, Listed, Replace, SendList, Stage, Started

# Shorter watches would cost the server requests for nothing; Go's client has the same minimum of five
# minutes.
SHORTEST_WATCH: Final = 300


class Settings(Struct, frozen=True, kw_only=True, gc=False):
    """What the program wants of one cache.

    `first` is the version of the very first list: "0" takes what the server has in its cache, which is cheap
    even for ten thousand clients at once, and the watch then catches up; "" waits for the latest, which
    matters to a program that must not even begin with an old snapshot. A streaming list is always the latest.
    `page_size` of 0 lets the machine choose. `watch_seconds` is the shortest time that a watch is requested
    for; up to twice as much, so that not all clients return at once. `follow` never lists: it continues
    from the version that was given, and ends when that has expired.
    """

    streaming: bool = True
    first: Literal["0", ""] = "0"
    page_size: int = 0
    watch_seconds: int = SHORTEST_WATCH
    backoff: Backoff = Backoff()
    follow: bool = False


class Endpoint(Struct, frozen=True, kw_only=True, gc=False):
    """What was learned about one resource of one server. It may be passed to the next machine for it.

    `streaming` is False once streaming lists have been refused, or were not completed too often;
    `missing_ends` counts those. `paged` is True if a list at version "0" came in pages, so there is no cache
    behind it. `bookmarks` is True once a watch has had one, and False if two watches in a row were silent for
    longer than they allow and none had come before.
    """

    streaming: bool = True
    missing_ends: int = 0
    paged: bool = False
    bookmarks: bool | None = None


class SyncFailure(Struct, frozen=True, gc=False):
    """Something that went wrong: when, with what, and why. `about` is the kind of failure."""

    at: float
    about: Literal["list", "watch", "transport", "version"]
    text: str
    outcome: Outcome | None = None


class SyncContext(Struct, frozen=True, gc=False):
    """What is true in every state.

    `version` is that of the snapshot that readers see: "" until there is one. `heard` is the time of the last
    byte. `failures` counts those without progress between them, `mute` the watches in a row, with the one
    that is open, that have been silent. `bucket` is when the bucket of requests will be full again.
    """

    settings: Settings
    endpoint: Endpoint
    version: str = ""
    heard: float | None = None
    failures: int = 0
    mute: int = 0
    bucket: float = 0.0
    failure: SyncFailure | None = None


class Idle(Struct, frozen=True, gc=False):
    """Nothing is requested: not started, or paused."""

    context: SyncContext


class Asking(Struct, frozen=True, gc=False):
    """A streaming list has been requested, at this version or newer."""

    context: SyncContext
    version: str


class Streaming(Struct, frozen=True, gc=False):
    """A streaming list is arriving; its initial-events-end bookmark has not come yet."""

    context: SyncContext
    version: str
    opened: float
    count: int = 0


class Lagging(Struct, frozen=True, gc=False):
    """A streaming list has had live events since this time, and still no initial-events-end bookmark."""

    context: SyncContext
    version: str
    opened: float
    live: float
    count: int


class Listing(Struct, frozen=True, gc=False):
    """A page has been requested; the pager says which. `count` objects have arrived, `before` this page."""

    context: SyncContext
    paging: pager.First | pager.Following | pager.Whole
    count: int = 0
    before: int = 0


class Opening(Struct, frozen=True, gc=False):
    """A watch has been requested, from the version of the snapshot on."""

    context: SyncContext


class Watching(Struct, frozen=True, gc=False):
    """A watch is open. It was requested from `since` on, and was `opened` at that time."""

    context: SyncContext
    since: str
    opened: float


class Ended(Struct, frozen=True, gc=False):
    """Stopped, or at the end if only following was wanted. Nothing happens any more."""

    context: SyncContext


State: TypeAlias = Idle | Asking | Streaming | Lagging | Listing | Opening | Watching | Ended


class Opened(Struct, frozen=True, gc=False):
    """The server has responded to a watch with 2xx."""


class Received(Struct, frozen=True, gc=False):
    """A piece of a response has come. `digest` makes this from the events of a chunk.

    `count` is the number of events or objects in it, and `version` that of the last one; "" if there is none.
    `live`: one of them is not an Added. `bookmark`: it has a bookmark. `marked`: it ends with the
    initial-events-end bookmark. `lost`: it has an event whose object or version is unknown.
    """

    count: int
    version: str = ""
    live: bool = False
    bookmark: bool = False
    initial_events_end: bool = False
    lost: bool = False


class Closed(Struct, frozen=True, gc=False):
    """A watch has ended cleanly."""


class Refreshed(Struct, frozen=True, gc=False):
    """The program wants a relist. The snapshot stays as it is until then."""


class Paused(Struct, frozen=True, gc=False):
    """The program pauses; `Started` continues from here."""


class Stopped(Struct, frozen=True, gc=False):
    """The program has stopped following."""


Event: TypeAlias = Started | Opened | Received | Listed | Closed | Failed | Refreshed | Paused | Stopped


class SendWatch(Struct, frozen=True, kw_only=True, gc=False):
    """Ask for a watch with bookmarks, at a time between `at` and `latest`.

    `initial` asks for a streaming list: ``sendInitialEvents``, with the match that it needs. The server is to
    end the watch after a number of seconds drawn from `seconds`, and the whole may take `grace` longer.
    After `idle` seconds without an event, even if bytes arrive, the driver closes it and reports
    `Failed(TimedOut(…))`; None leaves that to the end of the whole.
    """

    at: float
    latest: float
    version: str
    initial: bool
    seconds: tuple[int, int]
    idle: float | None
    grace: float = 30.0

    @property
    def match(self) -> str:
        """The ``resourceVersionMatch``: a streaming list must have one, a watch must not."""
        return "NotOlderThan" if self.initial else ""


class Update(Struct, frozen=True, gc=False):
    """Update the snapshot that readers see by what has just arrived. Skip what is not newer than `after`."""

    after: str = ""


class Close(Struct, frozen=True, gc=False):
    """End the response that is open, and cancel the request that waits for its time."""


class Report(Struct, frozen=True, gc=False):
    """Report this: in a log, in a metric."""

    failure: SyncFailure


Action: TypeAlias = SendList | SendWatch | Stage | Update | Replace | Discard | Close | Report | Abandon
