"""StatefulSets: pods with stable names, created one after another and replaced from the last to the first.

A sync takes these steps in order, and stops after the first that changes a pod (with `Parallel` it takes the
first two for all pods at once):

1. each ordinal gets a pod that runs, is ready and available; a finished pod is deleted and created again;
2. pods beyond the number of replicas are deleted, the highest ordinal first;
3. with `RollingUpdate`, pods of another revision are deleted, the highest ordinal first and down to
   `partition`, one at a time; step 1 recreates each of them from the new template. Ordinals below `partition`
   stay at the old revision.
"""

from __future__ import annotations

from ..._rejections import Rejection
from ..loops._control_loop import ControllerContext
from ..loops._controller_revisions import POD_HASH_LABEL, RevisionHistory
from ..loops._owner_loop import OwnerLoop
from ..objects._object_client import Json
from ..objects._status_conditions import seconds_until_available
from ._statefulset_claims import StatefulSetClaims
from ._statefulset_pods import parent_of
from ._statefulset_sync import StatefulSetSync


class StatefulSetController(OwnerLoop):
    """The controller of StatefulSets."""

    name = "statefulset-controller"
    resource = "statefulsets.apps"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._history = RevisionHistory(self)
        self._claims = StatefulSetClaims(self)

    def sync(self, key: str) -> float | None:
        owner = self.objects.get(self.resource, key)
        if owner is None:
            return None
        revisions = self._history.list_revisions(owner)
        pods = [pod for pod in self.owned_or_orphaned(owner) if parent_of(pod) == owner["metadata"]["name"]]
        pods = self.claimed(owner, pods)
        collisions: int = owner.get("status", {}).get("collisionCount", 0)
        update, collisions = self._history.ensure_current(owner, revisions, collisions)
        if all(revision["metadata"]["name"] != update["metadata"]["name"] for revision in revisions):
            revisions = [*revisions, update]
        current_name = owner.get("status", {}).get("currentRevision")
        current = next(
            (revision for revision in revisions if revision["metadata"]["name"] == current_name), update
        )
        sync = StatefulSetSync(self, self._claims, owner, pods, current, update)
        rejection: Rejection | None = None
        try:
            sync.run()
        except Rejection as error:
            rejection = error
        self.objects.set_status(self.resource, key, sync.status(collisions), self.user)
        self._truncate_history(owner, pods, revisions, (current, update))
        if rejection is not None:
            raise rejection
        return seconds_until_available(pods, owner["spec"].get("minReadySeconds", 0), self.objects.now)

    def _truncate_history(
        self, owner: Json, pods: list[Json], revisions: list[Json], kept: tuple[Json, ...]
    ) -> None:
        """Delete the oldest revisions without pods, beyond `revisionHistoryLimit`."""
        used_names = {revision["metadata"]["name"] for revision in kept}
        used_names |= {pod["metadata"].get("labels", {}).get(POD_HASH_LABEL, "") for pod in pods}
        unused = [revision for revision in revisions if revision["metadata"]["name"] not in used_names]
        limit: int = owner["spec"].get("revisionHistoryLimit", 10)
        for revision in unused[: max(len(unused) - limit, 0)]:
            self._history.delete(revision)
