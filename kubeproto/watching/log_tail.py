"""A machine that follows the log of a container through restarts and lost connections.

::

    Waiting ─── RunStarted ──► Waiting, Opening
    Waiting ─── RunEnded ────► Waiting, Opening, Finished
    Waiting ─── PodDeleted ──► Finished

    Opening ─── RunStarted ──► Opening
    Opening ─── RunEnded ────► Opening
    Opening ─── Opened ──────► Reading
    Opening ─── Failed ──────► Opening
    Opening ─── PodDeleted ──► Draining, Finished

    Reading ─── RunStarted ──► Reading
    Reading ─── RunEnded ────► Reading
    Reading ─── Closed ──────► Waiting, Opening, Finished
    Reading ─── Failed ──────► Opening
    Reading ─── PodDeleted ──► Draining

    Draining ── Opened ──────► Draining
    Draining ── Closed ──────► Finished
    Draining ── Failed ──────► Finished
    Draining ── RunStarted ──► Draining
    Draining ── RunEnded ────► Draining
    Draining ── PodDeleted ──► Draining

    Finished ── RunStarted ──► Finished
    Finished ── RunEnded ────► Finished
    Finished ── PodDeleted ──► Finished

Rules

- A run lasts from a start of the container to its exit; its number is the restart count in the pod's status.
- The end of a response does not prove the end of the log: an API server ends a response normally when it
  loses the kubelet. A run was read to its end if a response that was requested after its end has ended.
- A driver that resumes a log (`OpenLog.resumed`) requests the log of the previous run too: the container may
  have restarted meanwhile, which the status shows later. `LogCursor` skips the lines that were read. The
  driver opens the log of the current run first and reads it last, so a restart between the two loses nothing.
- A response that ends within a second counts as a failure, unless its run has ended. So a server that closes
  each response normally and immediately causes no tight loop.
- The log begins with the run that exists at the start; earlier runs are not read.
- When the pod is deleted, an open response is read to its end, and no other is opened: the log is deleted.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from .._errors import LocalProtocolError
from .._pacing import exponential_backoff
from ._log_cursor import MAX_PIECE, LogCursor, TimedLine

__all__ = [
    "MAX_PIECE",
    "MIN_READ",
    "Action",
    "Closed",
    "Draining",
    "EndRun",
    "Event",
    "Failed",
    "Finish",
    "Finished",
    "LogCursor",
    "OpenLog",
    "Opened",
    "Opening",
    "PodDeleted",
    "Reading",
    "RunEnded",
    "RunStarted",
    "State",
    "TimedLine",
    "Waiting",
    "step",
]

MIN_READ: Final = 1.0  # seconds; a response that ends sooner counts as a failure
# The delays of Go's reflectors: not all readers reconnect together to a node that has restarted.
_INITIAL_DELAY: Final = 0.8
_MAX_DELAY: Final = 30.0


class Waiting(Struct, frozen=True, gc=False):
    """There is nothing to read. The runs up to `last_read_run` were read to their end; None if no run was."""

    last_read_run: int | None = None


class Opening(Struct, frozen=True, gc=False):
    """The log was requested, or will be requested at `open_at`.

    `has_ended` and `is_last` describe the run. `reads_to_end`: the run had ended before the request, so the
    response ends where the log ends.
    """

    run: int
    open_at: float
    has_ended: bool = False
    is_last: bool = False
    reads_to_end: bool = False
    failures: int = 0


class Reading(Struct, frozen=True, gc=False):
    """A response is open since `opened_at`. The other fields are those of `Opening`."""

    run: int
    opened_at: float
    has_ended: bool = False
    is_last: bool = False
    reads_to_end: bool = False
    failures: int = 0


class Draining(Struct, frozen=True, gc=False):
    """The pod was deleted while a response was open or expected."""


class Finished(Struct, frozen=True, gc=False):
    """No more lines will come."""


State: TypeAlias = Waiting | Opening | Reading | Draining | Finished


class RunStarted(Struct, frozen=True, gc=False):
    """The status of the pod shows that this run has started."""

    run: int


class RunEnded(Struct, frozen=True, gc=False):
    """The status of the pod shows that this run has ended. `is_last`: no other run will follow."""

    run: int
    is_last: bool = False


class Opened(Struct, frozen=True, gc=False):
    """A response has begun."""


class Closed(Struct, frozen=True, gc=False):
    """A response has ended normally."""


class Failed(Struct, frozen=True, gc=False):
    """The request was refused, or the connection was lost."""


class PodDeleted(Struct, frozen=True, gc=False):
    """The pod was deleted."""


Event: TypeAlias = RunStarted | RunEnded | Opened | Closed | Failed | PodDeleted


class OpenLog(Struct, frozen=True, gc=False):
    """Request the log at `open_at`. `resumed`: from the cursor, which may be in the previous run."""

    open_at: float
    resumed: bool = False


class EndRun(Struct, frozen=True, gc=False):
    """Handle the end of a run: a last line without a line end is complete."""


class Finish(Struct, frozen=True, gc=False):
    """Stop: nothing remains to be read."""


Action: TypeAlias = OpenLog | EndRun | Finish


def step(state: State, event: Event, now: float) -> tuple[State, tuple[Action, ...]]:
    """Return the next state, and the actions to perform."""
    match state, event:
        case Waiting(last_run), RunStarted(run) if last_run is None or run > last_run:
            return Opening(run, now), (OpenLog(now, last_run is not None),)
        case Waiting(last_run), RunEnded(run, is_last) if last_run is None or run > last_run:
            opening = Opening(run, now, has_ended=True, is_last=is_last, reads_to_end=True)
            return opening, (OpenLog(now, last_run is not None),)
        case Waiting(), RunEnded(is_last=True) | PodDeleted():
            return Finished(), (Finish(),)
        case Waiting(), RunStarted() | RunEnded():
            return state, ()

        case Opening(), RunStarted(run) if run >= state.run:
            return Opening(run, state.open_at, failures=state.failures), ()
        case Opening(), RunEnded(run, is_last) if run >= state.run:
            reads_to_end = state.reads_to_end or now < state.open_at
            return Opening(run, state.open_at, True, is_last, reads_to_end, state.failures), ()
        case Opening(), RunStarted() | RunEnded():
            return state, ()
        case Opening(), Opened():
            reading = Reading(
                state.run, now, state.has_ended, state.is_last, state.reads_to_end, state.failures
            )
            return reading, ()
        case Opening(), Failed():
            return _reopen(state, now, state.failures + 1)
        case Opening(), PodDeleted() if now < state.open_at:
            return Finished(), (EndRun(), Finish())
        case Opening(), PodDeleted():
            return Draining(), ()

        case Reading(), RunStarted(run) if run >= state.run:
            return Reading(run, state.opened_at, failures=state.failures), ()
        case Reading(), RunEnded(run, is_last) if run >= state.run:
            return Reading(run, state.opened_at, True, is_last, state.reads_to_end, state.failures), ()
        case Reading(), RunStarted() | RunEnded():
            return state, ()
        case Reading(reads_to_end=True, is_last=True), Closed():
            return Finished(), (EndRun(), Finish())
        case Reading(reads_to_end=True), Closed():
            return Waiting(state.run), (EndRun(),)
        case Reading(), Closed() if state.has_ended or now - state.opened_at >= MIN_READ:
            return _reopen(state, now, 0)
        case Reading(), Closed():
            return _reopen(state, now, state.failures + 1)
        case Reading(), Failed():
            failures = 0 if now - state.opened_at >= MIN_READ else state.failures
            return _reopen(state, now, failures + 1)
        case Reading(), PodDeleted():
            return Draining(), ()

        case Draining(), Closed() | Failed():
            return Finished(), (EndRun(), Finish())
        case Draining(), Opened():
            return state, ()
        case Draining() | Finished(), RunStarted() | RunEnded() | PodDeleted():
            return state, ()
        case _:
            raise LocalProtocolError(f"{event} cannot happen in {state}")


def _reopen(state: Opening | Reading, now: float, failures: int) -> tuple[State, tuple[Action, ...]]:
    open_at = now + exponential_backoff(failures, initial=_INITIAL_DELAY, maximum=_MAX_DELAY)
    opening = Opening(state.run, open_at, state.has_ended, state.is_last, state.has_ended, failures)
    return opening, (OpenLog(open_at, resumed=True),)
