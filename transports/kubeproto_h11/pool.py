"""The pool's decisions: which request gets which connection, what is opened, what is closed.

::

    Asked ──> an idle connection?  Use the one that was idle for the shortest time
              room for one more?   Open, and the caller opens it and has it
              else                 it waits its turn; nobody overtakes
    Released ──> idle again, and the first waiter gets it
    Lost     ──> it could not be opened, broke, or its response was not read to the end: there is room
    Left     ──> the caller does not wait any more
    Ended    ──> idle ones are closed, waiters are refused, and what comes back is closed

Rules. A connection is named by the ticket for which it was opened. Each ticket that asks gets one `Use`,
`Open` or `Refuse`, or has `Left`. A ticket that got `Open` steps with `Released` or `Lost` later, and nothing
in between, so a connection that is being opened counts as one in use. Expiry needs no timer: it is checked
whenever something happens, and an idle connection does no harm until then. An idle one that its server has
closed is found when it is taken, and is `Lost` then.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kubeproto import LocalProtocolError

__all__ = [
    "NOTHING",
    "Action",
    "Asked",
    "Close",
    "Ended",
    "Ending",
    "Event",
    "Idle",
    "Left",
    "Limits",
    "Lost",
    "Open",
    "Pool",
    "Refuse",
    "Released",
    "State",
    "Use",
    "Waiting",
    "step",
]


class Limits(Struct, frozen=True, gc=False):
    """How many connections there may be, how many of them idle, and for how many seconds.

    A watch keeps its connection, so `connections` must be above the number of watches. 90 s is when Go's
    servers drop an idle connection, 60 when many balancers do: 45 is before both.
    """

    connections: int = 2000
    idle: int = 32
    idle_for: float = 45.0


class Idle(Struct, frozen=True, gc=False):
    """An idle connection, and since when."""

    number: int
    since: float


class Waiting(Struct, frozen=True, gc=False):
    """A request without a connection; one that is `fresh` takes only a new one."""

    ticket: int
    fresh: bool


class Pool(Struct, frozen=True):
    """How many are in use; those idle, the longest idle first; the waiters, in order."""

    limits: Limits
    busy: int = 0
    idle: tuple[Idle, ...] = ()
    waiting: tuple[Waiting, ...] = ()


class Ending(Struct, frozen=True):
    """The pool is closed, and waits for what is still in use."""

    busy: int = 0


class Asked(Struct, frozen=True, gc=False):
    """A request wants a connection."""

    ticket: int
    fresh: bool = False


class Left(Struct, frozen=True, gc=False):
    """A request that waited has given up."""

    ticket: int


class Released(Struct, frozen=True, gc=False):
    """A connection has done its exchange and can do another."""

    number: int


class Lost(Struct, frozen=True, gc=False):
    """A connection in use, or one being opened, is lost."""

    number: int


class Ended(Struct, frozen=True, gc=False):
    """The transport is being closed."""


class Use(Struct, frozen=True, gc=False):
    """Give this connection to the request."""

    ticket: int
    number: int


class Open(Struct, frozen=True, gc=False):
    """Let the request open a connection, which gets the ticket's number."""

    ticket: int


class Close(Struct, frozen=True, gc=False):
    """Close this connection."""

    number: int


class Refuse(Struct, frozen=True, gc=False):
    """Refuse a connection to the request."""

    ticket: int


State: TypeAlias = Pool | Ending
Event: TypeAlias = Asked | Left | Released | Lost | Ended
Action: TypeAlias = Use | Open | Close | Refuse

NOTHING: Final[tuple[Action, ...]] = ()


def step(state: State, event: Event, now: float) -> tuple[State, tuple[Action, ...]]:
    """Return the next state and the actions for an event."""
    match state, event:
        case Pool(), Asked(ticket, fresh):
            return _assign(replace(state, waiting=(*state.waiting, Waiting(ticket, fresh))), now)
        case Pool(), Left(ticket) if any(one.ticket == ticket for one in state.waiting):
            waiting = tuple(one for one in state.waiting if one.ticket != ticket)
            return _assign(replace(state, waiting=waiting), now)
        case Pool(busy=busy), Released(number) if busy:
            return _assign(replace(state, busy=busy - 1, idle=(*state.idle, Idle(number, now))), now)
        case Pool(busy=busy), Lost() if busy:
            return _assign(replace(state, busy=busy - 1), now)
        case Pool(), Ended():
            closed = tuple(Close(one.number) for one in state.idle)
            return Ending(state.busy), (*closed, *(Refuse(one.ticket) for one in state.waiting))
        case Ending(), Asked(ticket):
            return state, (Refuse(ticket),)
        case Ending(busy), Released(number) if busy:
            return Ending(busy - 1), (Close(number),)
        case Ending(busy), Lost() if busy:
            return Ending(busy - 1), NOTHING
        case Ending(), Ended():
            return state, NOTHING
        case _:
            raise LocalProtocolError(f"{event} cannot happen in {state}")


def _assign(pool: Pool, now: float) -> tuple[Pool, tuple[Action, ...]]:
    """Serve waiting requests, as far as there are connections or room for them."""
    limits, busy, waiting = pool.limits, pool.busy, list(pool.waiting)
    idle = [one for one in pool.idle if now - one.since < limits.idle_for]
    actions: list[Action] = [Close(one.number) for one in pool.idle[: len(pool.idle) - len(idle)]]
    while waiting:
        first = waiting[0]
        if idle and not first.fresh:
            actions.append(Use(first.ticket, idle.pop().number))
        elif busy < limits.connections:
            if busy + len(idle) >= limits.connections:
                actions.append(Close(idle.pop(0).number))
            actions.append(Open(first.ticket))
        else:
            break
        busy += 1
        del waiting[0]
    spare = max(0, len(idle) - limits.idle)
    actions += [Close(one.number) for one in idle[:spare]]
    return Pool(limits, busy, tuple(idle[spare:]), tuple(waiting)), tuple(actions)
