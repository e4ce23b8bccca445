"""StatefulSets: pods with stable names, created one after another and replaced from the last to the first.

A sync goes through these in order, and stops at the first that has something to do (with `Parallel` it does
the first two for all pods at once):

1. each ordinal has a pod that runs, is ready and available; one that has ended is deleted and created again;
2. pods beyond the number of replicas are deleted, the highest ordinal first;
3. with `RollingUpdate`, pods of another revision are deleted, the highest ordinal first and down to
   `partition`, one at a time; 1 recreates each of them from the new template. Ordinals below `partition` keep
   the old one.
"""

from __future__ import annotations

from ..._rejections import Rejection
from ..facts._objects import Json
from ..facts._pods import next_available
from ..loops._history import POD_HASH, History
from ..loops._loop import Shared
from ..loops._owner_loop import OwnerLoop
from ._set_claims import Claims
from ._set_pods import parent_of
from ._set_record import SetRecorder
from ._set_sync import SetSync


class StatefulSets(OwnerLoop):
    """The controller of StatefulSets."""

    name = "statefulset-controller"
    resource = "statefulsets.apps"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.history = History(self)
        self.record = SetRecorder(self)
        self.claims = Claims(self)

    def sync(self, key: str) -> float | None:
        found = self.objects.get(self.resource, key)
        if found is None:
            return None
        revisions = self.history.of(found)
        pods = [pod for pod in self.owned_or_orphaned(found) if parent_of(pod) == found["metadata"]["name"]]
        pods = self.claimed(found, pods)
        collisions: int = found.get("status", {}).get("collisionCount", 0)
        update, collisions = self.history.update(found, revisions, collisions)
        if all(one["metadata"]["name"] != update["metadata"]["name"] for one in revisions):
            revisions = [*revisions, update]
        named = found.get("status", {}).get("currentRevision")
        current = next((one for one in revisions if one["metadata"]["name"] == named), update)
        work = SetSync(self, found, pods, current, update)
        refused: Rejection | None = None
        try:
            work.run()
        except Rejection as error:
            refused = error
        status = work.status(collisions)
        self.objects.set_status(self.resource, key, status, self.user)
        self._truncate(found, pods, revisions, (current, update))
        if refused is not None:
            raise refused
        return next_available(pods, found["spec"].get("minReadySeconds", 0), self.objects.now)

    def _truncate(self, owner: Json, pods: list[Json], revisions: list[Json], kept: tuple[Json, ...]) -> None:
        """Forget the oldest revisions that no pod has, beyond `revisionHistoryLimit`."""
        live = {one["metadata"]["name"] for one in kept}
        live |= {pod["metadata"].get("labels", {}).get(POD_HASH, "") for pod in pods}
        history = [one for one in revisions if one["metadata"]["name"] not in live]
        limit: int = owner["spec"].get("revisionHistoryLimit", 10)
        for one in history[: max(len(history) - limit, 0)]:
            self.history.delete(one)
