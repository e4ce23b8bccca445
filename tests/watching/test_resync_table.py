"""The resync machine: a row for each arrow of its diagram, and every other pair refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import pytest
from diagrams import arrows
from msgspec.structs import replace

from kubeproto import LocalProtocolError
from kubeproto.watching import pager, resync
from kubeproto.watching.resync import (
    Abandon,
    Asking,
    Backoff,
    Close,
    Closed,
    Discard,
    Ended,
    Endpoint,
    Failed,
    Idle,
    Lagging,
    Listed,
    Listing,
    Opened,
    Opening,
    Paused,
    Received,
    Refreshed,
    Replace,
    Report,
    SendList,
    SendWatch,
    Settings,
    Stage,
    Started,
    Stopped,
    Streaming,
    SyncContext,
    SyncFailure,
    Update,
    Watching,
)
from kubeproto.wire import (
    Broken,
    Conflicted,
    Expired,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
    Unreadable,
    Unsupported,
)

NOW = 100.0
STREAMING = Settings()
PLAIN = Settings(streaming=False)
FOLLOW = Settings(follow=True)
DEAF = Endpoint(bookmarks=False)

GONE = Expired("too old", 410)
AHEAD = TooLarge("too large", 504, 1.0)
BUSY = Throttled("busy", 429)
BUSY_5 = Throttled("busy", 429, 5.0)
DOWN = ServerFailed("down", 503)
UNREADABLE = Unreadable("cannot be read", 500)
FORBIDDEN = Refused("forbidden", 403)
WRONG = Rejected("no such field", 400)
CONFLICT = Conflicted("conflict", 409)
OLD_SERVER = Unsupported("sendInitialEvents: Forbidden", 422)
NO_SERVER = Unreachable("connection refused")
CUT = Broken("connection reset")
SILENT = TimedOut("75 s without a byte")
GARBAGE = Garbled("a line without an end")
LOST = Garbled("an event whose object or version is unknown")
NO_VERSION = Garbled("the end of a list without a version")
NO_BOOKMARK = Garbled("live events for 10 s, and no initial-events-end bookmark")
NO_END = Garbled("the streaming list ended without its initial-events-end bookmark")
REPEATED_TOKEN = Garbled("the server responds with the token of the request")


def context(settings: Settings = STREAMING, **fields: Any) -> SyncContext:
    """Return the context of a machine that received its last byte at 90 s, and whose bucket is full."""
    defaults: dict[str, Any] = {"settings": settings, "endpoint": Endpoint(), "received_at": 90.0}
    return SyncContext(**(defaults | fields))


def after_request(previous: SyncContext, **fields: Any) -> SyncContext:
    """Return the context after a request at `NOW`."""
    return replace(previous, **({"bucket": NOW + 1.0} | fields))


def failure(outcome: Outcome, operation: Any = "watch") -> SyncFailure:
    operation = "transport" if isinstance(outcome, Unreachable | Broken | TimedOut) else operation
    return SyncFailure(NOW, operation, outcome.reason, outcome)


def failed(
    previous: SyncContext, outcome: Outcome, operation: Any = "watch", wait: float = 0.8, **fields: Any
) -> SyncContext:
    """Return the context after a failure and a request that waits."""
    sync_failure = failure(outcome, operation)
    changes: dict[str, Any] = {
        "failures": previous.failures + 1,
        "failure": sync_failure,
        "bucket": NOW + wait + 1.0,
    }
    return replace(previous, **(changes | fields))


def report(outcome: Outcome, operation: Any = "watch") -> Report:
    return Report(failure(outcome, operation))


def send_watch(version: str, wait: float = 0.0, spread: float | None = None, **fields: Any) -> SendWatch:
    time = NOW + wait
    defaults: dict[str, Any] = {"initial": False, "seconds": (300, 600), "idle": 75.0}
    latest = time + (wait if spread is None else spread)
    return SendWatch(earliest=time, latest=latest, version=version, **(defaults | fields))


def send_streaming(version: str, wait: float = 0.0, spread: float | None = None) -> SendWatch:
    return send_watch(version, wait, spread, initial=True)


def send_list(wait: float = 0.0, spread: float | None = None, **fields: Any) -> SendList:
    time = NOW + wait
    return SendList(earliest=time, latest=time + (wait if spread is None else spread), **fields)


NEW = context()  # no snapshot yet
OLD = context(version="7")  # a snapshot, at version 7

# The plans of lists: the first, the list after version 7, and the latest.
FIRST = pager.First(pager.Plan(version="0"))
AFTER_7 = pager.First(pager.Plan(version="7", match="NotOlderThan", limit=0))
LATEST = pager.First(pager.Plan())
ASK_FIRST: dict[str, Any] = {"version": "0", "limit": 500}
ASK_AFTER_7: dict[str, Any] = {"version": "7", "match": "NotOlderThan"}
ASK_LATEST: dict[str, Any] = {"limit": 500}

PAGE_2 = pager.Following(pager.Plan(version="0"), "two", "9")
WHOLE_PLAN = pager.Plan(version="0", on_expired="fail")
WHOLE = pager.Whole(WHOLE_PLAN)


def streaming(previous: SyncContext = NEW, version: str = "", count: int = 3) -> Streaming:
    return Streaming(previous, version, 95.0, count)


def lagging(previous: SyncContext = NEW, version: str = "", live: float = 98.0) -> Lagging:
    return Lagging(previous, version, 60.0, live, 5)


def watching(previous: SyncContext = OLD, since: str = "7", opened: float = 95.0) -> Watching:
    return Watching(previous, since, opened)


def active(previous: SyncContext, **fields: Any) -> SyncContext:
    return replace(previous, received_at=NOW, **fields)


Row = tuple[str, resync.State, resync.Event, resync.State, tuple[resync.Action, ...]]
TABLE: list[Row] = []

outcome: Outcome
state: resync.State
event: resync.Event
closing: tuple[resync.Action, ...]


def row(
    name: str, state: resync.State, event: resync.Event, next_state: resync.State, *actions: resync.Action
) -> None:
    TABLE.append((name, state, event, next_state, actions))


# Idle
row("begins", Idle(NEW), Started(), Asking(after_request(NEW), ""), send_streaming(""))
plain = context(PLAIN)
row("begins plainly", Idle(plain), Started(), Listing(after_request(plain), FIRST), send_list(**ASK_FIRST))
latest = context(Settings(streaming=False, initial_version=""))
row(
    "begins at the latest",
    Idle(latest),
    Started(),
    Listing(after_request(latest), LATEST),
    send_list(**ASK_LATEST),
)
list_context = context(endpoint=Endpoint(streaming=False))
row(
    "begins where streaming is off",
    Idle(list_context),
    Started(),
    Listing(after_request(list_context), FIRST),
    send_list(**ASK_FIRST),
)
row("goes on", Idle(OLD), Started(), Opening(after_request(OLD)), send_watch("7"))

# Asking
row("opens", Asking(OLD, "7"), Opened(), Streaming(active(OLD), "7", NOW))
for outcome in (GONE, AHEAD):
    row(
        f"refused at 7, {type(outcome).__name__}", Asking(OLD, "7"), Failed(outcome),
        Asking(after_request(OLD, failure=failure(outcome, "list")), ""),
        report(outcome, "list"), send_streaming(""),
    )  # fmt: skip
for outcome in (BUSY, NO_SERVER):
    row(
        f"busy, {type(outcome).__name__}", Asking(OLD, "7"), Failed(outcome),
        Asking(failed(OLD, outcome, "list"), "7"),
        report(outcome, "list"), send_streaming("7", 0.8),
    )  # fmt: skip
row(
    "told to wait", Asking(NEW, ""), Failed(BUSY_5), Asking(failed(NEW, BUSY_5, "list", 5.0), ""),
    report(BUSY_5, "list"), send_streaming("", 5.0, 0.8),
)  # fmt: skip
never_streams = Endpoint(streaming=False)
row(
    "an old server", Asking(NEW, ""), Failed(OLD_SERVER),
    Listing(after_request(NEW, endpoint=never_streams, failure=failure(OLD_SERVER, "list")), FIRST),
    report(OLD_SERVER, "list"), send_list(**ASK_FIRST),
)  # fmt: skip
for outcome in (DOWN, CUT, SILENT, GARBAGE, UNREADABLE, CONFLICT, GONE):
    row(
        f"falls back, {type(outcome).__name__}", Asking(NEW, ""), Failed(outcome),
        Listing(failed(NEW, outcome, "list"), FIRST), report(outcome, "list"), send_list(0.8, **ASK_FIRST),
    )  # fmt: skip
for outcome in (FORBIDDEN, WRONG):
    row(
        f"falls back slowly, {type(outcome).__name__}", Asking(OLD, "7"), Failed(outcome),
        Listing(failed(OLD, outcome, "list", 10.0), AFTER_7),
        report(outcome, "list"), send_list(10.0, **ASK_AFTER_7),
    )  # fmt: skip
row(
    "falls back to the latest", Asking(OLD, ""), Failed(DOWN),
    Listing(failed(OLD, DOWN, "list"), LATEST), report(DOWN, "list"), send_list(0.8, **ASK_LATEST),
)  # fmt: skip

# Streaming and Lagging
row("initial events", streaming(), Received(4, "5"), Streaming(active(NEW), "", 95.0, 7), Stage())
row(
    "live events",
    streaming(),
    Received(2, "8", live=True),
    Lagging(active(NEW), "", 95.0, NOW, 5),
    Stage(),
)
row(
    "more of them",
    lagging(),
    Received(1, "9", live=True),
    Lagging(active(NEW), "", 60.0, 98.0, 6),
    Stage(),
)
ended_initial = Received(3, "9", live=True, bookmark=True, initial_events_end=True)
half: Streaming | Lagging
for name, half in (("", streaming()), (", late", lagging())):
    state, opened = half, half.opened_at
    row(
        f"the bookmark{name}",
        state,
        ended_initial,
        Watching(active(NEW, version="9"), "9", opened),
        Stage(),
        Replace("9"),
    )
    after_one_missing_end = context(endpoint=Endpoint(missing_ends=1))
    for situation, event, outcome in (
        ("a mark without a version", Received(1, initial_events_end=True), NO_VERSION),
        ("a lost event", Received(1, "9", lost=True), LOST),
        ("a lost event before the end bookmark", Received(1, "9", initial_events_end=True, lost=True), LOST),
        ("silence", Failed(SILENT), SILENT),
    ):
        row(
            situation + name, state, event, Listing(failed(after_one_missing_end, outcome, "list"), FIRST),
            Close(), Discard(), report(outcome, "list"), send_list(0.8, **ASK_FIRST),
        )  # fmt: skip
    row(
        f"no end{name}", state, Closed(), Asking(failed(after_one_missing_end, NO_END, "list"), ""),
        Discard(), report(NO_END, "list"), send_streaming("", 0.8),
    )  # fmt: skip
    row(
        f"busy midway{name}", state, Failed(BUSY), Asking(failed(NEW, BUSY, "list"), ""),
        Close(), Discard(), report(BUSY, "list"), send_streaming("", 0.8),
    )  # fmt: skip
    row(
        f"cut midway{name}", state, Failed(CUT), Listing(failed(NEW, CUT, "list"), FIRST),
        Close(), Discard(), report(CUT, "list"), send_list(0.8, **ASK_FIRST),
    )  # fmt: skip
row(
    "too large midway", streaming(OLD, "7"), Failed(AHEAD),
    Asking(after_request(OLD, failure=failure(AHEAD, "list")), ""),
    Close(), Discard(), report(AHEAD, "list"), send_streaming(""),
)  # fmt: skip
row(
    "no mark for long", lagging(live=90.0), Received(1, "9", live=True),
    Listing(failed(context(endpoint=Endpoint(missing_ends=1)), NO_BOOKMARK, "list"), FIRST),
    Close(), Discard(), report(NO_BOOKMARK, "list"), send_list(0.8, **ASK_FIRST),
)  # fmt: skip
twice = context(endpoint=Endpoint(missing_ends=2))
never = Endpoint(missing_ends=3, streaming=False)
row(
    "no end for the third time", streaming(twice), Closed(),
    Listing(failed(context(endpoint=never), NO_END, "list"), FIRST),
    Discard(), report(NO_END, "list"), send_list(0.8, **ASK_FIRST),
)  # fmt: skip
row(
    "a mark at last",
    streaming(twice),
    ended_initial,
    Watching(active(NEW, version="9"), "9", 95.0),
    Stage(),
    Replace("9"),
)
row(
    "no end for the third time, late", lagging(twice), Closed(),
    Listing(failed(context(endpoint=never), NO_END, "list"), FIRST),
    Discard(), report(NO_END, "list"), send_list(0.8, **ASK_FIRST),
)  # fmt: skip
back = SyncFailure(NOW, "version", "version 5 came after 7: the server has gone back in time")
row(
    "an older snapshot", streaming(OLD, ""), Received(1, "5", initial_events_end=True),
    Watching(active(OLD, version="5", failure=back), "5", 95.0), Stage(), Replace("5"), Report(back),
)  # fmt: skip

# Listing
row("a part of a page", Listing(NEW, FIRST, 2), Received(3), Listing(active(NEW), FIRST, 5), Stage())
row(
    "a page", Listing(NEW, FIRST, 2), Listed("9", "two", 3), Listing(active(NEW), PAGE_2, 5, 5),
    Stage(), send_list(limit=500, token="two"),
)  # fmt: skip
row(
    "the last page", Listing(NEW, FIRST), Listed("9"), Opening(active(after_request(NEW), version="9")),
    Stage(), Replace("9"), send_watch("9"),
)  # fmt: skip
row(
    "the last page of some", Listing(OLD, pager.Following(pager.Plan(), "two", "9")), Listed("10"),
    Opening(active(after_request(OLD), version="9")), Stage(), Replace("9"), send_watch("9"),
)  # fmt: skip
row(
    "a list at 0 in pages", Listing(NEW, PAGE_2), Listed("9"),
    Opening(active(after_request(NEW), version="9", endpoint=Endpoint(paged=True))),
    Stage(), Replace("9"), send_watch("9"),
)  # fmt: skip
row(
    "an older list", Listing(OLD, LATEST), Listed("5"), Opening(active(after_request(OLD), version="5",
    failure=back)),
    Stage(), Replace("5"), Report(back), send_watch("5"),
)  # fmt: skip
row(
    "no version", Listing(NEW, FIRST), Listed(""), Listing(failed(active(NEW), NO_VERSION, "list"), FIRST),
    Discard(), report(NO_VERSION, "list"), send_list(0.8, **ASK_FIRST),
)  # fmt: skip
row(
    "a circle", Listing(NEW, PAGE_2), Listed("9", "two"),
    Listing(failed(active(NEW), REPEATED_TOKEN, "list"), pager.Whole(pager.Plan(version="0"))),
    Discard(), report(REPEATED_TOKEN, "list"), send_list(0.8, version="0"),
)  # fmt: skip
row(
    "page 2 expired", Listing(NEW, PAGE_2, 4), Failed(GONE),
    Listing(after_request(NEW, failure=failure(GONE, "list")), WHOLE),
    Discard(), report(GONE, "list"), send_list(version="0"),
)  # fmt: skip
row(
    "the fallback expired too", Listing(NEW, pager.Following(WHOLE_PLAN, "two", "9")), Failed(GONE),
    Listing(failed(NEW, GONE, "list"), FIRST),
    Discard(), report(GONE, "list"), send_list(0.8, **ASK_FIRST),
)  # fmt: skip
row(
    "a token refused", Listing(NEW, PAGE_2), Failed(WRONG), Listing(failed(NEW, WRONG, "list", 10.0), FIRST),
    Discard(), report(WRONG, "list"), send_list(10.0, **ASK_FIRST),
)  # fmt: skip
row(
    "page 2 cut", Listing(NEW, PAGE_2), Failed(CUT), Listing(failed(NEW, CUT, "list"), PAGE_2),
    report(CUT, "list"), send_list(0.8, limit=500, token="two"),
)  # fmt: skip
for outcome in (GONE, AHEAD):
    row(
        f"a list at 7 refused, {type(outcome).__name__}", Listing(OLD, AFTER_7), Failed(outcome),
        Listing(after_request(OLD, failure=failure(outcome, "list")), LATEST),
        Discard(), report(outcome, "list"), send_list(**ASK_LATEST),
    )  # fmt: skip
row(
    "the latest refused", Listing(OLD, LATEST), Failed(AHEAD),
    Listing(failed(OLD, AHEAD, "list", 1.0), LATEST),
    Discard(), report(AHEAD, "list"), send_list(1.0, 0.8, **ASK_LATEST),
)  # fmt: skip
row(
    "a version refused forever", Listing(OLD, AFTER_7), Failed(WRONG),
    Listing(failed(OLD, WRONG, "list", 10.0), LATEST),
    Discard(), report(WRONG, "list"), send_list(10.0, **ASK_LATEST),
)  # fmt: skip
for outcome, wait in ((FORBIDDEN, 10.0), (DOWN, 0.8), (CUT, 0.8), (NO_SERVER, 0.8), (GARBAGE, 0.8)):
    row(
        f"page 1 failed, {type(outcome).__name__}", Listing(NEW, FIRST), Failed(outcome),
        Listing(failed(NEW, outcome, "list", wait), FIRST),
        Discard(), report(outcome, "list"), send_list(wait, **ASK_FIRST),
    )  # fmt: skip

# Opening
row("a watch opens", Opening(OLD), Opened(), Watching(active(OLD, mute_watches=1), "7", NOW))
for outcome, wait, spread in (
    (BUSY, 0.8, 0.8), (BUSY_5, 5.0, 0.8), (NO_SERVER, 0.8, 0.8), (CUT, 0.8, 0.8), (DOWN, 0.8, 0.8),
    (SILENT, 0.8, 0.8), (GARBAGE, 0.8, 0.8), (CONFLICT, 0.8, 0.8), (FORBIDDEN, 10.0, 10.0),
):  # fmt: skip
    for name, state, closing in (("Opening", Opening(OLD), ()), ("Watching", watching(), (Close(),))):
        row(
            f"{name} continues after {outcome}", state, Failed(outcome),
            Opening(failed(OLD, outcome, wait=wait)),
            *closing, report(outcome), send_watch("7", wait, spread),
        )  # fmt: skip
ahead = {"wait": 1.0, "spread": 0.8}
for outcome, version, pace in (
    (GONE, "7", {"wait": 0.8}), (AHEAD, "7", ahead),
    (UNREADABLE, "", {"wait": 0.8}), (WRONG, "", {"wait": 10.0}),
):  # fmt: skip
    for name, state, closing in (("Opening", Opening(OLD), ()), ("Watching", watching(), (Close(),))):
        row(
            f"{name} rebuilds after {outcome}", state, Failed(outcome),
            Asking(failed(OLD, outcome, wait=pace["wait"]), version),
            *closing, report(outcome), send_streaming(version, **pace),
        )  # fmt: skip
plain_7 = context(PLAIN, version="7")
row(
    "rebuilds with a list", Opening(plain_7), Failed(GONE), Listing(failed(plain_7, GONE), AFTER_7),
    report(GONE), send_list(0.8, **ASK_AFTER_7),
)  # fmt: skip
paged_7 = context(PLAIN, version="7", endpoint=Endpoint(paged=True))
row(
    "rebuilds an open watch with a list", watching(plain_7), Failed(GONE),
    Listing(failed(plain_7, GONE), AFTER_7), Close(), report(GONE), send_list(0.8, **ASK_AFTER_7),
)  # fmt: skip
row(
    "rebuilds with pages", Opening(paged_7), Failed(GONE),
    Listing(failed(paged_7, GONE), pager.First(pager.Plan(version="7", match="NotOlderThan"))),
    report(GONE), send_list(0.8, limit=500, **ASK_AFTER_7),
)  # fmt: skip
followed = context(FOLLOW, version="7")
for outcome in (GONE, AHEAD, UNREADABLE, FORBIDDEN, WRONG):
    ended_state = Ended(replace(followed, failures=1, failure=failure(outcome)))
    row(
        f"following ends, {type(outcome).__name__}", Opening(followed), Failed(outcome),
        ended_state, report(outcome), Abandon(outcome),
    )  # fmt: skip
    row(
        f"following ends midway, {type(outcome).__name__}", watching(followed), Failed(outcome),
        ended_state, Close(), report(outcome), Abandon(outcome),
    )  # fmt: skip

# Watching
tired = context(version="7", failures=3, mute_watches=1)
row("news", watching(tired), Received(2, "9", live=True), watching(active(OLD, version="9")), Update())
row(
    "the same version",
    watching(tired),
    Received(1, "7"),
    watching(active(tired, mute_watches=0)),
    Update(),
)
row("half a line", watching(tired), Received(0), watching(active(tired, mute_watches=0)), Update())
row(
    "an older version", watching(tired), Received(1, "5"),
    watching(active(tired, version="5", mute_watches=0, failure=back)), Update(), Report(back),
)  # fmt: skip
row("no order", watching(tired), Received(1, "x"), watching(active(OLD, version="x")), Update())
deaf = context(version="7", endpoint=DEAF)
has_bookmarks = Endpoint(bookmarks=True)
row(
    "a bookmark",
    watching(deaf),
    Received(1, "8", live=True, bookmark=True),
    watching(active(OLD, version="8", endpoint=has_bookmarks)),
    Update(),
)
row(
    "an end mark nobody asked for",
    watching(),
    replace(ended_initial, count=1),
    watching(active(OLD, version="9", endpoint=has_bookmarks)),
    Update(),
)
row(
    "news to a follower",
    watching(followed),
    Received(1, "8"),
    watching(active(followed, version="8")),
    Update("7"),
)
row(
    "a lost event", watching(), Received(2, "9", lost=True), Asking(failed(active(OLD), LOST), ""),
    Update(), Close(), report(LOST), send_streaming("", 0.8),
)  # fmt: skip
row(
    "a lost event where streaming is off", watching(plain_7), Received(2, "9", lost=True),
    Listing(failed(active(plain_7), LOST), LATEST),
    Update(), Close(), report(LOST), send_list(0.8, **ASK_LATEST),
)  # fmt: skip
row(
    "a follower loses an event", watching(followed), Received(1, lost=True),
    Ended(active(followed, failures=1, failure=failure(LOST))), Update(), Close(), report(LOST),
    Abandon(LOST),
)  # fmt: skip
row("ends", watching(opened=99.0), Closed(), Opening(after_request(OLD)), send_watch("7"))
nine = context(version="9")
row("ends soon with news", watching(nine, "7", 99.5), Closed(), Opening(after_request(nine)), send_watch("9"))
immediate_end = SyncFailure(NOW, "watch", "the watch ended immediately, without an event")
for name, opened in (("immediately", 99.5), ("before its start, by a clock set back", 5000.0)):
    row(
        f"ends {name}", watching(opened=opened), Closed(),
        Opening(replace(OLD, failures=1, failure=immediate_end, bucket=101.8)), Report(immediate_end),
        send_watch("7", 0.8),
    )  # fmt: skip
tired = context(version="7", failures=3)
row(
    "ends after a minute",
    watching(tired, opened=40.0),
    Closed(),
    Opening(after_request(OLD)),
    send_watch("7"),
)
quiet = context(version="7", mute_watches=1)
row(
    "ends mute", watching(quiet, opened=20.0), Closed(),
    Opening(after_request(context(version="7", mute_watches=1))), send_watch("7"),
)  # fmt: skip
for name, endpoint, silent, next_state, idle in (
    ("once, where bookmarks have come", has_bookmarks, 1, has_bookmarks, 75.0),
    ("twice, where bookmarks have come", has_bookmarks, 2, Endpoint(), 75.0),
    ("once, where none have come", Endpoint(), 1, Endpoint(), 75.0),
    ("twice, where none have come", Endpoint(), 2, DEAF, None),
):
    row(
        f"a follower hears nothing {name}",
        watching(context(FOLLOW, version="7", endpoint=endpoint, mute_watches=silent), opened=20.0), Closed(),
        Opening(after_request(context(FOLLOW, version="7", endpoint=next_state, mute_watches=silent))),
        send_watch("7", idle=idle),
    )  # fmt: skip
row(
    "ends before it could speak",
    watching(quiet, opened=60.0),
    Closed(),
    Opening(after_request(OLD)),
    send_watch("7"),
)
mute_context = context(version="7", endpoint=DEAF, mute_watches=2)
says_nothing = SyncFailure(NOW, "watch", "watches stay open without an event")
row(
    "ends mute twice", watching(context(version="7", mute_watches=2), opened=20.0), Closed(),
    Asking(after_request(deaf, failure=says_nothing), "7"), Report(says_nothing), send_streaming("7"),
)  # fmt: skip
row(
    "ends mute again", watching(mute_context, opened=20.0), Closed(),
    Asking(after_request(deaf, failure=says_nothing), "7"), Report(says_nothing), send_streaming("7"),
)  # fmt: skip
row(
    "silent again", watching(mute_context, opened=20.0), Failed(SILENT), Asking(failed(deaf, SILENT), "7"),
    Close(), report(SILENT), send_streaming("7", 0.8),
)  # fmt: skip
plain_mute = context(PLAIN, version="7", endpoint=DEAF, mute_watches=2)
row(
    "ends mute again where streaming is off", watching(plain_mute, opened=20.0), Closed(),
    Listing(after_request(replace(plain_mute, mute_watches=0), failure=says_nothing), AFTER_7),
    Report(says_nothing), send_list(**ASK_AFTER_7),
)  # fmt: skip
mute_follower = context(FOLLOW, version="7", endpoint=DEAF, mute_watches=2)
row(
    "a follower hears nothing again", watching(mute_follower, opened=20.0), Closed(),
    Opening(after_request(mute_follower)), send_watch("7", idle=None),
)  # fmt: skip
row(
    "fails after a minute", watching(tired, opened=40.0), Failed(CUT), Opening(failed(OLD, CUT)),
    Close(), report(CUT), send_watch("7", 0.8),
)  # fmt: skip
fourth = context(version="7", failures=4)
for outcome in (DOWN, GARBAGE):
    row(
        f"fails for the fifth time, {type(outcome).__name__}", watching(fourth), Failed(outcome),
        Asking(failed(fourth, outcome, wait=12.8), "7"), Close(), report(outcome), send_streaming("7", 12.8),
    )  # fmt: skip
row(
    "is refused for the fifth time", Opening(fourth), Failed(DOWN), Opening(failed(fourth, DOWN, wait=12.8)),
    report(DOWN), send_watch("7", 12.8),
)  # fmt: skip
follower = context(FOLLOW, version="7", failures=4)
row(
    "a follower fails for the fifth time", watching(follower), Failed(DOWN),
    Opening(failed(follower, DOWN, wait=12.8)), Close(), report(DOWN), send_watch("7", 12.8),
)  # fmt: skip
for count, wait in ((2, 3.2), (3, 6.4), (5, 25.6), (6, 30.0), (4999, 30.0)):
    often = context(version="7", failures=count)
    row(
        f"failure {count + 1}", Opening(often), Failed(CUT), Opening(failed(often, CUT, wait=wait)),
        report(CUT), send_watch("7", wait),
    )  # fmt: skip
patient = context(Settings(backoff=Backoff(initial=0.01, maximum=0.1, jitter=0.0)), version="7")
row(
    "another backoff", Opening(patient), Failed(CUT), Opening(failed(patient, CUT, wait=0.01)),
    report(CUT), send_watch("7", 0.01, 0.0),
)  # fmt: skip
spent = context(version="7", bucket=NOW + 9.5)
row(
    "a bucket that is nearly empty", watching(spent, opened=98.0), Closed(),
    Opening(replace(spent, bucket=110.5)),
    send_watch("7", 0.5, 0.0),
)  # fmt: skip

# Calls of the program
BUILDING: list[resync.State] = [
    Asking(OLD, "7"),
    streaming(OLD, "7"),
    lagging(OLD, "7"),
    Listing(OLD, AFTER_7),
]
OPEN: list[resync.State] = [Opening(OLD), watching()]
for state in BUILDING:
    row(f"refresh while {type(state).__name__}", state, Refreshed(), state)
for state in OPEN:
    row(
        f"refresh while {type(state).__name__}",
        state,
        Refreshed(),
        Asking(after_request(OLD), ""),
        Close(),
        send_streaming(""),
    )
for state in (Opening(plain_7), watching(plain_7)):
    row(
        f"refresh with a list while {type(state).__name__}", state, Refreshed(),
        Listing(after_request(plain_7), LATEST), Close(), send_list(**ASK_LATEST),
    )  # fmt: skip
for state in (*BUILDING, *OPEN):
    row(f"pause while {type(state).__name__}", state, Paused(), Idle(OLD), Close(), Discard())
for state in (Idle(OLD), *BUILDING, *OPEN):
    row(f"stop while {type(state).__name__}", state, Stopped(), Ended(OLD), Close(), Discard())

STATES: list[resync.State] = [Idle(OLD), *BUILDING, *OPEN, Ended(OLD)]
EVENTS: list[resync.Event] = [
    Started(), Opened(), Received(1, "8"), Listed("8"), Closed(), Failed(CUT),
    Refreshed(), Paused(), Stopped(),
]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "event", "next_state", "actions"), [r[1:] for r in TABLE], ids=[r[0] for r in TABLE]
)
def test_each_row_of_the_table(
    state: resync.State, event: resync.Event, next_state: resync.State, actions: tuple[resync.Action, ...]
) -> None:
    assert resync.step(state, event, NOW) == (next_state, actions)


def arrow(state: resync.State, event: resync.Event, next_state: resync.State) -> tuple[str, str, str]:
    return type(state).__name__, type(event).__name__, type(next_state).__name__


def test_the_diagram_and_the_table_have_the_same_arrows() -> None:
    assert arrows(resync.__doc__) == {
        arrow(state, event, next_state) for _, state, event, next_state, _ in TABLE
    }


def test_no_state_and_event_of_the_table_take_an_arrow_outside_the_diagram() -> None:
    drawn = arrows(resync.__doc__)
    events = [event for _, _, event, _, _ in TABLE]
    for _, state, *_ in TABLE:
        for event in events:
            try:
                next_state, _ = resync.step(state, event, NOW)
            except LocalProtocolError:
                continue
            assert arrow(state, event, next_state) in drawn


def test_the_table_contains_every_state_and_every_event() -> None:
    assert {type(state) for state in STATES} == set(get_args(resync.State))
    assert {type(event) for event in EVENTS} == set(get_args(resync.Event))


def test_every_other_pair_is_refused() -> None:
    pairs = {(type(state), type(event)) for _, state, event, _, _ in TABLE}
    refused = [(s, e) for s in STATES for e in EVENTS if (type(s), type(e)) not in pairs]
    assert len(refused) == len(STATES) * len(EVENTS) - len(pairs)
    for state, event in refused:
        with pytest.raises(LocalProtocolError, match="the resync machine cannot process"):
            resync.step(state, event, NOW)


def test_a_follower_cannot_be_refreshed() -> None:
    with pytest.raises(LocalProtocolError, match="Refreshed"):
        resync.step(Opening(followed), Refreshed(), NOW)


BEGIN: Callable[..., Idle] = resync.begin


@pytest.mark.parametrize(
    "arguments", [{"version": "0"}, {"settings": FOLLOW}, {"settings": FOLLOW, "version": "0"}]
)
def test_rw_01_and_rw_02_a_watch_without_a_version_cannot_continue(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a watch cannot continue from"):
        BEGIN(**arguments)


def test_a_machine_begins_with_its_arguments() -> None:
    endpoint = Endpoint(streaming=False)
    assert BEGIN(FOLLOW, version="7", endpoint=endpoint) == Idle(SyncContext(FOLLOW, endpoint, "7"))


def test_failures_before_it_do_not_delay_the_watch_after_a_clean_end() -> None:
    watching = Watching(context(version="7", failures=3, received_at=0.0), "7", 0.0)
    state, actions = resync.step(watching, Closed(), 30.0)
    (send,) = [action for action in actions if isinstance(action, SendWatch)]
    assert send.earliest == 30.0
    assert state.context.failures == 3


def test_the_end_bookmark_of_a_streaming_list_does_not_reset_the_failures() -> None:
    state, _ = resync.step(
        Streaming(context(failures=3), "", 99.0), Received(1, "9", initial_events_end=True), NOW
    )
    assert isinstance(state, Watching)
    assert state.context.failures == 3


def test_a_stubborn_watch_relists_at_every_fifth_failure() -> None:
    watching = Watching(context(version="7", failures=9), "7", 99.0)
    state, _ = resync.step(watching, Failed(Garbled("no event")), NOW)
    assert isinstance(state, Asking)
