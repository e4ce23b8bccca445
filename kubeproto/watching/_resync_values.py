"""The states, events and actions of the resync machine, and what they are made of."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..wire import Outcome
from . import pager
from ._resync_pace import Backoff
from .pager import Abandon, Commit, Discard, Failed, Listed, SendList, Stage, Started

# Below five minutes a server would be asked too often for nothing; Go's client has the same floor.
SHORTEST_WATCH: Final = 300


class Settings(Struct, frozen=True, kw_only=True, gc=False):
    """What the program wants of one mirror.

    `first` is the version of the very first list: "0" takes what the server has at hand, which is cheap even
    for ten thousand clients at once, and the watch then catches up; "" waits for the latest, which matters to
    a program that must not even begin with an old world. A streaming list is always the latest.
    `page_size` of 0 lets the machine choose. `watch_seconds` is the least time that a watch is asked for; up
    to twice as much, so that not all clients come back at once. `follow` never lists: it goes on from the
    version that was handed in, and ends when that is gone.
    """

    streaming: bool = True
    first: Literal["0", ""] = "0"
    page_size: int = 0
    watch_seconds: int = SHORTEST_WATCH
    backoff: Backoff = Backoff()
    follow: bool = False


class Endpoint(Struct, frozen=True, kw_only=True, gc=False):
    """What was learnt about one resource of one server. It may be handed to the next machine that asks there.

    `streaming` is False once streaming lists have been refused, or did not come to an end too often;
    `unmarked` counts those. `paged` is True if a list at version "0" came in pages, so there is no cache
    behind it. `bookmarks` is False if a watch was silent for longer than bookmarks let it be.
    """

    streaming: bool = True
    unmarked: int = 0
    paged: bool = False
    bookmarks: bool = True


class SyncFailure(Struct, frozen=True, gc=False):
    """Something that went wrong: when, with what, and why. `about` tells transport failures from refusals."""

    at: float
    about: Literal["list", "watch", "transport", "version"]
    text: str
    outcome: Outcome | None = None


class SyncContext(Struct, frozen=True, gc=False):
    """What is true in every state.

    `version` is that of the world that readers see: "" until there is one. `heard` is the time of the last
    byte. `failures` counts those without progress between them, `mute` the watches in a row, with the one
    that is open, that have said nothing. `bucket` is when the bucket of requests will be full again.
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
    """Nothing is asked for: not begun, or paused."""

    context: SyncContext


class Asking(Struct, frozen=True, gc=False):
    """A streaming list has been asked for, at this version or newer."""

    context: SyncContext
    version: str


class Streaming(Struct, frozen=True, gc=False):
    """A streaming list is arriving; its end mark has not come yet."""

    context: SyncContext
    version: str
    opened: float
    count: int = 0


class Lagging(Struct, frozen=True, gc=False):
    """A streaming list goes on with live events since this time, and still has no end mark."""

    context: SyncContext
    version: str
    opened: float
    live: float
    count: int


class Listing(Struct, frozen=True, gc=False):
    """A page has been asked for; the pager says which. `count` objects have come, `before` this page."""

    context: SyncContext
    paging: pager.First | pager.Following | pager.Whole
    count: int = 0
    before: int = 0


class Opening(Struct, frozen=True, gc=False):
    """A watch has been asked for, from the version of the world on."""

    context: SyncContext


class Watching(Struct, frozen=True, gc=False):
    """A watch is open. It was asked for from `since` on, and was `opened` at that time."""

    context: SyncContext
    since: str
    opened: float


class Ended(Struct, frozen=True, gc=False):
    """Stopped, or, where only following was wanted, at an end. Nothing happens any more."""

    context: SyncContext


State: TypeAlias = Idle | Asking | Streaming | Lagging | Listing | Opening | Watching | Ended


class Opened(Struct, frozen=True, gc=False):
    """The server has answered a watch with 2xx."""


class Received(Struct, frozen=True, gc=False):
    """A piece of an answer has come. `digest` makes this from the events of a chunk.

    `count` is the events or objects in it, and `version` that of the last one; "" if none is told.
    `live`: one of them is not an Added. `bookmark`: it holds a bookmark. `marked`: it ends with the end mark
    of a streaming list. `lost`: it holds an event whose object or version cannot be told.
    """

    count: int
    version: str = ""
    live: bool = False
    bookmark: bool = False
    marked: bool = False
    lost: bool = False


class Closed(Struct, frozen=True, gc=False):
    """A watch has ended cleanly."""


class Refreshed(Struct, frozen=True, gc=False):
    """The program wants the world to be built anew. It stays as it is until then."""


class Paused(Struct, frozen=True, gc=False):
    """The program wants nothing for now; `Started` goes on where this left off."""


class Stopped(Struct, frozen=True, gc=False):
    """The program wants no more."""


Event: TypeAlias = Started | Opened | Received | Listed | Closed | Failed | Refreshed | Paused | Stopped


class SendWatch(Struct, frozen=True, kw_only=True, gc=False):
    """Ask for a watch with bookmarks, at a time between `at` and `latest`.

    `initial` asks for a streaming list: ``sendInitialEvents``, with the match that it needs. The server is to
    end the watch after a number of seconds drawn from `seconds`, and the whole may take `grace` longer.
    After `idle` seconds without an event, be it that bytes come or none, the driver closes it and reports
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
        """The ``resourceVersionMatch``: a streaming list must name one, a watch must not."""
        return "NotOlderThan" if self.initial else ""


class Apply(Struct, frozen=True, gc=False):
    """What has just come changes the world that readers see. Skip what is not newer than `after`."""

    after: str = ""


class Close(Struct, frozen=True, gc=False):
    """End the answer that is open, and forget the request that waits for its time."""


class Report(Struct, frozen=True, gc=False):
    """Say this: in a log, in a metric."""

    failure: SyncFailure


Action: TypeAlias = SendList | SendWatch | Stage | Apply | Commit | Discard | Close | Report | Abandon
