"""Jobs: pods that run until enough of them have succeeded, or too many have failed.

Each pod carries a finalizer until it has been counted, so that no success and no failure is lost or counted
twice: its uid is recorded in the status first, then the finalizer is removed, then the pod is counted and the
uid is removed. Changes of pods are gathered for a second, as a real controller does.

::

    running ──enough have succeeded──▶ SuccessCriteriaMet ──all pods ended──▶ Complete
       │
       └── too many failures, the deadline, a policy ──▶ FailureTarget ──all pods ended──▶ Failed
"""

from __future__ import annotations

from typing import Final

from ...storage._json_values import copied
from ...storage._storage import StoredEvent
from ..facts._objects import Json
from ..facts._ownership import controller_of, key_of
from ..loops._loop import ControlLoop, Shared
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl
from ._job_backoff import Failures
from ._job_conditions import end_of
from ._job_pods import TRACKING, is_tracked
from ._job_sync import JobSync

_GATHERS: Final = 1.0  # seconds
_POD: Final = "pod:"
_MANAGER: Final = "kubernetes.io/job-controller"


class Jobs(OwnerLoop):
    """The controller of Jobs."""

    name = "job-controller"
    resource = "jobs.batch"
    finalizer = TRACKING

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.pods = PodControl(self)
        self.failures_of: dict[str, Failures] = {}

    def on_own(self, event: StoredEvent) -> None:
        super().on_own(event)
        found = self.objects.get(self.resource, event.stored.key)
        if event.change == "DELETED" or (found is not None and end_of(found) is not None):
            for key in self.shared.owners["pods"].owned(event.stored.uid):
                self.enqueue(_POD + key)

    def on_dependent(self, event: StoredEvent) -> None:
        for owner in self.owners_in(event):
            self.enqueue(owner, _GATHERS)
        if event.change != "DELETED" and TRACKING.encode() in event.stored.data:
            self.enqueue(_POD + event.stored.key)
        if event.change == "ADDED":
            for key in self.selectors.matching(event.stored.namespace, event.stored.labels):
                self.enqueue(key, _GATHERS)

    def sync(self, key: str) -> float | None:
        if key.startswith(_POD):
            self._let_go(key.removeprefix(_POD))
            return None
        found = self.objects.get(self.resource, key)
        if found is None or end_of(found) is not None:
            self.failures_of.pop(key, None)
            return None
        if found["spec"].get("managedBy", _MANAGER) != _MANAGER:
            return None
        return JobSync(self, copied(found), self.claimed(found)).run()

    def untrack(self, pod: Json) -> None:
        """Remove the finalizer of a pod that has been counted, or need not be."""
        key = key_of(pod)
        if self.objects.stored("pods", key) is not None:
            self.objects.update("pods", key, _without_tracking, self.user)

    def _let_go(self, key: str) -> None:
        """Remove the finalizer of a pod whose Job is gone or finished, so that the pod can be deleted."""
        pod = self.objects.get("pods", key)
        if pod is None or not is_tracked(pod):
            return
        reference = controller_of(pod)
        if reference is not None:
            if reference["kind"] != "Job":
                return
            job = self.objects.get(self.resource, f"{pod['metadata']['namespace']}/{reference['name']}")
            if job is not None and job["metadata"]["uid"] == reference["uid"] and end_of(job) is None:
                return
        self.untrack(pod)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, Jobs):
            self.failures_of = dict(other.failures_of)


def _without_tracking(pod: Json) -> None:
    left = [one for one in pod["metadata"].get("finalizers", ()) if one != TRACKING]
    if left:
        pod["metadata"]["finalizers"] = left
    else:
        pod["metadata"].pop("finalizers", None)
