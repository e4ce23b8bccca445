"""What the resync machine asks for and what it notes down; when it does so is decided elsewhere."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from ..objects import compare_versions
from ..wire import Broken, Outcome, TimedOut, Unreachable
from . import _pager as pager
from ._resync_pace import NOW, Wait, take_token, wait_after
from ._resync_values import (
    SHORTEST_WATCH,
    Action,
    Asking,
    Course,
    Listing,
    Opening,
    Report,
    SendWatch,
    State,
    Trouble,
)

IDLE: Final = 75.0  # seconds; bookmarks come each minute, and servers keep the events of 75 s

Step: TypeAlias = tuple[State, tuple[Action, ...]]
Paging: TypeAlias = pager.First | pager.Following | pager.Whole
About: TypeAlias = Literal["list", "watch", "transport", "version"]


def watch(course: Course, now: float, *before: Action, wait: Wait = NOW) -> Step:
    course, send = _send_watch(course, course.version, now, wait, initial=False)
    return Opening(course), (*before, send)


def ask(course: Course, version: str, now: float, *before: Action, wait: Wait = NOW) -> Step:
    course, send = _send_watch(course, version, now, wait, initial=True)
    return Asking(course, version), (*before, send)


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


def list_all(course: Course, version: str, now: float, *before: Action, wait: Wait = NOW) -> Step:
    """Ask for the first page. In pages only what comes from no cache, or what the program wants so."""
    settings = course.settings
    known = version not in ("", "0")
    plan = pager.Plan(
        version=version,
        # Without a match a version with a limit means exactly that version, which is mostly gone.
        match="NotOlderThan" if known else "",
        limit=settings.page_size or (0 if known and not course.endpoint.paged else pager.PAGE),
    )
    return ask_page(course, pager.First(plan), now, *before, wait=wait)


def ask_page(
    course: Course, paging: Paging, now: float, *before: Action, wait: Wait = NOW, count: int = 0
) -> Step:
    at, bucket = take_token(course.bucket, now + wait.delay)
    send = pager.request(paging, at=at, latest=at + wait.spread)
    return Listing(replace(course, bucket=bucket), paging, count), (*before, send)


def hear(course: Course, now: float) -> Course:
    return replace(course, heard=now)


def stop_streaming(course: Course) -> Course:
    return replace(course, endpoint=replace(course.endpoint, streaming=False))


def reach(course: Course, version: str, now: float) -> tuple[Course, tuple[Action, ...]]:
    """A new world is complete. It may be older than the last one: a server was set back."""
    reached = replace(course, version=version)
    if not course.version or order(version, course.version) >= 0:
        return reached, ()
    reached = note(reached, "version", gone_back(course.version, version), now)
    return reached, (say(reached),)


def fail(course: Course, about: About, outcome: Outcome | str, now: float) -> Course:
    return replace(note(course, about, outcome, now), failures=course.failures + 1)


def note(course: Course, about: About, outcome: Outcome | str, now: float) -> Course:
    if isinstance(outcome, str):
        return replace(course, trouble=Trouble(now, about, outcome))
    if isinstance(outcome, Unreachable | Broken | TimedOut):
        about = "transport"
    return replace(course, trouble=Trouble(now, about, outcome.reason, outcome))


def say(course: Course) -> Report:
    assert course.trouble is not None
    return Report(course.trouble)


def wait_for(course: Course, outcome: Outcome | None) -> Wait:
    return wait_after(outcome, course.failures, course.settings.backoff)


def gone_back(before: str, after: str) -> str:
    return f"version {after} came after {before}: the server has gone back in time"


def order(version: str, than: str) -> int:
    """1 for progress: newer, or different where versions have no order; 0 for the same, -1 for older."""
    if version == than:
        return 0
    try:
        return compare_versions(version, than)
    except ValueError:
        return 1
