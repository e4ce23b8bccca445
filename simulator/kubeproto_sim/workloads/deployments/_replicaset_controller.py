"""ReplicaSets and ReplicationControllers: as many pods as the spec requires, and their counts."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import Selector

from ..._rejections import Rejection
from ...storage._json_values import member, objects_in
from ..loops._control_loop import ControllerContext
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl, is_namespace_terminating, pod_from, slow_start_batches
from ..objects._deletion_order import in_order_of_deletion
from ..objects._object_client import Json, message_of
from ..objects._ownership_claims import controller_of, is_controlled_by, key_of, selector_of
from ..objects._status_conditions import (
    is_active,
    is_available,
    is_finished,
    is_ready,
    is_terminating,
    seconds_until_available,
)

_BURST: Final = 500  # the maximum number of pods that a sync creates or deletes
_FAILURE: Final = "ReplicaFailure"


class ReplicaSetController(OwnerLoop):
    """The controller of ReplicaSets."""

    name = "replicaset-controller"
    resource = "replicasets.apps"
    reports_terminating = True

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pod_control = PodControl(self)

    def sync(self, key: str) -> float | None:
        owner = self.objects.get(self.resource, key)
        if owner is None:
            return None
        pods = self.owned_or_orphaned(owner)
        active = self.claimed(owner, [pod for pod in pods if is_active(pod)])
        terminating = sum(_is_terminating_replica(pod, owner) for pod in pods)
        rejection: Rejection | None = None
        if "deletionTimestamp" not in owner["metadata"]:
            try:
                self._scale(owner, active)
            except Rejection as error:
                rejection = error
        now = self.objects.now
        status = self._status(owner, active, terminating, rejection)
        self.objects.set_status(self.resource, key, status, self.user)
        if rejection is not None:
            raise rejection
        return seconds_until_available(active, owner["spec"].get("minReadySeconds", 0), now)

    def _scale(self, owner: Json, active: list[Json]) -> None:
        missing = owner["spec"].get("replicas", 1) - len(active)
        if missing > 0:
            self._create(owner, min(missing, _BURST))
        elif missing < 0:
            related = [] if len(active) <= -missing else self._related_pods(owner)
            in_order = in_order_of_deletion(active, related, self.objects.now)
            for pod in in_order[: min(-missing, _BURST)]:
                self._pod_control.delete(pod, owner)

    def _create(self, owner: Json, count: int) -> None:
        for size in slow_start_batches(count):
            rejection: Rejection | None = None
            for _ in range(size):
                try:
                    self._pod_control.create(pod_from(owner["spec"].get("template") or {}, owner), owner)
                except Rejection as error:
                    if not is_namespace_terminating(error):
                        rejection = error
            if rejection is not None:
                raise rejection

    def _related_pods(self, owner: Json) -> list[Json]:
        """Return the pods of all sets with the same owner: those that share a node are deleted first."""
        reference = controller_of(owner)
        if reference is None:
            keys = [key_of(owner)]
        else:
            keys = self.context.dependents[self.resource].owned(reference["uid"])
        pods: list[Json] = []
        for key in keys:
            if (sibling := self.objects.get(self.resource, key)) is None:
                continue
            for pod_key in self.context.dependents["pods"].owned(sibling["metadata"]["uid"]):
                pod = self.objects.get("pods", pod_key)
                if pod is not None and is_controlled_by(pod, sibling):
                    pods.append(pod)
        return pods

    def _status(self, owner: Json, active: list[Json], terminating: int, rejection: Rejection | None) -> Json:
        spec, now = owner["spec"], self.objects.now
        template_labels = Selector.of(member(member(member(spec, "template"), "metadata"), "labels"))
        min_ready = spec.get("minReadySeconds", 0)
        counts = {
            "fullyLabeledReplicas": sum(
                template_labels.matches(pod["metadata"].get("labels")) for pod in active
            ),
            "readyReplicas": sum(map(is_ready, active)),
            "availableReplicas": sum(is_available(pod, min_ready, now) for pod in active),
            "observedGeneration": owner["metadata"].get("generation", 0),
        }
        status: Json = {"replicas": len(active)} | {name: count for name, count in counts.items() if count}
        if self.reports_terminating:
            status["terminatingReplicas"] = terminating
        conditions = self._conditions(owner, len(active), rejection)
        return status | {"conditions": conditions} if conditions else status

    def _conditions(self, owner: Json, active: int, rejection: Rejection | None) -> list[Json]:
        conditions = objects_in(member(owner, "status"), "conditions")
        if rejection is None:
            return [condition for condition in conditions if condition["type"] != _FAILURE]
        if any(condition["type"] == _FAILURE for condition in conditions):
            return conditions
        reason = "FailedCreate" if active < owner["spec"].get("replicas", 1) else "FailedDelete"
        stamp = self.objects.stamp
        return [*conditions, {
            "type": _FAILURE, "status": "True", "lastTransitionTime": stamp, "reason": reason,
            "message": message_of(rejection),
        }]  # fmt: skip


class ReplicationControllerController(ReplicaSetController):
    """The controller of ReplicationControllers, whose selector is a map of labels."""

    name = "replicationcontroller-controller"
    component = "replication-controller"
    resource = "replicationcontrollers"
    reports_terminating = False


def _is_terminating_replica(pod: Json, owner: Json) -> bool:
    """Return whether an owner controls and selects an unfinished pod that is being deleted."""
    if not is_terminating(pod) or is_finished(pod) or not is_controlled_by(pod, owner):
        return False
    return selector_of(owner).matches(pod["metadata"].get("labels"))
