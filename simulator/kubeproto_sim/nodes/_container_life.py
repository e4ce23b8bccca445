"""The life of one container: it is called, starts, becomes ready, ends, and is started again."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from kubeproto.objects import Duration
from kubeproto.wire import exponential_backoff

from ._pod_values import (
    Action,
    Container,
    ContainerExited,
    Containers,
    ContainerState,
    PodPlan,
    RestartPolicy,
    Running,
    StartContainer,
    StopContainer,
    Terminated,
    Waiting,
)

# The first restart is made by the next round of the kubelet, which comes within a second.
FIRST_RESTART: Final = 1.0
BACKOFF: Final = 10.0
MAX_BACKOFF: Final = 300.0
# A kubelet forgets the failures of a container that has not been started for twice the longest backoff.
FORGIVEN_AFTER: Final = 2 * MAX_BACKOFF
KILLED: Final = 137  # 128 + SIGKILL


def due_at(container: Container) -> float | None:
    """Return when something happens to a container by itself; None if nothing will."""
    match container.state:
        case Waiting(starts_at=at) | Terminated(restarts_at=at):
            return at
        case Running(ready_at=ready_at, ends_at=ends_at):
            return min((time for time in (ready_at, ends_at) if time is not None), default=None)


def turn(container: Container, pod: PodPlan, at: float) -> tuple[Container, list[Action]]:
    """What happens to a container by itself at that time."""
    plan = container.plan
    match container.state:
        case Waiting() if plan.unpullable:
            return replace(container, state=Waiting("ImagePullBackOff", None, plan.unpullable)), []
        case Waiting():
            return _started(container, at)
        case Terminated() as last:
            return _started(replace(container, last=last), at)
        case Running(ready_at=ready_at) as running if ready_at == at:
            return replace(container, state=replace(running, ready=True, ready_at=None)), []
        case Running():
            ended = exited(container, pod, ContainerExited(container.name, plan.code), at)
            return ended, [StopContainer(container.name)]


def called(container: Container, at: float) -> Container:
    """A container whose turn has come."""
    return replace(container, state=Waiting("ContainerCreating", at + container.plan.starts_after))


def _started(container: Container, at: float) -> tuple[Container, list[Action]]:
    plan = container.plan
    late = plan.ready_after > 0
    state = Running(
        at, not late, at + plan.ready_after if late else None, None if plan.takes is None else at + plan.takes
    )
    again = container.restarts + (1 if container.last is not None else 0)
    return replace(container, state=state, restarts=again), [StartContainer(container.name)]


def terminated(container: Container, event: ContainerExited, at: float) -> Container:
    """Return a container that has ended, without a restart."""
    running = container.state
    assert isinstance(running, Running)  # `_running` has checked
    reason = event.reason or ("Completed" if event.code == 0 else "Error")
    return replace(container, state=Terminated(running.since, at, event.code, reason, event.message))


def exited(container: Container, plan: PodPlan, event: ContainerExited, at: float) -> Container:
    """A container that has ended, with its restart if it has one."""
    ended = terminated(container, event, at)
    over = ended.state
    assert isinstance(over, Terminated)
    if not restarts(container, plan.restart, event.code):
        return ended
    failures = container.failures if over.at - over.since <= FORGIVEN_AFTER else 0
    if failures == 0:
        return replace(ended, state=replace(over, restarts_at=at + FIRST_RESTART), failures=1)
    pause = exponential_backoff(failures, initial=BACKOFF, maximum=MAX_BACKOFF)
    why = f"back-off {Duration.of(pause)} restarting failed container={container.name}"
    return replace(
        ended, state=Waiting("CrashLoopBackOff", at + pause, why), last=over, failures=failures + 1
    )


def restarts(container: Container, policy: RestartPolicy, code: int) -> bool:
    """Whether a container that exited with this code is restarted."""
    match container.role:
        case "sidecar":
            return True
        case "ephemeral":
            return False
        case "init":
            return code != 0 and policy != "Never"
        case "main":
            return policy == "Always" or (policy == "OnFailure" and code != 0)


def stop_all(containers: Containers, at: float, code: int) -> tuple[Containers, list[Action]]:
    """End all containers that run, or wait to run again."""
    stopped: list[Container] = []
    actions: list[Action] = []
    for one in containers:
        match one.state:
            case Running():
                one = terminated(one, ContainerExited(one.name, code), at)
                actions.append(StopContainer(one.name))
            case Waiting() if one.last is not None:
                one = replace(one, state=one.last)
            case _:
                one = replace(one, state=frozen(one.state))
        stopped.append(one)
    return tuple(stopped), actions


def frozen(state: ContainerState) -> ContainerState:
    """The same container without anything that happens by itself."""
    match state:
        case Waiting():
            return replace(state, starts_at=None)
        case Running():
            return replace(state, ready_at=None, ends_at=None)
        case Terminated():
            return replace(state, restarts_at=None)


def is_new_main(container: Container) -> bool:
    """Whether a main container has not been called yet."""
    state = container.state
    return container.role == "main" and isinstance(state, Waiting) and state.reason == "PodInitializing"
