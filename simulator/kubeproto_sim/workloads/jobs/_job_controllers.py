"""Jobs: pods that run until enough of them have succeeded or too many have failed; and their clean-up.

Each pod has a finalizer until it has been counted, so that no success and no failure is lost or counted
twice: its uid is recorded in the status first, then the finalizer is removed, then the pod is counted and the
uid is removed. Changes of pods are gathered for a second, as a real controller does.

::

    running ──enough have succeeded──▶ SuccessCriteriaMet ──all pods ended──▶ Complete
       │
       └── too many failures, the deadline, a policy ──▶ FailureTarget ──all pods ended──▶ Failed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubeproto.objects import copy_json

from ...storage._json_values import seconds_of
from ...storage._storage import StoredEvent
from ..loops._control_loop import ControllerContext, ControlLoop, Listener
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl
from ..objects._ownership_claims import controller_of
from ._job_conditions import finished_condition
from ._job_failures import FailureStreak
from ._job_pods import TRACKING, is_tracked
from ._job_sync import JobSync, untrack

_JOBS: Final = "jobs.batch"
_GATHER_SECONDS: Final = 1.0
_POD: Final = "pod:"
_MANAGER: Final = "kubernetes.io/job-controller"


class JobController(OwnerLoop):
    """The controller of Jobs. A key that begins with ``pod:`` is that of a pod."""

    name = "job-controller"
    resource = _JOBS
    finalizer = TRACKING

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pod_control = PodControl(self)
        self._streaks: dict[str, FailureStreak] = {}

    def on_owner(self, event: StoredEvent) -> None:
        super().on_owner(event)
        job = self.objects.get(_JOBS, event.stored.key)
        if event.change == "DELETED" or (job is not None and finished_condition(job) is not None):
            for key in self.context.dependents["pods"].owned(event.stored.uid):
                self.enqueue(_POD + key)

    def on_dependent(self, event: StoredEvent) -> None:
        for owner in self.owner_keys(event):
            self.enqueue(owner, _GATHER_SECONDS)
        if event.change != "DELETED" and TRACKING.encode() in event.stored.data:
            self.enqueue(_POD + event.stored.key)
        if event.change == "ADDED":
            for key in self.selectors.matching(event.stored.namespace, event.stored.labels):
                self.enqueue(key, _GATHER_SECONDS)

    def sync(self, key: str) -> float | None:
        if key.startswith(_POD):
            self._untrack_orphan(key.removeprefix(_POD))
            return None
        job = self.objects.get(_JOBS, key)
        if job is None or finished_condition(job) is not None:
            self._streaks.pop(key, None)
            return None
        if job["spec"].get("managedBy", _MANAGER) != _MANAGER:
            return None
        return JobSync(self, self._pod_control, self._streaks, copy_json(job), self.claimed(job)).run()

    def _untrack_orphan(self, key: str) -> None:
        """Remove the finalizer of a pod whose Job has finished or is missing, so that it can be deleted."""
        pod = self.objects.get("pods", key)
        if pod is None or not is_tracked(pod):
            return
        reference = controller_of(pod)
        if reference is not None:
            if reference["kind"] != "Job":
                return
            job = self.objects.get(_JOBS, f"{pod['metadata']['namespace']}/{reference['name']}")
            if (
                job is not None
                and job["metadata"]["uid"] == reference["uid"]
                and finished_condition(job) is None
            ):
                return
        untrack(self, pod)

    def adopt(self, other: ControlLoop) -> None:
        super().adopt(other)
        if isinstance(other, JobController):
            self._streaks = dict(other._streaks)


class TtlAfterFinishedController(ControlLoop):
    """The controller that deletes finished Jobs after `ttlSecondsAfterFinished`, with their pods."""

    name = "ttl-after-finished-controller"

    def listeners(self) -> Mapping[str, Listener]:
        return {_JOBS: self._on_job}

    def _on_job(self, event: StoredEvent) -> None:
        if event.change != "DELETED" and b'"ttlSecondsAfterFinished":' in event.stored.data:
            self.enqueue(event.stored.key)

    def sync(self, key: str) -> float | None:
        job = self.objects.get(_JOBS, key)
        if job is None or "deletionTimestamp" in job["metadata"]:
            return None
        ttl, end = job["spec"].get("ttlSecondsAfterFinished"), finished_condition(job)
        if ttl is None or end is None:
            return None
        remaining: float = seconds_of(end["lastTransitionTime"]) + ttl - self.objects.now
        if remaining > 0:
            return remaining
        self.objects.delete(_JOBS, key, self.user, uid=job["metadata"]["uid"], policy="Foreground")
        return None
