"""The pool's decisions, row by row; and that whatever happens, nobody is forgotten and no limit is passed."""

from __future__ import annotations

from typing import Final

import pytest
from asked_examples import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kubeproto import LocalProtocolError
from kubeproto_h11 import may_replay
from kubeproto_h11.pool import (
    Action,
    Asked,
    Close,
    Ended,
    Ending,
    Event,
    Idle,
    Left,
    Limits,
    Lost,
    Open,
    Pool,
    Refuse,
    Released,
    State,
    Use,
    Waiting,
    step,
)

TWO: Final = Limits(connections=2, idle=1, idle_for=45.0)
NOW: Final = 100.0


def pool(busy: int = 0, *, idle: tuple[Idle, ...] = (), waiting: tuple[Waiting, ...] = ()) -> Pool:
    return Pool(TWO, busy, idle, waiting)


ROWS: Final[dict[str, tuple[State, Event, State, tuple[Action, ...]]]] = {
    "the first opens": (pool(), Asked(1), pool(1), (Open(1),)),
    "an idle one is used": (pool(idle=(Idle(7, 90.0),)), Asked(8), pool(1), (Use(8, 7),)),
    "the one that was idle for the shortest time": (
        Pool(Limits(), 0, (Idle(1, 80.0), Idle(2, 90.0))),
        Asked(3),
        Pool(Limits(), 1, (Idle(1, 80.0),)),
        (Use(3, 2),),
    ),
    "one that was idle for too long is closed": (
        pool(idle=(Idle(7, 55.0),)),
        Asked(8),
        pool(1),
        (Close(7), Open(8)),
    ),
    "one that was idle for almost too long is used": (
        pool(idle=(Idle(7, 55.1),)),
        Asked(8),
        pool(1),
        (Use(8, 7),),
    ),
    "who wants a fresh one gets no idle one": (
        pool(idle=(Idle(7, 90.0),)),
        Asked(8, fresh=True),
        pool(1, idle=(Idle(7, 90.0),)),
        (Open(8),),
    ),
    "an idle one makes room for a fresh one": (
        pool(1, idle=(Idle(7, 90.0),)),
        Asked(8, fresh=True),
        pool(2),
        (Close(7), Open(8)),
    ),
    "where all are busy one waits": (pool(2), Asked(3), pool(2, waiting=(Waiting(3, False),)), ()),
    "nobody overtakes who waits": (
        pool(2, waiting=(Waiting(3, True),)),
        Asked(4),
        pool(2, waiting=(Waiting(3, True), Waiting(4, False))),
        (),
    ),
    "a released one is kept": (pool(1), Released(7), pool(idle=(Idle(7, NOW),)), ()),
    "a released one goes to the first who waits": (
        pool(2, waiting=(Waiting(3, False), Waiting(4, False))),
        Released(1),
        pool(2, waiting=(Waiting(4, False),)),
        (Use(3, 1),),
    ),
    "a released one makes room for a fresh one": (
        pool(2, waiting=(Waiting(3, True),)),
        Released(1),
        pool(2),
        (Close(1), Open(3)),
    ),
    "of too many idle ones the oldest is closed": (
        pool(1, idle=(Idle(7, 90.0),)),
        Released(8),
        pool(idle=(Idle(8, NOW),)),
        (Close(7),),
    ),
    "a lost one makes room": (pool(1), Lost(1), pool(), ()),
    "a lost one lets the first who waits open another": (
        pool(2, waiting=(Waiting(3, False), Waiting(4, False))),
        Lost(1),
        pool(2, waiting=(Waiting(4, False),)),
        (Open(3),),
    ),
    "who leaves is forgotten": (
        pool(2, waiting=(Waiting(3, False), Waiting(4, False))),
        Left(3),
        pool(2, waiting=(Waiting(4, False),)),
        (),
    ),
    "at the end idle ones are closed and who waits is refused": (
        Pool(TWO, 2, (Idle(7, 90.0),), (Waiting(3, False),)),
        Ended(),
        Ending(2),
        (Close(7), Refuse(3)),
    ),
    "after the end who asks is refused": (Ending(1), Asked(3), Ending(1), (Refuse(3),)),
    "after the end a released one is closed": (Ending(1), Released(7), Ending(), (Close(7),)),
    "after the end a lost one is no news": (Ending(1), Lost(7), Ending(), ()),
    "the end can come twice": (Ending(1), Ended(), Ending(1), ()),
}


@pytest.mark.parametrize(("state", "event", "after", "actions"), ROWS.values(), ids=ROWS)
def test_what_follows_from_what_happened(
    state: State, event: Event, after: State, actions: tuple[Action, ...]
) -> None:
    assert step(state, event, NOW) == (after, actions)


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (pool(), Released(1)),
        (pool(), Lost(1)),
        (pool(), Left(1)),
        (pool(2, waiting=(Waiting(3, False),)), Left(4)),
        (Ending(), Released(1)),
        (Ending(), Lost(1)),
        (Ending(1), Left(1)),
    ],
)
def test_what_cannot_happen_is_refused(state: State, event: Event) -> None:
    with pytest.raises(LocalProtocolError, match="cannot happen"):
        step(state, event, NOW)


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("reused", [False, True])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("touched", [False, True])
def test_a_request_goes_out_twice_only_on_a_stale_connection_and_where_that_is_harmless(
    method: str, reused: bool, begun: bool, touched: bool
) -> None:
    allowed = may_replay(method, reused=reused, begun=begun, touched=touched)
    assert allowed == (reused and not touched and (method in ("GET", "HEAD") or not begun))


class AnyHistory(RuleBasedStateMachine):
    """The pool, beside a plain account of who has what."""

    def __init__(self) -> None:
        super().__init__()
        self.state: State = Pool(Limits(connections=3, idle=2, idle_for=10.0))
        self.now = 0.0
        self.tickets = 0
        self.waiting: list[int] = []
        self.holding: dict[int, int] = {}  # a ticket's connection
        self.idle: set[int] = set()

    def tell(self, event: Event) -> None:
        self.state, actions = step(self.state, event, self.now)
        for action in actions:
            match action:
                case Use(ticket, number):
                    assert ticket == self.waiting.pop(0), "somebody was overtaken"
                    self.idle.remove(number)
                    self.holding[ticket] = number
                case Open(ticket):
                    assert ticket == self.waiting.pop(0), "somebody was overtaken"
                    self.holding[ticket] = ticket
                case Close(number):
                    self.idle.remove(number)
                case Refuse(ticket):
                    self.waiting.remove(ticket)

    @rule(fresh=st.booleans())
    def ask(self, fresh: bool) -> None:
        self.tickets += 1
        self.waiting.append(self.tickets)
        self.tell(Asked(self.tickets, fresh))

    @precondition(lambda self: self.holding)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        number = self.holding.pop(data.draw(st.sampled_from(sorted(self.holding))))
        self.idle.add(number)
        self.tell(Released(number))

    @precondition(lambda self: self.holding)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        self.tell(Lost(self.holding.pop(data.draw(st.sampled_from(sorted(self.holding))))))

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        ticket = data.draw(st.sampled_from(self.waiting))
        self.waiting.remove(ticket)
        self.tell(Left(ticket))

    @rule(seconds=st.sampled_from([1.0, 6.0, 11.0]))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def end(self) -> None:
        if self.tickets > 8:
            self.tell(Ended())

    @invariant()
    def the_account_and_the_pool_agree(self) -> None:
        assert self.state.busy == len(self.holding)
        if isinstance(self.state, Ending):
            assert not self.idle
            assert not self.waiting
            return
        assert {one.number for one in self.state.idle} == self.idle
        assert [one.ticket for one in self.state.waiting] == self.waiting
        assert len(self.holding) + len(self.idle) <= 3
        assert len(self.idle) <= 2
        # A waiting request waits for something: none is lost.
        assert not self.waiting or len(self.holding) == 3


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=examples(60), stateful_step_count=40)
