"""The loop that every controller of workloads runs: changes enqueue keys, and `sync` handles a key.

::

    change ──event──▶ keys ──queue──▶ sync(key) ──▶ done, or due again after some seconds
                                        │
                                        └── a write was rejected: retried after a backoff that doubles

The queue is that of the runtime's controllers. A test can stop a controller, delay it or make it fail;
changes are enqueued all the same.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Final

from kubeproto.control import WorkQueue
from kubeproto.objects import Selector

from ..._rejections import Rejection, failure
from ...storage._storage import ResourceStorage, StoredEvent
from ..objects._object_client import Json, ObjectClient
from ._controller_indexes import LabelIndex, OwnerIndex
from ._controller_switch import ControllerSwitch
from ._event_recorder import EventRecorder

Listener = Callable[[StoredEvent], None]
# After this many keys the other controllers have their turn, so that the cluster can detect a controller that
# never comes to rest.
_MAX_KEYS_PER_TURN: Final = 1000
_INJECTED_FAILURE: Final = "the controller was told to fail"
_DEPENDENTS: Final = (
    "pods", "replicasets.apps", "jobs.batch", "controllerrevisions.apps", "endpointslices.discovery.k8s.io",
)  # fmt: skip
_OWNERS: Final = frozenset((
    "deployments.apps", "replicasets.apps", "replicationcontrollers", "statefulsets.apps", "daemonsets.apps",
    "jobs.batch", "cronjobs.batch",
))  # fmt: skip


class ControllerContext:
    """The client, the indexes and the recorder that the controllers of a cluster share."""

    def __init__(self, objects: ObjectClient, notify: Callable[[], None]) -> None:
        self.objects = objects
        self.notify = notify
        self.dependents: dict[str, OwnerIndex] = {resource: OwnerIndex() for resource in _DEPENDENTS}
        self.pod_labels = LabelIndex()
        self.owner_keys: dict[str, str] = {}  # by uid
        self.recorder = EventRecorder(objects)

    def on_event(self, resource: str, event: StoredEvent) -> None:
        """Update the indexes; called before any controller sees the change."""
        if (dependents := self.dependents.get(resource)) is not None:
            dependents.on_event(event)
        if resource == "pods":
            self.pod_labels.on_event(event)
        if resource in _OWNERS and event.change == "ADDED":
            self.owner_keys[event.stored.uid] = event.stored.key
        if event.change == "DELETED":
            self.owner_keys.pop(event.stored.uid, None)
            self.objects.forget(resource, event.stored.key)

    def select_pods(self, namespace: str, selector: Selector) -> list[Json]:
        """Return the pods of a namespace that a selector matches, the oldest first."""
        pods: list[Json] = []
        for key in self.pod_labels.candidates(namespace, selector):
            stored = self.objects.stored("pods", key)
            # Labels are compared first: most candidates do not match, and their JSON is never decoded.
            if stored is not None and selector.matches(stored.labels or {}):
                pod = self.objects.get("pods", key)
                if pod is not None:
                    pods.append(pod)
        return pods

    def adopt(self, other: ControllerContext) -> None:
        """Copy the indexes of the cluster from which this cluster was forked."""
        self.dependents = {name: index.copy() for name, index in other.dependents.items()}
        self.pod_labels = other.pod_labels.copy()
        self.owner_keys = dict(other.owner_keys)


class ControlLoop:
    """A controller. A subclass defines its listeners and the sync of a key."""

    name: str
    component: str = ""  # the source of its Events, if that differs from its name

    def __init__(self, context: ControllerContext) -> None:
        self.context = context
        self.objects = context.objects
        self.queue: WorkQueue[str] = WorkQueue()
        self.switch = ControllerSwitch(self.name, context.notify)
        self.component = self.component or self.name
        self._deferred: list[str] = []  # keys that wait until the other controllers have run
        self._listeners: Mapping[str, Listener] = self.listeners()

    @property
    def user(self) -> str:
        """The service account of the controller."""
        return f"system:serviceaccount:kube-system:{self.name}"

    def listeners(self) -> Mapping[str, Listener]:
        """Return the method that handles the changes of each resource."""
        raise NotImplementedError

    def sync(self, key: str) -> float | None:
        """Sync one object; return in how many seconds it must be synced again, None if it need not be.

        With 0 the other controllers act first.
        """
        raise NotImplementedError

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Pass a change to the listener of its resource."""
        listener = self._listeners.get(storage.name)
        if listener is not None:
            listener(event)

    def enqueue(self, key: str, delay: float = 0.0) -> None:
        """Add a key to the queue."""
        self.queue.add(key, self.objects.now, after=delay + self.switch.delay)

    def record(self, obj: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """Record an Event about an object."""
        self.context.recorder.record(obj, reason, message, self.component, warning=warning)

    @property
    def next_due(self) -> float | None:
        """The time of the next sync; None if the next change comes first."""
        return self.queue.next_at(self.objects.now) if self.switch.running else None

    def work(self) -> bool:
        """Sync the keys that are due; return whether there were any."""
        if not self.switch.running:
            return False
        now, count = self.objects.now, 0
        while count < _MAX_KEYS_PER_TURN and (work := self.queue.get(now)) is not None:
            self._sync_and_requeue(work.key, now)
            count += 1
        deferred, self._deferred = self._deferred, []
        for key in deferred:
            self.queue.add(key, now)
        return count > 0

    def _sync_and_requeue(self, key: str, now: float) -> None:
        try:
            if self.switch.take_failure():
                raise Rejection(failure(500, _INJECTED_FAILURE))
            delay = self.sync(key)
        except Rejection:
            self.queue.retry(key, now)
        else:
            if delay is None or delay == 0:
                self.queue.forget(key)
                if delay is not None:
                    self._deferred.append(key)
            else:
                self.queue.requeue(key, now, after=delay)
        self.queue.done(key, now)

    def adopt(self, other: ControlLoop) -> None:
        """Copy the state of the same controller of the cluster from which this cluster was forked."""
        self.queue = copy.deepcopy(other.queue)
        self.switch.copy_from(other.switch)


def sooner(delay: float | None, other: float) -> float:
    """Return the shorter of two delays, the first of which may be missing."""
    return other if delay is None else min(delay, other)
