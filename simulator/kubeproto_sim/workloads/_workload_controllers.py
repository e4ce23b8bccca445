"""The selected controllers of this package, which the manager of the cluster runs like a single
controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from ..storage._storage import ResourceStorage, StoredEvent
from ._disruption_budgets import DisruptionController
from ._quota_status import QuotaController
from .daemonsets._daemonset_controller import DaemonSetController
from .deployments._deployment_controller import DeploymentController
from .deployments._replicaset_controller import ReplicaSetController, ReplicationControllerController
from .jobs._cronjob_controller import CronJobController
from .jobs._job_controllers import JobController, TtlAfterFinishedController
from .loops._control_loop import ControllerContext, ControlLoop
from .objects._object_client import ObjectClient
from .services._endpoints_controller import EndpointsController
from .services._endpointslice_controller import EndpointSliceController
from .statefulsets._statefulset_controller import StatefulSetController

# The order in which they act on the same change: a controller precedes those of the objects that it creates.
_CONTROLLERS: Final[tuple[type[ControlLoop], ...]] = (
    CronJobController, DeploymentController, ReplicaSetController, ReplicationControllerController,
    JobController, StatefulSetController, DaemonSetController, TtlAfterFinishedController,
    EndpointSliceController, EndpointsController, DisruptionController, QuotaController,
)  # fmt: skip
# A controller that can be selected by name and is not a loop of this package.
_OTHER_NAMES: Final = ("serviceaccount-controller",)


def select_controllers(names: Iterable[str] | bool) -> list[type[ControlLoop]]:
    """Return the controllers to run.

    True selects all of them. Names are those of kube-controller-manager, with or without "-controller" at
    the end; "*" selects all, and "-name" excludes one.
    """
    if isinstance(names, bool):
        return list(_CONTROLLERS) if names else []
    names = list(names)
    full_names = {name if name == "*" else full_name(name.removeprefix("-")) for name in names}
    known_names = {loop.name for loop in _CONTROLLERS} | set(_OTHER_NAMES)
    if unknown := sorted(full_names - known_names - {"*"}):
        raise ValueError(
            f"no controller has the name {unknown[0]!r}; the names are {', '.join(sorted(known_names))}"
        )
    return [loop for loop in _CONTROLLERS if is_selected(names, loop.name)]


def is_selected(names: Iterable[str] | bool, name: str) -> bool:
    """Return whether the names select the controller with this full name."""
    if isinstance(names, bool):
        return names
    full_names = {text if text == "*" else full_name(text) for text in names}
    return f"-{name}" not in full_names and bool({"*", name} & full_names)


def full_name(name: str) -> str:
    """Return the name of a controller in kube-controller-manager."""
    return name if name.endswith("-controller") else f"{name}-controller"


class WorkloadControllers:
    """The selected controllers of a cluster."""

    def __init__(
        self, objects: ObjectClient, names: Iterable[str] | bool, notify: Callable[[], None]
    ) -> None:
        self.context = ControllerContext(objects, notify)
        self.loops = [loop(self.context) for loop in select_controllers(names)]

    def follows(self, resource: str) -> bool:
        """Return whether the controllers need the changes of a resource."""
        return bool(self.loops)

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Update the indexes, and pass a change to each controller."""
        if self.loops:
            self.context.on_event(storage.name, event)
            for loop in self.loops:
                loop.on_event(storage, event)

    @property
    def next_due(self) -> float | None:
        """The time of the next sync; None if the next change comes first."""
        return min((time for loop in self.loops if (time := loop.next_due) is not None), default=None)

    def work(self) -> bool:
        """Sync the objects that are due; return whether there were any."""
        worked = [loop.work() for loop in self.loops]
        return any(worked)

    def adopt(self, other: WorkloadControllers) -> None:
        """Copy the state of the controllers of the cluster from which this cluster was forked."""
        self.context.adopt(other.context)
        for own_loop, other_loop in zip(self.loops, other.loops, strict=True):
            own_loop.adopt(other_loop)
