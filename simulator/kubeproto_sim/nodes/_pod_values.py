"""The values of the pod machine: plans, container states, states of a pod, events and actions."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Role: TypeAlias = Literal["init", "sidecar", "main", "ephemeral"]
RestartPolicy: TypeAlias = Literal["Always", "OnFailure", "Never"]


# Plans: the behaviour of a pod without interference


class ContainerPlan(Struct, frozen=True, kw_only=True, gc=False):
    """The plan of a container.

    It starts `starts_after` seconds after its predecessors are complete, is ready `ready_after` seconds after
    that, and ends `duration` seconds after its start with `code`; without a duration it runs forever.
    `unpullable` is the reason for which its image cannot be pulled: it never starts then.
    """

    starts_after: float = 0.0
    ready_after: float = 0.0
    duration: float | None = None
    code: int = 0
    unpullable: str = ""


class PodPlan(Struct, frozen=True, kw_only=True, gc=False):
    """The plan of a pod: its `restart` policy, the time of its `deadline`, and the end after a deletion.

    The containers end after `ends_after` seconds; with None they are killed after the grace period.
    """

    restart: RestartPolicy = "Always"
    deadline: float | None = None
    ends_after: float | None = None


# The states of a container


class Waiting(Struct, frozen=True, gc=False):
    """The container does not run.

    It starts at `starts_at`; None while its predecessors run, or if it never starts.
    """

    reason: str
    starts_at: float | None = None
    message: str = ""


class Running(Struct, frozen=True, gc=False):
    """The container runs. `ready_at` and `ends_at` are the times of planned transitions."""

    started_at: float
    ready: bool = True
    ready_at: float | None = None
    ends_at: float | None = None


class Terminated(Struct, frozen=True, gc=False):
    """The container has ended. It is restarted at `restarts_at`, if at all."""

    started_at: float
    finished_at: float
    code: int
    reason: str
    message: str = ""
    restarts_at: float | None = None


ContainerState: TypeAlias = Waiting | Running | Terminated


class Container(Struct, frozen=True, kw_only=True):
    """One container of a pod. `failures` counts towards the backoff, `last` is the end of its last run."""

    name: str
    role: Role = "main"
    plan: ContainerPlan = ContainerPlan()
    state: ContainerState = Waiting("PodInitializing")
    restarts: int = 0
    failures: int = 0
    last: Terminated | None = None


Containers: TypeAlias = tuple[Container, ...]


# The states of a pod


class Initializing(Struct, frozen=True):
    """Init containers run, one after the other; sidecars among them stay."""

    plan: PodPlan
    containers: Containers


class Active(Struct, frozen=True):
    """The containers run, or are about to run."""

    plan: PodPlan
    containers: Containers


class Ending(Struct, frozen=True):
    """The pod is being deleted: its containers end at `ends_at`, by themselves or `killed`."""

    plan: PodPlan
    containers: Containers
    ends_at: float
    killed: bool = True


class Finished(Struct, frozen=True):
    """All containers have ended for good. `reason` is set if the node ended the pod."""

    containers: Containers
    failed: bool
    reason: str = ""
    message: str = ""


class Removed(Struct, frozen=True):
    """The node has confirmed the deletion of the pod."""

    containers: Containers
    failed: bool
    reason: str = ""
    message: str = ""


State: TypeAlias = Initializing | Active | Ending | Finished | Removed


# Events


class TimePassed(Struct, frozen=True, gc=False):
    """The time of `next_due` has come."""


class ContainerExited(Struct, frozen=True, gc=False):
    """A container ended."""

    name: str
    code: int = 0
    reason: str = ""
    message: str = ""


class ReadinessChanged(Struct, frozen=True, gc=False):
    """The readiness probe of a container, or of all if `name` is empty, succeeded or failed."""

    ready: bool
    name: str = ""


class EphemeralAdded(Struct, frozen=True, gc=False):
    """A container was added for debugging."""

    name: str
    plan: ContainerPlan = ContainerPlan()


class Evicted(Struct, frozen=True, gc=False):
    """The node ended the pod, for example because it ran out of memory."""

    message: str
    reason: str = "Evicted"


class DeletionRequested(Struct, frozen=True, gc=False):
    """The pod was deleted, and must end before the deadline."""

    deadline: float


Event: TypeAlias = (
    TimePassed | ContainerExited | ReadinessChanged | EphemeralAdded | Evicted | DeletionRequested
)


# Actions


class StartContainer(Struct, frozen=True, gc=False):
    """Run a container, in a new environment."""

    name: str


class StopContainer(Struct, frozen=True, gc=False):
    """End the program in a container."""

    name: str


class ReportStatus(Struct, frozen=True, gc=False):
    """Write the status of the pod."""


class RemovePod(Struct, frozen=True, gc=False):
    """Confirm the deletion of the pod, which ends it."""


Action: TypeAlias = StartContainer | StopContainer | ReportStatus | RemovePod
