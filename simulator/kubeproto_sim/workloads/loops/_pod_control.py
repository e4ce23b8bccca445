"""Creating pods from a template and deleting them, with the Events about that."""

from __future__ import annotations

from ..._rejections import Rejection
from ...storage._json_values import copied, member
from ..facts._objects import Json, message_of
from ..facts._ownership import key_of, reference_to
from ._loop import ControlLoop

_NAMESPACE_GOING = "NamespaceTerminating"


def pod_from(template: Json, owner: Json) -> Json:
    """Return the pod that a template describes, as its owner makes it."""
    found: Json = copied(template)
    meta = member(found, "metadata")
    kept: Json = {name: meta[name] for name in ("labels", "annotations", "finalizers") if meta.get(name)}
    kept["namespace"] = owner["metadata"]["namespace"]
    kept["generateName"] = f"{owner['metadata']['name']}-"
    kept["ownerReferences"] = [reference_to(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": found.get("spec") or {}}


class PodControl:
    """Creates and deletes pods for one controller."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop

    def create(self, pod: Json, owner: Json) -> Json:
        """Create a pod; or `Rejection`, with an Event about it."""
        try:
            made = self._loop.objects.create("pods", pod, self._loop.user)
        except Rejection as refused:
            if not is_namespace_going(refused):
                self._record(owner, "FailedCreate", f"Error creating: {message_of(refused)}", warning=True)
            raise
        self._record(owner, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}")
        return made

    def delete(self, pod: Json, owner: Json) -> None:
        """Delete a pod; or `Rejection`, with an Event about it."""
        try:
            if not self._loop.objects.delete(
                "pods", key_of(pod), self._loop.user, uid=pod["metadata"]["uid"]
            ):
                return
        except Rejection as refused:
            self._record(owner, "FailedDelete", f"Error deleting: {message_of(refused)}", warning=True)
            raise
        self._record(owner, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}")

    def _record(self, owner: Json, reason: str, message: str, *, warning: bool = False) -> None:
        component = self._loop.component
        self._loop.shared.recorder.record(owner, reason, message, component, warning=warning)


def is_namespace_going(refused: Rejection) -> bool:
    """Whether a write was refused because its namespace is being deleted."""
    causes = refused.status.get("details", {}).get("causes") or ()
    return any(cause.get("reason") == _NAMESPACE_GOING for cause in causes)


def slow_start(count: int) -> list[int]:
    """Return the sizes of batches in which `count` pods are created: a batch that fails is the last one."""
    sizes: list[int] = []
    size = 1
    while count > 0:
        sizes.append(min(size, count))
        count -= size
        size *= 2
    return sizes
