"""One sync of a Job: its pods are counted, pods are created or deleted, and the status is written."""

from __future__ import annotations

from typing import Final

from kubeproto.objects import copy_json

from ..._rejections import Rejection
from ...storage._json_values import member, seconds_of
from ...writing._server_writes import remove_finalizer
from ..loops._control_loop import sooner
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import PodControl, is_namespace_terminating, slow_start_batches
from ..objects._object_client import Json
from ..objects._ownership_claims import key_of
from ..objects._status_conditions import (
    find_condition,
    is_active,
    is_finished,
    is_ready,
    is_terminating,
    phase,
)
from ._job_conditions import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    ensure_condition,
    job_condition,
)
from ._job_failures import (
    FailureStreak,
    extend_streak,
    has_too_many_restarts,
    judge_failure,
    remaining_backoff,
)
from ._job_indexes import IndexResults, pending_indexes, write_indexes
from ._job_pods import (
    TRACKING,
    has_failed,
    has_limit_per_index,
    has_valid_index,
    index_of,
    is_indexed,
    is_tracked,
    new_pod,
    replaces_only_failed,
    surplus_pods,
)

_BURST: Final = 500
_OMITTED_IF_ZERO: Final = ("active", "succeeded", "failed", "completedIndexes")


def untrack(loop: OwnerLoop, pod: Json) -> None:
    """Remove the finalizer of a pod that has been counted, or need not be."""
    key = key_of(pod)
    if loop.objects.stored("pods", key) is not None:
        loop.objects.update("pods", key, lambda obj: remove_finalizer(obj, TRACKING), loop.user)


class JobSync:
    """A Job with its pods, during one sync. `streaks` has the failures in a row of each Job."""

    def __init__(
        self,
        loop: OwnerLoop,
        pod_control: PodControl,
        streaks: dict[str, FailureStreak],
        job: Json,
        pods: list[Json],
    ) -> None:
        self._loop = loop
        self._pod_control = pod_control
        self._streaks = streaks
        self._objects = loop.objects
        self._key = key_of(job)
        self._job = job
        self._pods = pods
        self._active = [pod for pod in pods if is_active(pod)]
        self._status: Json = job.setdefault("status", {})
        self._ready_count = sum(map(is_ready, self._active))
        self._active_count = len(self._active)
        self._terminating_count = sum(1 for pod in pods if is_terminating(pod) and not is_finished(pod))
        uncounted = member(self._status, "uncountedTerminatedPods")
        self._recorded_succeeded = set(uncounted.get("succeeded", ()))
        self._recorded_failed = set(uncounted.get("failed", ()))
        self._status["uncountedTerminatedPods"] = dict(uncounted)
        self._completions: int | None = job["spec"].get("completions")
        self._delay: float | None = None
        self._indexes = IndexResults.read(job, pods, self._active)
        self._streak = streaks.get(self._key, FailureStreak())
        self._succeeded_count = self._failed_count = 0

    def run(self) -> float | None:
        """Take the next step of the Job; return in how many seconds it must be synced again."""
        status = self._status
        self._count_finished_pods()
        if "startTime" not in status and not self._is_suspended:
            status["startTime"] = self._objects.stamp
        end = self._end()
        rejection: Rejection | None = None
        changed = False
        if end is not None:
            for pod in self._active:
                self._delete(pod)
        else:
            rejection = self._try_to_manage()
            if self._has_enough_successes() and not self._active_count:
                message = "Reached expected number of succeeded pods"
                end = self._condition(SUCCESS_CRITERIA_MET, "True", "CompletionsReached", message)
            elif not self._is_terminating:
                changed = self._record_suspension()
        counts = {
            "active": self._active_count, "ready": self._ready_count, "terminating": self._terminating_count,
        }  # fmt: skip
        changed |= any(
            status.get(name, -1 if name != "active" else 0) != count for name, count in counts.items()
        )
        status |= counts
        self._track(end, changed=changed)
        if rejection is not None:
            raise rejection
        return self._delay

    @property
    def _is_suspended(self) -> bool:
        return bool(self._job["spec"].get("suspend"))

    @property
    def _is_terminating(self) -> bool:
        return "deletionTimestamp" in self._job["metadata"]

    def _count_finished_pods(self) -> None:
        """Add the finished pods that are not recorded yet to the counts of the status."""
        status = self._status
        succeeded = [pod for pod in self._unrecorded(self._recorded_succeeded) if phase(pod) == "Succeeded"]
        failed = [pod for pod in self._unrecorded(self._recorded_failed) if has_failed(pod, self._job)]
        self._succeeded_count = status.get("succeeded", 0) + len(succeeded) + len(self._recorded_succeeded)
        counting = sum(judge_failure(self._job, pod).counts for pod in failed)
        self._failed_count = status.get("failed", 0) + counting + len(self._recorded_failed)
        self._streak = extend_streak(self._streak, succeeded, failed)
        if is_indexed(self._job):
            self._succeeded_count = len(self._indexes.succeeded)

    def _unrecorded(self, recorded: set[str]) -> list[Json]:
        """Return the pods, in any phase, that are neither counted nor listed as uncounted."""
        return [
            pod
            for pod in self._pods
            if is_tracked(pod) and pod["metadata"]["uid"] not in recorded and has_valid_index(pod, self._job)
        ]

    # The end of the Job

    def _has_enough_successes(self) -> bool:
        required = self._completions if self._completions is not None else 1
        return bool(self._succeeded_count >= required)

    def _end(self) -> Json | None:
        """Return the condition with which the Job ends, if it does."""
        success_criteria = find_condition(self._status, SUCCESS_CRITERIA_MET)
        if success_criteria is not None and success_criteria["status"] == "True":
            return success_criteria
        target = find_condition(self._status, FAILURE_TARGET)
        if target is not None and target["status"] == "True":
            return self._condition(FAILED, "True", target["reason"], target["message"])
        for pod in self._pods if "podFailurePolicy" in self._job["spec"] else ():
            if has_failed(pod, self._job) and (message := judge_failure(self._job, pod).message):
                return self._condition(FAILURE_TARGET, "True", "PodFailurePolicy", message)
        if (failure := self._failure()) is not None:
            return self._condition(FAILURE_TARGET, "True", *failure)
        if is_indexed(self._job) and (success := self._indexes.success(self._job)) is not None:
            return self._condition(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy", success)
        return None

    def _failure(self) -> tuple[str, str] | None:
        """Return the reason and the message if the Job fails."""
        spec = self._job["spec"]
        limit: int = spec.get("backoffLimit", 6)
        if self._failed_count > limit or has_too_many_restarts(self._job, self._pods, limit):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        timeout = spec.get("activeDeadlineSeconds")
        if timeout is not None and not self._is_suspended and "startTime" in self._status:
            remaining = seconds_of(self._status["startTime"]) + timeout - self._objects.now
            if remaining <= 0:
                return "DeadlineExceeded", "Job was active longer than specified deadline"
            self._delay = sooner(self._delay, remaining)
        return self._indexes.failure(spec)

    # Pods are created and deleted

    def _try_to_manage(self) -> Rejection | None:
        """Create and delete pods; return a rejection, because the status is written even so."""
        try:
            if not self._is_terminating:
                self._manage()
        except Rejection as rejection:
            return rejection
        return None

    def _manage(self) -> None:
        spec = self._job["spec"]
        parallelism: int = spec.get("parallelism", 1)
        if self._is_suspended:
            self._remove(self._surplus(len(self._active)))
            return
        if self._completions is None:
            desired = self._active_count if self._succeeded_count else parallelism
        else:
            desired = max(min(self._completions - self._succeeded_count, parallelism), 0)
        if surplus := self._surplus(max(self._active_count - desired, 0)):
            self._remove(surplus[:_BURST])
            return
        terminating = self._terminating_count if replaces_only_failed(self._job) else 0
        missing = min(desired - terminating - self._active_count, _BURST)
        if missing <= 0:
            return
        if not has_limit_per_index(self._job):
            backoff = remaining_backoff(self._streak, self._objects.now)
            if backoff > 0:
                self._delay = sooner(self._delay, backoff)
                return
        self._create(self._next_indexes(missing))

    def _next_indexes(self, missing: int) -> list[int | None]:
        """Return the indexes of the pods to create; None for each pod of a Job without indexes."""
        if not is_indexed(self._job) or self._completions is None:
            return [None] * missing
        pods = list(self._active)
        if replaces_only_failed(self._job):
            pods += [pod for pod in self._pods if is_terminating(pod) and not is_finished(pod)]
        occupied = {index for pod in pods if (index := index_of(pod)) is not None}
        settled = self._indexes.succeeded | (self._indexes.failed or set()) | occupied
        pending = pending_indexes(settled, missing, self._completions)
        if not has_limit_per_index(self._job):
            return list(pending)
        backoffs = {index: self._indexes.remaining_backoff(index, self._objects.now) for index in pending}
        for backoff in backoffs.values():
            if backoff > 0:
                self._delay = sooner(self._delay, backoff)
        return [index for index, backoff in backoffs.items() if backoff <= 0]

    def _create(self, indexes: list[int | None]) -> None:
        self._active_count += len(indexes)
        start = 0
        for size in slow_start_batches(len(indexes)):
            rejection: Rejection | None = None
            for index in indexes[start : start + size]:
                replaced = self._indexes.awaiting_retry.get(index) if index is not None else None
                try:
                    self._pod_control.create(new_pod(self._job, index, replaced), self._job)
                except Rejection as error:
                    if not is_namespace_terminating(error):
                        rejection = error
                        self._active_count -= 1
            start += size
            if rejection is not None:
                self._active_count -= len(indexes) - start
                raise rejection

    def _surplus(self, count: int) -> list[Json]:
        return surplus_pods(self._job, self._active, count, self._objects.now)

    def _remove(self, pods: list[Json]) -> None:
        """Delete pods that need not be counted."""
        for pod in pods:
            untrack(self._loop, pod)
            self._delete(pod)

    def _delete(self, pod: Json) -> None:
        self._pod_control.delete(pod, self._job)
        self._active_count -= 1
        self._terminating_count += 1
        self._ready_count -= is_ready(pod)

    # The status

    def _record_suspension(self) -> bool:
        if self._is_suspended:
            if not self._ensure_condition(SUSPENDED, "True", "JobSuspended", "Job suspended"):
                return False
            self._record("Suspended", "Job suspended")
            self._status.pop("startTime", None)
            return True
        if not self._ensure_condition(SUSPENDED, "False", "JobResumed", "Job resumed"):
            return False
        self._record("Resumed", "Job resumed")
        self._status["startTime"] = self._objects.stamp
        return True

    def _track(self, end: Json | None, *, changed: bool) -> None:
        """Count the finished pods step by step, and end the Job when all of them are counted."""
        tracked = {pod["metadata"]["uid"] for pod in self._pods if is_tracked(pod)}
        changed |= _count_untracked(self._status, tracked)
        countable = [pod for pod in self._pods if is_tracked(pod) and self._is_countable(pod, end)]
        changed |= self._record_uids(countable, end)
        has_interim_conditions = self._objects.state.release.interim_job_conditions
        if end is not None and end["type"] == FAILURE_TARGET:
            if has_interim_conditions or end["reason"] == "PodFailurePolicy":
                self._status.setdefault("conditions", []).append(end)
            changed, end = True, self._condition(FAILED, "True", end["reason"], end["message"])
        elif end is not None and end["type"] == SUCCESS_CRITERIA_MET and not has_interim_conditions:
            end = self._condition(COMPLETE, "True", "", "")
        elif end is not None and end["type"] == SUCCESS_CRITERIA_MET:
            if find_condition(self._status, SUCCESS_CRITERIA_MET) is None:
                self._status.setdefault("conditions", []).append(end)
                changed = True
            end = self._condition(COMPLETE, "True", end["reason"], end["message"])
        if changed:
            self._write()
        self._streaks[self._key] = self._streak
        for pod in countable:
            untrack(self._loop, pod)
        changed = _count_untracked(self._status, tracked - {pod["metadata"]["uid"] for pod in countable})
        ended = end is not None and self._finish(end)
        if changed or ended:
            self._write()
        if ended and end is not None:
            self._record_end(end)

    def _is_countable(self, pod: Json, end: Json | None) -> bool:
        if self._is_terminating or end is not None or phase(pod) == "Succeeded":
            return True
        if not has_failed(pod, self._job):
            return False
        index = index_of(pod)
        waiting = self._indexes.awaiting_retry.get(index) if index is not None else None
        return waiting is None or waiting["metadata"]["uid"] != pod["metadata"]["uid"]

    def _record_uids(self, countable: list[Json], end: Json | None) -> bool:
        """Record the uids of the pods to count, and the completed indexes; return whether any changed."""
        uncounted: Json = self._status["uncountedTerminatedPods"]
        indexed, previous = is_indexed(self._job), copy_json(self._status)
        completed: set[int] = set()
        job_fails = end is not None and end["type"] != SUCCESS_CRITERIA_MET
        for pod in countable:
            uid, index = pod["metadata"]["uid"], index_of(pod)
            if phase(pod) == "Succeeded" and uid not in self._recorded_failed:
                if indexed:
                    completed |= {index} if index is not None and has_valid_index(pod, self._job) else set()
                elif uid not in self._recorded_succeeded:
                    uncounted.setdefault("succeeded", []).append(uid)
            elif has_failed(pod, self._job) or job_fails:
                if uid in self._recorded_failed or not has_valid_index(pod, self._job):
                    continue
                if judge_failure(self._job, pod).counts:
                    uncounted.setdefault("failed", []).append(uid)
        if indexed:
            completed |= self._indexes.succeeded
            self._status |= {"succeeded": len(completed), "completedIndexes": write_indexes(completed)}
            if self._indexes.failed is not None:
                self._status["failedIndexes"] = write_indexes(self._indexes.failed)
        return bool(self._status != previous)

    def _finish(self, end: Json) -> bool:
        """Set the final condition if all pods have ended and are counted; return whether they are."""
        if any(self._status["uncountedTerminatedPods"].values()) or self._terminating_count:
            return False
        self._ensure_condition(end["type"], end["status"], end["reason"], end["message"])
        if end["type"] == COMPLETE:
            self._status["completionTime"] = self._objects.stamp
        return True

    def _write(self) -> None:
        status = {
            name: value for name, value in self._status.items() if value or name not in _OMITTED_IF_ZERO
        }
        written = self._objects.update(
            self._loop.resource, self._key, lambda job: job.update(status=status), self._loop.user, "status"
        )
        self._job["metadata"] = written["metadata"]

    def _record_end(self, end: Json) -> None:
        if end["type"] != COMPLETE:
            self._record(end["reason"], end["message"], warning=True)
            return
        if self._completions is not None and self._status.get("succeeded", 0) > self._completions:
            message = "Too many succeeded pods running after completion count reached"
            self._record("TooManySucceededPods", message, warning=True)
        self._record("Completed", "Job completed")

    def _record(self, reason: str, message: str, *, warning: bool = False) -> None:
        self._loop.record(self._job, reason, message, warning=warning)

    def _ensure_condition(self, type_: str, status: str, reason: str, message: str) -> bool:
        return ensure_condition(self._status, self._condition(type_, status, reason, message))

    def _condition(self, type_: str, status: str, reason: str, message: str) -> Json:
        return job_condition(type_, status, reason, message, self._objects.stamp)


def _count_untracked(status: Json, tracked: set[str]) -> bool:
    """Count the recorded pods without a finalizer; return whether there were any."""
    uncounted: Json = status["uncountedTerminatedPods"]
    changed = False
    for name in ("succeeded", "failed"):
        uids: list[str] = uncounted.get(name, [])
        remaining = [uid for uid in uids if uid in tracked]
        if len(remaining) < len(uids):
            status[name] = status.get(name, 0) + len(uids) - len(remaining)
            changed = True
        if remaining:
            uncounted[name] = remaining
        else:
            uncounted.pop(name, None)
    return changed
