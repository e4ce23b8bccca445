"""One sync of a Deployment: its ReplicaSets are created and scaled, and its status is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubeproto.objects import copy_json

from ..._rejections import Rejection
from ...storage._json_values import member
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import is_namespace_terminating
from ..objects._object_client import Json, message_of, reason_of
from ..objects._ownership_claims import is_controlled_by, key_of
from ..objects._status_conditions import (
    age_order,
    drop_condition,
    find_condition,
    is_finished,
    set_condition,
)
from ._deployment_revisions import (
    DESIRED_REPLICAS,
    REVISION,
    annotate,
    annotate_size,
    annotated_size,
    annotations_of,
    find_new,
    new_replicaset,
    revision_of,
    template_without_hash,
)
from ._deployment_sizes import is_rolling, replicas_of, rolling_limits, sizes_in_proportion
from ._deployment_status import (
    NO_LIMIT,
    PROGRESSING,
    copy_failure,
    deadline,
    has_deadline,
    is_complete,
    new_condition,
    set_progress,
    summed_status,
)

REPLICASETS: Final = "replicasets.apps"


class DeploymentRollout:
    """A Deployment with its new and its old ReplicaSets, during one sync.

    `deployment` is a copy, which every write updates.
    """

    def __init__(self, loop: OwnerLoop, deployment: Json, replicasets: list[Json]) -> None:
        self._loop = loop
        self._objects = loop.objects
        self.deployment = deployment
        self._revision_written = False  # this sync wrote the status already, without the sums
        self.new = find_new(deployment, replicasets)
        self.old = [each for each in replicasets if each is not self.new]

    @property
    def replicasets(self) -> list[Json]:
        """All ReplicaSets; the new ReplicaSet is the last."""
        return [*self.old, *([self.new] if self.new is not None else [])]

    # The three kinds of steps

    def scale(self) -> float | None:
        """Scale the ReplicaSets, in proportion if several have pods."""
        self.update_new()
        replicas = replicas_of(self.deployment)
        active = [replicaset for replicaset in self.replicasets if replicas_of(replicaset)]
        if len(active) <= 1:
            target = active[0] if active else self.new or max(self.old, key=age_order, default=None)
            if target is not None and replicas_of(target) != replicas:
                self._resize(target, replicas)
        elif self._is_saturated():
            for replicaset in self.old:
                if replicas_of(replicaset):
                    self._resize(replicaset, 0)
        elif is_rolling(self.deployment):
            for replicaset, size in sizes_in_proportion(self.deployment, active):
                self._resize(replicaset, size, always_annotate=True)
        if self.deployment["spec"].get("paused"):
            self._delete_old()
        return self.write_counts()

    def recreate(self) -> float | None:
        """End all old pods before the first new pod is created."""
        self.update_new()
        shrinking = [replicaset for replicaset in self.old if replicas_of(replicaset)]
        for replicaset in shrinking:
            self._resize(replicaset, 0)
        if shrinking or self._has_old_pods():
            return self._write_progress()
        if self.new is None:
            self._create_new()
        assert self.new is not None  # it existed, or has been created
        self._resize(self.new, replicas_of(self.deployment))
        if is_complete(self.deployment, member(self.deployment, "status")):
            self._delete_old()
        return self._write_progress()

    def roll(self) -> float | None:
        """Grow the new ReplicaSet, or else shrink the old ReplicaSets."""
        self.update_new()
        if self.new is None:
            self._create_new()
        is_resized = self._grow() or self._shrink()
        if not is_resized and is_complete(self.deployment, member(self.deployment, "status")):
            self._delete_old()
        return self._write_progress()

    def is_scaling(self) -> bool:
        """Return whether the replicas of the Deployment have changed since its ReplicaSets were scaled."""
        self.update_new()
        replicas = replicas_of(self.deployment)
        sizes = (annotated_size(each, DESIRED_REPLICAS) for each in self.replicasets if replicas_of(each))
        return any(size is not None and size != replicas for size in sizes)

    # The new ReplicaSet

    def update_new(self) -> None:
        """Update the annotations of the new ReplicaSet, if it exists, and the revision."""
        if self.new is None:
            return
        revision, min_ready = self._next_revision(), self.deployment["spec"].get("minReadySeconds", 0)

        def change(replicaset: Json) -> bool:
            changed = annotate(self.deployment, replicaset, revision)
            if replicaset["spec"].get("minReadySeconds", 0) != min_ready:
                replicaset["spec"]["minReadySeconds"] = min_ready
                changed = True
            return changed

        if change(copy_json(self.new)):
            self.new = self._update(self.new, change)
        message = f'Found new replica set "{self.new["metadata"]["name"]}"'
        self._write_revision(annotations_of(self.new).get(REVISION, ""), "FoundNewReplicaSet", message)

    def _create_new(self) -> None:
        deployment = self.deployment
        replicaset = new_replicaset(deployment)
        size = replicaset["spec"]["replicas"] = self._allowed_size(replicaset)
        revision, replicas = self._next_revision(), replicas_of(deployment)
        annotate(deployment, replicaset, revision)
        annotate_size(replicaset, replicas, replicas + rolling_limits(deployment)[0])
        try:
            self.new = self._objects.create(REPLICASETS, replicaset, self._loop.user)
        except Rejection as rejection:
            self._handle_create_rejection(rejection, replicaset)
            return
        name = self.new["metadata"]["name"]
        if size:
            self._record("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}")
        message = f'Created new replica set "{name}"'
        self._write_revision(str(revision), "NewReplicaSetCreated", message, is_created=True)

    def _handle_create_rejection(self, rejection: Rejection, replicaset: Json) -> None:
        """Use an equal ReplicaSet that exists already, or report the failure and raise.

        If another ReplicaSet has the name, a higher collision count gives the next attempt another name.
        """
        status: Json = self.deployment.setdefault("status", {})
        if reason_of(rejection) == "AlreadyExists":
            existing = self._objects.get(REPLICASETS, key_of(replicaset))
            template = template_without_hash(self.deployment)
            is_own = existing is not None and is_controlled_by(existing, self.deployment)
            if is_own and existing is not None and template_without_hash(existing) == template:
                self.new = existing
                return
            status["collisionCount"] = status.get("collisionCount", 0) + 1
            self._write(status)
            raise rejection
        if is_namespace_terminating(rejection):
            raise rejection
        message = (
            f'Failed to create new replica set "{replicaset["metadata"]["name"]}": {message_of(rejection)}'
        )
        if has_deadline(self.deployment):
            stamp = self._objects.stamp
            set_condition(
                status, new_condition(PROGRESSING, "False", "ReplicaSetCreateError", message, stamp)
            )
            self._write(status)
        self._record("ReplicaSetCreateError", message, warning=True)
        raise rejection

    def _next_revision(self) -> int:
        return max(map(revision_of, self.old), default=0) + 1

    def _write_revision(self, revision: str, reason: str, message: str, *, is_created: bool = False) -> None:
        """Give the Deployment the revision of its new ReplicaSet, and start to report progress."""
        status: Json = self.deployment.setdefault("status", {})
        annotations: dict[str, str] = self.deployment["metadata"].setdefault("annotations", {})
        changed = annotations.get(REVISION) != revision
        annotations[REVISION] = revision
        if has_deadline(self.deployment) and (is_created or find_condition(status, PROGRESSING) is None):
            stamp = self._objects.stamp
            set_condition(status, new_condition(PROGRESSING, "True", reason, message, stamp))
            changed = True
        if changed:
            self._write(status, annotations)
            self._revision_written = True

    # Sizes

    def _allowed_size(self, new: Json) -> int:
        """Return how many replicas the new ReplicaSet may have now."""
        replicas = replicas_of(self.deployment)
        if not is_rolling(self.deployment):
            return replicas
        size, total = replicas_of(new), sum(map(replicas_of, self.replicasets))
        room = replicas + rolling_limits(self.deployment)[0] - total
        return size + min(room, replicas - size) if room > 0 else size

    def _grow(self) -> bool:
        if self.new is None:
            return False
        replicas, size = replicas_of(self.deployment), replicas_of(self.new)
        if size == replicas:
            return False
        return self._resize(self.new, replicas if size > replicas else self._allowed_size(self.new))

    def _shrink(self) -> bool:
        assert self.new is not None  # `roll` has created it
        if not any(map(replicas_of, self.old)):
            return False
        min_available = replicas_of(self.deployment) - rolling_limits(self.deployment)[1]
        total = sum(map(replicas_of, self.replicasets))
        new_unavailable = replicas_of(self.new) - _available_replicas(self.new)
        max_dropped = total - min_available - new_unavailable
        if max_dropped <= 0:
            return False
        unhealthy = self._drop_unhealthy(max_dropped)
        return self._drop_healthy(min_available) + unhealthy > 0

    def _drop_unhealthy(self, max_dropped: int) -> int:
        """Scale old ReplicaSets down by their unavailable pods, which serve no clients."""
        dropped = 0
        for replicaset in sorted(self.old, key=age_order):
            size = replicas_of(replicaset)
            unavailable = size - _available_replicas(replicaset)
            if size and unavailable and dropped < max_dropped:
                count = min(max_dropped - dropped, unavailable)
                self._resize(replicaset, size - count)
                dropped += count
        return dropped

    def _drop_healthy(self, min_available: int) -> int:
        """Scale old ReplicaSets down as far as enough pods stay available."""
        max_dropped = sum(map(_available_replicas, self.replicasets)) - min_available
        dropped = 0
        for replicaset in sorted(self.old, key=age_order):
            if (size := replicas_of(replicaset)) and dropped < max_dropped:
                count = min(size, max_dropped - dropped)
                self._resize(replicaset, size - count)
                dropped += count
        return dropped

    def _resize(self, replicaset: Json, size: int, *, always_annotate: bool = False) -> bool:
        """Scale a ReplicaSet and annotate its size; return whether the size has changed."""
        previous_size, replicas = replicas_of(replicaset), replicas_of(self.deployment)
        if previous_size == size and not always_annotate:
            return False
        surge = rolling_limits(self.deployment)[0]

        def change(obj: Json) -> None:
            obj["spec"]["replicas"] = size
            annotate_size(obj, replicas, replicas + surge)

        updated = self._update(replicaset, change)
        self.old = [updated if each is replicaset else each for each in self.old]
        if self.new is replicaset:
            self.new = updated
        if previous_size != size:
            name, direction = replicaset["metadata"]["name"], "up" if previous_size < size else "down"
            message = f"Scaled {direction} replica set {name} from {previous_size} to {size}"
            self._record("ScalingReplicaSet", message)
        return previous_size != size

    def _is_saturated(self) -> bool:
        """Return whether the new ReplicaSet has all replicas, and all of them are available."""
        replicas = replicas_of(self.deployment)
        return (
            self.new is not None
            and replicas_of(self.new)
            == annotated_size(self.new, DESIRED_REPLICAS)
            == _available_replicas(self.new)
            == replicas
        )

    def _has_old_pods(self) -> bool:
        if any(member(replicaset, "status").get("replicas", 0) for replicaset in self.old):
            return True
        # The status of a ReplicaSet does not count pods that are being deleted.
        dependents = self._loop.context.dependents["pods"]
        for replicaset in self.old:
            for key in dependents.owned(replicaset["metadata"]["uid"]):
                pod = self._objects.get("pods", key)
                if pod is not None and is_controlled_by(pod, replicaset) and not is_finished(pod):
                    return True
        return False

    def _delete_old(self) -> None:
        """Delete the oldest of the ReplicaSets that remain for a rollback, beyond `revisionHistoryLimit`."""
        limit = self.deployment["spec"].get("revisionHistoryLimit", 10)
        if limit == NO_LIMIT:
            return
        staying = [each for each in self.old if "deletionTimestamp" not in each["metadata"]]
        staying.sort(key=lambda replicaset: (revision_of(replicaset), age_order(replicaset)))
        for replicaset in staying[: max(len(staying) - limit, 0)]:
            status, meta = member(replicaset, "status"), replicaset["metadata"]
            is_observed = meta.get("generation", 0) <= status.get("observedGeneration", 0)
            if is_observed and not status.get("replicas") and not replicas_of(replicaset):
                self._objects.delete(REPLICASETS, key_of(replicaset), self._loop.user)

    # The status

    def write_counts(self) -> float | None:
        """Write the sums over the ReplicaSets; return in how many seconds to sync again."""
        if self._revision_written:
            return 0.0
        status = summed_status(self.deployment, self.replicasets, self.new, self._objects.stamp)
        if status != member(self.deployment, "status"):
            self._write(status)
        return None

    def _write_progress(self) -> float | None:
        """Write the sums and the progress of the rollout; return in how many seconds to sync again."""
        if self._revision_written:
            return 0.0  # a real controller fails to write the status a second time, and retries
        deployment, stamp = self.deployment, self._objects.stamp
        previous = member(deployment, "status")
        status = summed_status(deployment, self.replicasets, self.new, stamp)
        current = find_condition(previous, PROGRESSING)
        if not has_deadline(deployment):
            drop_condition(status, PROGRESSING)
        elif not (
            current is not None
            and current.get("reason") == "NewReplicaSetAvailable"
            and status.get("replicas", 0) == status.get("updatedReplicas", 0)
        ):
            set_progress(deployment, self.new, status, self._objects.now, stamp)
        copy_failure(status, [*([self.new] if self.new is not None else []), *self.old])
        if status != previous:
            self._write(status)
            return None
        return self._seconds_until_deadline(status, current)

    def _seconds_until_deadline(self, status: Json, current: Json | None) -> float | None:
        """Return when to check the deadline: a second after it, because times are whole seconds."""
        if not has_deadline(self.deployment) or current is None or is_complete(self.deployment, status):
            return None
        if current.get("reason") == "ProgressDeadlineExceeded":
            return None
        remaining = deadline(self.deployment, current) - self._objects.now
        return remaining + 1 if remaining >= 1 else max(remaining, 0.0) + 0.005

    def _write(self, status: Json, annotations: dict[str, str] | None = None) -> None:
        """Write the status, and with it the annotations if they have changed."""
        key = key_of(self.deployment)

        def change(obj: Json) -> None:
            obj["status"] = status
            if annotations is not None:
                obj["metadata"]["annotations"] = annotations

        written = self._objects.update("deployments.apps", key, change, self._loop.user, "status")
        self.deployment["status"] = copy_json(written.get("status") or {})

    def _update(self, replicaset: Json, change: Callable[[Json], object]) -> Json:
        return self._objects.update(REPLICASETS, key_of(replicaset), change, self._loop.user)

    def _record(self, reason: str, message: str, *, warning: bool = False) -> None:
        self._loop.record(self.deployment, reason, message, warning=warning)


def _available_replicas(replicaset: Json) -> int:
    count: int = member(replicaset, "status").get("availableReplicas", 0)
    return count
