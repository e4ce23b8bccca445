"""The resync machine: keeps one mirror in step with the server, whatever the server and the network do.

::

                ┌─────── rebuild: Expired, lost, mute, Refreshed, stubborn ◄─────────┐
                ▼                                                                    │
    Idle ──► Asking ──► Streaming ──► Lagging ─── the mark (of either): Commit ──► Watching
     │ │      │  ▲          │            │                                         │   ▲
     │ │      │  └──────────┴────────────┤ no end, busy: ask again                 │   │ Opened
     │ │      │ refused                  │ broken, silent, no mark for 10 s        │   │
     │ │      └──────────┬───────────────┘                          Closed, Failed │   │
     │ │                 ▼                                                         ▼   │
     │ └───────────► Listing ───────── the last page: Commit ───────────────────► Opening
     │                │   ▲                                                        ▲ │ ▲
     │                └───┘ a page; failed; expired: in one piece, or the latest   │ │ │ Failed
     │                                                                             │ │ └──┐
     └──────────────────────── Started, with a world ──────────────────────────────┘ ├────┘
                ▲                                                                    │
                └─────── rebuild: Expired, Unreadable, Rejected, Refreshed ◄─────────┘

    A rebuild goes to Listing where streaming is off. Where only following is wanted, it is the end: Ended.
    Paused: any but Idle and Ended goes to Idle.     Stopped: any but Ended goes to Ended.

House rules

- Objects do not pass through here. The driver turns a chunk into a few words (`Received`), steps, and does
  with the chunk what the actions say: `Stage` it, or `Apply` it. `Commit` shows the staged world at once, so
  no reader ever sees half of one; until then the old world stays, and so does the place in it (`version`).
- After a 410 the world is rebuilt from the last version on, which spares the server; only if that is refused
  too, from the latest one. What would be refused for ever (Rejected), or must be newer (a lost event, an
  object that cannot be read, the program's wish), asks for the latest at once.
- A streaming list is asked for to build a world, never to go on with one. A server that does not know it is
  remembered (`Endpoint`). So is one that leaves out the end mark three times; and as soon as live events
  have come for ten seconds, or nothing at all, this one pass is made with a plain list, for a server may
  hold such a stream open for ten minutes.
- A clean end of a watch is daily business: the next one starts where it left off. A watch that ends within a
  second with nothing new did not work, and counts as a failure: else a proxy that hangs up politely would
  make a tight loop.
- Only progress forgives failures: a version that advanced on a watch, or a watch that stayed open for a
  minute. A list that worked forgives none, so list, watch and 410 cannot spin at full speed.
- Every request, list or watch, takes a token from one bucket; only the next page of a list that works takes
  none. So whatever a server does, it is asked at most ten times at once and then once a second.
- Silence is told from death by bookmarks, which come about every minute: 75 s without an event, and the
  watch is closed. Bytes that make no event are no sign of life: else a server that drips one of them now
  and then would be believed for ever. Of a list the same is asked: an object in 60 s. A server without
  bookmarks costs one watch to find out. Two mute watches in a row rebuild the world, for a server that was
  set back to an older state keeps a watch at a future version open for ever.
- A watch that opens, and fails on the server's side five times in a row without progress, stumbles over
  something at that version: the world is rebuilt. A server that does not let a watch open is waited for.
- 401, 403, 404 and requests that are wrong wait at least ten seconds and go on asking: rights and kinds
  appear.
- No dice are rolled here. A request says the earliest and the latest time for it, and whoever sends it draws
  the time between them, as it draws the length of a watch. So a row of the test table shows both ends, and no
  event has to carry a number that it may not need.
- `now` may jump. A clock set back makes a watch look short, and costs a delay, never a loop or a crash.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from .._errors import InvalidRequest, LocalProtocolError
from ..wire import (
    Expired,
    Garbled,
    Outcome,
    Refused,
    Rejected,
    ServerFailed,
    TimedOut,
    TooLarge,
    Unreadable,
)
from ._pager import Abandon, Commit, Discard, Failed, Listed, SendList, Stage, Started
from ._resync_building import (
    LAG,
    NO_END,
    NO_MARK,
    NO_VERSION,
    build,
    listed,
    mark,
    rebuild,
    unasked,
    unlisted,
    unmarked,
)
from ._resync_digest import digest, newer
from ._resync_pace import Backoff
from ._resync_proof import Proof, proof
from ._resync_requests import Step, fail, gone_back, hear, note, order, say, wait_for, watch
from ._resync_values import (
    Action,
    Apply,
    Asking,
    Close,
    Closed,
    Course,
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
    Trouble,
    Watching,
)

__all__ = [
    "Abandon",
    "Action",
    "Apply",
    "Asking",
    "Backoff",
    "Close",
    "Closed",
    "Commit",
    "Course",
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
    "Proof",
    "Received",
    "Refreshed",
    "Report",
    "SendList",
    "SendWatch",
    "Settings",
    "Stage",
    "Started",
    "State",
    "Stopped",
    "Streaming",
    "Trouble",
    "Watching",
    "begin",
    "digest",
    "newer",
    "proof",
    "step",
]

SHORT: Final = 1.0  # seconds; a watch that ends sooner with nothing new did not work
STEADY: Final = 60.0  # seconds; a watch that was open for so long did
MUTE: Final = 2  # watches without a word before the world is rebuilt
STUBBORN: Final = 5  # failures of open watches in a row before the world is rebuilt


_SETTINGS: Final = Settings()
_ENDPOINT: Final = Endpoint()
_APPLY: Final = (Apply(),)
_STAGE: Final = (Stage(),)
_LOST: Final = Garbled("an event whose object or version cannot be told")


def begin(settings: Settings = _SETTINGS, *, version: str = "", endpoint: Endpoint = _ENDPOINT) -> Idle:
    """A machine that has asked for nothing yet.

    With the version of a world that the caller has kept, it goes on from there; ValueError for "0", which is
    no place in history, and for following from nowhere.
    """
    if version == "0" or (settings.follow and not version):
        raise InvalidRequest(f"version {version!r} is no place to go on from: it names no moment in history")
    return Idle(Course(settings, endpoint, version))


def step(state: State, event: Event, now: float) -> Step:
    """What an event means in a state: the next state, and what to do."""
    match state, event:
        case Watching(), Received(lost=False):
            return _move(state, event, now)
        case Watching(), Received():
            course = fail(hear(state.course, now), "watch", _LOST, now)
            return rebuild(course, "", _LOST, now, *_APPLY, Close())
        case Watching(), Closed():
            return _reopen(state, now)
        case Watching(), Failed(outcome):
            return _unwatched(_settle(state, now), outcome, now, Close())
        case Opening(course), Failed(outcome):
            return _unwatched(course, outcome, now)
        case Opening(course), Opened():
            return Watching(replace(hear(course, now), mute=course.mute + 1), course.version, now), ()

        case Asking(course, version), Opened():
            return Streaming(hear(course, now), version, now), ()
        case Asking(course, version), Failed(outcome):
            return unasked(course, version, outcome, now)
        case Streaming() | Lagging(), Received(marked=True, lost=False, version=version) if version:
            return mark(state, version, now)
        case Streaming() | Lagging(), Received(lost=True):
            return unmarked(state, _LOST, now, Close(), Discard())
        case Streaming() | Lagging(), Received(marked=True):
            return unmarked(state, NO_VERSION, now, Close(), Discard())
        case Streaming(course, version, opened, count), Received(live=True):
            heard = hear(course, now)
            return Lagging(heard, version, opened, now, count + event.count), _STAGE
        case Streaming(course, version, opened, count), Received():
            return Streaming(hear(course, now), version, opened, count + event.count), _STAGE
        case Lagging(live=live), Received() if now - live >= LAG:
            return unmarked(state, NO_MARK, now, Close(), Discard())
        case Lagging(course, version, opened, live, count), Received():
            return Lagging(hear(course, now), version, opened, live, count + event.count), _STAGE
        case Streaming() | Lagging(), Closed():
            return unmarked(state, NO_END, now, Discard())
        case Streaming() | Lagging(), Failed(TimedOut() as outcome):
            return unmarked(state, outcome, now, Close(), Discard())
        case Streaming(course, version) | Lagging(course, version), Failed(outcome):
            return unasked(course, version, outcome, now, Close(), Discard())

        case Listing(course, paging, count, before), Received():
            return Listing(hear(course, now), paging, count + event.count, before), _STAGE
        case Listing(), Listed():
            return listed(state, event, now)
        case Listing(course, paging), Failed(outcome):
            return unlisted(course, paging, outcome, now)

        case Idle(course), Started() if course.version:
            return watch(course, now)
        case Idle(course), Started():
            return build(course, "", now)
        case Asking() | Streaming() | Lagging() | Listing(), Refreshed():
            return state, ()
        case Opening(course) | Watching(course), Refreshed() if not course.settings.follow:
            return build(course, "", now, Close())
        case Asking() | Streaming() | Lagging() | Listing() | Opening() | Watching(), Paused():
            return Idle(state.course), (Close(), Discard())
        case Idle() | Asking() | Streaming() | Lagging() | Listing() | Opening() | Watching(), Stopped():
            return Ended(state.course), (Close(), Discard())
        case _:
            raise LocalProtocolError(f"the resync machine cannot take {event} in {type(state).__name__}")


# While a watch is open, and when it ends


def _move(state: Watching, event: Received, now: float) -> Step:
    """Note how far the world has come. A version that goes back is taken as it is, and said."""
    course, since = state.course, state.since
    version = event.version or course.version
    progress = order(version, course.version)
    endpoint = course.endpoint
    if event.bookmark and not endpoint.bookmarks:
        endpoint = replace(endpoint, bookmarks=True)
    moved = Course(
        course.settings, endpoint, version, now,
        0 if progress > 0 else course.failures, 0, course.bucket, course.trouble,
    )  # fmt: skip
    actions: tuple[Action, ...] = (Apply(since),) if course.settings.follow else _APPLY
    if progress < 0:
        moved = note(moved, "version", gone_back(course.version, version), now)
        actions = (*actions, say(moved))
    return Watching(moved, since, state.opened), actions


def _reopen(state: Watching, now: float) -> Step:
    """A watch has ended in peace: go on with the next one, unless it was none."""
    course, open_for = _settle(state, now), now - state.opened
    if _is_mute(course):
        course = note(course, "watch", "watches stay open and say nothing", now)
        return build(course, course.version, now, say(course))
    if open_for < SHORT and course.version == state.since:
        course = fail(course, "watch", "the watch ended at once with nothing new", now)
        return watch(course, now, say(course), wait=wait_for(course, None))
    return watch(course, now)


def _unwatched(course: Course, outcome: Outcome, now: float, *before: Action) -> Step:
    """A watch was refused, broke off, or ended with an error; `before` closes it if it was open."""
    course = fail(course, "watch", outcome, now)
    match outcome:
        case Expired() | TooLarge():
            return rebuild(course, course.version, outcome, now, *before)
        case Unreadable() | Rejected():
            return rebuild(course, "", outcome, now, *before)
        case Refused() if course.settings.follow:
            return rebuild(course, "", outcome, now, *before)
        case ServerFailed() | Garbled() if before and _is_stubborn(course):
            return rebuild(course, course.version, outcome, now, *before)
        case _ if _is_mute(course):
            return rebuild(course, course.version, outcome, now, *before)
        case _:
            return watch(course, now, *before, say(course), wait=wait_for(course, outcome))


def _settle(state: Watching, now: float) -> Course:
    """What a watch that is over leaves behind: whether it stayed open long enough, and whether it spoke."""
    course = state.course
    if now - state.opened < STEADY:
        return replace(course, mute=max(0, course.mute - 1))
    bookmarks = course.endpoint.bookmarks and not course.mute
    return replace(course, failures=0, endpoint=replace(course.endpoint, bookmarks=bookmarks))


def _is_mute(course: Course) -> bool:
    return course.mute >= MUTE and not course.settings.follow


def _is_stubborn(course: Course) -> bool:
    return course.failures % STUBBORN == 0 and not course.settings.follow
