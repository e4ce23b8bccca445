"""How the phases of the resync machine go on: what each next state asks for, and what the course notes."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from .._errors import LocalProtocolError, printable
from ..objects import compare_versions
from ..wire import Broken, Garbled, Outcome, TimedOut, Unreachable
from . import _pager as pager
from ._pager import Abandon
from ._resync_pace import NOW, Wait, take_token, wait_after
from ._resync_values import (
    SHORTEST_WATCH,
    Action,
    Asking,
    Course,
    Ended,
    Event,
    Listing,
    Opening,
    Report,
    SendWatch,
    State,
    Trouble,
)

IDLE: Final = 75.0  # seconds; bookmarks come each minute, and servers keep the events of 75 s

# What no server says, and the machine finds out by itself.
LOST: Final = Garbled("an event whose object or version cannot be told")
NO_VERSION: Final = Garbled("the end of a list without a version")

Actions: TypeAlias = tuple[Action, ...]
Step: TypeAlias = tuple[State, Actions]
Paging: TypeAlias = pager.First | pager.Following | pager.Whole
About: TypeAlias = Literal["list", "watch", "transport", "version"]


def refuse(state: State, event: Event) -> LocalProtocolError:
    """The error for an event that cannot happen in a state."""
    return LocalProtocolError(f"the resync machine cannot take {event} in {type(state).__name__}")


# The next state. `before` are the actions that come before the request, `wait` is how long it waits.


def relist_or_end(
    course: Course, version: str, outcome: Outcome, now: float, *before: Action
) -> tuple[Asking | Listing | Ended, Actions]:
    """A watch cannot go on from here: relist, or end where only following was wanted."""
    if course.settings.follow:
        return Ended(course), (*before, report(course), Abandon(outcome))
    return relist(course, version, now, *before, report(course), wait=wait_for(course, outcome))


def relist(
    course: Course, version: str, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Asking | Listing, Actions]:
    """Ask for a snapshot at least as new as `version`, or for the latest."""
    course = replace(course, mute=0)
    if course.settings.streaming and course.endpoint.streaming:
        return to_asking(course, version, now, *before, wait=wait)
    first = version if course.version else course.settings.first
    return to_listing(course, first, now, *before, wait=wait)


def to_opening(course: Course, now: float, *before: Action, wait: Wait = NOW) -> tuple[Opening, Actions]:
    """Ask for a watch that goes on from the snapshot."""
    course, send = _send_watch(course, course.version, now, wait, initial=False)
    return Opening(course), (*before, send)


def to_asking(
    course: Course, version: str, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Asking, Actions]:
    """Ask for a streaming list."""
    course, send = _send_watch(course, version, now, wait, initial=True)
    return Asking(course, version), (*before, send)


def to_listing(
    course: Course, version: str, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Listing, Actions]:
    """Ask for the first page. In pages only what comes from no cache, or what the program wants so."""
    settings = course.settings
    known = version not in ("", "0")
    plan = pager.Plan(
        version=version,
        # Without a match a version with a limit means exactly that version, which is mostly gone.
        match="NotOlderThan" if known else "",
        limit=settings.page_size or (0 if known and not course.endpoint.paged else pager.PAGE),
    )
    return to_listing_page(course, pager.First(plan), now, *before, wait=wait)


def to_listing_page(
    course: Course, paging: Paging, now: float, *before: Action, wait: Wait = NOW
) -> tuple[Listing, Actions]:
    """Ask for this page."""
    at, bucket = take_token(course.bucket, now + wait.delay)
    send = pager.request(paging, at=at, latest=at + wait.spread)
    return Listing(replace(course, bucket=bucket), paging), (*before, send)


def _send_watch(
    course: Course, version: str, now: float, wait: Wait, *, initial: bool
) -> tuple[Course, SendWatch]:
    at, bucket = take_token(course.bucket, now + wait.delay)
    least = max(SHORTEST_WATCH, course.settings.watch_seconds)
    return replace(course, bucket=bucket), SendWatch(
        at=at,
        latest=at + wait.spread,
        version=version,
        initial=initial,
        seconds=(least, 2 * least),
        idle=IDLE if initial or course.endpoint.bookmarks else None,
    )


# What the course notes


def note_activity(course: Course, now: float) -> Course:
    return replace(course, heard=now)


def reach(course: Course, version: str, now: float) -> tuple[Course, tuple[Action, ...]]:
    """A new snapshot is complete. It may be older than the last one: a server was set back."""
    reached = replace(course, version=version)
    if not course.version or order(version, course.version) >= 0:
        return reached, ()
    reached = note(reached, "version", gone_back(course.version, version), now)
    return reached, (report(reached),)


def fail(course: Course, about: About, outcome: Outcome | str, now: float) -> Course:
    return replace(note(course, about, outcome, now), failures=course.failures + 1)


def note(course: Course, about: About, outcome: Outcome | str, now: float) -> Course:
    if isinstance(outcome, str):
        return replace(course, trouble=Trouble(now, about, outcome))
    if isinstance(outcome, Unreachable | Broken | TimedOut):
        about = "transport"
    return replace(course, trouble=Trouble(now, about, outcome.reason, outcome))


def report(course: Course) -> Report:
    assert course.trouble is not None
    return Report(course.trouble)


def wait_for(course: Course, outcome: Outcome | None) -> Wait:
    return wait_after(outcome, course.failures, course.settings.backoff)


def gone_back(before: str, after: str) -> str:
    said = f"version {printable(after, 80)} came after {printable(before, 80)}"
    return f"{said}: the server has gone back in time"


def order(version: str, than: str) -> int:
    """1 for progress: newer, or different where versions have no order; 0 for the same, -1 for older."""
    if version == than:
        return 0
    try:
        return compare_versions(version, than)
    except ValueError:
        return 1
