"""Deployments: how many pods each of their ReplicaSets should have, one step at a time.

A sync finds the ReplicaSet with the template of its Deployment, or makes one, and then takes one step:

- being deleted: only the status is brought up to date;
- paused, or scaled: its sets are scaled, in proportion if there are several;
- a rollback was asked for by annotation: the template of an older set comes back;
- Recreate: old sets are scaled to zero, their pods end, then the new one gets its full size;
- RollingUpdate: the new one grows as far as `maxSurge` allows, or old ones shrink as far as `maxUnavailable`
  allows, unhealthy pods first.

Each step changes what the next sync sees, until the rollout is complete, or has not progressed for
`progressDeadlineSeconds`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...storage._json_values import copied
from ...storage._storage import StoredEvent
from ..facts._conditions import find_condition, set_condition
from ..facts._objects import Json
from ..facts._ownership import is_controlled_by, key_of
from ..facts._pods import is_finished
from ..facts._revisions import ROLLBACK, annotations_of
from ..loops._loop import Listener
from ..loops._owner_loop import OwnerLoop
from ._deployment_status import PROGRESSING, has_deadline, new_condition
from ._rollback import roll_back_to
from ._rollouts import Rollout

_PODS = "pods"


class Deployments(OwnerLoop):
    """The controller of Deployments."""

    name = "deployment-controller"
    resource = "deployments.apps"
    dependents = "replicasets.apps"

    def follows(self) -> Mapping[str, Listener]:
        return {**super().follows(), _PODS: self._on_pod}

    def sync(self, key: str) -> float | None:
        found = self.objects.get(self.resource, key)
        if found is None:
            return None
        deployment = copied(found)
        sets = self.claimed(deployment)
        rollout = Rollout(self, deployment, sets)
        if "deletionTimestamp" in deployment["metadata"]:
            rollout.find_new()
            rollout.write_counts()
            return None
        self._note_pause(deployment)
        if deployment["spec"].get("paused"):
            return rollout.scale()
        asked = annotations_of(deployment).get(ROLLBACK, "")
        if asked.isdecimal():
            roll_back_to(self, rollout, int(asked))
            return None
        if rollout.is_scaling():
            return rollout.scale()
        if deployment["spec"]["strategy"]["type"] == "Recreate":
            return rollout.recreate()
        return rollout.roll()

    def has_pods(self, sets: list[Json], but: Json | None) -> bool:
        """Whether any pod of these ReplicaSets, except one of them, has not ended."""
        for one in sets:
            if but is not None and one["metadata"]["uid"] == but["metadata"]["uid"]:
                continue
            for key in self.shared.owners[_PODS].owned(one["metadata"]["uid"]):
                pod = self.objects.get(_PODS, key)
                if pod is not None and is_controlled_by(pod, one) and not is_finished(pod):
                    return True
        return False

    def _on_pod(self, event: StoredEvent) -> None:
        """Sync a Deployment that waits for the last pod of its old ReplicaSets to end."""
        if event.change != "DELETED":
            return
        for uid in event.stored.owners:
            if (key := self.shared.places.get(uid)) is not None:
                owner = self.objects.stored(self.dependents, key)
                for deployment in owner.owners if owner is not None else ():
                    if (place := self.shared.places.get(deployment)) is not None:
                        self.enqueue(place)

    def _note_pause(self, deployment: Json) -> None:
        """Record in the status whether a Deployment is paused: its deadline does not run meanwhile."""
        if not has_deadline(deployment):
            return
        status: Json = deployment.setdefault("status", {})
        current = find_condition(status, PROGRESSING)
        reason = current.get("reason") if current is not None else None
        paused = bool(deployment["spec"].get("paused"))
        if reason == "ProgressDeadlineExceeded" or paused == (reason == "DeploymentPaused"):
            return
        now = ("DeploymentPaused", "Deployment is paused")
        if not paused:
            now = ("DeploymentResumed", "Deployment is resumed")
        set_condition(status, new_condition(PROGRESSING, "Unknown", *now, self.objects.stamp))
        self.objects.set_status(self.resource, key_of(deployment), status, self.user)
