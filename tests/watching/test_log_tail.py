"""Following the log of a container: a row for each arrow of the machine, and every other pair refused."""

from __future__ import annotations

import itertools

import pytest
from diagrams import arrows

from kubeproto import LocalProtocolError
from kubeproto.watching import log_tail
from kubeproto.watching.log_tail import (
    Closed,
    Draining,
    EndRun,
    Failed,
    Finish,
    Finished,
    Opened,
    Opening,
    OpenLog,
    PodDeleted,
    Reading,
    RunEnded,
    RunStarted,
    Waiting,
)

NOW = 100.0
FRESH = (OpenLog(NOW),)
RESUMED = (OpenLog(NOW, resumed=True),)

Row = tuple[str, log_tail.State, log_tail.Event, log_tail.State, tuple[log_tail.Action, ...]]


def later(seconds: float) -> tuple[log_tail.Action, ...]:
    return (OpenLog(NOW + seconds, resumed=True),)


TABLE: list[Row] = [
    ("the first run is found", Waiting(), RunStarted(0), Opening(0, NOW), FRESH),
    ("a later run is the first that is found", Waiting(), RunStarted(7), Opening(7, NOW), FRESH),
    ("the next run", Waiting(0), RunStarted(1), Opening(1, NOW), RESUMED),
    ("a run that was read", Waiting(1), RunStarted(1), Waiting(1), ()),
    ("a run has ended when it is found", Waiting(), RunEnded(0), Opening(0, NOW, True, False, True), FRESH),
    ("the last run is found ended", Waiting(), RunEnded(0, True), Opening(0, NOW, True, True, True), FRESH),
    ("a short run was missed", Waiting(0), RunEnded(1), Opening(1, NOW, True, False, True), RESUMED),
    ("a run that was read has ended", Waiting(1), RunEnded(1), Waiting(1), ()),
    ("no run follows", Waiting(1), RunEnded(1, is_last=True), Finished(), (Finish(),)),
    ("the pod goes while nothing is read", Waiting(1), PodDeleted(), Finished(), (Finish(),)),
    ("it still runs", Opening(1, NOW + 5, failures=2), RunStarted(1), Opening(1, NOW + 5, failures=2), ()),
    ("it was restarted meanwhile", Opening(1, NOW + 5, True, True, True, 2), RunStarted(2),
     Opening(2, NOW + 5, failures=2), ()),
    ("an old status", Opening(2, NOW), RunStarted(1), Opening(2, NOW), ()),
    ("an old end", Opening(2, NOW), RunEnded(1, True), Opening(2, NOW), ()),
    ("it ends before the request", Opening(1, NOW + 5), RunEnded(1, True),
     Opening(1, NOW + 5, True, True, True), ()),
    ("it ends after the request", Opening(1, NOW), RunEnded(1, True), Opening(1, NOW, True, True), ()),
    ("it had ended already", Opening(1, NOW, True, False, True), RunEnded(1, True),
     Opening(1, NOW, True, True, True), ()),
    ("a response", Opening(1, NOW, True, True, True, 3), Opened(), Reading(1, NOW, True, True, True, 3), ()),
    ("refused", Opening(1, NOW), Failed(), Opening(1, NOW + 0.8, failures=1), later(0.8)),
    ("refused again, and it has ended", Opening(1, NOW, True, True, False, 1), Failed(),
     Opening(1, NOW + 1.6, True, True, True, 2), later(1.6)),
    ("refused for hours", Opening(1, NOW, failures=4999), Failed(),
     Opening(1, NOW + 30, failures=5000), later(30)),
    ("the pod goes before the request", Opening(1, NOW + 5), PodDeleted(), Finished(), (EndRun(), Finish())),
    ("the pod goes after the request", Opening(1, NOW), PodDeleted(), Draining(), ()),
    ("a response for a pod that has gone", Draining(), Opened(), Draining(), ()),
    ("it runs on", Reading(1, 0.0, failures=1), RunStarted(1), Reading(1, 0.0, failures=1), ()),
    ("another run while one is read", Reading(1, 0.0, True, True, True), RunStarted(2), Reading(2, 0.0), ()),
    ("an old start", Reading(2, 0.0), RunStarted(1), Reading(2, 0.0), ()),
    ("an old end while reading", Reading(2, 0.0), RunEnded(1), Reading(2, 0.0), ()),
    ("it ends while it is read", Reading(1, 0.0), RunEnded(1, True), Reading(1, 0.0, True, True), ()),
    ("read to the end", Reading(1, 99.9, True, False, True), Closed(), Waiting(1), (EndRun(),)),
    ("read to the end of the last", Reading(1, 99.9, True, True, True), Closed(),
     Finished(), (EndRun(), Finish())),
    ("closed after the end: to be confirmed", Reading(1, 99.9, True, True), Closed(),
     Opening(1, NOW, True, True, True), RESUMED),
    ("closed normally", Reading(1, 99.0, failures=4), Closed(), Opening(1, NOW), RESUMED),
    ("closed at once", Reading(1, 99.1, failures=1), Closed(), Opening(1, NOW + 1.6, failures=2), later(1.6)),
    ("broken after a while", Reading(1, 99.0, failures=4), Failed(),
     Opening(1, NOW + 0.8, failures=1), later(0.8)),
    ("broken at once", Reading(1, 99.1, True, True, True, 1), Failed(),
     Opening(1, NOW + 1.6, True, True, True, 2), later(1.6)),
    ("the pod goes while it is read", Reading(1, 0.0, failures=1), PodDeleted(), Draining(), ()),
    ("read to the end of the pod", Draining(), Closed(), Finished(), (EndRun(), Finish())),
    ("broken at the end of the pod", Draining(), Failed(), Finished(), (EndRun(), Finish())),
    *((f"{event} while draining", Draining(), event, Draining(), ())
      for event in (RunStarted(1), RunEnded(1), PodDeleted())),
    *((f"{event} afterwards", Finished(), event, Finished(), ())
      for event in (RunStarted(1), RunEnded(1), PodDeleted())),
]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "event", "next_state", "actions"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_a_row_of_the_table(
    state: log_tail.State,
    event: log_tail.Event,
    next_state: log_tail.State,
    actions: tuple[log_tail.Action, ...],
) -> None:
    assert log_tail.step(state, event, NOW) == (next_state, actions)


STATES: list[log_tail.State] = [Waiting(1), Opening(1, NOW), Reading(1, NOW), Draining(), Finished()]
EVENTS: list[log_tail.Event] = [RunStarted(2), RunEnded(2), Opened(), Closed(), Failed(), PodDeleted()]


@pytest.mark.parametrize(("state", "event"), list(itertools.product(STATES, EVENTS)))
def test_a_pair_without_a_row_is_refused(state: log_tail.State, event: log_tail.Event) -> None:
    if any(type(row[1]) is type(state) and type(row[2]) is type(event) for row in TABLE):
        log_tail.step(state, event, NOW)
    else:
        with pytest.raises(LocalProtocolError, match="cannot happen in"):
            log_tail.step(state, event, NOW)


def test_the_diagram_and_the_table_have_the_same_arrows() -> None:
    rows = {(type(state), type(event), type(next_state)) for _, state, event, next_state, _ in TABLE}
    assert arrows(log_tail.__doc__) == {(a.__name__, b.__name__, c.__name__) for a, b, c in rows}
