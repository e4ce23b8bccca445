"""One sync of a StatefulSet: the next step for its pods, and the status that follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..._rejections import Rejection
from ...storage._json_values import member
from ..facts._objects import Json, reason_of
from ..facts._ownership import key_of
from ..facts._pods import is_available, is_terminating, phase
from ..loops._pod_control import slow_start
from ._set_claims import ClaimOwner, Claims
from ._set_pods import (
    has_identity,
    has_storage,
    is_created,
    is_unavailable,
    new_pod,
    ordinal_of,
    ordinals,
    revision_name,
    runs_ready,
    set_identity,
    set_storage,
)


class SetLoop(ClaimOwner, Protocol):
    """What a sync needs of the controller that runs it."""

    claims: Claims


class SetSync:
    """A StatefulSet with its pods and the two revisions that count, during one sync."""

    def __init__(self, loop: SetLoop, owner: Json, pods: list[Json], current: Json, update: Json) -> None:
        self._loop = loop
        self._objects = loop.objects
        self.owner = owner
        self._current: str = current["metadata"]["name"]
        self._update: str = update["metadata"]["name"]
        self._pods = pods
        self._ordered: bool = owner["spec"].get("podManagementPolicy") != "Parallel"
        self._min_ready: int = owner["spec"].get("minReadySeconds", 0)
        self._taken_away = 0
        there = {ordinal_of(pod): pod for pod in pods}
        wanted = ordinals(owner)
        self.replicas = [there.get(at) or new_pod(owner, at, current, update) for at in wanted]
        self.condemned = sorted(
            (pod for pod in pods if ordinal_of(pod) >= 0 and ordinal_of(pod) not in wanted),
            key=ordinal_of,
            reverse=True,
        )

    def run(self) -> None:
        """Take the next step; or `Rejection`."""
        if "deletionTimestamp" in self.owner["metadata"]:
            return
        if self._stops(self.replicas, self._keep):
            return
        for pod in self.condemned:
            self._loop.claims.hand_over(self.owner, pod)
        if self._stops(self.condemned, self._drop):
            return
        if member(self.owner["spec"], "updateStrategy").get("type") != "OnDelete":
            self._replace()

    def status(self, collisions: int) -> Json:
        """Return the status that follows from the pods."""
        now = self._objects.now
        there = [pod for pod in (*self.replicas, *self.condemned) if is_created(pod)]
        if "deletionTimestamp" in self.owner["metadata"]:
            there = self._pods
        staying = [pod for pod in there if not is_terminating(pod)]
        ready = [pod for pod in there if runs_ready(pod)]
        counts = {
            "replicas": len(there),
            "readyReplicas": len(ready),
            "availableReplicas": sum(is_available(pod, self._min_ready, now) for pod in ready),
            "currentReplicas": sum(revision_name(pod) == self._current for pod in staying) - self._taken_away,
            "updatedReplicas": sum(revision_name(pod) == self._update for pod in staying),
        }
        current, wanted = self._current, self.owner["spec"].get("replicas", 1)
        rolls = member(self.owner["spec"], "updateStrategy").get("type") == "RollingUpdate"
        if rolls and all(counts[name] == wanted for name in ("updatedReplicas", "readyReplicas", "replicas")):
            counts["currentReplicas"], current = counts["updatedReplicas"], self._update
        shown = {
            name: count
            for name, count in counts.items()
            if count or name in ("replicas", "availableReplicas")
        }
        generation = self.owner["metadata"].get("generation", 0)
        return {
            **({"observedGeneration": generation} if generation else {}), **shown,
            "currentRevision": current, "updateRevision": self._update, "collisionCount": collisions,
        }  # fmt: skip

    # One pod after another, or all at once.

    def _stops(self, pods: list[Json], act: Callable[[Json], bool]) -> bool:
        if self._ordered:
            return any(act(pod) for pod in pods)
        at = 0
        for batch in slow_start(len(pods)):
            failed: Rejection | None = None
            for pod in pods[at : at + batch]:
                try:
                    act(pod)
                except Rejection as refused:
                    failed = refused
            at += batch
            if failed is not None:
                raise failed
        return False

    def _keep(self, pod: Json) -> bool:
        """Ensure the pod of an ordinal; return whether the others have to wait for it."""
        if is_created(pod) and phase(pod) in ("Failed", "Succeeded"):
            if not is_terminating(pod):
                self._delete(pod)
            return True
        if not is_created(pod):
            if self._loop.claims.are_stale(self.owner, pod):
                return True
            self._create(pod)
            if self._ordered:
                return True
        elif phase(pod) == "Pending":
            self._loop.claims.create(self.owner, pod)
            self._loop.claims.hand_over(self.owner, pod)
        if self._ordered and (is_terminating(pod) or not self._is_up(pod)):
            return True
        if is_created(pod):
            self._repair(pod)
        return False

    def _drop(self, pod: Json) -> bool:
        """Delete a surplus pod; return whether the others have to wait for it."""
        if is_terminating(pod):
            return self._ordered
        if self._ordered and not self._is_up(pod) and pod is not self._first_unavailable():
            return True
        self._delete(pod)
        return True

    def _replace(self) -> None:
        """Delete the last pod that is not of the new revision, when those after it are available."""
        rolling = member(member(self.owner["spec"], "updateStrategy"), "rollingUpdate")
        for pod in reversed(self.replicas[rolling.get("partition", 0) :]):
            if revision_name(pod) != self._update and not is_terminating(pod):
                self._delete(pod)
                self._taken_away += 1
                return
            if is_unavailable(pod, self._min_ready, self._objects.now):
                return

    def _is_up(self, pod: Json) -> bool:
        return runs_ready(pod) and is_available(pod, self._min_ready, self._objects.now)

    def _first_unavailable(self) -> Json | None:
        now = self._objects.now
        in_order = [*self.replicas, *reversed(self.condemned)]
        return next((pod for pod in in_order if is_unavailable(pod, self._min_ready, now)), None)

    # What is written.

    def _create(self, pod: Json) -> None:
        loop = self._loop
        try:
            loop.claims.create(self.owner, pod)
            made = self._objects.create("pods", pod, loop.user)
            loop.claims.hand_over(self.owner, made)
        except Rejection as refused:
            if reason_of(refused) != "AlreadyExists":
                loop.record.pod("Create", self.owner, pod, refused)
            raise
        loop.record.pod("Create", self.owner, pod)

    def _delete(self, pod: Json) -> None:
        try:
            self._objects.delete("pods", key_of(pod), self._loop.user)
        except Rejection as refused:
            self._loop.record.pod("Delete", self.owner, pod, refused)
            raise
        self._loop.record.pod("Delete", self.owner, pod)

    def _repair(self, pod: Json) -> None:
        """Restore the identity of a pod: its labels, its volumes, its claims."""
        owner, loop = self.owner, self._loop
        right = has_identity(pod) and has_storage(owner, pod)
        if right and not loop.claims.hand_over(owner, pod):
            return

        def change(obj: Json) -> None:
            if not has_identity(obj):
                set_identity(obj)
            if not has_storage(owner, obj):
                set_storage(owner, obj)

        try:
            if not has_storage(owner, pod):
                loop.claims.create(owner, pod)
            self._objects.update("pods", key_of(pod), change, loop.user)
        except Rejection as refused:
            loop.record.pod("Update", owner, pod, refused)
            raise
        loop.record.pod("Update", owner, pod)
