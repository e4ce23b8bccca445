"""The log of one container, followed through restarts and lost connections: when it is opened, when it ends.

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

- A run is one life of the container; its number is the count of restarts in the status of the pod.
- A response that ends does not prove that the log has ended: an API server ends it normally when it loses the
  kubelet. A run was read to its end if a response that was requested after its end has ended.
- What resumes a log (`OpenLog.resumed`) asks for the log of the previous run too, because the container may
  have been restarted meanwhile, which the status shows later; `LogCursor` skips what was read. The driver
  opens the log of the current run first and reads it last, so that a restart between the two loses nothing.
- A response that ends within a second counts as a failure, unless its run has ended: a server that hangs up
  politely cannot make a tight loop.
- The first line of a container's log is that of the run that is found; earlier runs are not shown.
- When the pod is deleted, an open response is read to its end, and nothing more is opened: the log is gone.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from .._errors import LocalProtocolError
from .._pacing import exponential_backoff
from ._log_cursor import LONGEST, LogCursor, TimedLine

__all__ = [
    "LONGEST",
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

MIN_READ: Final = 1.0  # seconds; a response that ends sooner did not work
# The delays of Go's reflectors: a node that comes back is not met by all readers at once.
_FIRST: Final = 0.8
_LONGEST: Final = 30.0


class Waiting(Struct, frozen=True, gc=False):
    """Nothing is to be read. The runs up to `read` were read to their end; None if none was."""

    read: int | None = None


class Opening(Struct, frozen=True, gc=False):
    """The log is requested, or will be at `at`. `ended` and `last` are what is known of the run.

    `confirms`: the run had ended when the request was due, so that the response ends where the log does.
    """

    run: int
    at: float
    ended: bool = False
    last: bool = False
    confirms: bool = False
    failures: int = 0


class Reading(Struct, frozen=True, gc=False):
    """A response is open."""

    run: int
    opened: float
    ended: bool = False
    last: bool = False
    confirms: bool = False
    failures: int = 0


class Draining(Struct, frozen=True, gc=False):
    """The pod was deleted while a response was open, or awaited."""


class Finished(Struct, frozen=True, gc=False):
    """No more lines will come."""


State: TypeAlias = Waiting | Opening | Reading | Draining | Finished


class RunStarted(Struct, frozen=True, gc=False):
    """The status of the pod says that this run is running."""

    run: int


class RunEnded(Struct, frozen=True, gc=False):
    """The status of the pod says that this run has ended; `last`: and that none will follow."""

    run: int
    last: bool = False


class Opened(Struct, frozen=True, gc=False):
    """A response has begun."""


class Closed(Struct, frozen=True, gc=False):
    """A response has ended normally."""


class Failed(Struct, frozen=True, gc=False):
    """The request was refused, or its response broke off."""


class PodDeleted(Struct, frozen=True, gc=False):
    """The pod is gone."""


Event: TypeAlias = RunStarted | RunEnded | Opened | Closed | Failed | PodDeleted


class OpenLog(Struct, frozen=True, gc=False):
    """Request the log at this time. `resumed`: from where the cursor is, in the previous run or this one."""

    at: float
    resumed: bool = False


class EndRun(Struct, frozen=True, gc=False):
    """The log of a run is complete: a last line without an end is whole."""


class Finish(Struct, frozen=True, gc=False):
    """Nothing more is to be done."""


Action: TypeAlias = OpenLog | EndRun | Finish


def step(state: State, event: Event, now: float) -> tuple[State, tuple[Action, ...]]:
    """Return the next state, and what to do."""
    match state, event:
        case Waiting(read), RunStarted(run) if read is None or run > read:
            return Opening(run, now), (OpenLog(now, read is not None),)
        case Waiting(read), RunEnded(run, last) if read is None or run > read:
            opening = Opening(run, now, ended=True, last=last, confirms=True)
            return opening, (OpenLog(now, read is not None),)
        case Waiting(), RunEnded(last=True) | PodDeleted():
            return Finished(), (Finish(),)
        case Waiting(), RunStarted() | RunEnded():
            return state, ()

        case Opening(), RunStarted(run) if run >= state.run:
            return Opening(run, state.at, failures=state.failures), ()
        case Opening(), RunEnded(run, last) if run >= state.run:
            due = state.confirms or now < state.at
            return Opening(run, state.at, True, last, due, state.failures), ()
        case Opening(), RunStarted() | RunEnded():
            return state, ()
        case Opening(), Opened():
            return Reading(state.run, now, state.ended, state.last, state.confirms, state.failures), ()
        case Opening(), Failed():
            return _reopen(state, now, state.failures + 1)
        case Opening(), PodDeleted() if now < state.at:
            return Finished(), (EndRun(), Finish())
        case Opening(), PodDeleted():
            return Draining(), ()

        case Reading(), RunStarted(run) if run >= state.run:
            return Reading(run, state.opened, failures=state.failures), ()
        case Reading(), RunEnded(run, last) if run >= state.run:
            return Reading(run, state.opened, True, last, state.confirms, state.failures), ()
        case Reading(), RunStarted() | RunEnded():
            return state, ()
        case Reading(confirms=True, last=True), Closed():
            return Finished(), (EndRun(), Finish())
        case Reading(confirms=True), Closed():
            return Waiting(state.run), (EndRun(),)
        case Reading(), Closed() if state.ended or now - state.opened >= MIN_READ:
            return _reopen(state, now, 0)
        case Reading(), Closed():
            return _reopen(state, now, state.failures + 1)
        case Reading(), Failed():
            failures = 0 if now - state.opened >= MIN_READ else state.failures
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
    at = now + exponential_backoff(failures, initial=_FIRST, maximum=_LONGEST)
    opening = Opening(state.run, at, state.ended, state.last, state.ended, failures)
    return opening, (OpenLog(at, resumed=True),)
