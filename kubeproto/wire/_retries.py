"""Whether a single request is sent again, and when: a pure function of request, outcome, attempt and time.

Two questions decide. *May the failed attempt have been carried out?* Not if no connection was made, nor
after a 429, nor where the server itself asks to come back. *What if it was, and is carried out again?* That
is the request's `Safety`::

                              READ     GUARDED   ONCE
    Throttled, with a time      10        10       10      times at most; the time is a Retry-After
    ServerFailed, with a time   10        10       10      but a 504 with ONCE: never, it may have been done
    Throttled                    4         4        -      a 429 without a time is an eviction that a budget
                                                             forbids: the caller's to wait for
    ServerFailed                 4         4        -
    ServerFailed with 500        4         -        -      a write's 500 is mostly a webhook that fails slowly
    TooLarge                as ServerFailed                the server catches up within a second or so
    Unreachable                  4         4        4      nothing was sent
    Broken                       4         4        -
    anything else                -         -        -      it would fail again, or the time is spent

Go's client repeats a request only with a Retry-After, and a GET whose connection was lost. Here what is
harmless is repeated a few times more, because a server that restarts behind a balancer responds with 502 and
503 without a time, and refuses connections for a second. Never after `TimedOut`: the caller's time is used
up. Nor after `Garbled`: garbage comes from something between client and server, and would come again.

A GUARDED write cannot take effect twice: a resource version or uid as precondition, the name of a create, or
the nature of an apply ensures that. But the response to a repeat may depend on what the first attempt did: a
Conflict, an AlreadyExists, a NotFound. So a `Retry` tells whether the earlier attempt is `uncertain`; the
driver keeps that error as the cause of a later one, and a caller to whom the difference matters (one that
takes a lock by creating it) uses `NO_RETRIES`. An unguarded PUT, PATCH or DELETE is ONCE, although HTTP calls
some of them idempotent: its repeat could undo what another client did in between, or delete a new object of
the same name.

A Retry-After is a minimum, and so is the backoff; no retry is planned after the deadline: the response is
worth more than a timeout. The opening of a stream is a single request too; once its head has come, nothing is
repeated. The resync machine bypasses all this for its lists and watches, and backs off by itself.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from .._pacing import exponential_backoff
from ._outcomes import Broken, Conflicted, Outcome, ServerFailed, Throttled, TooLarge, Unreachable


class Safety(Enum):
    """What a repetition of the same request can do."""

    READ = "read"
    GUARDED = "guarded"
    ONCE = "once"


def safety(method: str, *, gated: bool = False, named: bool = False, applied: bool = False) -> Safety:
    """How safely a request is repeated.

    `gated`: it carries a resource version or uid that must match. `named`: it creates an object under a name
    that the caller chose. `applied`: it is a server-side apply.
    """
    match method:
        case "GET" | "HEAD":
            return Safety.READ
        case "POST" if named:
            return Safety.GUARDED
        case "PUT" | "DELETE" if gated:
            return Safety.GUARDED
        case "PATCH" if gated or applied:
            return Safety.GUARDED
        case _:
            return Safety.ONCE


class Retry(Struct, frozen=True, gc=False):
    """Send it again at this time. `uncertain`: what failed may have been carried out."""

    at: float
    uncertain: bool = False


class GiveUp(Struct, frozen=True, gc=False):
    """Pass the failure to the caller; `reason` says why it is not retried."""

    reason: str


RetryDecision: TypeAlias = Retry | GiveUp


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """When a single request is sent again, if ever.

    `told` and `untold` bound the retries with and without a Retry-After. The backoff doubles from `first` to
    `longest` seconds; if a server asks for more than `patience`, there is no retry.
    """

    told: int = 10
    untold: int = 4
    first: float = 0.2
    longest: float = 5.0
    patience: float = 60.0

    def decide(
        self,
        safety: Safety,
        outcome: Outcome,
        attempt: int,
        now: float,
        *,
        jitter: float,
        deadline: float | None = None,
    ) -> RetryDecision:
        """Decide after the attempt of this number, the first being 1. `jitter` is in [0, 1)."""
        after = outcome.retry_after
        if not _worthwhile(safety, outcome, told=after is not None):
            return GiveUp("the same again would not help, or could do harm")
        most = self.untold if after is None else self.told
        if attempt > most:
            return GiveUp(f"{most} retries are used up" if most else "retries are switched off")
        if after is not None and after > self.patience:
            return GiveUp(f"the server asks to wait {after:g} s, longer than {self.patience:g}")
        step = exponential_backoff(attempt, first=self.first, longest=self.longest)
        uncertain = safety is Safety.GUARDED and isinstance(outcome, Broken | ServerFailed)
        return _in_time(Retry(now + max(after or 0.0, step) + jitter * step, uncertain), deadline)


def _worthwhile(safety: Safety, outcome: Outcome, *, told: bool) -> bool:
    match outcome:
        case Unreachable():
            return True
        case Throttled():
            return told or safety is not Safety.ONCE
        case ServerFailed(code=504) | TooLarge() | Broken():
            return safety is not Safety.ONCE
        case ServerFailed(code=500) if not told:
            return safety is Safety.READ
        case ServerFailed():
            return told or safety is not Safety.ONCE
        case _:
            return False


class ConflictPolicy(Struct, frozen=True, kw_only=True):
    """When to read an object again and repeat a change that met a Conflict: `tries` in all.

    This is for the loop around read, change and write. The same request again would meet the same conflict.
    """

    tries: int = 5
    first: float = 0.01
    factor: float = 1.0
    longest: float = 5.0
    spread: float = 0.1

    def decide(
        self, outcome: Outcome, attempt: int, now: float, *, jitter: float, deadline: float | None = None
    ) -> RetryDecision:
        """Decide after the attempt of this number, the first being 1. `jitter` is in [0, 1)."""
        if not isinstance(outcome, Conflicted):
            return GiveUp("this is not a conflict")
        if attempt >= self.tries:
            return GiveUp(f"{self.tries} tries have met a conflict")
        step = exponential_backoff(attempt, first=self.first, longest=self.longest, factor=self.factor)
        return _in_time(Retry(now + step * (1.0 + self.spread * jitter)), deadline)


def _in_time(retry: Retry, deadline: float | None) -> RetryDecision:
    if deadline is not None and retry.at >= deadline:
        return GiveUp("the deadline comes before the next attempt")
    return retry


NO_RETRIES: Final = RetryPolicy(told=0, untold=0)

# Go's two: for a conflict with one other writer, and for one with many.
CONFLICT_RETRY: Final = ConflictPolicy()
CONFLICT_BACKOFF: Final = ConflictPolicy(tries=4, factor=5.0)
