"""One sync of a StatefulSet: the next step for its pods, and the status that follows from them."""

from __future__ import annotations

from collections.abc import Callable

from ..._rejections import Rejection
from ...storage._json_values import member
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import slow_start_batches
from ..objects._object_client import Json, message_of, reason_of
from ..objects._ownership_claims import key_of
from ..objects._status_conditions import is_available, is_terminating, phase
from ._statefulset_claims import StatefulSetClaims
from ._statefulset_pods import (
    has_identity,
    has_storage,
    is_created,
    is_running_and_ready,
    is_unavailable,
    new_pod,
    ordinal_of,
    ordinals,
    revision_name,
    set_claim_volumes,
    set_identity,
)


class StatefulSetSync:
    """A StatefulSet with its pods and its current and its update revision, during one sync."""

    def __init__(
        self,
        loop: OwnerLoop,
        claims: StatefulSetClaims,
        owner: Json,
        pods: list[Json],
        current: Json,
        update: Json,
    ) -> None:
        self._loop = loop
        self._claims = claims
        self._objects = loop.objects
        self._owner = owner
        self._current: str = current["metadata"]["name"]
        self._update: str = update["metadata"]["name"]
        self._pods = pods
        self._is_ordered: bool = owner["spec"].get("podManagementPolicy") != "Parallel"
        self._min_ready: int = owner["spec"].get("minReadySeconds", 0)
        self._replaced_count = 0  # pods of the current revision that this sync has deleted
        by_ordinal = {ordinal_of(pod): pod for pod in pods}
        expected = ordinals(owner)
        self._replicas = [
            by_ordinal.get(ordinal) or new_pod(owner, ordinal, current, update) for ordinal in expected
        ]
        self._surplus = sorted(
            (pod for pod in pods if ordinal_of(pod) >= 0 and ordinal_of(pod) not in expected),
            key=ordinal_of,
            reverse=True,
        )

    def run(self) -> None:
        """Take the next step; raise `Rejection` if the server refuses a write."""
        if "deletionTimestamp" in self._owner["metadata"]:
            return
        if self._process(self._replicas, self._ensure_pod):
            return
        for pod in self._surplus:
            self._claims.update_owners(self._owner, pod)
        if self._process(self._surplus, self._delete_surplus_pod):
            return
        if member(self._owner["spec"], "updateStrategy").get("type") != "OnDelete":
            self._replace_old_pod()

    def status(self, collisions: int) -> Json:
        """Return the status that follows from the pods."""
        now = self._objects.now
        existing = [pod for pod in (*self._replicas, *self._surplus) if is_created(pod)]
        if "deletionTimestamp" in self._owner["metadata"]:
            existing = self._pods
        staying = [pod for pod in existing if not is_terminating(pod)]
        ready = [pod for pod in existing if is_running_and_ready(pod)]
        current_count = sum(revision_name(pod) == self._current for pod in staying)
        counts = {
            "replicas": len(existing),
            "readyReplicas": len(ready),
            "availableReplicas": sum(is_available(pod, self._min_ready, now) for pod in ready),
            "currentReplicas": current_count - self._replaced_count,
            "updatedReplicas": sum(revision_name(pod) == self._update for pod in staying),
        }
        current, replicas = self._current, self._owner["spec"].get("replicas", 1)
        is_rolling = member(self._owner["spec"], "updateStrategy").get("type") == "RollingUpdate"
        total_names = ("updatedReplicas", "readyReplicas", "replicas")
        if is_rolling and all(counts[name] == replicas for name in total_names):
            counts["currentReplicas"], current = counts["updatedReplicas"], self._update
        status: Json = {
            name: count
            for name, count in counts.items()
            if count or name in ("replicas", "availableReplicas")
        }
        generation = self._owner["metadata"].get("generation", 0)
        return {
            **({"observedGeneration": generation} if generation else {}), **status,
            "currentRevision": current, "updateRevision": self._update, "collisionCount": collisions,
        }  # fmt: skip

    # The steps, for each pod in turn or for all in parallel

    def _process(self, pods: list[Json], step: Callable[[Json], bool]) -> bool:
        """Take a step for each pod; return whether one of an ordered set ends the sync."""
        if self._is_ordered:
            return any(step(pod) for pod in pods)
        start = 0
        for size in slow_start_batches(len(pods)):
            rejection: Rejection | None = None
            for pod in pods[start : start + size]:
                try:
                    step(pod)
                except Rejection as error:
                    rejection = error
            start += size
            if rejection is not None:
                raise rejection
        return False

    def _ensure_pod(self, pod: Json) -> bool:
        """Create or repair the pod of an ordinal; return whether the others have to wait for it."""
        if is_created(pod) and phase(pod) in ("Failed", "Succeeded"):
            if not is_terminating(pod):
                self._delete(pod)
            return True
        if not is_created(pod):
            if self._claims.are_stale(self._owner, pod):
                return True
            self._create(pod)
            if self._is_ordered:
                return True
        elif phase(pod) == "Pending":
            self._claims.create(self._owner, pod)
            self._claims.update_owners(self._owner, pod)
        if self._is_ordered and (is_terminating(pod) or not self._is_up(pod)):
            return True
        if is_created(pod):
            self._repair(pod)
        return False

    def _delete_surplus_pod(self, pod: Json) -> bool:
        """Delete a surplus pod; return whether the others have to wait for it."""
        if is_terminating(pod):
            return self._is_ordered
        if self._is_ordered and not self._is_up(pod) and pod is not self._first_unavailable():
            return True
        self._delete(pod)
        return True

    def _replace_old_pod(self) -> None:
        """Delete the last pod that is not of the update revision, if all pods after it are available."""
        rolling = member(member(self._owner["spec"], "updateStrategy"), "rollingUpdate")
        for pod in reversed(self._replicas[rolling.get("partition", 0) :]):
            if revision_name(pod) != self._update and not is_terminating(pod):
                self._delete(pod)
                self._replaced_count += 1
                return
            if is_unavailable(pod, self._min_ready, self._objects.now):
                return

    def _is_up(self, pod: Json) -> bool:
        return is_running_and_ready(pod) and is_available(pod, self._min_ready, self._objects.now)

    def _first_unavailable(self) -> Json | None:
        now = self._objects.now
        in_order = [*self._replicas, *reversed(self._surplus)]
        return next((pod for pod in in_order if is_unavailable(pod, self._min_ready, now)), None)

    # Writes

    def _create(self, pod: Json) -> None:
        try:
            self._claims.create(self._owner, pod)
            created = self._objects.create("pods", pod, self._loop.user)
            self._claims.update_owners(self._owner, created)
        except Rejection as rejection:
            if reason_of(rejection) != "AlreadyExists":
                self._record("Create", pod, rejection)
            raise
        self._record("Create", pod)

    def _delete(self, pod: Json) -> None:
        try:
            self._objects.delete("pods", key_of(pod), self._loop.user)
        except Rejection as rejection:
            self._record("Delete", pod, rejection)
            raise
        self._record("Delete", pod)

    def _repair(self, pod: Json) -> None:
        """Restore the labels, the volumes and the claims of a pod."""
        owner = self._owner
        is_intact = has_identity(pod) and has_storage(owner, pod)
        if is_intact and not self._claims.update_owners(owner, pod):
            return

        def change(obj: Json) -> None:
            if not has_identity(obj):
                set_identity(obj)
            if not has_storage(owner, obj):
                set_claim_volumes(owner, obj)

        try:
            if not has_storage(owner, pod):
                self._claims.create(owner, pod)
            self._objects.update("pods", key_of(pod), change, self._loop.user)
        except Rejection as rejection:
            self._record("Update", pod, rejection)
            raise
        self._record("Update", pod)

    def _record(self, verb: str, pod: Json, rejection: Rejection | None = None) -> None:
        text = f"{verb} Pod {pod['metadata']['name']} in StatefulSet {self._owner['metadata']['name']}"
        if rejection is None:
            self._loop.record(self._owner, f"Successful{verb}", f"{text} successful")
        else:
            message = f"{text} failed error: {message_of(rejection)}"
            self._loop.record(self._owner, f"Failed{verb}", message, warning=True)
