"""A rollback that is asked for by annotation, as before apps/v1; kubectl sends the old template instead."""

from __future__ import annotations

from ..facts._objects import Json
from ..facts._ownership import key_of
from ..facts._revisions import ROLLBACK, find_new, last_revision, revision_of, roll_back
from ._rollouts import DeploymentLoop, Rollout


def roll_back_to(loop: DeploymentLoop, rollout: Rollout, revision: int) -> None:
    """Restore an older template, or report why not; either way the annotation is removed."""
    rollout.find_new()
    deployment = rollout.deployment
    meant = revision or last_revision(rollout.sets)
    found = next((one for one in rollout.sets if meant and revision_of(one) == meant), None)

    def record(reason: str, message: str, *, warning: bool = True) -> None:
        loop.shared.recorder.record(deployment, reason, message, loop.component, warning=warning)

    name = deployment["metadata"]["name"]
    if not meant:
        record("DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
    elif found is None:
        record("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
    elif find_new(deployment, [found]) is not None:
        said = f'The rollback revision contains the same template as current deployment "{name}"'
        record("DeploymentRollbackTemplateUnchanged", said)
        found = None

    def change(obj: Json) -> None:
        if found is not None:
            roll_back(obj, found)
        obj["metadata"]["annotations"].pop(ROLLBACK, None)

    loop.objects.update("deployments.apps", key_of(deployment), change, loop.user)
    if found is not None:
        said = f'Rolled back deployment "{name}" to revision {meant}'
        record("DeploymentRollback", said, warning=False)
