"""The manager of all controllers of a cluster: it passes changes to them, and runs them until they rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Final, Protocol

from kubeproto import LocalProtocolError

from .._state import ServerState
from ..storage._storage import ResourceStorage, StoredEvent
from ..workloads._workload_controllers import WorkloadControllers, full_name, is_selected
from ..workloads.loops._controller_switch import ControllerSwitch, SwitchedController
from ..workloads.objects._object_client import Gates, ObjectClient
from ..writing._quota_charges import QUOTAS, index_quota
from ._cluster_bootstrap import NamespaceDefaults
from ._definition_controller import DEFINITIONS, DefinitionController
from ._garbage_collector import GarbageCollector
from ._namespace_controller import NamespaceController
from ._pod_termination import PodTermination
from ._role_aggregation import RoleAggregation
from ._usage_protection import ProtectionController

# A deletion may cause a chain of others; only controllers that undo each other take so many rounds.
_MAX_ROUNDS: Final = 10_000


class SwitchableController(Protocol):
    """A controller that receives changes and acts when it is called."""

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Receive a change."""
        ...

    def work(self) -> bool:
        """Act on the received changes; return whether anything was written."""
        ...


class ClusterController(SwitchableController, Protocol):
    """A controller that needs the changes of some resources."""

    def follows(self, resource: str) -> bool:
        """Return whether the controller needs the changes of a resource."""
        ...


class ControllerManager:
    """All controllers of a cluster, as kube-controller-manager runs them.

    In `populated` clusters each namespace gets its default objects. `names` selects the controllers that
    create objects from others, such as pods; `gates` returns the gate of their writes, and `notify` is called
    when a test has changed a switch.
    """

    def __init__(
        self,
        state: ServerState,
        *,
        populated: bool,
        gates: Gates,
        names: Iterable[str] | bool = False,
        notify: Callable[[], None],
    ) -> None:
        self.state = state
        # A request settles the cluster and reads `next_due` several times; the cached result is valid until a
        # change.
        self._rests_until = -inf
        self._next_due: float | None = None
        self._notify_cluster = notify
        self.definitions = DefinitionController(state)
        self.garbage_collector = GarbageCollector(state)
        self.pods = PodTermination(state)
        self.protection = ProtectionController(state)
        self.aggregation = RoleAggregation(state)
        self.workloads = WorkloadControllers(ObjectClient(state, gates), names, self._notify)
        switchable: list[tuple[str, SwitchableController]] = [
            ("garbage-collector-controller", self.garbage_collector),
            ("namespace-controller", NamespaceController(state)),
            ("clusterrole-aggregation-controller", self.aggregation),
        ]
        if populated or is_selected(names, "serviceaccount-controller"):
            switchable.append(("serviceaccount-controller", NamespaceDefaults(state)))
        self._switched = [
            SwitchedController(
                ControllerSwitch(name, self._notify),
                controller.on_event,
                controller.work,
                lambda: state.clock.time,
            )
            for name, controller in switchable
        ]
        self._controllers: tuple[ClusterController, ...] = (
            self.definitions, *self._switched, self.pods, self.protection, self.workloads,
        )  # fmt: skip
        # The followers of each resource: most controllers follow one resource.
        self._followers: dict[str, list[Callable[[ResourceStorage, StoredEvent], None]]] = {}

    @property
    def switches(self) -> ControllerSwitches:
        """All controllers that a test can stop, by their names."""
        switches = [
            *(controller.switch for controller in self._switched),
            *(loop.switch for loop in self.workloads.loops),
        ]
        return ControllerSwitches({switch.name: switch for switch in switches})

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Pass a change to the controllers that need it."""
        self._rests_until = -inf
        self._index_quota(storage, event)
        followers = self._followers.get(storage.name)
        if followers is None:
            controllers = self._controllers
            followers = [
                controller.on_event for controller in controllers if controller.follows(storage.name)
            ]
            self._followers[storage.name] = followers
        for follower in followers:
            follower(storage, event)
        for extension in self.state.extensions:
            extension.on_event(storage, event)

    @property
    def next_due(self) -> float | None:
        """The time at which the next controller acts without a change; None if none does."""
        return self._next_due if self._rests else self._find_due()

    @property
    def _rests(self) -> bool:
        """Whether no controller has work. Extensions may have work without any change."""
        return self.state.clock.time < self._rests_until and not self.state.extensions

    def _find_due(self) -> float | None:
        times = [self.definitions.next_due, self.pods.next_due, self.workloads.next_due]
        times += [controller.next_due for controller in self._switched]
        times += [controller.next_due for controller in self.state.extensions]
        return min((time for time in times if time is not None), default=None)

    def settle(self) -> None:
        """Run the controllers until none of them has work."""
        if self._rests:
            return
        for _ in range(_MAX_ROUNDS):
            # Nodes come first: they end the pods that a cluster without nodes ends by itself.
            working = (*self.state.extensions, *self._controllers)
            worked = [controller.work() for controller in working]
            if not any(worked):
                self._next_due = self._find_due()
                self._rests_until = inf if self._next_due is None else self._next_due
                return
        raise LocalProtocolError(
            f"the controllers of the cluster did not come to rest in {_MAX_ROUNDS} rounds"
        )

    def establish_at_once(self) -> None:
        """Settle, and establish new definitions without the delay of a server."""
        self.definitions.is_immediate = True
        self._rests_until = -inf
        self.settle()
        self.definitions.is_immediate = False

    def adopt(self, other: ControllerManager) -> None:
        """Copy the state of the controllers of the cluster from which this cluster was forked."""
        self.definitions.adopt(other.definitions)
        self.garbage_collector.adopt(other.garbage_collector)
        self.pods.adopt(other.pods)
        self.protection.adopt(other.protection)
        self.aggregation.adopt(other.aggregation)
        for extension in other.state.extensions:
            extension.fork(self.state)
        self.workloads.adopt(other.workloads)
        for own_controller, other_controller in zip(self._switched, other._switched, strict=True):
            own_controller.copy_from(other_controller)

    def set_switches(self, other: ControllerManager) -> None:
        """Copy the switches of the same cluster before a restart."""
        for name, switch in other.switches.items():
            self.switches[name].copy_from(switch)

    def resume(self) -> None:
        """Pass all stored objects to the controllers after a restart, definitions first."""
        for stored in list(self.state.storage.resource(DEFINITIONS).objects.values()):
            self.definitions.resume(stored)
        for extension in self.state.extensions:
            extension.resume()
        followers = [
            controller.on_event for controller in self._controllers if controller is not self.definitions
        ]
        followers += [controller.on_event for controller in self.state.extensions]
        for storage in list(self.state.storage.resources.values()):
            for stored in list(storage.objects.values()):
                self._index_quota(storage, StoredEvent("ADDED", stored, None))
                for follower in followers:
                    follower(storage, StoredEvent("ADDED", stored, None))

        self._rests_until = -inf

    def _notify(self) -> None:
        """Handle a changed switch: its controller may have work."""
        self._rests_until = -inf
        self._notify_cluster()

    def _index_quota(self, storage: ResourceStorage, event: StoredEvent) -> None:
        if storage.name == QUOTAS:
            index_quota(self.state, event)


class ControllerSwitches(Mapping[str, ControllerSwitch]):
    """The controllers of a cluster by name, with or without "-controller" at the end."""

    def __init__(self, switches: dict[str, ControllerSwitch]) -> None:
        self._switches = switches

    def __getitem__(self, name: str) -> ControllerSwitch:
        switch = self._switches.get(full_name(name))
        if switch is None:
            raise KeyError(f"the cluster does not run {name!r}, only {', '.join(sorted(self._switches))}")
        return switch

    def __iter__(self) -> Iterator[str]:
        return iter(self._switches)

    def __len__(self) -> int:
        return len(self._switches)

    def __repr__(self) -> str:
        return f"ControllerSwitches({list(self._switches.values())})"
