"""The pager: requests a list page by page. Callers drive it directly, and the resync machine embeds it.

::

    Ready ────── Started ──► First

    First ────── Listed ───► Following, Done, Lost
    First ────── Failed ───► Lost

    Following ── Listed ───► Following, Done, Lost
    Following ── Failed ───► Following, Whole, Lost

    Whole ────── Listed ───► Following, Done, Lost
    Whole ────── Failed ───► Lost

Rules

- A page is staged (`Stage`) before the next page is requested, so memory is bounded by a page. A driver may
  prefetch.
- Only the request of page 1 has the version and its match: a token contains its version, and a server refuses
  a request with both.
- The version of the list is that of page 1, which the server repeats on every page.
- After a 410 between pages, the staged pages are discarded (`Discard`) and the whole list is requested in a
  single response, which cannot expire while it arrives. The plan may choose otherwise: to fail, or to
  continue with the token that the server offers. Then the later pages have another version: such a list is
  not a snapshot (`Done.consistent`), and no watch may start from it.
- The fallback is tried once. The list ends when a server could continue it forever: it responds with the
  token of the request, or with the same page under another token, or with empty pages, or with more pages
  than any list has, or with a token or version that is too long to be sent back.
- The caller handles a 410 on page 1, because the requested version is too old, and all retries.
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

PAGE: Final = 500  # objects per page, as Go's client and kubectl request

# A token is the base64 of a version and a key of etcd, some 400 bytes. Percent-encoded, this many still fit
# the request line that proxies accept, and httpx accepts no URL of over 64 KiB.
MAX_TOKEN: Final = 16 * 1024

# Versions are numbers of up to 20 digits. Other stores may have longer versions, which every watch sends
# back.
MAX_VERSION: Final = 1024

# An API server fills each page up to the limit, so it never sends an empty page with a token.
MAX_EMPTY_PAGES: Final = 10

# Bounds the pages of a list, whatever the limit: at 500 objects a page this is six million objects.
_MAX_PAGES: Final = 12_000
_MAX_OBJECTS: Final = 1_000_000

# Seconds. An API server ends a list after 60 s (`--request-timeout`), so a list without an object in that
# time makes no progress. Ten times as long is enough for slow proxies.
PROGRESS: Final = 60.0
LIST_TIMEOUT: Final = 600.0


class Plan(Struct, frozen=True, kw_only=True, gc=False):
    """The parameters of a list. `on_expired` decides what happens if the version expires between pages."""

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
    """The version expired between pages, and the whole list was requested in a single response."""

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
    """A page is complete. `token` requests the next page and is empty on the last; `count` is the number of
    objects.

    `first_object` names the first object, to detect a server that repeats a page.
    """

    version: str
    token: str = ""
    count: int = 0
    first_object: str = ""


class Failed(Struct, frozen=True, gc=False):
    """A request has failed, or the connection was lost."""

    outcome: Outcome


Event: TypeAlias = Started | Listed | Failed


class SendList(Struct, frozen=True, kw_only=True, gc=False):
    """Request a page at a time between `earliest` and `latest`; the two are equal without jitter.

    After `idle` seconds in which no object was completed, or `timeout` seconds in total, the driver closes
    the response and reports `Failed(TimedOut(…))`.
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
    """Stage the objects or events that have just arrived: a part of an incomplete list."""


class Replace(Struct, frozen=True, gc=False):
    """Replace the snapshot with the staged objects: they are the complete list at this version."""

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
            return _request_page(First(plan), now)
        case First() | Following() | Whole(), Listed() if problem := _find_problem(state, event):
            return _lose(Garbled(problem))
        case First() | Following() | Whole(), Listed(token=""):
            done = _finish(state, event)
            return done, (Stage(), Replace(done.version))
        case First(plan) | Whole(plan), Listed(version, token):
            following = Following(
                plan, token, version, empty_pages=int(not event.count), first_object=event.first_object
            )
            return _request_page(following, now, Stage())
        case Following(), Listed(token=token):
            empty_pages = 0 if event.count else state.empty_pages + 1
            next_state = replace(
                state,
                token=token,
                pages=state.pages + 1,
                empty_pages=empty_pages,
                first_object=event.first_object,
            )
            return _request_page(next_state, now, Stage())
        case Following(Plan(on_expired="go on")), Failed(Expired(token=token)) if 0 < len(token) <= MAX_TOKEN:
            return _request_page(replace(state, token=token, consistent=False), now)
        case Following(Plan(on_expired="list whole" | "go on") as plan), Failed(Expired()):
            return _request_page(Whole(replace(plan, on_expired="fail")), now, Discard())
        case First() | Following() | Whole(), Failed(outcome):
            return _lose(outcome)
        case _:
            raise LocalProtocolError(f"the pager cannot process {event} in {state}")


def request(state: First | Following | Whole, *, earliest: float, latest: float) -> SendList:
    """Return the request that this state waits for, so that a caller can repeat it."""
    match state:
        case First(plan):
            return SendList(
                earliest=earliest, latest=latest, version=plan.version, match=plan.match, limit=plan.limit
            )
        case Following(plan, token):
            return SendList(earliest=earliest, latest=latest, limit=plan.limit, token=token)
        case Whole(plan):
            return SendList(earliest=earliest, latest=latest, version=plan.version, match=plan.match)


def _find_problem(state: First | Following | Whole, page: Listed) -> str:
    """Return the reason why a list cannot continue after this page, or would never end; "" if it can."""
    if len(page.version) > MAX_VERSION:
        return f"the version has {len(page.version)} characters; the limit is {MAX_VERSION}"
    if len(page.token) > MAX_TOKEN:
        return f"the continue token has {len(page.token)} characters; the limit is {MAX_TOKEN}"
    if not isinstance(state, Following) or not page.token:
        return ""
    if page.token == state.token:
        return "the server responds with the token of the request"
    if page.first_object and page.first_object == state.first_object:
        return "the server sends the same page again under another token"
    if not page.count and state.empty_pages + 1 >= MAX_EMPTY_PAGES:
        return f"{MAX_EMPTY_PAGES} consecutive pages have a token for the next page, and no object"
    max_pages = max(_MAX_PAGES, _MAX_OBJECTS // max(state.plan.limit, 1))
    return f"the list continues after {max_pages} pages" if state.pages >= max_pages else ""


def _request_page(
    state: First | Following | Whole, now: float, *actions: Action
) -> tuple[State, tuple[Action, ...]]:
    return state, (*actions, request(state, earliest=now, latest=now))


def _finish(state: First | Following | Whole, last: Listed) -> Done:
    match state:
        case Following(version=version, consistent=consistent):
            return Done(version, paged=True, consistent=consistent)
        case _:
            return Done(last.version)


def _lose(outcome: Outcome) -> tuple[State, tuple[Action, ...]]:
    return Lost(outcome), (Abandon(outcome),)
