"""DaemonSets: one pod on each node that fits, replaced a few at a time, or with surge.

With `maxUnavailable` an old pod is deleted, and a new one takes its place; with `maxSurge` the new one is
created first, and the old one is deleted when the new one is available. Pods are pinned to their node by
affinity, which a scheduler follows.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..._rejections import Rejection
from ...storage._json_values import member
from ...storage._storage import StoredEvent
from ..facts._amounts import share
from ..facts._objects import Json
from ..loops._history import POD_HASH, History
from ..loops._loop import ControlLoop, Listener, Shared
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl
from ._daemon_sync import DaemonSync

_NODES = "nodes"


class DaemonSets(OwnerLoop):
    """The controller of DaemonSets."""

    name = "daemonset-controller"
    resource = "daemonsets.apps"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.history = History(self)
        self.pods = PodControl(self)
        self.failures: dict[str, tuple[int, float]] = {}  # of a set on a node: how often, and when last

    def follows(self) -> Mapping[str, Listener]:
        return {**super().follows(), _NODES: self._on_node}

    def sync(self, key: str) -> float | None:
        found = self.objects.get(self.resource, key)
        if found is None or "deletionTimestamp" in found["metadata"]:
            return None
        known = self.history.of(found)
        collisions: int | None = member(found, "status").get("collisionCount")
        current, _ = self.history.update(found, known, collisions, of_daemons=True)
        old = [one for one in known if one["metadata"]["name"] != current["metadata"]["name"]]
        work = DaemonSync(self, found, current)
        refused: Rejection | None = None
        try:
            work.manage()
            if member(found["spec"], "updateStrategy").get("type") == "RollingUpdate":
                work.roll(*self._limits(found, work.wanted))
            self._truncate(found, old)
        except Rejection as error:
            refused = error
        self.objects.set_status(self.resource, key, work.status(), self.user)
        if refused is not None:
            raise refused
        return work.again

    def _limits(self, owner: Json, wanted: int) -> tuple[int, int]:
        """Return how many pods may be surplus, and how many may be unavailable."""
        rolling = member(member(owner["spec"], "updateStrategy"), "rollingUpdate")
        surge = share(rolling.get("maxSurge"), wanted, up=True)
        unavailable = share(rolling.get("maxUnavailable"), wanted, up=True)
        return surge, unavailable or (0 if surge or not wanted else 1)

    def _truncate(self, owner: Json, old: list[Json]) -> None:
        """Forget the oldest revisions that no pod has, beyond `revisionHistoryLimit`."""
        surplus: int = len(old) - owner["spec"].get("revisionHistoryLimit", 10)
        live = {pod["metadata"].get("labels", {}).get(POD_HASH) for pod in self.owned_or_orphaned(owner)}
        for one in sorted(old, key=lambda one: one["revision"]):
            if surplus > 0 and one["metadata"]["labels"].get(POD_HASH) not in live:
                self.history.delete(one)
                surplus -= 1

    def _on_node(self, event: StoredEvent) -> None:
        """Sync all DaemonSets when a node is added, deleted, or changes in what decides which pods fit."""
        before = event.before
        if before is not None and event.change == "MODIFIED":
            old = self.objects.state.kinds.of_storage(_NODES)
            assert old is not None  # a kind of the server's own
            was, now = old.read(before.data), old.read(event.stored.data)
            if before.labels == event.stored.labels and was.get("spec") == now.get("spec"):
                return
        for key in list(self.objects.state.storage.resource(self.resource).objects):
            self.enqueue(key)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, DaemonSets):
            self.failures = dict(other.failures)
