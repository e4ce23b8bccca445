"""The decisions of the pool, row by row, and its limits in any history."""

from __future__ import annotations

from typing import Final

import pytest
from asked_examples import examples
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kubeproto import LocalProtocolError
from kubeproto_h11._request_driver import may_replay
from kubeproto_h11.pool import (
    Action,
    Assign,
    Cancelled,
    Close,
    Closed,
    Closing,
    Event,
    Idle,
    Limits,
    Lost,
    Open,
    Pool,
    Refuse,
    Released,
    Requested,
    State,
    Waiting,
    step,
)

TWO: Final = Limits(max_connections=2, max_idle=1, idle_timeout=45.0)
NOW: Final = 100.0


def pool(busy: int = 0, *, idle: tuple[Idle, ...] = (), waiting: tuple[Waiting, ...] = ()) -> Pool:
    return Pool(TWO, busy, idle, waiting)


ROWS: Final[dict[str, tuple[State, Event, State, tuple[Action, ...]]]] = {
    "the first request opens a connection": (pool(), Requested(1), pool(1), (Open(1),)),
    "an idle connection is assigned": (pool(idle=(Idle(7, 90.0),)), Requested(8), pool(1), (Assign(8, 7),)),
    "of several idle connections the youngest is assigned": (
        Pool(Limits(), 0, (Idle(1, 80.0), Idle(2, 90.0))),
        Requested(3),
        Pool(Limits(), 1, (Idle(1, 80.0),)),
        (Assign(3, 2),),
    ),
    "an expired connection is closed": (
        pool(idle=(Idle(7, 55.0),)),
        Requested(8),
        pool(1),
        (Close(7), Open(8)),
    ),
    "a connection that has almost expired is assigned": (
        pool(idle=(Idle(7, 55.1),)),
        Requested(8),
        pool(1),
        (Assign(8, 7),),
    ),
    "a request for a fresh connection gets no idle connection": (
        pool(idle=(Idle(7, 90.0),)),
        Requested(8, fresh=True),
        pool(1, idle=(Idle(7, 90.0),)),
        (Open(8),),
    ),
    "an idle connection is closed to make room for a fresh connection": (
        pool(1, idle=(Idle(7, 90.0),)),
        Requested(8, fresh=True),
        pool(2),
        (Close(7), Open(8)),
    ),
    "a request waits while all connections are busy": (
        pool(2),
        Requested(3),
        pool(2, waiting=(Waiting(3, False),)),
        (),
    ),
    "a later request waits behind the first": (
        pool(2, waiting=(Waiting(3, True),)),
        Requested(4),
        pool(2, waiting=(Waiting(3, True), Waiting(4, False))),
        (),
    ),
    "a released connection is idle": (pool(1), Released(7), pool(idle=(Idle(7, NOW),)), ()),
    "a released connection is assigned to the first waiting request": (
        pool(2, waiting=(Waiting(3, False), Waiting(4, False))),
        Released(1),
        pool(2, waiting=(Waiting(4, False),)),
        (Assign(3, 1),),
    ),
    "a released connection is closed to make room for a fresh connection": (
        pool(2, waiting=(Waiting(3, True),)),
        Released(1),
        pool(2),
        (Close(1), Open(3)),
    ),
    "of too many idle connections the oldest is closed": (
        pool(1, idle=(Idle(7, 90.0),)),
        Released(8),
        pool(idle=(Idle(8, NOW),)),
        (Close(7),),
    ),
    "a lost connection makes room": (pool(1), Lost(1), pool(), ()),
    "after a lost connection the first waiting request opens another": (
        pool(2, waiting=(Waiting(3, False), Waiting(4, False))),
        Lost(1),
        pool(2, waiting=(Waiting(4, False),)),
        (Open(3),),
    ),
    "a cancelled request is removed": (
        pool(2, waiting=(Waiting(3, False), Waiting(4, False))),
        Cancelled(3),
        pool(2, waiting=(Waiting(4, False),)),
        (),
    ),
    "closing closes idle connections and refuses waiting requests": (
        Pool(TWO, 2, (Idle(7, 90.0),), (Waiting(3, False),)),
        Closed(),
        Closing(2),
        (Close(7), Refuse(3)),
    ),
    "a closed pool refuses a request": (Closing(1), Requested(3), Closing(1), (Refuse(3),)),
    "a closed pool closes a released connection": (Closing(1), Released(7), Closing(), (Close(7),)),
    "a closed pool counts a lost connection": (Closing(1), Lost(7), Closing(), ()),
    "a closed pool can be closed again": (Closing(1), Closed(), Closing(1), ()),
}


@pytest.mark.parametrize(("state", "event", "next_state", "actions"), ROWS.values(), ids=ROWS)
def test_a_transition_is_the_row_of_the_table(
    state: State, event: Event, next_state: State, actions: tuple[Action, ...]
) -> None:
    assert step(state, event, NOW) == (next_state, actions)


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (pool(), Released(1)),
        (pool(), Lost(1)),
        (pool(), Cancelled(1)),
        (pool(2, waiting=(Waiting(3, False),)), Cancelled(4)),
        (Closing(), Released(1)),
        (Closing(), Lost(1)),
        (Closing(1), Cancelled(1)),
    ],
)
def test_an_impossible_event_is_refused(state: State, event: Event) -> None:
    with pytest.raises(LocalProtocolError, match="cannot happen"):
        step(state, event, NOW)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("reused", [False, True])
@pytest.mark.parametrize("started", [False, True])
@pytest.mark.parametrize("response_started", [False, True])
def test_a_request_is_replayed_only_after_a_stale_connection_and_if_that_is_safe(
    method: str, reused: bool, started: bool, response_started: bool
) -> None:
    allowed = may_replay(method, reused=reused, started=started, response_started=response_started)
    assert allowed == (reused and not response_started and (method in ("GET", "HEAD") or not started))


class AnyHistory(RuleBasedStateMachine):
    """The pool, compared with a plain record of the connection of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.state: State = Pool(Limits(max_connections=3, max_idle=2, idle_timeout=10.0))
        self.now = 0.0
        self.tickets = 0
        self.waiting: list[int] = []
        self.busy: dict[int, int] = {}  # the connection of each ticket
        self.idle: set[int] = set()

    def step(self, event: Event) -> None:
        self.state, actions = step(self.state, event, self.now)
        for action in actions:
            match action:
                case Assign(ticket, number):
                    assert ticket == self.waiting.pop(0), "a later request was served first"
                    self.idle.remove(number)
                    self.busy[ticket] = number
                case Open(ticket):
                    assert ticket == self.waiting.pop(0), "a later request was served first"
                    self.busy[ticket] = ticket
                case Close(number):
                    self.idle.remove(number)
                case Refuse(ticket):
                    self.waiting.remove(ticket)

    @rule(fresh=st.booleans())
    def request(self, fresh: bool) -> None:
        self.tickets += 1
        self.waiting.append(self.tickets)
        self.step(Requested(self.tickets, fresh))

    @precondition(lambda self: self.busy)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        number = self.busy.pop(data.draw(st.sampled_from(sorted(self.busy))))
        self.idle.add(number)
        self.step(Released(number))

    @precondition(lambda self: self.busy)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        self.step(Lost(self.busy.pop(data.draw(st.sampled_from(sorted(self.busy))))))

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(self.waiting))
        self.waiting.remove(ticket)
        self.step(Cancelled(ticket))

    @rule(seconds=st.sampled_from([1.0, 6.0, 11.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def close(self) -> None:
        if self.tickets > 8:
            self.step(Closed())

    @invariant()
    def the_record_and_the_pool_agree(self) -> None:
        assert self.state.busy == len(self.busy)
        if isinstance(self.state, Closing):
            assert not self.idle
            assert not self.waiting
            return
        assert {connection.number for connection in self.state.idle} == self.idle
        assert [request.ticket for request in self.state.waiting] == self.waiting
        assert len(self.busy) + len(self.idle) <= 3
        assert len(self.idle) <= 2
        # A request waits only while all connections are busy.
        assert not self.waiting or len(self.busy) == 3


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=examples(60), stateful_step_count=40)
