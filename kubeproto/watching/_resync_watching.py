"""The watch phase of the resync machine: a watch is asked for (Opening) or open (Watching)."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..wire import Expired, Garbled, Outcome, Refused, Rejected, ServerFailed, TooLarge, Unreadable
from ._pager import Failed
from ._resync_requests import (
    LOST,
    Step,
    fail,
    gone_back,
    note,
    note_activity,
    order,
    refuse,
    relist,
    relist_or_end,
    report,
    to_opening,
    wait_for,
)
from ._resync_values import Action, Apply, Close, Closed, Course, Event, Opened, Opening, Received, Watching

SHORT: Final = 1.0  # seconds; a watch that ends sooner with nothing new did not work
STEADY: Final = 60.0  # seconds; a watch that was open for so long did
MUTE: Final = 2  # watches without a byte before a relist
STUBBORN: Final = 5  # failures of open watches in a row before a relist

_APPLY: Final = (Apply(),)


def step(state: Opening | Watching, event: Event, now: float) -> Step:
    """Return the next state and the actions for an event of the watch phase."""
    match state, event:
        case Watching(), Received(lost=False):
            return _advance(state, event, now)
        case Watching(), Received():
            # It is not known what changed, and a list at the last version or newer might not contain it.
            course = fail(note_activity(state.course, now), "watch", LOST, now)
            return relist_or_end(course, "", LOST, now, *_APPLY, Close())

        case Opening(course), Opened():
            # Mute until a byte comes: `_advance` sets it back.
            return Watching(
                replace(note_activity(course, now), mute=course.mute + 1), course.version, now
            ), ()

        case Watching(), Closed() if _is_mute(state, now):
            # A watch at a version that the server will reach in years looks like this, and never ends.
            course = note(_settle(state, now), "watch", "watches stay open and say nothing", now)
            return relist(course, course.version, now, report(course))
        case Watching(Course(version=version), since, opened), Closed() if (
            now - opened < SHORT and version == since
        ):
            # Without a delay a proxy that hangs up politely would be asked in a tight loop.
            course = fail(_settle(state, now), "watch", "the watch ended at once with nothing new", now)
            return to_opening(course, now, report(course), wait=wait_for(course, None))
        case Watching(), Closed():
            # The server ends each watch after its timeout: no failure, and no delay.
            return to_opening(_settle(state, now), now)

        case Opening() | Watching(), Failed((Expired() | TooLarge()) as outcome):
            # The version has left the server's history, or the server was set back and is not there yet.
            course = _fail(state, outcome, now)
            return relist_or_end(course, course.version, outcome, now, *_close(state))
        case Opening() | Watching(), Failed((Unreadable() | Rejected()) as outcome):
            # It would be refused at this version each time.
            return relist_or_end(_fail(state, outcome, now), "", outcome, now, *_close(state))
        case Opening() | Watching(), Failed(Refused() as outcome) if state.course.settings.follow:
            # Who follows has had the right and the kind, and lost them; a cache waits for them instead.
            return relist_or_end(_fail(state, outcome, now), "", outcome, now, *_close(state))
        case Watching(), Failed((ServerFailed() | Garbled()) as outcome) if _is_stubborn(state, now):
            # The server cannot get past something at this version.
            course = _fail(state, outcome, now)
            return relist_or_end(course, course.version, outcome, now, Close())
        case Opening() | Watching(), Failed(outcome) if _is_mute(state, now):
            # As for a mute watch that was closed.
            course = _fail(state, outcome, now)
            return relist_or_end(course, course.version, outcome, now, *_close(state))
        case Opening() | Watching(), Failed(outcome):
            # Busy, unreachable, cut off: what is at this version can still be had.
            course = _fail(state, outcome, now)
            return to_opening(course, now, *_close(state), report(course), wait=wait_for(course, outcome))
        case _:
            raise refuse(state, event)


def _advance(state: Watching, event: Received, now: float) -> tuple[Watching, tuple[Action, ...]]:
    """Note how far the snapshot has come. A version that goes back is taken as it is, and reported."""
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
        actions = (*actions, report(moved))
    return Watching(moved, since, state.opened), actions


def _settle(state: Opening | Watching, now: float) -> Course:
    """What a watch that is over leaves behind: whether it was open for long enough, and whether mute."""
    course = state.course
    if isinstance(state, Opening):
        return course
    if now - state.opened < STEADY:
        return replace(course, mute=max(0, course.mute - 1))
    bookmarks = course.endpoint.bookmarks and not course.mute
    return replace(course, failures=0, endpoint=replace(course.endpoint, bookmarks=bookmarks))


def _fail(state: Opening | Watching, outcome: Outcome, now: float) -> Course:
    return fail(_settle(state, now), "watch", outcome, now)


def _close(state: Opening | Watching) -> tuple[Action, ...]:
    return (Close(),) if isinstance(state, Watching) else ()


def _is_mute(state: Opening | Watching, now: float) -> bool:
    return _settle(state, now).mute >= MUTE and not state.course.settings.follow


def _is_stubborn(state: Watching, now: float) -> bool:
    failures = _settle(state, now).failures + 1
    return failures % STUBBORN == 0 and not state.course.settings.follow
