"""The decisions of a connection pool: who gets which connection, which is opened, and which is closed.

::

    Requested ──> an idle connection?   Assign the connection that was idle for the shortest time
                  room for another?     Open: the requester opens it and uses it
                  else                  the requester waits; requests are served in order
    Released  ──> idle again, or assigned to the first waiting request
    Lost      ──> opening failed, the connection broke, or its response was not read to the end: there is room
    Cancelled ──> a waiting request is removed
    Closed    ──> idle connections are closed, waiting requests are refused, returned connections are closed

Rules. A connection has the number of the ticket for which it was opened. Each ticket gets one `Assign`,
`Open` or `Refuse`, or is `Cancelled`. After `Open` the connection counts as busy until its `Released` or
`Lost`, also while it is being opened. Expiry needs no timer: it is checked at every event, and an idle
connection costs nothing until then. An idle connection that its server has closed is noticed when it is
assigned, and is `Lost` then.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kubeproto import LocalProtocolError

__all__ = [
    "NOTHING",
    "Action",
    "Assign",
    "Cancelled",
    "Close",
    "Closed",
    "Closing",
    "Event",
    "Idle",
    "Limits",
    "Lost",
    "Open",
    "Pool",
    "Refuse",
    "Released",
    "Requested",
    "State",
    "Waiting",
    "step",
]


class Limits(Struct, frozen=True, gc=False):
    """The limits of a pool: connections, idle connections, and seconds until an idle connection is closed.

    A watch occupies its connection, so `max_connections` must exceed the number of watches. Go's servers
    close an idle connection after 90 s, and many load balancers after 60 s: 45 s is before both.
    """

    max_connections: int = 2000
    max_idle: int = 32
    idle_timeout: float = 45.0


class Idle(Struct, frozen=True, gc=False):
    """An idle connection, and the time since which it is idle."""

    number: int
    since: float


class Waiting(Struct, frozen=True, gc=False):
    """A request that waits for a connection; if `fresh`, only a new connection is assigned to it."""

    ticket: int
    fresh: bool


class Pool(Struct, frozen=True):
    """The number of busy connections, the idle ones (the oldest first), and the waiting requests in order."""

    limits: Limits
    busy: int = 0
    idle: tuple[Idle, ...] = ()
    waiting: tuple[Waiting, ...] = ()


class Closing(Struct, frozen=True):
    """The pool is closed, and `busy` connections have not been returned yet."""

    busy: int = 0


class Requested(Struct, frozen=True, gc=False):
    """A request needs a connection."""

    ticket: int
    fresh: bool = False


class Cancelled(Struct, frozen=True, gc=False):
    """A waiting request was cancelled."""

    ticket: int


class Released(Struct, frozen=True, gc=False):
    """A connection has completed its exchange and can be reused."""

    number: int


class Lost(Struct, frozen=True, gc=False):
    """A busy connection, or a connection being opened, is lost."""

    number: int


class Closed(Struct, frozen=True, gc=False):
    """The transport was closed."""


class Assign(Struct, frozen=True, gc=False):
    """Assign this connection to the request."""

    ticket: int
    number: int


class Open(Struct, frozen=True, gc=False):
    """Have the request open a connection, whose number is the ticket."""

    ticket: int


class Close(Struct, frozen=True, gc=False):
    """Close this connection."""

    number: int


class Refuse(Struct, frozen=True, gc=False):
    """Refuse a connection to the request."""

    ticket: int


State: TypeAlias = Pool | Closing
Event: TypeAlias = Requested | Cancelled | Released | Lost | Closed
Action: TypeAlias = Assign | Open | Close | Refuse

NOTHING: Final[tuple[Action, ...]] = ()


def step(state: State, event: Event, now: float) -> tuple[State, tuple[Action, ...]]:
    """Return the next state and the actions for an event."""
    match state, event:
        case Pool(), Requested(ticket, fresh):
            return _assign(replace(state, waiting=(*state.waiting, Waiting(ticket, fresh))), now)
        case Pool(), Cancelled(ticket) if any(request.ticket == ticket for request in state.waiting):
            waiting = tuple(request for request in state.waiting if request.ticket != ticket)
            return _assign(replace(state, waiting=waiting), now)
        case Pool(busy=busy), Released(number) if busy:
            return _assign(replace(state, busy=busy - 1, idle=(*state.idle, Idle(number, now))), now)
        case Pool(busy=busy), Lost() if busy:
            return _assign(replace(state, busy=busy - 1), now)
        case Pool(), Closed():
            closings = tuple(Close(connection.number) for connection in state.idle)
            refusals = tuple(Refuse(request.ticket) for request in state.waiting)
            return Closing(state.busy), (*closings, *refusals)
        case Closing(), Requested(ticket):
            return state, (Refuse(ticket),)
        case Closing(busy), Released(number) if busy:
            return Closing(busy - 1), (Close(number),)
        case Closing(busy), Lost() if busy:
            return Closing(busy - 1), NOTHING
        case Closing(), Closed():
            return state, NOTHING
        case _:
            raise LocalProtocolError(f"{event} cannot happen in {state}")


def _assign(pool: Pool, now: float) -> tuple[Pool, tuple[Action, ...]]:
    """Close expired connections, then serve waiting requests while there are connections or room for them."""
    limits, busy, waiting = pool.limits, pool.busy, list(pool.waiting)
    idle = [connection for connection in pool.idle if now - connection.since < limits.idle_timeout]
    expired = pool.idle[: len(pool.idle) - len(idle)]
    actions: list[Action] = [Close(connection.number) for connection in expired]
    while waiting:
        request = waiting[0]
        if idle and not request.fresh:
            actions.append(Assign(request.ticket, idle.pop().number))
        elif busy < limits.max_connections:
            if busy + len(idle) >= limits.max_connections:
                # A fresh connection was requested, and only closing an idle one makes room for it.
                actions.append(Close(idle.pop(0).number))
            actions.append(Open(request.ticket))
        else:
            break
        busy += 1
        del waiting[0]
    surplus = max(0, len(idle) - limits.max_idle)
    actions += [Close(connection.number) for connection in idle[:surplus]]
    return Pool(limits, busy, tuple(idle[surplus:]), tuple(waiting)), tuple(actions)
