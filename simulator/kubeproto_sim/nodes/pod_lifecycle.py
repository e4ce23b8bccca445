"""The life of a pod on a node: a pure machine. `step` takes an event, `due` is the next time that matters.

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

- Init containers run one after the other. One that fails is started again, unless the pod never restarts:
  then the pod has failed. A sidecar (an init container that always restarts) lets the next one start as soon
  as it runs, and does not keep the pod running.
- A container that ends is started again as its pod's policy says: a second later the first time, then after
  10 s, 20 s and so on, 300 s at most, as a kubelet does. The backoff is reset once a container has run for
  ten minutes.
- A pod is finished when all its containers have ended and none is restarted. It has failed if one of them
  ended with a code other than 0.
- A deleted pod ends when its grace period is over at the latest. A later deletion can shorten that period.
- Everything happens at the time when it is due, even if `step` is called late: times in the status are those
  of the plan.
"""

from __future__ import annotations

from typing import Final, TypeAlias, TypeVar

from msgspec.structs import replace

from kubeproto import LocalProtocolError

from ._container_life import (
    BACKOFF,
    FIRST_RESTART,
    FORGIVEN_AFTER,
    KILLED,
    MAX_BACKOFF,
    called,
    due_at,
    exited,
    frozen,
    is_new_main,
    restarts,
    stop_all,
    terminated,
    turn,
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
    """The state of a pod that was bound to a node, and what to do first."""
    return _settled(Initializing(plan, containers), now, [])


def due(state: State) -> float | None:
    """The next time at which something happens by itself; None if nothing will."""
    match state:
        case Initializing(plan, containers) | Active(plan, containers):
            times = [due_at(one) for one in containers] + [plan.deadline]
            return min((time for time in times if time is not None), default=None)
        case Ending(at=at):
            return at
        case Finished() | Removed():
            return None


def step(state: State, event: Event, now: float) -> Step:
    """Return the state after an event, and what to do."""
    match state, event:
        case ((Initializing() | Active() | Ending()), TimePassed()):
            return _pass_time(state, now)
        case ((Initializing() | Active()), ContainerExited(name=name)):
            found = _running(state, name)
            ended = exited(found, state.plan, event, now)
            return _settled(_with(state, ended), now, [StopContainer(name)])
        case ((Initializing() | Active() | Ending()), ReadinessChanged()):
            return _probed(state, event)
        case ((Initializing() | Active()), EphemeralAdded(name, plan)):
            added = Container(
                name=name, role="ephemeral", plan=plan,
                state=Waiting("ContainerCreating", now + plan.starts_after),
            )  # fmt: skip
            return replace(state, containers=(*state.containers, added)), _REPORT
        case ((Initializing() | Active()), Evicted(message, reason)):
            return _end_all(state, now, reason, message)
        case ((Initializing() | Active()), DeletionRequested(by)):
            return _begin_to_end(state, by, now)
        case Ending(), ContainerExited(name=name):
            ended = terminated(_running(state, name), event, now)
            return _ended(_with(state, ended), [StopContainer(name)])
        case Ending(), DeletionRequested(by):
            return (replace(state, at=max(by, now), killed=True) if by < state.at else state), ()
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


def _pass_time(state: Initializing | Active | Ending, now: float) -> Step:
    """Let everything happen that was due, one thing after the other, each at its own time."""
    passed: State = state
    done: list[Action] = []
    while (at := due(passed)) is not None and at <= now:
        if isinstance(passed, Ending):
            passed, actions = _kill(passed)
        elif isinstance(passed, (Initializing, Active)):
            passed, actions = _happen(passed, at)
        else:
            break
        done += [action for action in actions if action != ReportStatus()]
    return passed, (*done, *_REPORT) if passed != state and not isinstance(passed, Removed) else tuple(done)


def _happen(state: Initializing | Active, at: float) -> Step:
    if state.plan.deadline is not None and state.plan.deadline <= at:
        return _end_all(state, at, "DeadlineExceeded", _DEADLINE)
    container = next(one for one in state.containers if due_at(one) == at)
    turned, actions = turn(container, state.plan, at)
    return _settled(_with(state, turned), at, actions)


# Ends


def _end_all(state: Initializing | Active, at: float, reason: str, message: str) -> Step:
    containers, actions = stop_all(state.containers, at, KILLED)
    return Finished(containers, True, reason, message), (*actions, *_REPORT)


def _begin_to_end(state: Initializing | Active, by: float, now: float) -> Step:
    plan = state.plan
    at, killed = max(by, now), True
    if plan.ends_after is not None and now + plan.ends_after < at:
        at, killed = now + plan.ends_after, False
    if not any(isinstance(one.state, Running) for one in state.containers):
        at = now  # there is nothing to wait for
    # From here on nothing is started, and nothing ends as planned.
    containers = tuple(replace(one, state=frozen(one.state)) for one in state.containers)
    return Ending(plan, containers, at, killed), ()


def _kill(state: Ending) -> Step:
    containers, actions = stop_all(state.containers, state.at, KILLED if state.killed else 0)
    return Removed(containers, _failed(containers)), (*actions, RemovePod())


def _ended(state: Ending, actions: list[Action]) -> Step:
    """A container ended while the pod ends: with the last one, the pod is removed."""
    if any(isinstance(one.state, Running) for one in state.containers):
        return state, (*actions, *_REPORT)
    return Removed(state.containers, _failed(state.containers)), (*actions, RemovePod())


# What follows for the pod


def _settled(state: Initializing | Active, at: float, actions: list[Action]) -> Step:
    """The pod after a change of one container: the next may start, or all are over."""
    if isinstance(state, Initializing):
        initialized = _initialized(state, at)
        if isinstance(initialized, Initializing):
            return initialized, (*actions, *_REPORT)
        if initialized is None:
            return _finished(state, at, actions)
        state = initialized
    mains = [one.state for one in state.containers if one.role == "main"]
    if all(isinstance(one, Terminated) and one.restarts_at is None for one in mains):
        return _finished(state, at, actions)
    return state, (*actions, *_REPORT)


def _initialized(state: Initializing, at: float) -> Initializing | Active | None:
    """The pod with the next init container called, or with all others; None if it has failed."""
    for one in state.containers:
        if one.role not in ("init", "sidecar"):
            continue
        match one.state:
            case Waiting(reason="PodInitializing"):
                return _with(state, called(one, at))
            case Terminated(code=0, restarts_at=None) if one.role == "init":
                continue
            case Terminated(restarts_at=None) if one.role == "init":
                return None
            case _ if one.role == "sidecar" and (one.last is not None or not isinstance(one.state, Waiting)):
                continue
            case _:
                return state
    # Of a pod that was found running, as after a restart of its kubelet, some run already.
    begun = tuple(called(one, at) if is_new_main(one) else one for one in state.containers)
    return Active(state.plan, begun)


def _finished(state: Initializing | Active, at: float, actions: list[Action]) -> Step:
    # Sidecars and containers for debugging end with the rest, and do not count.
    containers, stopped = stop_all(state.containers, at, KILLED)
    return Finished(containers, _failed(containers)), (*actions, *stopped, *_REPORT)


def _failed(containers: Containers) -> bool:
    return any(
        one.state.code != 0
        for one in containers
        if one.role in ("main", "init") and isinstance(one.state, Terminated)
    )


def _running(state: State, name: str) -> Container:
    for one in state.containers:
        if one.name == name:
            if isinstance(one.state, Running):
                return one
            raise LocalProtocolError(
                f"container {name} cannot exit: it is {type(one.state).__name__.lower()}, not running"
            )
    raise LocalProtocolError(f"the pod has no container {name!r}")


def _probed(state: _Unfinished, event: ReadinessChanged) -> tuple[_Unfinished, tuple[Action, ...]]:
    if event.name:
        _running(state, event.name)
    changed = tuple(
        replace(one, state=replace(one.state, ready=event.ready, ready_at=None))
        if isinstance(one.state, Running) and one.role != "ephemeral" and event.name in ("", one.name)
        else one
        for one in state.containers
    )
    return replace(state, containers=changed), _REPORT


def _with(state: _Unfinished, changed: Container) -> _Unfinished:
    containers = tuple(changed if one.name == changed.name else one for one in state.containers)
    return replace(state, containers=containers)


__all__ = [
    "BACKOFF",
    "FIRST_RESTART",
    "FORGIVEN_AFTER",
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
    "due",
    "restarts",
    "step",
]
