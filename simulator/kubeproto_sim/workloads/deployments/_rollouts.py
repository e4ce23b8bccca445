"""One step of a rollout: ReplicaSets of a Deployment are created and scaled, and its status is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..._rejections import Rejection
from ...storage._json_values import copied, member
from ..facts._conditions import drop_condition, find_condition, set_condition
from ..facts._objects import Json, Objects, message_of, reason_of
from ..facts._ownership import is_controlled_by, key_of
from ..facts._pods import created
from ..facts._revisions import (
    DESIRED,
    REVISION,
    annotate,
    annotate_size,
    annotations_of,
    find_new,
    new_set,
    revision_of,
    size_noted,
    without_hash,
)
from ..loops._loop import Shared
from ..loops._pod_control import is_namespace_going
from ._deployment_status import (
    PROGRESSING,
    carry_failures,
    counted,
    deadline,
    has_deadline,
    is_complete,
    is_rolling,
    judge_progress,
    limits,
    new_condition,
    replicas_of,
)
from ._proportions import sizes_in_proportion

SETS = "replicasets.apps"
_EVER = 2**31 - 1
_LONGEST_NAME = 253


class DeploymentLoop(Protocol):
    """What a rollout needs of the controller that runs it."""

    component: str
    objects: Objects
    shared: Shared

    @property
    def user(self) -> str:
        """The service account that it acts as."""
        ...

    def has_pods(self, sets: list[Json], but: Json | None) -> bool:
        """Whether any pod of these ReplicaSets, except one of them, has not ended."""
        ...


class Rollout:
    """A Deployment with its ReplicaSets, during one sync. `deployment` is a copy that follows each write."""

    def __init__(self, loop: DeploymentLoop, deployment: Json, sets: list[Json]) -> None:
        self._loop = loop
        self._objects = loop.objects
        self.deployment = deployment
        self._numbered = False  # whether the status has been written, but not the sums over the sets
        self.new = find_new(deployment, sets)
        self.old = [one for one in sets if self.new is None or one is not self.new]

    @property
    def sets(self) -> list[Json]:
        """All ReplicaSets, the new one last."""
        return [*self.old, *([self.new] if self.new is not None else [])]

    # The three kinds of steps.

    def scale(self) -> float | None:
        """Scale the sets, in proportion if there are several with pods."""
        self.find_new()
        wanted = replicas_of(self.deployment)
        active = [one for one in self.sets if replicas_of(one)]
        if len(active) <= 1:
            target = active[0] if active else self.new or max(self.old, key=created, default=None)
            if target is not None and replicas_of(target) != wanted:
                self.resize(target, wanted)
        elif self._is_saturated():
            for one in self.old:
                if replicas_of(one):
                    self.resize(one, 0)
        elif is_rolling(self.deployment):
            for one, size in sizes_in_proportion(self.deployment, active):
                self.resize(one, size, noted=True)
        if self.deployment["spec"].get("paused"):
            self._clean_up()
        return self.write_counts()

    def recreate(self) -> float | None:
        """Let all old pods end before the first new one begins."""
        self.find_new()
        shrinking = [one for one in self.old if replicas_of(one)]
        for one in shrinking:
            self.resize(one, 0)
        if shrinking or self._old_pods_are_left():
            return self.write_progress()
        if self.new is None:
            self._create_new()
        assert self.new is not None  # it existed, or has been created
        self.resize(self.new, replicas_of(self.deployment))
        if is_complete(self.deployment, member(self.deployment, "status")):
            self._clean_up()
        return self.write_progress()

    def roll(self) -> float | None:
        """Let the new set grow, or else the old ones shrink."""
        self.find_new()
        if self.new is None:
            self._create_new()
        moved = self._grow() or self._shrink()
        if not moved and is_complete(self.deployment, member(self.deployment, "status")):
            self._clean_up()
        return self.write_progress()

    def is_scaling(self) -> bool:
        """Whether the Deployment wants another number of pods than when its sets were scaled last."""
        self.find_new()
        wanted = replicas_of(self.deployment)
        noted = (size_noted(one, DESIRED) for one in self.sets if replicas_of(one))
        return any(size is not None and size != wanted for size in noted)

    # The new ReplicaSet.

    def find_new(self) -> None:
        """Update the annotations of the new set, if there is one, and the revision."""
        if self.new is None:
            return
        revision, min_ready = self._next_revision(), self.deployment["spec"].get("minReadySeconds", 0)

        def change(one: Json) -> bool:
            changed = annotate(self.deployment, one, revision)
            if one["spec"].get("minReadySeconds", 0) != min_ready:
                one["spec"]["minReadySeconds"] = min_ready
                changed = True
            return changed

        if change(copied(self.new)):
            self.new = self._update(self.new, change)
        found = f'Found new replica set "{self.new["metadata"]["name"]}"'
        self._note_revision(annotations_of(self.new).get(REVISION, ""), "FoundNewReplicaSet", found)

    def _create_new(self) -> None:
        deployment = self.deployment
        made = new_set(deployment)
        size = made["spec"]["replicas"] = self._room(made)
        revision, wanted = self._next_revision(), replicas_of(deployment)
        annotate(deployment, made, revision)
        annotate_size(made, wanted, wanted + limits(deployment)[0])
        try:
            self.new = self._objects.create(SETS, made, self._loop.user)
        except Rejection as refused:
            self._not_created(refused, made)
            return
        name = self.new["metadata"]["name"]
        if size:
            self._record("ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}")
        said = f'Created new replica set "{name}"'
        self._note_revision(str(revision), "NewReplicaSetCreated", said, always=True)

    def _not_created(self, refused: Rejection, made: Json) -> None:
        """Report why there is no new set. If its name is taken, the next attempt uses another one."""
        status: Json = self.deployment.setdefault("status", {})
        if reason_of(refused) == "AlreadyExists":
            found = self._objects.get(SETS, key_of(made))
            wanted = without_hash(self.deployment["spec"]["template"])
            ours = found is not None and is_controlled_by(found, self.deployment)
            if ours and found is not None and without_hash(found["spec"]["template"]) == wanted:
                self.new = found
                return
            status["collisionCount"] = status.get("collisionCount", 0) + 1
            self._write(status)
            raise refused
        if is_namespace_going(refused):
            raise refused
        text = f'Failed to create new replica set "{made["metadata"]["name"]}": {message_of(refused)}'
        if has_deadline(self.deployment):
            stamp = self._objects.stamp
            set_condition(status, new_condition(PROGRESSING, "False", "ReplicaSetCreateError", text, stamp))
            self._write(status)
        self._record("ReplicaSetCreateError", text, warning=True)
        raise refused

    def _next_revision(self) -> int:
        return max((revision_of(one) for one in self.old), default=0) + 1

    def _note_revision(self, revision: str, reason: str, message: str, *, always: bool = False) -> None:
        """Number the Deployment as its newest set, and begin to report progress."""
        status: Json = self.deployment.setdefault("status", {})
        annotations: dict[str, str] = self.deployment["metadata"].setdefault("annotations", {})
        changed = annotations.get(REVISION) != revision
        annotations[REVISION] = revision
        if has_deadline(self.deployment) and (always or find_condition(status, PROGRESSING) is None):
            stamp = self._objects.stamp
            set_condition(status, new_condition(PROGRESSING, "True", reason, message, stamp))
            changed = True
        if changed:
            self._write(status, annotations)
            self._numbered = True

    # Growing and shrinking.

    def _room(self, new: Json) -> int:
        """Return how many pods the new set may have now."""
        wanted = replicas_of(self.deployment)
        if not is_rolling(self.deployment):
            return wanted
        size, total = replicas_of(new), sum(map(replicas_of, self.sets))
        room = wanted + limits(self.deployment)[0] - total
        return size + min(room, wanted - size) if room > 0 else size

    def _grow(self) -> bool:
        if self.new is None:
            return False
        wanted, size = replicas_of(self.deployment), replicas_of(self.new)
        if size == wanted:
            return False
        return self.resize(self.new, wanted if size > wanted else self._room(self.new))

    def _shrink(self) -> bool:
        assert self.new is not None  # a rollout begins with it
        if not any(replicas_of(one) for one in self.old):
            return False
        needed = replicas_of(self.deployment) - limits(self.deployment)[1]
        total = sum(map(replicas_of, self.sets))
        missing = replicas_of(self.new) - _available(self.new)
        most = total - needed - missing
        if most <= 0:
            return False
        unhealthy = self._drop_unhealthy(most)
        return self._drop_old(needed) + unhealthy > 0

    def _drop_unhealthy(self, most: int) -> int:
        """Scale old sets down by their unavailable pods, which serve nobody."""
        dropped = 0
        for one in sorted(self.old, key=created):
            size, spare = replicas_of(one), replicas_of(one) - _available(one)
            if size and spare and dropped < most:
                count = min(most - dropped, spare)
                self.resize(one, size - count)
                dropped += count
        return dropped

    def _drop_old(self, needed: int) -> int:
        """Scale old sets down as far as enough pods stay available."""
        spare = sum(map(_available, self.sets)) - needed
        dropped = 0
        for one in sorted(self.old, key=created):
            if (size := replicas_of(one)) and dropped < spare:
                count = min(size, spare - dropped)
                self.resize(one, size - count)
                dropped += count
        return dropped

    def resize(self, one: Json, size: int, *, noted: bool = False) -> bool:
        """Scale a set; return whether its size differed. With `noted`, its annotations are updated anyway."""
        before, wanted = replicas_of(one), replicas_of(self.deployment)
        if before == size and not noted:
            return False
        surge = limits(self.deployment)[0]

        def change(obj: Json) -> None:
            obj["spec"]["replicas"] = size
            annotate_size(obj, wanted, wanted + surge)

        updated = self._update(one, change)
        self.old = [updated if it is one else it for it in self.old]
        if self.new is one:
            self.new = updated
        if before != size:
            name, way = one["metadata"]["name"], "up" if before < size else "down"
            self._record("ScalingReplicaSet", f"Scaled {way} replica set {name} from {before} to {size}")
        return before != size

    def _is_saturated(self) -> bool:
        wanted = replicas_of(self.deployment)
        return (
            self.new is not None
            and replicas_of(self.new) == size_noted(self.new, DESIRED) == _available(self.new) == wanted
        )

    def _old_pods_are_left(self) -> bool:
        if any(member(one, "status").get("replicas", 0) for one in self.old):
            return True
        return self._loop.has_pods(self.sets, self.new)

    def _clean_up(self) -> None:
        """Delete the oldest of the sets that are kept for a rollback, beyond `revisionHistoryLimit`."""
        limit = self.deployment["spec"].get("revisionHistoryLimit", 10)
        if limit == _EVER:
            return
        kept = [one for one in self.old if "deletionTimestamp" not in one["metadata"]]
        kept.sort(key=lambda one: (revision_of(one), created(one)))
        for one in kept[: max(len(kept) - limit, 0)]:
            status, meta = member(one, "status"), one["metadata"]
            seen = meta.get("generation", 0) <= status.get("observedGeneration", 0)
            if seen and not status.get("replicas") and not replicas_of(one):
                self._objects.delete(SETS, key_of(one), self._loop.user)

    # The status.

    def write_counts(self) -> float | None:
        """Write the sums over the sets; return after how many seconds to sync again."""
        if self._numbered:
            return 0.0
        status = counted(self.deployment, self.sets, self.new, self._objects.stamp)
        if status != member(self.deployment, "status"):
            self._write(status)
        return None

    def write_progress(self) -> float | None:
        """Write the same, and whether the rollout progresses; return after how many seconds to sync again."""
        if self._numbered:
            return 0.0  # a real controller fails to write the status a second time, and retries
        deployment, stamp = self.deployment, self._objects.stamp
        old = member(deployment, "status")
        status = counted(deployment, self.sets, self.new, stamp)
        current = find_condition(old, PROGRESSING)
        if not has_deadline(deployment):
            drop_condition(status, PROGRESSING)
        elif not (
            current is not None
            and current.get("reason") == "NewReplicaSetAvailable"
            and status.get("replicas", 0) == status.get("updatedReplicas", 0)
        ):
            judge_progress(deployment, self.new, status, self._objects.now, stamp)
        carry_failures(status, [*([self.new] if self.new is not None else []), *self.old])
        if status != old:
            self._write(status)
            return None
        return self._next_look(status, current)

    def _next_look(self, status: Json, current: Json | None) -> float | None:
        """After how many seconds the deadline is over: a second more, because times are whole seconds."""
        if not has_deadline(self.deployment) or current is None or is_complete(self.deployment, status):
            return None
        if current.get("reason") == "ProgressDeadlineExceeded":
            return None
        left = deadline(self.deployment, current) - self._objects.now
        return left + 1 if left >= 1 else max(left, 0.0) + 0.005

    def _write(self, status: Json, annotations: dict[str, str] | None = None) -> None:
        """Write the status, and with it the revision of the Deployment."""
        key = key_of(self.deployment)

        def change(obj: Json) -> None:
            obj["status"] = status
            if annotations is not None:
                obj["metadata"]["annotations"] = annotations

        written = self._objects.update("deployments.apps", key, change, self._loop.user, "status")
        self.deployment["status"] = copied(written.get("status") or {})

    def _update(self, one: Json, change: Callable[[Json], object]) -> Json:
        return self._objects.update(SETS, key_of(one), change, self._loop.user)

    def _record(self, reason: str, message: str, *, warning: bool = False) -> None:
        recorder = self._loop.shared.recorder
        recorder.record(self.deployment, reason, message, self._loop.component, warning=warning)


def _available(one: Json) -> int:
    found: int = member(one, "status").get("availableReplicas", 0)
    return found
