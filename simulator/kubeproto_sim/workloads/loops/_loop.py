"""The loop that every controller here runs: changes enqueue keys, and `sync` handles one key.

::

    a change ──event──▶ keys ──queue──▶ sync(key) ──▶ nothing more to do, or again after some seconds
                                          │
                                          └── a write was refused: again after a backoff that doubles

The queue is the one that controllers of the runtime use. A test can stop a controller, let it lag behind, or
make it fail; changes are still enqueued meanwhile.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final

from kubeproto.control import WorkQueue

from ..._rejections import Rejection, failure
from ...storage._storage import ResourceStorage, StoredEvent
from ..facts._objects import Objects
from ._indexes import LabelIndex, OwnerIndex
from ._recorder import EventWriter
from ._switch import ControllerSwitch

Listener = Callable[[StoredEvent], None]
# Keys after which other controllers run: so the cluster can detect a controller that never comes to rest.
_AT_ONCE: Final = 1000
_TOLD_TO_FAIL: Final = "the controller was told to fail"


class Shared:
    """What the controllers of one cluster share: objects, and the indexes that follow them."""

    def __init__(self, objects: Objects, notify: Callable[[], None]) -> None:
        self.objects = objects
        self.notify = notify
        self.owners: dict[str, OwnerIndex] = {name: OwnerIndex() for name in OWNED}
        self.labels: dict[str, LabelIndex] = {name: LabelIndex() for name in LABELLED}
        self.places: dict[str, str] = {}  # the key of an owner by its uid
        self.recorder = EventWriter(objects)

    def follow(self, resource: str, event: StoredEvent) -> None:
        """Enter a change into the indexes, before any controller is notified of it."""
        if (owners := self.owners.get(resource)) is not None:
            owners.follow(event)
        if (labels := self.labels.get(resource)) is not None:
            labels.follow(event)
        if resource in OWNERS and event.change == "ADDED":
            self.places[event.stored.uid] = event.stored.key
        if event.change == "DELETED":
            self.places.pop(event.stored.uid, None)
            self.objects.forget(resource, event.stored.key)

    def adopt(self, other: Shared) -> None:
        """Copy what another cluster's controllers share."""
        self.owners = {name: index.copy() for name, index in other.owners.items()}
        self.labels = {name: index.copy() for name, index in other.labels.items()}
        self.places = dict(other.places)


OWNED: Final = (
    "pods", "replicasets.apps", "jobs.batch", "controllerrevisions.apps", "endpointslices.discovery.k8s.io",
)  # fmt: skip
LABELLED: Final = ("pods",)
OWNERS: Final = frozenset((
    "deployments.apps", "replicasets.apps", "replicationcontrollers", "statefulsets.apps", "daemonsets.apps",
    "jobs.batch", "cronjobs.batch",
))  # fmt: skip


class ControlLoop:
    """One controller. A subclass defines what it follows and how it syncs one key."""

    name: str
    component: str = ""  # as its Events name it, if that differs from its name

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.objects = shared.objects
        self.queue: WorkQueue[str] = WorkQueue()
        self.switch = ControllerSwitch(self.name, shared.notify)
        self.component = self.component or self.name
        self._soon: list[str] = []  # keys that wait until the other controllers have run
        self._listeners: Mapping[str, Listener] = self.follows()

    @property
    def user(self) -> str:
        """The service account that it acts as."""
        return f"system:serviceaccount:kube-system:{self.name}"

    def follows(self) -> Mapping[str, Listener]:
        """Return which method is notified of the changes of which kind."""
        raise NotImplementedError

    def sync(self, key: str) -> float | None:
        """Sync one object; return after how many seconds it must be synced again, if at all.

        0 lets the other controllers act first.
        """
        raise NotImplementedError

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Note a change."""
        listener = self._listeners.get(storage.name)
        if listener is not None:
            listener(event)

    def enqueue(self, key: str, after: float = 0.0) -> None:
        """Add a key to the queue."""
        self.queue.add(key, self.objects.now, after=after + self.switch.delay)

    @property
    def due(self) -> float | None:
        """When there is something to do; None if there is nothing until the next change."""
        return self.queue.next_at(self.objects.now) if self.switch.running else None

    def work(self) -> bool:
        """Sync the keys that are due now; return whether there were any."""
        if not self.switch.running:
            return False
        now, done = self.objects.now, 0
        while done < _AT_ONCE and (work := self.queue.get(now)) is not None:
            self._run(work.key, now)
            done += 1
        soon, self._soon = self._soon, []
        for key in soon:
            self.queue.add(key, now)
        return done > 0

    def _run(self, key: str, now: float) -> None:
        try:
            if self.switch.take_failure():
                raise Rejection(failure(500, _TOLD_TO_FAIL))
            after = self.sync(key)
        except Rejection:
            self.queue.retry(key, now)
        else:
            if after is None or after == 0:
                self.queue.forget(key)
                if after is not None:
                    self._soon.append(key)
            else:
                self.queue.requeue(key, now, after=after)
        self.queue.done(key, now)

    def adopt(self, other: ControlLoop) -> None:
        """Copy what another controller knows, and continue from its state."""
        self.queue = copy.deepcopy(other.queue)
        self.switch.copy_from(other.switch)
