"""The transitions of a container: it starts, becomes ready, ends, and is restarted after a backoff."""

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

# The next sync of the kubelet restarts a container the first time, and comes within a second.
FIRST_RESTART: Final = 1.0
BACKOFF: Final = 10.0
MAX_BACKOFF: Final = 300.0
# A kubelet forgets the failures of a container after twice the maximum backoff without a restart.
BACKOFF_RESET_AFTER: Final = 2 * MAX_BACKOFF
KILLED: Final = 137  # 128 + SIGKILL


def due_at(container: Container) -> float | None:
    """Return the time of the next planned transition of a container; None if there is none."""
    match container.state:
        case Waiting(starts_at=start) | Terminated(restarts_at=start):
            return start
        case Running(ready_at=ready_at, ends_at=ends_at):
            return min((time for time in (ready_at, ends_at) if time is not None), default=None)


def transition(container: Container, pod: PodPlan, time: float) -> tuple[Container, list[Action]]:
    """Return a container after its planned transition, and the actions."""
    plan = container.plan
    match container.state:
        case Waiting() if plan.unpullable:
            return replace(container, state=Waiting("ImagePullBackOff", None, plan.unpullable)), []
        case Waiting():
            return _start(container, time)
        case Terminated() as last_run:
            return _start(replace(container, last=last_run), time)
        case Running(ready_at=ready_at) as running if ready_at == time:
            return replace(container, state=replace(running, ready=True, ready_at=None)), []
        case Running():
            ended_container = exited(container, pod, ContainerExited(container.name, plan.code), time)
            return ended_container, [StopContainer(container.name)]


def schedule_start(container: Container, time: float) -> Container:
    """Return a container that may start: its predecessors are complete."""
    return replace(container, state=Waiting("ContainerCreating", time + container.plan.starts_after))


def _start(container: Container, time: float) -> tuple[Container, list[Action]]:
    plan = container.plan
    is_delayed = plan.ready_after > 0
    state = Running(
        time,
        not is_delayed,
        time + plan.ready_after if is_delayed else None,
        None if plan.duration is None else time + plan.duration,
    )
    restart_count = container.restarts + (1 if container.last is not None else 0)
    return replace(container, state=state, restarts=restart_count), [StartContainer(container.name)]


def terminated(container: Container, event: ContainerExited, time: float) -> Container:
    """Return a container that has ended for good."""
    running = container.state
    assert isinstance(running, Running)  # checked by `_running_container`
    reason = event.reason or ("Completed" if event.code == 0 else "Error")
    return replace(container, state=Terminated(running.started_at, time, event.code, reason, event.message))


def exited(container: Container, plan: PodPlan, event: ContainerExited, time: float) -> Container:
    """Return a container that has ended, with its restart if its policy requires one."""
    ended_container = terminated(container, event, time)
    final_state = ended_container.state
    assert isinstance(final_state, Terminated)
    if not restarts(container, plan.restart, event.code):
        return ended_container
    failures = (
        container.failures if final_state.finished_at - final_state.started_at <= BACKOFF_RESET_AFTER else 0
    )
    if failures == 0:
        return replace(
            ended_container, state=replace(final_state, restarts_at=time + FIRST_RESTART), failures=1
        )
    backoff = exponential_backoff(failures, initial=BACKOFF, maximum=MAX_BACKOFF)
    message = f"back-off {Duration.of(backoff)} restarting failed container={container.name}"
    return replace(
        ended_container,
        state=Waiting("CrashLoopBackOff", time + backoff, message),
        last=final_state,
        failures=failures + 1,
    )


def restarts(container: Container, policy: RestartPolicy, code: int) -> bool:
    """Return whether a container that exited with this code is restarted."""
    match container.role:
        case "sidecar":
            return True
        case "ephemeral":
            return False
        case "init":
            return code != 0 and policy != "Never"
        case "main":
            return policy == "Always" or (policy == "OnFailure" and code != 0)


def stop_all(containers: Containers, time: float, code: int) -> tuple[Containers, list[Action]]:
    """End all containers that run, or wait for a restart."""
    stopped: list[Container] = []
    actions: list[Action] = []
    for container in containers:
        match container.state:
            case Running():
                container = terminated(container, ContainerExited(container.name, code), time)
                actions.append(StopContainer(container.name))
            case Waiting() if container.last is not None:
                container = replace(container, state=container.last)
            case _:
                container = replace(container, state=without_plans(container.state))
        stopped.append(container)
    return tuple(stopped), actions


def without_plans(state: ContainerState) -> ContainerState:
    """Return a state without planned transitions."""
    match state:
        case Waiting():
            return replace(state, starts_at=None)
        case Running():
            return replace(state, ready_at=None, ends_at=None)
        case Terminated():
            return replace(state, restarts_at=None)


def is_new_main(container: Container) -> bool:
    """Return whether a main container has not been scheduled to start yet."""
    state = container.state
    return container.role == "main" and isinstance(state, Waiting) and state.reason == "PodInitializing"
