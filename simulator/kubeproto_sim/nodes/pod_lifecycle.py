"""The life of a pod on a node: a state machine. `step` handles an event, `next_due` is the time of the next
planned event.

::

    Initializing ─ TimePassed ────────► Initializing, Active, Finished
    Initializing ─ ContainerExited ───► Initializing, Active, Finished
    Initializing ─ ReadinessChanged ──► Initializing
    Initializing ─ EphemeralAdded ────► Initializing
    Initializing ─ Evicted ───────────► Finished
    Initializing ─ DeletionRequested ─► Ending

    Active ─────── TimePassed ────────► Active, Finished
    Active ─────── ContainerExited ───► Active, Finished
    Active ─────── ReadinessChanged ──► Active
    Active ─────── EphemeralAdded ────► Active
    Active ─────── Evicted ───────────► Finished
    Active ─────── DeletionRequested ─► Ending

    Ending ─────── TimePassed ────────► Ending, Removed
    Ending ─────── ContainerExited ───► Ending, Removed
    Ending ─────── ReadinessChanged ──► Ending
    Ending ─────── EphemeralAdded ────► Ending
    Ending ─────── Evicted ───────────► Ending
    Ending ─────── DeletionRequested ─► Ending

    Finished ───── TimePassed ────────► Finished
    Finished ───── DeletionRequested ─► Removed

Rules

- Init containers run one after the other. A failed init container is restarted, unless the pod never
  restarts: then the pod has failed. The container after a sidecar (an init container that always restarts)
  starts as soon as the sidecar runs, and a sidecar does not keep the pod running.
- A container that ends is restarted according to the policy of its pod: a second later the first time, then
  after 10 s, 20 s and so on, 300 s at most, as by a kubelet. The backoff is reset once a container has run
  for ten minutes.
- A pod is finished when all its containers have ended for good. It has failed if any of them ended with a
  code other than 0.
- A deleted pod ends when its grace period is over at the latest. A later deletion can shorten that period.
- Every transition has its planned time, even if `step` is called late, and the status contains these times.
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar

from msgspec.structs import replace

from kubeproto import LocalProtocolError

from ._container_lifecycle import (
    BACKOFF,
    BACKOFF_RESET_AFTER,
    FIRST_RESTART,
    KILLED,
    MAX_BACKOFF,
    due_at,
    exited,
    is_new_main,
    restarts,
    schedule_start,
    stop_all,
    terminated,
    transition,
    without_plans,
)
from ._pod_values import (
    Action,
    Active,
    Container,
    ContainerExited,
    ContainerPlan,
    Containers,
    ContainerState,
    DeletionRequested,
    Ending,
    EphemeralAdded,
    Event,
    Evicted,
    Finished,
    Initializing,
    PodPlan,
    ReadinessChanged,
    Removed,
    RemovePod,
    ReportStatus,
    RestartPolicy,
    Role,
    Running,
    StartContainer,
    State,
    StopContainer,
    Terminated,
    TimePassed,
    Waiting,
)

_DEADLINE: Final = "Pod was active on the node longer than the specified deadline"

Step: TypeAlias = tuple[State, tuple[Action, ...]]
_Unfinished = TypeVar("_Unfinished", bound=Initializing | Active | Ending)
_REPORT: Final = (ReportStatus(),)


def begin(plan: PodPlan, containers: Containers, now: float) -> Step:
    """Return the state and the first actions of a pod that was bound to a node."""
    return _advance(Initializing(plan, containers), now, [])


def next_due(state: State) -> float | None:
    """Return the time of the next `TimePassed`; None if the state does not change by itself."""
    match state:
        case Initializing(plan, containers) | Active(plan, containers):
            times = [due_at(container) for container in containers] + [plan.deadline]
            return min((time for time in times if time is not None), default=None)
        case Ending(ends_at=time):
            return time
        case Finished() | Removed():
            return None


def step(state: State, event: Event, now: float) -> Step:
    """Return the state after an event, and the actions."""
    match state, event:
        case ((Initializing() | Active() | Ending()), TimePassed()):
            return _advance_to(state, now)
        case ((Initializing() | Active()), ContainerExited(name=name)):
            container = _running_container(state, name)
            changed = exited(container, state.plan, event, now)
            return _advance(_with_container(state, changed), now, [StopContainer(name)])
        case ((Initializing() | Active() | Ending()), ReadinessChanged()):
            return _set_readiness(state, event)
        case ((Initializing() | Active()), EphemeralAdded(name, plan)):
            ephemeral = Container(
                name=name, role="ephemeral", plan=plan,
                state=Waiting("ContainerCreating", now + plan.starts_after),
            )  # fmt: skip
            return replace(state, containers=(*state.containers, ephemeral)), _REPORT
        case ((Initializing() | Active()), Evicted(message, reason)):
            return _end_all(state, now, reason, message)
        case ((Initializing() | Active()), DeletionRequested(deadline)):
            return _begin_ending(state, deadline, now)
        case Ending(), ContainerExited(name=name):
            changed = terminated(_running_container(state, name), event, now)
            return _after_exit(_with_container(state, changed), [StopContainer(name)])
        case Ending(), DeletionRequested(deadline):
            return (
                replace(state, ends_at=max(deadline, now), killed=True) if deadline < state.ends_at else state
            ), ()
        case Ending(), EphemeralAdded() | Evicted():
            return state, ()  # it ends anyway
        case Finished(), TimePassed():
            return state, ()
        case Finished(containers, failed, reason, message), DeletionRequested():
            return Removed(containers, failed, reason, message), (RemovePod(),)
        case _:
            raise LocalProtocolError(
                f"{type(event).__name__} cannot happen to a pod that is {type(state).__name__.lower()}"
            )


# Time


def _advance_to(state: Initializing | Active | Ending, now: float) -> Step:
    """Perform all planned transitions due by now, one after the other, each at its own time."""
    current: State = state
    all_actions: list[Action] = []
    while (time := next_due(current)) is not None and time <= now:
        if isinstance(current, Ending):
            current, actions = _kill(current)
        elif isinstance(current, (Initializing, Active)):
            current, actions = _run_planned(current, time)
        else:
            break
        all_actions += [action for action in actions if action != ReportStatus()]
    return current, (*all_actions, *_REPORT) if current != state and not isinstance(
        current, Removed
    ) else tuple(all_actions)


def _run_planned(state: Initializing | Active, time: float) -> Step:
    if state.plan.deadline is not None and state.plan.deadline <= time:
        return _end_all(state, time, "DeadlineExceeded", _DEADLINE)
    container = next(candidate for candidate in state.containers if due_at(candidate) == time)
    changed, actions = transition(container, state.plan, time)
    return _advance(_with_container(state, changed), time, actions)


# The end of the pod


def _end_all(state: Initializing | Active, time: float, reason: str, message: str) -> Step:
    containers, actions = stop_all(state.containers, time, KILLED)
    return Finished(containers, True, reason, message), (*actions, *_REPORT)


def _begin_ending(state: Initializing | Active, deadline: float, now: float) -> Step:
    plan = state.plan
    ends_at, is_killed = max(deadline, now), True
    if plan.ends_after is not None and now + plan.ends_after < ends_at:
        ends_at, is_killed = now + plan.ends_after, False
    if not any(isinstance(container.state, Running) for container in state.containers):
        ends_at = now
    # From here on no container starts or ends as planned.
    containers = tuple(
        replace(container, state=without_plans(container.state)) for container in state.containers
    )
    return Ending(plan, containers, ends_at, is_killed), ()


def _kill(state: Ending) -> Step:
    containers, actions = stop_all(state.containers, state.ends_at, KILLED if state.killed else 0)
    return Removed(containers, _has_failed(containers)), (*actions, RemovePod())


def _after_exit(state: Ending, actions: list[Action]) -> Step:
    """Return the ending pod after a container has exited: after the last container, the pod is removed."""
    if any(isinstance(container.state, Running) for container in state.containers):
        return state, (*actions, *_REPORT)
    return Removed(state.containers, _has_failed(state.containers)), (*actions, RemovePod())


# The pod after a change of a container


def _advance(state: Initializing | Active, time: float, actions: list[Action]) -> Step:
    """Return the pod after a change of a container: the next may start, or the pod may be finished."""
    if isinstance(state, Initializing):
        initialized = _advance_init(state, time)
        if isinstance(initialized, Initializing):
            return initialized, (*actions, *_REPORT)
        if initialized is None:
            return _finish(state, time, actions)
        state = initialized
    main_states = [container.state for container in state.containers if container.role == "main"]
    if all(isinstance(container, Terminated) and container.restarts_at is None for container in main_states):
        return _finish(state, time, actions)
    return state, (*actions, *_REPORT)


def _advance_init(state: Initializing, time: float) -> Initializing | Active | None:
    """Return the pod with its next containers scheduled to start; None if it has failed."""
    for container in state.containers:
        if container.role not in ("init", "sidecar"):
            continue
        match container.state:
            case Waiting(reason="PodInitializing"):
                return _with_container(state, schedule_start(container, time))
            case Terminated(code=0, restarts_at=None) if container.role == "init":
                continue
            case Terminated(restarts_at=None) if container.role == "init":
                return None
            case _ if container.role == "sidecar" and (
                container.last is not None or not isinstance(container.state, Waiting)
            ):
                continue
            case _:
                return state
    # Some containers may run already: after a restart of its kubelet, the pod comes from its status.
    containers = tuple(
        schedule_start(container, time) if is_new_main(container) else container
        for container in state.containers
    )
    return Active(state.plan, containers)


def _finish(state: Initializing | Active, time: float, actions: list[Action]) -> Step:
    # Sidecars and containers for debugging end with the others, and do not count.
    containers, stopped = stop_all(state.containers, time, KILLED)
    return Finished(containers, _has_failed(containers)), (*actions, *stopped, *_REPORT)


def _has_failed(containers: Containers) -> bool:
    return any(
        container.state.code != 0
        for container in containers
        if container.role in ("main", "init") and isinstance(container.state, Terminated)
    )


def _running_container(state: State, name: str) -> Container:
    for container in state.containers:
        if container.name == name:
            if isinstance(container.state, Running):
                return container
            raise LocalProtocolError(
                f"container {name} cannot exit: it is {type(container.state).__name__.lower()}, not running"
            )
    raise LocalProtocolError(f"the pod has no container {name!r}")


def _set_readiness(state: _Unfinished, event: ReadinessChanged) -> tuple[_Unfinished, tuple[Action, ...]]:
    if event.name:
        _running_container(state, event.name)
    changed = tuple(
        replace(container, state=replace(container.state, ready=event.ready, ready_at=None))
        if isinstance(container.state, Running)
        and container.role != "ephemeral"
        and event.name in ("", container.name)
        else container
        for container in state.containers
    )
    return replace(state, containers=changed), _REPORT


def _with_container(state: _Unfinished, changed: Container) -> _Unfinished:
    containers = tuple(
        changed if container.name == changed.name else container for container in state.containers
    )
    return replace(state, containers=containers)


__all__ = [
    "BACKOFF",
    "BACKOFF_RESET_AFTER",
    "FIRST_RESTART",
    "KILLED",
    "MAX_BACKOFF",
    "Action",
    "Active",
    "Container",
    "ContainerExited",
    "ContainerPlan",
    "ContainerState",
    "Containers",
    "DeletionRequested",
    "Ending",
    "EphemeralAdded",
    "Event",
    "Evicted",
    "Finished",
    "Initializing",
    "PodPlan",
    "ReadinessChanged",
    "RemovePod",
    "Removed",
    "ReportStatus",
    "RestartPolicy",
    "Role",
    "Running",
    "StartContainer",
    "State",
    "Step",
    "StopContainer",
    "Terminated",
    "TimePassed",
    "Waiting",
    "begin",
    "next_due",
    "restarts",
    "step",
]
