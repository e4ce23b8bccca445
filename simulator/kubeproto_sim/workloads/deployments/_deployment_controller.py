"""Deployments: the size of each of their ReplicaSets, step by step.

A sync finds or creates the ReplicaSet with the template of its Deployment, and then takes one step:

- a Deployment that is being deleted: only the status is updated;
- paused, or scaled: its ReplicaSets are scaled, in proportion if there are several;
- a rollback is requested by annotation: the template of an older ReplicaSet is restored;
- Recreate: old ReplicaSets are scaled to zero, their pods end, then the new ReplicaSet gets its full size;
- RollingUpdate: the new ReplicaSet grows as far as `maxSurge` allows, or old ReplicaSets shrink as far as
  `maxUnavailable` allows, unhealthy pods first.

Each step causes the next sync, until the rollout is complete or has not progressed for
`progressDeadlineSeconds`.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeproto.objects import copy_json

from ...storage._storage import StoredEvent
from ..loops._control_loop import Listener
from ..loops._owner_loop import OwnerLoop
from ..objects._object_client import Json
from ..objects._ownership_claims import key_of
from ..objects._status_conditions import find_condition, set_condition
from ._deployment_revisions import (
    ROLLBACK,
    annotations_of,
    find_new,
    last_revision,
    revision_of,
    roll_back,
)
from ._deployment_rollout import DeploymentRollout
from ._deployment_status import PROGRESSING, has_deadline, new_condition

_PODS = "pods"


class DeploymentController(OwnerLoop):
    """The controller of Deployments."""

    name = "deployment-controller"
    resource = "deployments.apps"
    dependents = "replicasets.apps"

    def listeners(self) -> Mapping[str, Listener]:
        return {**super().listeners(), _PODS: self._on_pod}

    def sync(self, key: str) -> float | None:
        stored = self.objects.get(self.resource, key)
        if stored is None:
            return None
        deployment = copy_json(stored)
        rollout = DeploymentRollout(self, deployment, self.claimed(deployment))
        if "deletionTimestamp" in deployment["metadata"]:
            rollout.update_new()
            rollout.write_counts()
            return None
        self._record_pause(deployment)
        if deployment["spec"].get("paused"):
            return rollout.scale()
        rollback_to = annotations_of(deployment).get(ROLLBACK, "")
        if rollback_to.isdecimal():
            self._roll_back(rollout, int(rollback_to))
            return None
        if rollout.is_scaling():
            return rollout.scale()
        if deployment["spec"]["strategy"]["type"] == "Recreate":
            return rollout.recreate()
        return rollout.roll()

    def _roll_back(self, rollout: DeploymentRollout, revision: int) -> None:
        """Restore an older template, or report the obstacle; either way the annotation is removed.

        Before apps/v1 a rollback was requested by annotation; kubectl writes the old template instead.
        """
        rollout.update_new()
        deployment = rollout.deployment
        revision = revision or last_revision(rollout.replicasets)
        target = next(
            (
                replicaset
                for replicaset in rollout.replicasets
                if revision and revision_of(replicaset) == revision
            ),
            None,
        )
        name = deployment["metadata"]["name"]
        if not revision:
            message = "Unable to find last revision."
            self.record(deployment, "DeploymentRollbackRevisionNotFound", message, warning=True)
        elif target is None:
            message = "Unable to find the revision to rollback to."
            self.record(deployment, "DeploymentRollbackRevisionNotFound", message, warning=True)
        elif find_new(deployment, [target]) is not None:
            message = f'The rollback revision contains the same template as current deployment "{name}"'
            self.record(deployment, "DeploymentRollbackTemplateUnchanged", message, warning=True)
            target = None

        def change(obj: Json) -> None:
            if target is not None:
                roll_back(obj, target)
            obj["metadata"]["annotations"].pop(ROLLBACK, None)

        self.objects.update(self.resource, key_of(deployment), change, self.user)
        if target is not None:
            message = f'Rolled back deployment "{name}" to revision {revision}'
            self.record(deployment, "DeploymentRollback", message)

    def _on_pod(self, event: StoredEvent) -> None:
        """Sync a Deployment that waits until the last pod of its old ReplicaSets has ended."""
        if event.change != "DELETED":
            return
        owner_keys = self.context.owner_keys
        for uid in event.stored.owners:
            if (key := owner_keys.get(uid)) is not None:
                replicaset = self.objects.stored(self.dependents, key)
                for deployment_uid in replicaset.owners if replicaset is not None else ():
                    if (deployment_key := owner_keys.get(deployment_uid)) is not None:
                        self.enqueue(deployment_key)

    def _record_pause(self, deployment: Json) -> None:
        """Set in the status whether a Deployment is paused: a pause suspends its deadline."""
        if not has_deadline(deployment):
            return
        status: Json = deployment.setdefault("status", {})
        current = find_condition(status, PROGRESSING)
        reason = current.get("reason") if current is not None else None
        is_paused = bool(deployment["spec"].get("paused"))
        if reason == "ProgressDeadlineExceeded" or is_paused == (reason == "DeploymentPaused"):
            return
        new_reason, message = "DeploymentPaused", "Deployment is paused"
        if not is_paused:
            new_reason, message = "DeploymentResumed", "Deployment is resumed"
        set_condition(status, new_condition(PROGRESSING, "Unknown", new_reason, message, self.objects.stamp))
        self.objects.set_status(self.resource, key_of(deployment), status, self.user)
