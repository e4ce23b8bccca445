"""How the resync machine builds a world: by a streaming list, or page by page where that does not work."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..wire import Expired, Garbled, Outcome, Rejected, Throttled, TooLarge, Unreachable, Unsupported
from . import _pager as pager
from ._pager import Abandon, Commit, Discard, Failed, Listed, Stage
from ._resync_pace import NOW, Wait
from ._resync_requests import (
    Paging,
    Step,
    ask,
    ask_page,
    fail,
    hear,
    list_all,
    note,
    reach,
    say,
    stop_streaming,
    wait_for,
    watch,
)
from ._resync_values import Action, Course, Ended, Lagging, Listing, Streaming, Watching

UNMARKED: Final = 3  # streaming lists without an end mark before an endpoint is asked for none any more
LAG: Final = 10.0  # seconds; the end mark follows the initial events at once, so this is generous

NO_VERSION: Final = Garbled("the end of a list without a version")
NO_MARK: Final = Garbled(f"live events for {LAG:g} s, and no end mark of the streaming list")
NO_END: Final = Garbled("the streaming list ended without its end mark")


def rebuild(course: Course, version: str, outcome: Outcome, now: float, *before: Action) -> Step:
    """This watch leads nowhere: build the world anew, or end where only following was wanted."""
    if course.settings.follow:
        return Ended(course), (*before, say(course), Abandon(outcome))
    return build(course, version, now, *before, say(course), wait=wait_for(course, outcome))


def build(course: Course, version: str, now: float, *before: Action, wait: Wait = NOW) -> Step:
    """Ask for a world at least as new as `version`, or for the latest."""
    course = replace(course, mute=0)
    if course.settings.streaming and course.endpoint.streaming:
        return ask(course, version, now, *before, wait=wait)
    return list_all(course, version if course.version else course.settings.first, now, *before, wait=wait)


def unasked(course: Course, version: str, outcome: Outcome, now: float, *before: Action) -> Step:
    """A streaming list was refused, or broke off."""
    match outcome:
        case Expired() | TooLarge() if version:
            course = note(course, "list", outcome, now)
            return ask(course, "", now, *before, say(course))
        case Unsupported():
            course = note(stop_streaming(course), "list", outcome, now)
            return build(course, version, now, *before, say(course))
        case Throttled() | Unreachable():
            course = fail(course, "list", outcome, now)
            return ask(course, version, now, *before, say(course), wait=wait_for(course, outcome))
        case _:
            return _fall_back(course, version, outcome, now, *before)


def unmarked(state: Streaming | Lagging, outcome: Outcome, now: float, *before: Action) -> Step:
    """A streaming list came to nothing, though the server took it on."""
    course, times = state.course, state.course.endpoint.unmarked + 1
    course = replace(course, endpoint=replace(course.endpoint, unmarked=times))
    if times >= UNMARKED:
        course = stop_streaming(course)
    if outcome is NO_END and course.endpoint.streaming:
        course = fail(course, "list", outcome, now)
        return ask(course, state.version, now, *before, say(course), wait=wait_for(course, outcome))
    return _fall_back(course, state.version, outcome, now, *before)


def _fall_back(course: Course, version: str, outcome: Outcome, now: float, *before: Action) -> Step:
    """Build the world with a plain list this time."""
    course = fail(course, "list", outcome, now)
    version = version if course.version else course.settings.first
    return list_all(course, version, now, *before, say(course), wait=wait_for(course, outcome))


def mark(state: Streaming | Lagging, version: str, now: float) -> Step:
    """All of the streaming list is there, and its stream is the watch from now on."""
    endpoint = state.course.endpoint
    if endpoint.unmarked:
        endpoint = replace(endpoint, unmarked=0)
    course, said = reach(hear(replace(state.course, endpoint=endpoint), now), version, now)
    return Watching(course, version, state.opened), (Stage(), Commit(version), *said)


def listed(state: Listing, event: Listed, now: float) -> Step:
    course, count = hear(state.course, now), state.count + event.count
    page = replace(event, count=count - state.before)
    match pager.step(state.paging, page, now)[0]:
        case pager.Following() as paging:
            # The pages of a list that works take no tokens: beyond ten it would take a second for each.
            return Listing(course, paging, count, count), (Stage(), pager.request(paging, at=now, latest=now))
        case pager.Done(version, paged) if version:
            if paged and isinstance(state.paging, pager.Following) and state.paging.plan.version == "0":
                course = replace(course, endpoint=replace(course.endpoint, paged=True))
            course, said = reach(course, version, now)
            return watch(course, now, Stage(), Commit(version), *said)
        case pager.Lost(outcome):
            # Its tokens lead nowhere, so have it in one piece.
            course = fail(course, "list", outcome, now)
            whole = pager.Whole(state.paging.plan)
            return ask_page(course, whole, now, Discard(), say(course), wait=wait_for(course, outcome))
        case _:
            return unlisted(course, pager.First(state.paging.plan), NO_VERSION, now)


def unlisted(course: Course, paging: Paging, outcome: Outcome, now: float) -> Step:
    """A page was refused, or broke off. What has come of a first page may not fit what comes next time."""
    noted, failed = note(course, "list", outcome, now), fail(course, "list", outcome, now)
    wait, told = wait_for(failed, outcome), say(failed)
    match pager.step(paging, Failed(outcome), now)[0], paging, outcome:
        case pager.Whole() as whole, _, _:
            return ask_page(noted, whole, now, Discard(), told)
        case _, pager.First(plan) | pager.Whole(plan), Expired() | TooLarge() if plan.version:
            return list_all(noted, "", now, Discard(), told)
        case _, pager.First() | pager.Whole(), Rejected():
            return list_all(failed, "", now, Discard(), told, wait=wait)
        case _, pager.Following(plan), Expired() | Rejected():
            return list_all(failed, plan.version, now, Discard(), told, wait=wait)
        case _, pager.Following(), _:
            return ask_page(failed, paging, now, told, wait=wait)
        case _:
            return ask_page(failed, paging, now, Discard(), told, wait=wait)
