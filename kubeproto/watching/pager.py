"""The pager: one list, page by page, as a machine that the caller drives and the resync machine embeds.

::

    Ready ────── Started ──► First

    First ────── Listed ───► Following, Done, Lost
    First ────── Failed ───► Lost

    Following ── Listed ───► Following, Done, Lost
    Following ── Failed ───► Following, Whole, Lost

    Whole ────── Listed ───► Following, Done, Lost
    Whole ────── Failed ───► Lost

Rules

- A page is passed on (`Stage`) before the next one is requested, so memory is bounded by a page. Prefetching
  is up to the driver.
- Only page 1 has the version and its match: a token carries its version, and a server refuses both.
- The version of the list is that of page 1, which the server repeats on every page.
- A 410 in the middle voids what was passed on (`Discard`) and falls back to the whole list in one response,
  which cannot expire while it arrives. The plan may choose otherwise: to fail, or to continue with the token
  that the server offers. The rest then has another version than the beginning: such a list is not a
  snapshot (`Done.consistent`), and no watch may start from it.
- The fallback is tried once, and a server that responds with the token of the request would do so forever:
  both end the list. So does anything else that a server could continue forever: the same page under another
  token, page after page without an object, more pages than any list has, and a token or a version that is too
  long to be sent back.
- A 410 on page 1 is for the caller: the version it asked for is too old. So are retries.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .._errors import LocalProtocolError
from ..wire import Expired, Garbled, Outcome

__all__ = [
    "LIST_TIMEOUT",
    "MAX_EMPTY_PAGES",
    "MAX_TOKEN",
    "MAX_VERSION",
    "PAGE",
    "PROGRESS",
    "Abandon",
    "Action",
    "Discard",
    "Done",
    "Event",
    "Failed",
    "First",
    "Following",
    "Listed",
    "Lost",
    "Plan",
    "Ready",
    "Replace",
    "SendList",
    "Stage",
    "Started",
    "State",
    "Whole",
    "request",
    "step",
]

PAGE: Final = 500  # objects a page, as Go's client and kubectl ask for

# A token is the base64 of a version and a key of etcd, some 400 bytes. Percent-encoded, this many still fit
# the request line that proxies accept, and httpx accepts no URL of over 64 KiB.
MAX_TOKEN: Final = 16 * 1024

# Versions are numbers of 20 digits; those of other stores may be longer, and every watch sends one back.
MAX_VERSION: Final = 1024

# An API server fills each page up to the limit, so not even one empty page with a token comes from it.
MAX_EMPTY_PAGES: Final = 10

# Bounds the pages of a list, whatever the limit: at 500 objects a page this is six million objects.
_MAX_PAGES: Final = 12_000
_MAX_OBJECTS: Final = 1_000_000

# Seconds. An API server gives a list 60 s, and ends it then (`--request-timeout`): one that has not sent an
# object in that time is not making progress, and ten times as long is enough for the slowest of proxies.
PROGRESS: Final = 60.0
LIST_TIMEOUT: Final = 600.0


class Plan(Struct, frozen=True, kw_only=True, gc=False):
    """The parameters of a list. `on_expired`: what to do when the server forgets the version midway."""

    version: str = ""
    match: str = ""
    limit: int = PAGE
    on_expired: Literal["list whole", "go on", "fail"] = "list whole"


class Ready(Struct, frozen=True, gc=False):
    """Nothing has been requested yet."""

    plan: Plan


class First(Struct, frozen=True, gc=False):
    """The first page has been requested."""

    plan: Plan


class Following(Struct, frozen=True, gc=False):
    """The next page was requested.

    `pages` have arrived, the last `empty_pages` of them without an object; `first_object` names the first
    object of the last page.
    """

    plan: Plan
    token: str
    version: str
    consistent: bool = True
    pages: int = 1
    empty_pages: int = 0
    first_object: str = ""


class Whole(Struct, frozen=True, gc=False):
    """The rest could not be read page by page: all of it has been requested in one response."""

    plan: Plan


class Done(Struct, frozen=True, gc=False):
    """All pages have arrived. `paged` if there was more than one, `consistent` if they are of one version."""

    version: str
    paged: bool = False
    consistent: bool = True


class Lost(Struct, frozen=True, gc=False):
    """The list has failed."""

    outcome: Outcome


State: TypeAlias = Ready | First | Following | Whole | Done | Lost


class Started(Struct, frozen=True, gc=False):
    """The caller has started the list."""


class Listed(Struct, frozen=True, gc=False):
    """A page is complete. `token` asks for the next one and is empty on the last; `count` is its objects.

    `first_object` names the first of them, so that a server that sends the same page again is noticed.
    """

    version: str
    token: str = ""
    count: int = 0
    first_object: str = ""


class Failed(Struct, frozen=True, gc=False):
    """A request has failed, or its response broke off."""

    outcome: Outcome


Event: TypeAlias = Started | Listed | Failed


class SendList(Struct, frozen=True, kw_only=True, gc=False):
    """Request a page at a time between `earliest` and `latest`; the two are equal without jitter.

    After `idle` seconds in which no object was completed, or `timeout` seconds in all, the driver closes it
    and reports `Failed(TimedOut(…))`.
    """

    earliest: float
    latest: float
    version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""
    idle: float = PROGRESS
    timeout: float = LIST_TIMEOUT


class Stage(Struct, frozen=True, gc=False):
    """Stage the objects or events that have just arrived: a part of a list that is not complete yet."""


class Replace(Struct, frozen=True, gc=False):
    """Replace the snapshot with the staged objects: they are the whole list, at this version."""

    version: str


class Discard(Struct, frozen=True, gc=False):
    """Drop the staged objects."""


class Abandon(Struct, frozen=True, gc=False):
    """Report to the caller why the list has failed."""

    outcome: Outcome


Action: TypeAlias = SendList | Stage | Replace | Discard | Abandon


def step(state: State, event: Event, now: float) -> tuple[State, tuple[Action, ...]]:
    """Return the next state and the actions for an event."""
    match state, event:
        case Ready(plan), Started():
            return _ask(First(plan), now)
        case First() | Following() | Whole(), Listed() if endless := _endless(state, event):
            return _lose(Garbled(endless))
        case First() | Following() | Whole(), Listed(token=""):
            done = _done(state, event)
            return done, (Stage(), Replace(done.version))
        case First(plan) | Whole(plan), Listed(version, token):
            following = Following(
                plan, token, version, empty_pages=int(not event.count), first_object=event.first_object
            )
            return _ask(following, now, Stage())
        case Following(), Listed(token=token):
            empty_pages = 0 if event.count else state.empty_pages + 1
            after = replace(
                state,
                token=token,
                pages=state.pages + 1,
                empty_pages=empty_pages,
                first_object=event.first_object,
            )
            return _ask(after, now, Stage())
        case Following(Plan(on_expired="go on")), Failed(Expired(token=token)) if 0 < len(token) <= MAX_TOKEN:
            return _ask(replace(state, token=token, consistent=False), now)
        case Following(Plan(on_expired="list whole" | "go on") as plan), Failed(Expired()):
            return _ask(Whole(replace(plan, on_expired="fail")), now, Discard())
        case First() | Following() | Whole(), Failed(outcome):
            return _lose(outcome)
        case _:
            raise LocalProtocolError(f"the pager cannot take {event} in {state}")


def request(state: First | Following | Whole, *, earliest: float, latest: float) -> SendList:
    """Return the request that this state waits for: the same again, for a caller who retries it."""
    match state:
        case First(plan):
            return SendList(
                earliest=earliest, latest=latest, version=plan.version, match=plan.match, limit=plan.limit
            )
        case Following(plan, token):
            return SendList(earliest=earliest, latest=latest, limit=plan.limit, token=token)
        case Whole(plan):
            return SendList(earliest=earliest, latest=latest, version=plan.version, match=plan.match)


def _endless(state: First | Following | Whole, page: Listed) -> str:
    """Return why a list cannot continue after this page, or would forever; "" if it can."""
    if len(page.version) > MAX_VERSION:
        return f"a version of {len(page.version)} characters came; the limit is {MAX_VERSION}"
    if len(page.token) > MAX_TOKEN:
        return f"a continue token of {len(page.token)} characters came; the limit is {MAX_TOKEN}"
    if not isinstance(state, Following) or not page.token:
        return ""
    if page.token == state.token:
        return "the server responds to each page with the token that it was asked with"
    if page.first_object and page.first_object == state.first_object:
        return "the server sends the same page again under another token"
    if not page.count and state.empty_pages + 1 >= MAX_EMPTY_PAGES:
        return f"{MAX_EMPTY_PAGES} pages in a row have a token for the next page, and no object"
    max_pages = max(_MAX_PAGES, _MAX_OBJECTS // max(state.plan.limit, 1))
    return f"the list continues after {max_pages} pages" if state.pages >= max_pages else ""


def _ask(state: First | Following | Whole, now: float, *actions: Action) -> tuple[State, tuple[Action, ...]]:
    return state, (*actions, request(state, earliest=now, latest=now))


def _done(state: First | Following | Whole, last: Listed) -> Done:
    match state:
        case Following(version=version, consistent=consistent):
            return Done(version, paged=True, consistent=consistent)
        case _:
            return Done(last.version)


def _lose(outcome: Outcome) -> tuple[State, tuple[Action, ...]]:
    return Lost(outcome), (Abandon(outcome),)
