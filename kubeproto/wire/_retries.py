"""The retries of a single request: a pure function of request, outcome, attempt and time.

Two questions decide. *May the server have carried out the failed attempt?* Not if no connection was made, nor
after a 429, nor where the server asks for a retry. *Does a second execution do harm?* The request's `Safety`
answers that. The table shows the maximum number of retries::

                                  READ   GUARDED   NOT_IDEMPOTENT
    Throttled with Retry-After      10      10       10
    ServerFailed with Retry-After   10      10       10   but never a 504 if NOT_IDEMPOTENT: the first
                                                          attempt may have been carried out
    Throttled                        4       4        -   without Retry-After a budget forbids an eviction:
                                                          the caller decides when to try again
    ServerFailed                     4       4        -
    ServerFailed with 500            4       -        -   a write's 500 is mostly a webhook that fails slowly
    TooLarge                      as ServerFailed         the server catches up within a second or so
    Unreachable                      4       4        4   nothing was sent
    Broken                           4       4        -
    others                           -       -        -   they would fail again, or no time is left

Go's client repeats a request only with a Retry-After, and a GET whose connection was lost. This policy
repeats harmless requests a few times more, because a server that restarts behind a balancer responds with 502
and 503 without a Retry-After, and refuses connections for a second. It never retries after `TimedOut`: the
caller's time is used up. Nor after `Garbled`: garbage comes from something between client and server, and
would come again.

A GUARDED write cannot take effect twice: a resource version or uid as precondition, the name of a create, or
the nature of an apply ensures that. But the response to a repeat may depend on what the first attempt did: a
Conflict, an AlreadyExists, a NotFound. So a `Retry` reports whether the earlier attempt is `uncertain`; the
driver keeps that error as the cause of a later one, and a caller that needs the difference (it takes a lock
by creating an object) uses `NO_RETRIES`. An unguarded PUT, PATCH or DELETE is NOT_IDEMPOTENT, although HTTP
calls some of them idempotent: its repeat could undo a change that another client made in between, or delete a
new object of the same name.

A Retry-After is a minimum, and so is the backoff. No retry is planned after the deadline: the response is
worth more than a timeout. The opening of a stream is a single request too; after its head has arrived,
nothing is repeated. Lists and watches of the resync machine bypass this policy: the machine has its own
backoff.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias

from msgspec import Struct

from .._pacing import exponential_backoff
from ._outcomes import Broken, Conflicted, Outcome, ServerFailed, Throttled, TooLarge, Unreachable


class Safety(Enum):
    """The effect of a second execution of the same request."""

    READ = "read"
    GUARDED = "guarded"
    NOT_IDEMPOTENT = "not idempotent"


class Retry(Struct, frozen=True, gc=False):
    """Send the request again at this time. `uncertain`: the failed attempt may have been carried out."""

    at: float
    uncertain: bool = False


class GiveUp(Struct, frozen=True, gc=False):
    """Pass the failure to the caller; `reason` explains why it is not retried."""

    reason: str


RetryDecision: TypeAlias = Retry | GiveUp


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """The limits for retries of a single request.

    A response with a Retry-After is retried `max_retries_with_retry_after` times, any other `max_retries`
    times. The backoff doubles from `initial_delay` to `max_delay` seconds. A Retry-After above
    `max_retry_after` seconds is not waited for.
    """

    max_retries: int = 4
    max_retries_with_retry_after: int = 10
    initial_delay: float = 0.2
    max_delay: float = 5.0
    max_retry_after: float = 60.0

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
        """Decide after this attempt; the first attempt is 1. `jitter` is in [0, 1)."""
        retry_after = outcome.retry_after
        if not _is_retriable(safety, outcome):
            return GiveUp("a retry would fail again, or could do harm")
        max_retries = self.max_retries if retry_after is None else self.max_retries_with_retry_after
        if attempt > max_retries:
            return GiveUp(f"{max_retries} retries are used up" if max_retries else "retries are switched off")
        if retry_after is not None and retry_after > self.max_retry_after:
            return GiveUp(f"the server asks for {retry_after:g} s, more than {self.max_retry_after:g}")
        delay = exponential_backoff(attempt, initial=self.initial_delay, maximum=self.max_delay)
        uncertain = safety is Safety.GUARDED and isinstance(outcome, Broken | ServerFailed)
        retry = Retry(now + max(retry_after or 0.0, delay) + jitter * delay, uncertain)
        return _limit_to_deadline(retry, deadline)


def _is_retriable(safety: Safety, outcome: Outcome) -> bool:
    requested = outcome.retry_after is not None
    match outcome:
        case Unreachable():
            return True
        case Throttled():
            return requested or safety is not Safety.NOT_IDEMPOTENT
        case ServerFailed(code=504) | TooLarge() | Broken():
            return safety is not Safety.NOT_IDEMPOTENT
        case ServerFailed(code=500) if not requested:
            return safety is Safety.READ
        case ServerFailed():
            return requested or safety is not Safety.NOT_IDEMPOTENT
        case _:
            return False


class ConflictPolicy(Struct, frozen=True, kw_only=True):
    """The limits for a loop of read, change and write whose write meets a Conflict.

    The object is read again before each attempt, because the same request would meet the same conflict.
    """

    max_attempts: int = 5
    initial_delay: float = 0.01
    factor: float = 1.0
    max_delay: float = 5.0
    jitter_factor: float = 0.1

    def decide(
        self, outcome: Outcome, attempt: int, now: float, *, jitter: float, deadline: float | None = None
    ) -> RetryDecision:
        """Decide after this attempt; the first attempt is 1. `jitter` is in [0, 1)."""
        if not isinstance(outcome, Conflicted):
            return GiveUp("this is not a conflict")
        if attempt >= self.max_attempts:
            return GiveUp(f"{self.max_attempts} attempts met a conflict")
        delay = exponential_backoff(
            attempt, initial=self.initial_delay, maximum=self.max_delay, factor=self.factor
        )
        return _limit_to_deadline(Retry(now + delay * (1.0 + self.jitter_factor * jitter)), deadline)


def _limit_to_deadline(retry: Retry, deadline: float | None) -> RetryDecision:
    if deadline is not None and retry.at >= deadline:
        return GiveUp("the deadline comes before the next attempt")
    return retry


NO_RETRIES: Final = RetryPolicy(max_retries=0, max_retries_with_retry_after=0)

# The two policies of Go's client: for a conflict with a single other writer, and with many.
CONFLICT_RETRY: Final = ConflictPolicy()
CONFLICT_BACKOFF: Final = ConflictPolicy(max_attempts=4, factor=5.0)
