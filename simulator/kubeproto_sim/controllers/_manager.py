"""The controllers of a cluster as one: they note what is stored, and work until nothing is left to do."""

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
from ._aggregation import RoleAggregation
from ._bootstrap import Defaults
from ._definitions import DEFINITIONS, Definitions
from ._garbage import Garbage
from ._namespaces import NamespaceController, Pods
from ._protection import Protection

# One object that is deleted may lead to a chain of others; only two controllers that undo each other's work
# take this many rounds.
_ROUNDS: Final = 10_000


class SwitchableController(Protocol):
    """A part of the cluster that notes what is stored, and acts on it when it is called."""

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note a change."""
        ...

    def work(self) -> bool:
        """Do what is left to do; return whether there was anything."""
        ...


class ClusterController(SwitchableController, Protocol):
    """One that says which changes concern it."""

    def follows(self, resource: str) -> bool:
        """Whether it has to be notified of the changes of a resource."""
        ...


class ControllerManager:
    """All controllers of one cluster, as kube-controller-manager runs them.

    `populated` clusters give each namespace its default objects too. `names` are the controllers that make
    objects from others, such as pods; `gates` opens the admission of what they write, and `notify` is called
    when a test has let one of them continue.
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
        # A request settles and asks for `due` several times: what was found at rest holds until a change.
        self._rests_until = -inf
        self._due: float | None = None
        self._notify_cluster = notify
        self.definitions = Definitions(state)
        self.garbage = Garbage(state)
        self.pods = Pods(state)
        self.protection = Protection(state)
        self.aggregation = RoleAggregation(state)
        self.workloads = WorkloadControllers(ObjectClient(state, gates), names, self._notify)
        switchable: list[tuple[str, SwitchableController]] = [
            ("garbage-collector-controller", self.garbage),
            ("namespace-controller", NamespaceController(state)),
            ("clusterrole-aggregation-controller", self.aggregation),
        ]
        if populated or is_selected(names, "serviceaccount-controller"):
            switchable.append(("serviceaccount-controller", Defaults(state)))
        self._switched = [
            SwitchedController(
                ControllerSwitch(name, self._notify), one.on_event, one.work, lambda: state.clock.time
            )
            for name, one in switchable
        ]
        self._controllers: tuple[ClusterController, ...] = (
            self.definitions, *self._switched, self.pods, self.protection, self.workloads,
        )  # fmt: skip
        # Whom a change is passed to, by its resource: most controllers follow one.
        self._followers: dict[str, list[Callable[[ResourceStorage, StoredEvent], None]]] = {}

    @property
    def switches(self) -> ControllerSwitches:
        """All controllers that a test can stop, by their names."""
        switches = [*(one.switch for one in self._switched), *(loop.switch for loop in self.workloads.loops)]
        return ControllerSwitches({switch.name: switch for switch in switches})

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note a change, and let those note it whom it concerns."""
        self._rests_until = -inf
        self._note_quota(storage, event)
        followers = self._followers.get(storage.name)
        if followers is None:
            controllers = self._controllers
            followers = [one.on_event for one in controllers if one.follows(storage.name)]
            self._followers[storage.name] = followers
        for note in followers:
            note(storage, event)
        for extension in self.state.extensions:
            extension.on_event(storage, event)

    @property
    def due(self) -> float | None:
        """The next time at which a controller acts without a change; None if none will."""
        return self._due if self._rests else self._find_due()

    @property
    def _rests(self) -> bool:
        """Whether nothing is left to do. Extensions may have something to do without any change."""
        return self.state.clock.time < self._rests_until and not self.state.extensions

    def _find_due(self) -> float | None:
        times = [self.definitions.due, self.pods.due, self.workloads.due]
        times += [one.due for one in self._switched]
        times += [one.due for one in self.state.extensions]
        return min((time for time in times if time is not None), default=None)

    def settle(self) -> None:
        """Let the controllers work until nothing is left to do."""
        if self._rests:
            return
        for _ in range(_ROUNDS):
            # Nodes come first: they end the pods that would end by themselves where there are none.
            working = (*self.state.extensions, *self._controllers)
            worked = [controller.work() for controller in working]
            if not any(worked):
                self._due = self._find_due()
                self._rests_until = inf if self._due is None else self._due
                return
        raise LocalProtocolError(f"the controllers of the cluster did not come to rest in {_ROUNDS} rounds")

    def establish_at_once(self) -> None:
        """Settle, and establish new definitions without the time that a server takes for it."""
        self.definitions.hurried = True
        self._rests_until = -inf
        self.settle()
        self.definitions.hurried = False

    def adopt(self, other: ControllerManager) -> None:
        """Take over what the controllers of a forked cluster know."""
        self.definitions.adopt(other.definitions)
        self.garbage.adopt(other.garbage)
        self.pods.adopt(other.pods)
        self.protection.adopt(other.protection)
        self.aggregation.adopt(other.aggregation)
        for extension in other.state.extensions:
            extension.fork(self.state)
        self.workloads.adopt(other.workloads)
        for mine, theirs in zip(self._switched, other._switched, strict=True):
            mine.copy_from(theirs)

    def set_switches(self, other: ControllerManager) -> None:
        """Let each controller run, lag and fail as that of the same cluster before a restart."""
        for name, switch in other.switches.items():
            self.switches[name].copy_from(switch)

    def resume(self) -> None:
        """Learn what is stored after a restart: definitions first, because they bring kinds."""
        for stored in list(self.state.storage.resource(DEFINITIONS).objects.values()):
            self.definitions.resume(stored)
        for extension in self.state.extensions:
            extension.resume()
        followers = [one.on_event for one in self._controllers if one is not self.definitions]
        followers += [one.on_event for one in self.state.extensions]
        for storage in list(self.state.storage.resources.values()):
            for stored in list(storage.objects.values()):
                self._note_quota(storage, StoredEvent("ADDED", stored, None))
                for note in followers:
                    note(storage, StoredEvent("ADDED", stored, None))

        self._rests_until = -inf

    def _notify(self) -> None:
        """A switch was changed: its controller may have something to do."""
        self._rests_until = -inf
        self._notify_cluster()

    def _note_quota(self, storage: ResourceStorage, event: StoredEvent) -> None:
        if storage.name == QUOTAS:
            index_quota(self.state, event)


class ControllerSwitches(Mapping[str, ControllerSwitch]):
    """The controllers of a cluster by name, with or without "-controller" at its end."""

    def __init__(self, switches: dict[str, ControllerSwitch]) -> None:
        self._switches = switches

    def __getitem__(self, name: str) -> ControllerSwitch:
        found = self._switches.get(full_name(name))
        if found is None:
            raise KeyError(f"the cluster does not run {name!r}, only {', '.join(sorted(self._switches))}")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._switches)

    def __len__(self) -> int:
        return len(self._switches)

    def __repr__(self) -> str:
        return f"ControllerSwitches({list(self._switches.values())})"
