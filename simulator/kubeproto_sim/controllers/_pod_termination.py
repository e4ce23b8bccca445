"""The end of deleted pods where no kubelet ends them: in clusters without nodes."""

from __future__ import annotations

import msgspec

from kubeproto.objects import parse_time

from .._state import ServerState
from ..storage._storage import ResourceStorage, StoredEvent
from ..writing._server_writes import edit


class PodTermination:
    """Removes deleted pods after their grace period, in place of a kubelet."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self._deadlines: dict[str, float] = {}

    def follows(self, resource: str) -> bool:
        """Return whether the controller needs the changes of a resource."""
        return resource == "pods"

    def on_event(self, storage: ResourceStorage, event: StoredEvent) -> None:
        """Update the deadlines of pods that are being deleted."""
        if storage.name != "pods":
            return
        key = event.stored.key
        if event.change == "DELETED":
            self._deadlines.pop(key, None)
        elif b'"deletionTimestamp":' in event.stored.data:
            pod = msgspec.json.decode(event.stored.data)
            meta, nodes = pod["metadata"], self.state.nodes
            if nodes is not None and nodes.simulates(pod["spec"].get("nodeName", "")):
                return  # the kubelet decides when the pod ends, and does nothing while it is silent
            if meta.get("deletionGracePeriodSeconds"):
                self._deadlines[key] = parse_time(meta["deletionTimestamp"]).timestamp()

    def adopt(self, other: PodTermination) -> None:
        """Copy the state of the cluster from which this cluster was forked."""
        self._deadlines = dict(other._deadlines)

    @property
    def next_due(self) -> float | None:
        """The time at which the next grace period ends."""
        return min(self._deadlines.values(), default=None)

    def work(self) -> bool:
        """Remove the pods whose grace period has ended, as a kubelet does: by a deletion without grace."""
        expired = sorted(
            key for key, deadline in self._deadlines.items() if deadline <= self.state.clock.time
        )
        served = self.state.kinds.of_storage("pods")
        assert served is not None  # a built-in kind is always served
        for key in expired:
            del self._deadlines[key]
            stored = served.storage.objects.get(key)
            if stored is None:
                continue
            edit(self.state, served, stored, lambda pod: pod["metadata"].update(deletionGracePeriodSeconds=0))
        return bool(expired)
