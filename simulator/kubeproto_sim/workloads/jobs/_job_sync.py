"""One sync of a Job: its pods are counted, pods are created or deleted, and the status is written."""

from __future__ import annotations

from typing import Final, Protocol

from ..._rejections import Rejection
from ...storage._json_values import copied, member, seconds_of
from ..facts._conditions import find_condition
from ..facts._objects import Json, Objects
from ..facts._ownership import key_of
from ..facts._pods import is_active, is_finished, is_ready, is_terminating, phase
from ..loops._loop import Shared
from ..loops._pod_control import PodControl, is_namespace_going, slow_start
from ._job_backoff import Failures, after_pods, has_restarted_too_often, time_left
from ._job_conditions import (
    COMPLETE,
    FAILED,
    MET,
    SUSPENDED,
    TARGET,
    ensure_condition,
    job_condition,
)
from ._job_index_counts import IndexCounts, is_valid
from ._job_indexes import pending_indexes, write_indexes
from ._job_pods import (
    has_failed,
    index_of,
    is_indexed,
    is_tracked,
    limits_each_index,
    new_pod,
    replaces_failed_alone,
    surplus_pods,
)
from ._job_policies import judge_failure, judge_success

_AT_ONCE: Final = 500


class JobLoop(Protocol):
    """What a sync needs of the controller that runs it."""

    component: str
    resource: str
    objects: Objects
    shared: Shared
    pods: PodControl
    failures_of: dict[str, Failures]

    @property
    def user(self) -> str:
        """The service account that it acts as."""
        ...

    def untrack(self, pod: Json) -> None:
        """Remove the finalizer of a pod that has been counted, or need not be."""
        ...


class JobSync:
    """A Job with its pods, during one sync."""

    def __init__(self, loop: JobLoop, job: Json, pods: list[Json]) -> None:
        self._loop = loop
        self._objects = loop.objects
        self._key = key_of(job)
        self.job = job
        self.pods = pods
        self.active = [pod for pod in pods if is_active(pod)]
        self.status: Json = job.setdefault("status", {})
        self.ready = sum(map(is_ready, self.active))
        self.running = len(self.active)
        self.terminating = sum(1 for pod in pods if is_terminating(pod) and not is_finished(pod))
        uncounted = member(self.status, "uncountedTerminatedPods")
        self._known_succeeded = set(uncounted.get("succeeded", ()))
        self._known_failed = set(uncounted.get("failed", ()))
        self.status["uncountedTerminatedPods"] = dict(uncounted)
        self.completions: int | None = job["spec"].get("completions")
        self._again: float | None = None
        self._indexes = IndexCounts.read(job, pods, self.active)

    @property
    def suspended(self) -> bool:
        """Whether the Job is suspended: no pods are to run."""
        return bool(self.job["spec"].get("suspend"))

    def run(self) -> float | None:
        """Take the next step of the Job; return after how many seconds it must be synced again."""
        status, stamp = self.status, self._objects.stamp
        new_succeeded = [pod for pod in self._uncounted(self._known_succeeded) if phase(pod) == "Succeeded"]
        new_failed = [pod for pod in self._uncounted(self._known_failed) if has_failed(pod, self.job)]
        self.succeeded = status.get("succeeded", 0) + len(new_succeeded) + len(self._known_succeeded)
        counting = sum(judge_failure(self.job, pod).counts for pod in new_failed)
        self.failed = status.get("failed", 0) + counting + len(self._known_failed)
        if "startTime" not in status and not self.suspended:
            status["startTime"] = stamp
        known = self._loop.failures_of.get(self._key, Failures())
        self.failures = after_pods(known, new_succeeded, new_failed)
        if is_indexed(self.job):
            self.succeeded = len(self._indexes.succeeded)
        end = self._end()
        refused: Rejection | None = None
        changed = False
        if end is not None:
            for pod in self.active:
                self._delete(pod)
        else:
            refused = self._try_to_manage()
            if self._has_enough() and not self.running:
                said = "Reached expected number of succeeded pods"
                end = self._condition(MET, "True", "CompletionsReached", said)
            elif not self._is_going:
                changed = self._note_suspension()
        now = {"active": self.running, "ready": self.ready, "terminating": self.terminating}
        changed |= any(
            status.get(name, -1 if name != "active" else 0) != count for name, count in now.items()
        )
        status |= now
        self._track(end, changed=changed)
        if refused is not None:
            raise refused
        return self._again

    @property
    def _is_going(self) -> bool:
        return "deletionTimestamp" in self.job["metadata"]

    def _has_enough(self) -> bool:
        least = self.completions if self.completions is not None else 1
        return bool(self.succeeded >= least)

    def _try_to_manage(self) -> Rejection | None:
        """Create and delete pods; return why the server refused one, for the status is written even so."""
        try:
            if not self._is_going:
                self._manage()
        except Rejection as refused:
            return refused
        return None

    # Counting the pods.

    def _uncounted(self, known: set[str]) -> list[Json]:
        """Return the pods that have not been counted yet, in any phase."""
        return [
            pod
            for pod in self.pods
            if is_tracked(pod) and pod["metadata"]["uid"] not in known and is_valid(pod, self.job)
        ]

    # How the Job ends.

    def _end(self) -> Json | None:
        """Return the condition with which the Job ends, if it does."""
        met = find_condition(self.status, MET)
        if met is not None and met["status"] == "True":
            return met
        target = find_condition(self.status, TARGET)
        if target is not None and target["status"] == "True":
            return self._condition(FAILED, "True", target["reason"], target["message"])
        for pod in self.pods if "podFailurePolicy" in self.job["spec"] else ():
            if has_failed(pod, self.job) and (said := judge_failure(self.job, pod).message):
                return self._condition(TARGET, "True", "PodFailurePolicy", said)
        if (why := self._failure()) is not None:
            return self._condition(TARGET, "True", *why)
        if is_indexed(self.job) and (said_of := judge_success(self.job, self._indexes.succeeded)) is not None:
            return self._condition(MET, "True", "SuccessPolicy", said_of)
        return None

    def _failure(self) -> tuple[str, str] | None:
        spec = self.job["spec"]
        limit: int = spec.get("backoffLimit", 6)
        if self.failed > limit or has_restarted_too_often(self.job, self.pods, limit):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        allowed = spec.get("activeDeadlineSeconds")
        if allowed is not None and not self.suspended and "startTime" in self.status:
            left = seconds_of(self.status["startTime"]) + allowed - self._objects.now
            if left <= 0:
                return "DeadlineExceeded", "Job was active longer than specified deadline"
            self._look_again(left)
        return self._indexes.failure(spec)

    # Creating and deleting pods.

    def _manage(self) -> None:
        spec = self.job["spec"]
        parallelism: int = spec.get("parallelism", 1)
        if self.suspended:
            self._remove(self._surplus(len(self.active)))
            return
        if self.completions is None:
            wanted = self.running if self.succeeded else parallelism
        else:
            wanted = max(min(self.completions - self.succeeded, parallelism), 0)
        if surplus := self._surplus(max(self.running - wanted, 0)):
            self._remove(surplus[:_AT_ONCE])
            return
        ending = self.terminating if replaces_failed_alone(self.job) else 0
        missing = min(wanted - ending - self.running, _AT_ONCE)
        if missing <= 0:
            return
        if not limits_each_index(self.job):
            left = time_left(self.failures, self._objects.now)
            if left > 0:
                self._look_again(left)
                return
        self._create(self._places(missing))

    def _places(self, missing: int) -> list[int | None]:
        """Return the indexes for which pods are to be created; None for a pod without one."""
        if not is_indexed(self.job) or self.completions is None:
            return [None] * missing
        pods = list(self.active)
        if replaces_failed_alone(self.job):
            pods += [pod for pod in self.pods if is_terminating(pod) and not is_finished(pod)]
        taken = {index for pod in pods if (index := index_of(pod)) is not None}
        done = self._indexes.succeeded | (self._indexes.failed or set()) | taken
        pending = pending_indexes(done, missing, self.completions)
        if not limits_each_index(self.job):
            return list(pending)
        waits = {index: self._indexes.time_left(index, self._objects.now) for index in pending}
        if later := [left for left in waits.values() if left > 0]:
            self._look_again(min(later))
        return [index for index, left in waits.items() if left <= 0]

    def _create(self, places: list[int | None]) -> None:
        self.running += len(places)
        made = 0
        for batch in slow_start(len(places)):
            failed: Rejection | None = None
            for index in places[made : made + batch]:
                replaced = self._indexes.waiting.get(index) if index is not None else None
                try:
                    self._loop.pods.create(new_pod(self.job, index, replaced), self.job)
                except Rejection as refused:
                    if not is_namespace_going(refused):
                        failed = refused
                        self.running -= 1
            made += batch
            if failed is not None:
                self.running -= len(places) - made
                raise failed

    def _surplus(self, at_least: int) -> list[Json]:
        return surplus_pods(self.job, self.active, at_least, self._objects.now)

    def _remove(self, pods: list[Json]) -> None:
        """Delete pods that need not be counted."""
        for pod in pods:
            self._loop.untrack(pod)
            self._delete(pod)

    def _delete(self, pod: Json) -> None:
        self._loop.pods.delete(pod, self.job)
        self.running -= 1
        self.terminating += 1
        self.ready -= is_ready(pod)

    # The status.

    def _note_suspension(self) -> bool:
        if self.suspended:
            if not self._ensure(SUSPENDED, "True", "JobSuspended", "Job suspended"):
                return False
            self._record("Suspended", "Job suspended")
            self.status.pop("startTime", None)
            return True
        if not self._ensure(SUSPENDED, "False", "JobResumed", "Job resumed"):
            return False
        self._record("Resumed", "Job resumed")
        self.status["startTime"] = self._objects.stamp
        return True

    def _track(self, end: Json | None, *, changed: bool) -> None:
        """Count the pods that have ended, step by step, and let the Job end when all of them are counted."""
        tracked = {pod["metadata"]["uid"] for pod in self.pods if is_tracked(pod)}
        changed |= _count(self.status, tracked)
        countable = [pod for pod in self.pods if is_tracked(pod) and self._is_countable(pod, end)]
        changed |= self._note(countable, end)
        interim = self._objects.state.release.interim_job_conditions
        if end is not None and end["type"] == TARGET:
            if interim or end["reason"] == "PodFailurePolicy":
                self.status.setdefault("conditions", []).append(end)
            changed, end = True, self._condition(FAILED, "True", end["reason"], end["message"])
        elif end is not None and end["type"] == MET and not interim:
            end = self._condition(COMPLETE, "True", "", "")
        elif end is not None and end["type"] == MET:
            if find_condition(self.status, MET) is None:
                self.status.setdefault("conditions", []).append(end)
                changed = True
            end = self._condition(COMPLETE, "True", end["reason"], end["message"])
        if changed:
            self._write()
        self._loop.failures_of[self._key] = self.failures
        for pod in countable:
            self._loop.untrack(pod)
        changed = _count(self.status, tracked - {pod["metadata"]["uid"] for pod in countable})
        finished = end is not None and self._finish(end)
        if changed or finished:
            self._write()
        if finished and end is not None:
            self._record_end(end)

    def _is_countable(self, pod: Json, end: Json | None) -> bool:
        if self._is_going or end is not None or phase(pod) == "Succeeded":
            return True
        if not has_failed(pod, self.job):
            return False
        index = index_of(pod)
        waiting = self._indexes.waiting.get(index) if index is not None else None
        return waiting is None or waiting["metadata"]["uid"] != pod["metadata"]["uid"]

    def _note(self, countable: list[Json], end: Json | None) -> bool:
        """Record the uids of the pods that are to be counted, and the completed indexes."""
        uncounted: Json = self.status["uncountedTerminatedPods"]
        indexed, before = is_indexed(self.job), copied(self.status)
        new: set[int] = set()
        fails = end is not None and end["type"] != MET
        for pod in countable:
            uid, index = pod["metadata"]["uid"], index_of(pod)
            if phase(pod) == "Succeeded" and uid not in self._known_failed:
                if indexed:
                    new |= {index} if index is not None and is_valid(pod, self.job) else set()
                elif uid not in self._known_succeeded:
                    uncounted.setdefault("succeeded", []).append(uid)
            elif has_failed(pod, self.job) or fails:
                if uid in self._known_failed or not is_valid(pod, self.job):
                    continue
                if judge_failure(self.job, pod).counts:
                    uncounted.setdefault("failed", []).append(uid)
        if indexed:
            done = self._indexes.succeeded | new
            self.status |= {"succeeded": len(done), "completedIndexes": write_indexes(done)}
            if self._indexes.failed is not None:
                self.status["failedIndexes"] = write_indexes(self._indexes.failed)
        return bool(self.status != before)

    def _finish(self, end: Json) -> bool:
        if any(self.status["uncountedTerminatedPods"].values()) or self.terminating:
            return False
        self._ensure(end["type"], end["status"], end["reason"], end["message"])
        if end["type"] == COMPLETE:
            self.status["completionTime"] = self._objects.stamp
        return True

    def _write(self) -> None:
        shown = {name: value for name, value in self.status.items() if value or name not in _OMITTED}
        written = self._objects.update(
            self._loop.resource, self._key, lambda job: job.update(status=shown), self._loop.user, "status"
        )
        self.job["metadata"] = written["metadata"]

    def _record_end(self, end: Json) -> None:
        if end["type"] != COMPLETE:
            self._record(end["reason"], end["message"], warning=True)
            return
        if self.completions is not None and self.status.get("succeeded", 0) > self.completions:
            said = "Too many succeeded pods running after completion count reached"
            self._record("TooManySucceededPods", said, warning=True)
        self._record("Completed", "Job completed")

    def _record(self, reason: str, message: str, *, warning: bool = False) -> None:
        recorder = self._loop.shared.recorder
        recorder.record(self.job, reason, message, self._loop.component, warning=warning)

    def _ensure(self, type_: str, status: str, reason: str, message: str) -> bool:
        return ensure_condition(self.status, self._condition(type_, status, reason, message))

    def _condition(self, type_: str, status: str, reason: str, message: str) -> Json:
        return job_condition(type_, status, reason, message, self._objects.stamp)

    def _look_again(self, after: float) -> None:
        self._again = after if self._again is None else min(self._again, after)


_OMITTED: Final = ("active", "succeeded", "failed", "completedIndexes")


def _count(status: Json, tracked: set[str]) -> bool:
    """Count the pods whose uid is recorded and whose finalizer is gone."""
    uncounted: Json = status["uncountedTerminatedPods"]
    changed = False
    for name in ("succeeded", "failed"):
        uids: list[str] = uncounted.get(name, [])
        left = [uid for uid in uids if uid in tracked]
        if len(left) < len(uids):
            status[name] = status.get(name, 0) + len(uids) - len(left)
            changed = True
        if left:
            uncounted[name] = left
        else:
            uncounted.pop(name, None)
    return changed
