"""DaemonSets: one pod on each node that fits, replaced a few at a time, or with surge.

With `maxUnavailable` an old pod is deleted before its successor is created; with `maxSurge` the successor is
created first, and the old pod is deleted when it is available. Pods are pinned to their node by affinity,
which a scheduler follows.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..._rejections import Rejection
from ...storage._json_values import member
from ...storage._storage import StoredEvent
from ..loops._control_loop import ControllerContext, ControlLoop, Listener
from ..loops._controller_revisions import POD_HASH_LABEL, RevisionHistory
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl
from ..objects._object_client import Json
from ..objects._replica_counts import resolve_percentage
from ._daemonset_sync import DaemonSetSync, FailureHistory

_NODES = "nodes"


class DaemonSetController(OwnerLoop):
    """The controller of DaemonSets."""

    name = "daemonset-controller"
    resource = "daemonsets.apps"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._history = RevisionHistory(self, POD_HASH_LABEL)
        self._pod_control = PodControl(self)
        self._failures: FailureHistory = {}

    def listeners(self) -> Mapping[str, Listener]:
        return {**super().listeners(), _NODES: self._on_node}

    def sync(self, key: str) -> float | None:
        daemonset = self.objects.get(self.resource, key)
        if daemonset is None or "deletionTimestamp" in daemonset["metadata"]:
            return None
        revisions = self._history.list_revisions(daemonset)
        collisions: int | None = member(daemonset, "status").get("collisionCount")
        current, _ = self._history.ensure_current(daemonset, revisions, collisions)
        sync = DaemonSetSync(self, self._pod_control, self._failures, daemonset, current)
        rejection: Rejection | None = None
        try:
            sync.manage()
            if member(daemonset["spec"], "updateStrategy").get("type") == "RollingUpdate":
                sync.roll(*_rolling_limits(daemonset, sync.desired))
            name = current["metadata"]["name"]
            old = [revision for revision in revisions if revision["metadata"]["name"] != name]
            self._truncate_history(daemonset, old)
        except Rejection as error:
            rejection = error
        self.objects.set_status(self.resource, key, sync.status(), self.user)
        if rejection is not None:
            raise rejection
        return sync.delay

    def _truncate_history(self, daemonset: Json, old: list[Json]) -> None:
        """Delete the oldest revisions without pods, beyond `revisionHistoryLimit`."""
        surplus: int = len(old) - daemonset["spec"].get("revisionHistoryLimit", 10)
        pods = self.owned_or_orphaned(daemonset)
        used_hashes = {pod["metadata"].get("labels", {}).get(POD_HASH_LABEL) for pod in pods}
        for revision in sorted(old, key=lambda revision: revision["revision"]):
            if surplus > 0 and revision["metadata"]["labels"].get(POD_HASH_LABEL) not in used_hashes:
                self._history.delete(revision)
                surplus -= 1

    def _on_node(self, event: StoredEvent) -> None:
        """Sync all DaemonSets unless only a node's status has changed, which does not affect placement."""
        previous = event.previous
        if previous is not None and event.change == "MODIFIED":
            served = self.objects.state.kinds.of_storage(_NODES)
            assert served is not None  # a kind of the server's own
            old_spec = served.read(previous.data).get("spec")
            new_spec = served.read(event.stored.data).get("spec")
            if previous.labels == event.stored.labels and old_spec == new_spec:
                return
        for key in list(self.objects.state.storage.resource(self.resource).objects):
            self.enqueue(key)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, DaemonSetController):
            self._failures = dict(other._failures)


def _rolling_limits(daemonset: Json, desired: int) -> tuple[int, int]:
    """Return how many pods may be surplus, and how many may be unavailable."""
    rolling = member(member(daemonset["spec"], "updateStrategy"), "rollingUpdate")
    surge = resolve_percentage(rolling.get("maxSurge"), desired, round_up=True)
    unavailable = resolve_percentage(rolling.get("maxUnavailable"), desired, round_up=True)
    return surge, unavailable or (0 if surge or not desired else 1)
