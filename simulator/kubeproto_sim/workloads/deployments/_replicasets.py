"""ReplicaSets and ReplicationControllers: as many pods as are wanted, and a status that counts them."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import Selector

from ..._rejections import Rejection
from ...storage._json_values import listed, member
from ..facts._deletion_order import in_order_of_deletion
from ..facts._objects import Json, message_of
from ..facts._ownership import controller_of, is_controlled_by, key_of, selector_of
from ..facts._pods import is_active, is_available, is_finished, is_ready, is_terminating, next_available
from ..loops._loop import Shared
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl, is_namespace_going, pod_from, slow_start

_BURST: Final = 500  # pods that are created or deleted at once
_FAILURE: Final = "ReplicaFailure"


class ReplicaSets(OwnerLoop):
    """The controller of ReplicaSets."""

    name = "replicaset-controller"
    resource = "replicasets.apps"
    shows_terminating = True

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._pods = PodControl(self)

    def sync(self, key: str) -> float | None:
        found = self.objects.get(self.resource, key)
        if found is None:
            return None
        pods = self.owned_or_orphaned(found)
        active = self.claimed(found, [pod for pod in pods if is_active(pod)])
        going = [pod for pod in pods if _is_going(pod, found)]
        failed: Rejection | None = None
        if "deletionTimestamp" not in found["metadata"]:
            try:
                self._scale(found, active)
            except Rejection as refused:
                failed = refused
        now = self.objects.now
        self.objects.set_status(
            self.resource, key, self._status(found, active, len(going), failed), self.user
        )
        if failed is not None:
            raise failed
        return next_available(active, found["spec"].get("minReadySeconds", 0), now)

    def _scale(self, owner: Json, active: list[Json]) -> None:
        missing = owner["spec"].get("replicas", 1) - len(active)
        if missing > 0:
            self._create(owner, min(missing, _BURST))
        elif missing < 0:
            related = [] if len(active) <= -missing else self._related(owner)
            doomed = in_order_of_deletion(active, related, self.objects.now)[: min(-missing, _BURST)]
            for pod in doomed:
                self._pods.delete(pod, owner)

    def _create(self, owner: Json, count: int) -> None:
        for batch in slow_start(count):
            failed: Rejection | None = None
            for _ in range(batch):
                try:
                    self._pods.create(pod_from(owner["spec"].get("template") or {}, owner), owner)
                except Rejection as refused:
                    if not is_namespace_going(refused):
                        failed = refused
            if failed is not None:
                raise failed

    def _related(self, owner: Json) -> list[Json]:
        """Return the pods of all sets with the same owner: those that share a node are deleted first."""
        reference = controller_of(owner)
        keys = (
            [key_of(owner)]
            if reference is None
            else self.shared.owners[self.resource].owned(reference["uid"])
        )
        sets = [one for key in keys if (one := self.objects.get(self.resource, key)) is not None]
        pods: list[Json] = []
        for one in sets:
            for key in self.shared.owners["pods"].owned(one["metadata"]["uid"]):
                pod = self.objects.get("pods", key)
                if pod is not None and is_controlled_by(pod, one):
                    pods.append(pod)
        return pods

    def _status(self, owner: Json, active: list[Json], going: int, failed: Rejection | None) -> Json:
        spec, now = owner["spec"], self.objects.now
        labels = member(member(member(spec, "template"), "metadata"), "labels")
        wanted, min_ready = Selector.of(labels), spec.get("minReadySeconds", 0)
        counted = {
            "fullyLabeledReplicas": sum(wanted.matches(pod["metadata"].get("labels")) for pod in active),
            "readyReplicas": sum(map(is_ready, active)),
            "availableReplicas": sum(is_available(pod, min_ready, now) for pod in active),
            "observedGeneration": owner["metadata"].get("generation", 0),
        }
        status: Json = {"replicas": len(active)} | {name: count for name, count in counted.items() if count}
        if self.shows_terminating:
            status["terminatingReplicas"] = going
        conditions = self._conditions(owner, len(active), failed)
        return status | {"conditions": conditions} if conditions else status

    def _conditions(self, owner: Json, active: int, failed: Rejection | None) -> list[Json]:
        conditions = listed(member(owner, "status"), "conditions")
        if failed is None:
            return [one for one in conditions if one["type"] != _FAILURE]
        if any(one["type"] == _FAILURE for one in conditions):
            return conditions
        reason = "FailedCreate" if active < owner["spec"].get("replicas", 1) else "FailedDelete"
        stamp = self.objects.stamp
        return [*conditions, {
            "type": _FAILURE, "status": "True", "lastTransitionTime": stamp, "reason": reason,
            "message": message_of(failed),
        }]  # fmt: skip


def _is_going(pod: Json, owner: Json) -> bool:
    """Whether a pod that an owner has and selects is being deleted, and has not ended."""
    if not is_terminating(pod) or is_finished(pod) or not is_controlled_by(pod, owner):
        return False
    return selector_of(owner).matches(pod["metadata"].get("labels"))


class ReplicationControllers(ReplicaSets):
    """The controller of ReplicationControllers: the same with a map of labels as its selector."""

    name = "replicationcontroller-controller"
    component = "replication-controller"
    resource = "replicationcontrollers"
    shows_terminating = False
