"""The Events about creating, repairing and deleting the pods and claims of StatefulSets."""

from __future__ import annotations

from ..._rejections import Rejection
from ..facts._objects import Json, message_of
from ..loops._loop import ControlLoop


class SetRecorder:
    """Writes the Events of the controller of StatefulSets."""

    def __init__(self, loop: ControlLoop) -> None:
        self._loop = loop

    def pod(self, verb: str, owner: Json, pod: Json, refused: Rejection | None = None) -> None:
        """Report what happened to a pod."""
        about = f"{verb} Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']}"
        if refused is None:
            self.record(owner, f"Successful{verb}", f"{about} successful")
        else:
            self.record(owner, f"Failed{verb}", f"{about} failed error: {message_of(refused)}", warning=True)

    def claim(self, owner: Json, pod: Json, name: str, refused: Rejection | None = None) -> None:
        """Report what happened to a claim."""
        in_set = f"Pod {pod['metadata']['name']} in StatefulSet {owner['metadata']['name']}"
        if refused is None:
            self.record(owner, "SuccessfulCreate", f"Create Claim {name} {in_set} success")
        else:
            said = f"Create Claim {name} for {in_set} failed error: {message_of(refused)}"
            self.record(owner, "FailedCreate", said, warning=True)

    def record(self, owner: Json, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an Event about a set."""
        self._loop.shared.recorder.record(owner, reason, message, self._loop.component, warning=warning)
