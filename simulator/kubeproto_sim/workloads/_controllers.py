"""The controllers of this package as one: which of them run, and which of them a change is passed to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from ..storage._storage import ResourceStorage, StoredEvent
from ._disruption import Disruption
from ._quota_status import ResourceQuotas
from .daemonsets._daemonsets import DaemonSets
from .deployments._deployments import Deployments
from .deployments._replicasets import ReplicaSets, ReplicationControllers
from .facts._objects import Objects
from .jobs._cronjobs import CronJobs
from .jobs._jobs import Jobs
from .jobs._ttl import TtlAfterFinished
from .loops._loop import ControlLoop, Shared
from .services._endpoint_slices import EndpointSlices
from .services._endpoints import Endpoints
from .statefulsets._statefulsets import StatefulSets

# In the order in which they act on the same change: controllers whose objects others use come first.
LOOPS: Final[tuple[type[ControlLoop], ...]] = (
    CronJobs, Deployments, ReplicaSets, ReplicationControllers, Jobs, StatefulSets, DaemonSets,
    TtlAfterFinished, EndpointSlices, Endpoints, Disruption, ResourceQuotas,
)  # fmt: skip
# Controllers that can be chosen and are defined elsewhere.
_ELSEWHERE: Final = ("serviceaccount-controller",)


def chosen(names: Iterable[str] | bool) -> list[type[ControlLoop]]:
    """Return the controllers that are to run.

    True is all of them. Names are those of kube-controller-manager, with or without "-controller" at their
    end; "*" means all, and "-name" all except this one.
    """
    if isinstance(names, bool):
        return list(LOOPS) if names else []
    asked = list(names)
    wanted = [name if name == "*" else long_name(name.removeprefix("-")) for name in asked]
    known = {loop.name for loop in LOOPS} | set(_ELSEWHERE)
    if unknown := sorted(set(wanted) - known - {"*"}):
        raise ValueError(
            f"no controller has the name {unknown[0]!r}; the names are {', '.join(sorted(known))}"
        )
    return [loop for loop in LOOPS if is_chosen(asked, loop.name)]


def is_chosen(names: Iterable[str] | bool, name: str) -> bool:
    """Whether the controller with this long name is to run."""
    if isinstance(names, bool):
        return names
    chosen_names = {one if one == "*" else long_name(one) for one in names}
    return f"-{name}" not in chosen_names and bool({"*", name} & chosen_names)


def long_name(name: str) -> str:
    """Return the name of a controller as kube-controller-manager has it."""
    return name if name.endswith("-controller") else f"{name}-controller"


class Workloads:
    """The controllers of one cluster that make objects from others."""

    def __init__(self, objects: Objects, names: Iterable[str] | bool, notify: Callable[[], None]) -> None:
        self.shared = Shared(objects, notify)
        self.loops = [loop(self.shared) for loop in chosen(names)]

    def follows(self, resource: str) -> bool:
        """Whether changes of a resource concern it."""
        return bool(self.loops)

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note a change."""
        if self.loops:
            self.shared.follow(storage.name, event)
            for loop in self.loops:
                loop.on_event(storage, event)

    @property
    def due(self) -> float | None:
        """The next time at which one of them acts without a change; None if none will."""
        return min((due for loop in self.loops if (due := loop.due) is not None), default=None)

    def work(self) -> bool:
        """Do what is left to do; return whether there was anything."""
        worked = [loop.work() for loop in self.loops]
        return any(worked)

    def adopt(self, other: Workloads) -> None:
        """Take over what the controllers of a forked cluster know."""
        self.shared.adopt(other.shared)
        for mine, theirs in zip(self.loops, other.loops, strict=True):
            mine.adopt(theirs)
