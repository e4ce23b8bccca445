"""The pager: one list, page by page, as a machine that the caller drives and the resync machine embeds.

::

    Ready ── Started ──► First ── Listed, no token ──────────────────────────► Done
                           │                                                    ▲
                           └─ Listed, a token ─► Following ── Listed, no token ─┤
                                                  │  │  ▲                       │
                                  Listed, a token │  │  │ Expired, go on with   │
                                                  └──┼──┘ the token on offer    │
                                                     │                          │
                                                     └─ Expired ──► Whole ──────┘
                                                        (Whole may be paged by the server: Following)

    First, Following, Whole ── any other Failed ──► Lost

House rules

- A page is handed on (`Stage`) before the next one is asked for, so memory is bounded by a page. Who wants
  to fetch ahead does that in the driver.
- The version and its match stand on page 1 only: a token carries its version, and a server refuses both.
- The version of the list is that of page 1, which the server repeats on every page.
- A 410 in the middle voids what was handed on (`Discard`) and falls back to the whole list in one answer,
  which cannot expire on the way. The plan may choose otherwise: to fail, or to go on with the token that the
  server offers. The rest is then of another version than the beginning: such a list is no snapshot
  (`Done.consistent`), and no watch may start from it.
- The fallback is tried once, and a server that answers with the token it was asked with would do so for
  ever: both end the list.
- A 410 on page 1 is the caller's: the version it asked for is too old. Retries are the caller's as well.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .._errors import LocalProtocolError
from ..wire import Expired, Garbled, Outcome

PAGE: Final = 500  # objects a page, as Go's client and kubectl ask for


class Plan(Struct, frozen=True, kw_only=True, gc=False):
    """What list is wanted. `on_expired`: what to do when the server forgets the version midway."""

    version: str = ""
    match: str = ""
    limit: int = PAGE
    on_expired: Literal["list whole", "go on", "fail"] = "list whole"


class Ready(Struct, frozen=True, gc=False):
    """Nothing has been asked yet."""

    plan: Plan


class First(Struct, frozen=True, gc=False):
    """The first page has been asked for."""

    plan: Plan


class Following(Struct, frozen=True, gc=False):
    """A further page has been asked for."""

    plan: Plan
    token: str
    version: str
    consistent: bool = True


class Whole(Struct, frozen=True, gc=False):
    """The rest could not be had page by page: all has been asked for in one answer."""

    plan: Plan


class Done(Struct, frozen=True, gc=False):
    """All pages are there. `paged` says that there was more than one, `consistent` that they fit together."""

    version: str
    paged: bool = False
    consistent: bool = True


class Lost(Struct, frozen=True, gc=False):
    """The list has failed."""

    outcome: Outcome


State: TypeAlias = Ready | First | Following | Whole | Done | Lost


class Started(Struct, frozen=True, gc=False):
    """The caller wants it to begin."""


class Listed(Struct, frozen=True, gc=False):
    """A page is complete. `token` asks for the next one and is empty on the last; `count` is its objects."""

    version: str
    token: str = ""
    count: int = 0


class Failed(Struct, frozen=True, gc=False):
    """A request has failed, or its answer broke off."""

    outcome: Outcome


Event: TypeAlias = Started | Listed | Failed


class SendList(Struct, frozen=True, kw_only=True, gc=False):
    """Ask for a page at a time between `at` and `latest`; both are the same where no jitter is wanted."""

    at: float
    latest: float
    version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""


class Stage(Struct, frozen=True, gc=False):
    """Take what has just come: it is part of a whole that is not complete yet."""


class Commit(Struct, frozen=True, gc=False):
    """What was staged is the whole, as it was at this version."""

    version: str


class Discard(Struct, frozen=True, gc=False):
    """Forget what was staged."""


class Abandon(Struct, frozen=True, gc=False):
    """Tell the caller that this is the end, and why."""

    outcome: Outcome


Action: TypeAlias = SendList | Stage | Commit | Discard | Abandon


def step(state: State, event: Event, now: float) -> tuple[State, tuple[Action, ...]]:
    """What an event means in a state: the next state, and what to do."""
    match state, event:
        case Ready(plan), Started():
            return _ask(First(plan), now)
        case First() | Following() | Whole(), Listed(token=""):
            done = _done(state, event)
            return done, (Stage(), Commit(done.version))
        case Following(token=token), Listed(token=again) if token == again:
            return _lose(Garbled("the server answers each page with the token that it was asked with"))
        case First(plan) | Whole(plan), Listed(version, token):
            return _ask(Following(plan, token, version), now, Stage())
        case Following(), Listed(token=token):
            return _ask(replace(state, token=token), now, Stage())
        case Following(Plan(on_expired="go on")), Failed(Expired(token=token)) if token:
            return _ask(replace(state, token=token, consistent=False), now)
        case Following(Plan(on_expired="list whole" | "go on") as plan), Failed(Expired()):
            return _ask(Whole(replace(plan, on_expired="fail")), now, Discard())
        case First() | Following() | Whole(), Failed(outcome):
            return _lose(outcome)
        case _:
            raise LocalProtocolError(f"the pager cannot take {event} in {state}")


def request(state: First | Following | Whole, *, at: float, latest: float) -> SendList:
    """The request that this state waits for: the same again, for who wants to retry it."""
    match state:
        case First(plan):
            return SendList(at=at, latest=latest, version=plan.version, match=plan.match, limit=plan.limit)
        case Following(plan, token):
            return SendList(at=at, latest=latest, limit=plan.limit, token=token)
        case Whole(plan):
            return SendList(at=at, latest=latest, version=plan.version, match=plan.match)


def _ask(state: First | Following | Whole, now: float, *before: Action) -> tuple[State, tuple[Action, ...]]:
    return state, (*before, request(state, at=now, latest=now))


def _done(state: First | Following | Whole, last: Listed) -> Done:
    match state:
        case Following(version=version, consistent=consistent):
            return Done(version, paged=True, consistent=consistent)
        case _:
            return Done(last.version)


def _lose(outcome: Outcome) -> tuple[State, tuple[Action, ...]]:
    return Lost(outcome), (Abandon(outcome),)
