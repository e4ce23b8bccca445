"""The machine of a pod on a node: a row for each arrow of its diagram, and every other pair refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final, get_args

import pytest
from diagrams import arrows
from hypothesis import given, strategies as st
from msgspec.structs import replace

from kubeproto import LocalProtocolError
from kubeproto_sim.nodes import pod_lifecycle as pod
from kubeproto_sim.nodes.pod_lifecycle import (
    Active,
    Container,
    ContainerExited,
    ContainerPlan,
    DeletionRequested,
    Ending,
    EphemeralAdded,
    Evicted,
    Finished,
    Initializing,
    PodPlan,
    ReadinessChanged,
    Removed,
    RemovePod,
    ReportStatus,
    Running,
    StartContainer,
    StopContainer,
    Terminated,
    TimePassed,
    Waiting,
)

NOW: Final = 100.0
ALWAYS: Final = PodPlan()
NEVER: Final = PodPlan(restart="Never")
ON_FAILURE: Final = PodPlan(restart="OnFailure")
REPORT: Final = ReportStatus()
STOP: Final = StopContainer("web")
START: Final = StartContainer("web")

WEB: Final = Container(name="web", state=Running(90.0))
CREATED: Final = Container(name="web", state=Waiting("ContainerCreating", NOW))
SETUP: Final = Container(name="setup", role="init", state=Running(90.0))
NEW: Final = Container(name="web")
STARTING: Final = Container(name="setup", role="init", state=Waiting("ContainerCreating", NOW))
SLOW: Final = Container(name="web", plan=ContainerPlan(starts_after=3))
SIDECAR: Final = Container(name="proxy", role="sidecar", state=Running(90.0))
DEBUGGER: Final = Container(name="debugger", role="ephemeral", state=Waiting("ContainerCreating", NOW))


def exited(code: int, *, restarts_at: float | None = None, reason: str = "", message: str = "") -> Terminated:
    words = reason or ("Completed" if code == 0 else "Error")
    return Terminated(90.0, NOW, code, words, message, restarts_at)


def changed(container: Container, state: pod.ContainerState, **changes: Any) -> Container:
    return replace(container, state=state, **changes)


DONE: Final = changed(SETUP, exited(0))
CALLED: Final = changed(NEW, Waiting("ContainerCreating", NOW))
LOOPING: Final = Waiting("CrashLoopBackOff", NOW + 10, "back-off 10s restarting failed container=web")
ONCE_MORE: Final = changed(WEB, exited(1, restarts_at=NOW + 1), failures=1)

# Each event, its state, the next state and the actions.
ROWS: Final[list[tuple[str, pod.State, pod.Event, pod.State, tuple[pod.Action, ...]]]] = [
    ("init container ends, the next is called",
     Initializing(ALWAYS, (SETUP, replace(NEW, name="second", role="init"), NEW)), ContainerExited("setup"),
     Initializing(ALWAYS, (DONE, replace(CALLED, name="second", role="init"), NEW)),
     (StopContainer("setup"), REPORT)),
    ("the last init container ends", Initializing(ALWAYS, (SETUP, NEW)), ContainerExited("setup"),
     Active(ALWAYS, (DONE, CALLED)), (StopContainer("setup"), REPORT)),
    ("an init container fails for good", Initializing(NEVER, (SETUP, NEW)), ContainerExited("setup", 2),
     Finished((changed(SETUP, exited(2)), NEW), failed=True), (StopContainer("setup"), REPORT)),
    ("an init container starts", Initializing(ALWAYS, (STARTING, NEW)), TimePassed(),
     Initializing(ALWAYS, (changed(STARTING, Running(NOW)), NEW)), (StartContainer("setup"), REPORT)),
    ("an init container ends by itself",
     Initializing(ALWAYS, (changed(SETUP, Running(90.0, ends_at=NOW)), NEW)), TimePassed(),
     Active(ALWAYS, (DONE, changed(NEW, Running(NOW)))), (StopContainer("setup"), START, REPORT)),
    ("a sidecar lets the next one start",
     Initializing(ALWAYS, (changed(SIDECAR, Waiting("ContainerCreating", NOW)), SLOW)), TimePassed(),
     Active(ALWAYS, (changed(SIDECAR, Running(NOW)), changed(SLOW, Waiting("ContainerCreating", NOW + 3)))),
     (StartContainer("proxy"), REPORT)),
    ("the deadline passes during init", Initializing(PodPlan(deadline=NOW), (SETUP, NEW)), TimePassed(),
     Finished((changed(SETUP, exited(137)), NEW), True, "DeadlineExceeded",
              "Pod was active on the node longer than the specified deadline"),
     (StopContainer("setup"), REPORT)),
    ("a sidecar is not ready during init", Initializing(ALWAYS, (SIDECAR, SETUP, NEW)),
     ReadinessChanged(ready=False, name="proxy"),
     Initializing(ALWAYS, (changed(SIDECAR, Running(90.0, ready=False)), SETUP, NEW)), (REPORT,)),
    ("debugging begins during init", Initializing(ALWAYS, (SETUP, NEW)), EphemeralAdded("debugger"),
     Initializing(ALWAYS, (SETUP, NEW, DEBUGGER)), (REPORT,)),
    ("evicted during init", Initializing(ALWAYS, (SETUP, NEW)), Evicted("no memory"),
     Finished((changed(SETUP, exited(137)), NEW), True, "Evicted", "no memory"),
     (StopContainer("setup"), REPORT)),
    ("deleted during init", Initializing(ALWAYS, (SETUP, NEW)), DeletionRequested(NOW + 30),
     Ending(ALWAYS, (SETUP, NEW), NOW + 30), ()),
    ("a container starts and is ready", Active(ALWAYS, (CREATED,)), TimePassed(),
     Active(ALWAYS, (changed(CREATED, Running(NOW)),)), (START, REPORT)),
    ("a container starts and is to be ready later",
     Active(ALWAYS, (replace(CREATED, plan=ContainerPlan(ready_after=5, duration=60)),)), TimePassed(),
     Active(ALWAYS, (replace(CREATED, plan=ContainerPlan(ready_after=5, duration=60), state=Running(
         NOW, ready=False, ready_at=NOW + 5, ends_at=NOW + 60)),)), (START, REPORT)),
    ("a container becomes ready", Active(ALWAYS, (changed(WEB, Running(90.0, ready=False, ready_at=NOW)),)),
     TimePassed(), Active(ALWAYS, (WEB,)), (REPORT,)),
    ("an image cannot be pulled", Active(ALWAYS, (replace(CREATED, plan=ContainerPlan(unpullable="no")),)),
     TimePassed(),
     Active(ALWAYS, (replace(CREATED, plan=ContainerPlan(unpullable="no"), state=Waiting(
         "ImagePullBackOff", None, "no")),)), (REPORT,)),
    ("a container ends by itself, and so does the pod",
     Active(NEVER, (changed(WEB, Running(90.0, ends_at=NOW)),)), TimePassed(),
     Finished((changed(WEB, exited(0)),), failed=False), (STOP, REPORT)),
    ("a container is restarted", Active(ALWAYS, (changed(WEB, exited(1, restarts_at=NOW)),)), TimePassed(),
     Active(ALWAYS, (changed(WEB, Running(NOW), restarts=1, last=exited(1, restarts_at=NOW)),)),
     (START, REPORT)),
    ("the deadline passes", Active(PodPlan(deadline=NOW), (WEB,)), TimePassed(),
     Finished((changed(WEB, exited(137)),), True, "DeadlineExceeded",
              "Pod was active on the node longer than the specified deadline"), (STOP, REPORT)),
    ("a container fails the first time", Active(ALWAYS, (WEB,)), ContainerExited("web", 1),
     Active(ALWAYS, (ONCE_MORE,)), (STOP, REPORT)),
    ("a container fails again", Active(ALWAYS, (replace(WEB, failures=1, restarts=1),)),
     ContainerExited("web", 1),
     Active(ALWAYS, (replace(WEB, failures=2, restarts=1, last=exited(1), state=LOOPING),)), (STOP, REPORT)),
    ("a failure is forgotten after ten minutes",
     Active(ALWAYS, (replace(WEB, failures=7, state=Running(NOW - 601)),)), ContainerExited("web", 1),
     Active(ALWAYS, (replace(WEB, failures=1, state=Terminated(
         NOW - 601, NOW, 1, "Error", restarts_at=NOW + 1)),)), (STOP, REPORT)),
    ("a container fails for good", Active(NEVER, (WEB,)), ContainerExited("web", 1, "OOMKilled", "too large"),
     Finished((changed(WEB, exited(1, reason="OOMKilled", message="too large")),), failed=True),
     (STOP, REPORT)),
    ("a container that succeeded is not restarted on failure", Active(ON_FAILURE, (WEB,)),
     ContainerExited("web"), Finished((changed(WEB, exited(0)),), failed=False), (STOP, REPORT)),
    ("sidecars end with the pod, and do not count", Active(NEVER, (SIDECAR, WEB)), ContainerExited("web"),
     Finished((changed(SIDECAR, exited(137)), changed(WEB, exited(0))), failed=False),
     (STOP, StopContainer("proxy"), REPORT)),
    ("a sidecar is restarted whatever the policy", Active(NEVER, (SIDECAR, WEB)), ContainerExited("proxy"),
     Active(NEVER, (changed(SIDECAR, exited(0, restarts_at=NOW + 1), failures=1), WEB)),
     (StopContainer("proxy"), REPORT)),
    ("a container for debugging is never restarted",
     Active(ALWAYS, (WEB, changed(DEBUGGER, Running(90.0)))), ContainerExited("debugger", 1),
     Active(ALWAYS, (WEB, changed(DEBUGGER, exited(1)))), (StopContainer("debugger"), REPORT)),
    ("all probes fail", Active(ALWAYS, (SIDECAR, WEB)), ReadinessChanged(ready=False),
     Active(ALWAYS, (changed(SIDECAR, Running(90.0, ready=False)), changed(WEB, Running(90.0, ready=False)))),
     (REPORT,)),
    ("debugging begins", Active(ALWAYS, (WEB,)), EphemeralAdded("debugger"),
     Active(ALWAYS, (WEB, DEBUGGER)), (REPORT,)),
    ("evicted", Active(ALWAYS, (WEB,)), Evicted("no memory"),
     Finished((changed(WEB, exited(137)),), True, "Evicted", "no memory"), (STOP, REPORT)),
    ("evicted while it waits to restart",
     Active(ALWAYS, (replace(WEB, state=LOOPING, last=exited(3), failures=2),)), Evicted("no memory"),
     Finished((replace(WEB, state=exited(3), last=exited(3), failures=2),), True, "Evicted", "no memory"),
     (REPORT,)),
    ("deleted", Active(ALWAYS, (changed(WEB, Running(90.0, ends_at=NOW + 5)),)), DeletionRequested(NOW + 30),
     Ending(ALWAYS, (WEB,), NOW + 30), ()),
    ("deleted, and ends sooner than it must", Active(PodPlan(ends_after=2), (WEB,)),
     DeletionRequested(NOW + 30), Ending(PodPlan(ends_after=2), (WEB,), NOW + 2, killed=False), ()),
    ("deleted before anything ran", Active(ALWAYS, (CREATED,)), DeletionRequested(NOW + 30),
     Ending(ALWAYS, (changed(CREATED, Waiting("ContainerCreating")),), NOW), ()),
    ("killed", Ending(ALWAYS, (WEB,), NOW), TimePassed(),
     Removed((changed(WEB, exited(137)),), failed=True), (STOP, RemovePod())),
    ("ended by itself", Ending(ALWAYS, (WEB,), NOW, killed=False), TimePassed(),
     Removed((changed(WEB, exited(0)),), failed=False), (STOP, RemovePod())),
    ("asked too early", Ending(ALWAYS, (WEB,), NOW + 1), TimePassed(), Ending(ALWAYS, (WEB,), NOW + 1), ()),
    ("one of two containers exits", Ending(ALWAYS, (WEB, SIDECAR), NOW + 9), ContainerExited("web"),
     Ending(ALWAYS, (changed(WEB, exited(0)), SIDECAR), NOW + 9), (STOP, REPORT)),
    ("the last container exits", Ending(ALWAYS, (WEB,), NOW + 9), ContainerExited("web"),
     Removed((changed(WEB, exited(0)),), failed=False), (STOP, RemovePod())),
    ("a probe fails while it ends", Ending(ALWAYS, (WEB,), NOW + 9), ReadinessChanged(ready=False),
     Ending(ALWAYS, (changed(WEB, Running(90.0, ready=False)),), NOW + 9), (REPORT,)),
    ("debugging begins too late", Ending(ALWAYS, (WEB,), NOW + 9), EphemeralAdded("debugger"),
     Ending(ALWAYS, (WEB,), NOW + 9), ()),
    ("evicted too late", Ending(ALWAYS, (WEB,), NOW + 9), Evicted("no memory"),
     Ending(ALWAYS, (WEB,), NOW + 9), ()),
    ("deleted again, with less grace", Ending(ALWAYS, (WEB,), NOW + 9, killed=False),
     DeletionRequested(NOW + 5), Ending(ALWAYS, (WEB,), NOW + 5), ()),
    ("deleted again, with more grace", Ending(ALWAYS, (WEB,), NOW + 9), DeletionRequested(NOW + 50),
     Ending(ALWAYS, (WEB,), NOW + 9), ()),
    ("nothing happens to what is over", Finished((changed(WEB, exited(0)),), failed=False), TimePassed(),
     Finished((changed(WEB, exited(0)),), failed=False), ()),
    ("deleted when it is over", Finished((changed(WEB, exited(0)),), True, "Evicted", "no memory"),
     DeletionRequested(NOW),
     Removed((changed(WEB, exited(0)),), True, "Evicted", "no memory"), (RemovePod(),)),
]  # fmt: skip


@pytest.mark.parametrize(("state", "event", "next_state", "actions"), [row[1:] for row in ROWS],
                         ids=[row[0] for row in ROWS])  # fmt: skip
def test_a_row_of_the_table(
    state: pod.State, event: pod.Event, next_state: pod.State, actions: tuple[pod.Action, ...]
) -> None:
    assert pod.step(state, event, NOW) == (next_state, actions)


def name(value: object) -> str:
    return type(value).__name__


def test_the_arrows_of_the_diagram_have_rows_and_no_others_do() -> None:
    drawn = arrows(pod.__doc__)
    rows = {(name(state), name(event), name(next_state)) for _, state, event, next_state, _ in ROWS}
    assert rows - drawn == set()
    assert drawn - rows == set()


def test_every_other_pair_is_refused() -> None:
    states: dict[str, pod.State] = {name(row[1]): row[1] for row in ROWS}
    states["Removed"] = Removed((WEB,), failed=False)
    events: dict[str, pod.Event] = {name(row[2]): row[2] for row in ROWS}
    assert set(states) == {class_.__name__ for class_ in get_args(pod.State)}
    assert set(events) == {class_.__name__ for class_ in get_args(pod.Event)}
    drawn = {(state, event) for state, event, _ in arrows(pod.__doc__)}
    for state_name, state in states.items():
        for event_name, event in events.items():
            if (state_name, event_name) not in drawn:
                with pytest.raises(LocalProtocolError, match=f"{event_name} cannot happen"):
                    pod.step(state, event, NOW)


def test_a_container_that_does_not_run_cannot_exit() -> None:
    with pytest.raises(LocalProtocolError, match="container web cannot exit: it is waiting"):
        pod.step(Active(ALWAYS, (CREATED,)), ContainerExited("web"), NOW)
    with pytest.raises(LocalProtocolError, match="no container 'other'"):
        pod.step(Active(ALWAYS, (WEB,)), ContainerExited("other"), NOW)


def test_a_container_that_fails_each_second_is_restarted_with_growing_delays() -> None:
    always_failing = Container(name="web", plan=ContainerPlan(duration=1, code=1))
    state, _ = pod.begin(ALWAYS, (always_failing,), 0.0)
    starts: list[float] = []
    while (time := pod.next_due(state)) is not None and time < 2000:
        state, actions = pod.step(state, TimePassed(), time)
        starts += [time] * actions.count(START)
    pauses = [following - previous - 1 for previous, following in pairwise(starts)]
    assert pauses[:8] == [1, 10, 20, 40, 80, 160, 300, 300]


def test_the_delay_after_the_five_thousandth_failure_equals_that_after_the_tenth() -> None:
    state = Active(ALWAYS, (replace(WEB, failures=5000),))
    next_state, _ = pod.step(state, ContainerExited("web", 1), NOW)
    assert pod.next_due(next_state) == NOW + 300


# Random lives

PLANS: Final = st.builds(
    ContainerPlan, starts_after=st.integers(0, 3), ready_after=st.integers(0, 3),
    duration=st.none() | st.integers(1, 20), code=st.integers(0, 1),
)  # fmt: skip
BEFORE: Final[list[pod.Role]] = ["init", "sidecar"]
ROLES: Final = st.lists(st.sampled_from(BEFORE), max_size=3)
AFTER: Final[list[pod.Role]] = ["main"]
MAINS: Final = st.lists(st.sampled_from(AFTER), min_size=1, max_size=2)


@st.composite
def pods(draw: st.DrawFn) -> tuple[PodPlan, tuple[Container, ...]]:
    roles = draw(ROLES) + draw(MAINS)
    containers = tuple(
        Container(name=f"c{index}", role=role, plan=draw(PLANS)) for index, role in enumerate(roles)
    )
    plan = PodPlan(
        restart=draw(st.sampled_from(["Always", "OnFailure", "Never"])),
        deadline=draw(st.none() | st.integers(1, 40)), ends_after=draw(st.none() | st.integers(0, 9)),
    )  # fmt: skip
    return plan, containers


EVENTS: Final = st.one_of(
    st.just(TimePassed()),
    st.builds(ContainerExited, name=st.sampled_from(["c0", "c1", "c2"]), code=st.integers(0, 1)),
    st.builds(ReadinessChanged, ready=st.booleans()),
    st.just(Evicted("no memory")),
)
TIMELINES: Final = st.lists(st.tuples(st.integers(0, 30), EVENTS), max_size=12)


@given(pods(), TIMELINES, st.none() | st.integers(0, 60))
def test_containers_always_start_and_stop_in_turn_and_a_deleted_pod_ends(
    plan_and_containers: tuple[PodPlan, tuple[Container, ...]],
    timeline: list[tuple[int, pod.Event]],
    deleted: int | None,
) -> None:
    now = 0.0
    state, actions = pod.begin(*plan_and_containers, now)
    running: set[str] = set()
    removed = 0

    def note(actions: tuple[pod.Action, ...]) -> None:
        nonlocal removed
        for action in actions:
            match action:
                case StartContainer(started):
                    assert started not in running
                    running.add(started)
                case StopContainer(stopped):
                    running.remove(stopped)
                case RemovePod():
                    removed += 1
                case _:
                    pass

    note(actions)
    for pause, event in timeline:
        now += pause
        state, actions = pod.step(state, TimePassed(), now) if _continues(state) else (state, ())
        note(actions)
        try:
            state, actions = pod.step(state, event, now)
        except LocalProtocolError:
            continue
        note(actions)
        assert running == {
            container.name for container in state.containers if isinstance(container.state, Running)
        }
        assert (time := pod.next_due(state)) is None or time > now or event != TimePassed()
    if deleted is not None and not isinstance(state, Removed):
        state, actions = pod.step(state, TimePassed(), now)
        note(actions)
        if not isinstance(state, Removed):
            state, actions = pod.step(state, DeletionRequested(now + deleted), now)
            note(actions)
        while not isinstance(state, Removed):
            time = pod.next_due(state)
            assert time is not None
            assert time <= now + deleted
            state, actions = pod.step(state, TimePassed(), time)
            note(actions)
        assert removed == 1
        assert not running


def _continues(state: pod.State) -> bool:
    return not isinstance(state, Removed)
