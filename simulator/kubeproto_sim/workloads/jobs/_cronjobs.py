"""CronJobs: a Job for each time of a schedule, named after its minute.

A missed time is made up for once, if no more than `startingDeadlineSeconds` have passed; if several were
missed, the latest counts. `concurrencyPolicy` says what happens while a Job still runs: Allow starts another
one, Forbid skips it, Replace deletes the one that runs.
"""

from __future__ import annotations

import datetime
from typing import Final

from ..._rejections import Rejection
from ...storage._json_values import copied, listed, member, seconds_of
from ...storage._storage import StoredEvent
from ...writing._cron import BadSchedule, Schedule, read_schedule
from ..facts._objects import Json, message_of, reason_of
from ..facts._ownership import is_controlled_by, key_of, reference_to
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import is_namespace_going
from ._job_conditions import COMPLETE, FAILED, end_of

_JOBS: Final = "jobs.batch"
_DELTA: Final = 0.1  # seconds after its time at which a Job is started
_MANY: Final = 100
_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_TOO_MANY: Final = (
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
)


class CronJobs(OwnerLoop):
    """The controller of CronJobs."""

    name = "cronjob-controller"
    resource = "cronjobs.batch"
    dependents = _JOBS

    def on_own(self, event: StoredEvent) -> None:
        key, before = event.stored.key, event.before
        if event.change == "DELETED":
            self.queue.discard(key)
            return
        found = self.objects.get(self.resource, key)
        if before is not None and found is not None:
            served = self.objects.state.kinds.of_storage(self.resource)
            assert served is not None  # a kind of the server's own
            was = served.read(before.data)["spec"]
            spec = found["spec"]
            if any(was.get(name) != spec.get(name) for name in ("schedule", "timeZone")):
                # Past times of the new schedule do not count as missed.
                timing = self._timing(found)
                if timing is not None:
                    self.enqueue(key, self._until_next(found, *timing))
                return
        self.enqueue(key)

    def on_dependent(self, event: StoredEvent) -> None:
        for owner in self.owners_in(event):
            self.enqueue(owner)

    def sync(self, key: str) -> float | None:
        found = self.objects.get(self.resource, key)
        if found is None:
            return None
        job = copied(found)
        status: Json = job.setdefault("status", {})
        before = copied(status)
        jobs = [
            one
            for it in self.shared.owners[_JOBS].owned(job["metadata"]["uid"])
            if (one := self.objects.get(_JOBS, it)) is not None and is_controlled_by(one, job)
        ]
        self._clean_up(job, jobs)
        self._follow(job, jobs)
        try:
            return self._start(job)
        finally:
            if not status.get("active"):
                status.pop("active", None)
            if status != before:
                self.objects.set_status(self.resource, key, status, self.user)

    # Jobs that have been started.

    def _clean_up(self, cron: Json, jobs: list[Json]) -> None:
        """Delete the oldest Jobs that have finished, beyond what is kept of either kind."""
        spec = cron["spec"]
        for kind, limit in ((COMPLETE, spec.get("successfulJobsHistoryLimit")),
                            (FAILED, spec.get("failedJobsHistoryLimit"))):  # fmt: skip
            finished = [job for job in jobs if _outcome(job) == kind]
            finished.sort(key=_started)
            for job in finished[: max(len(finished) - limit, 0)] if limit is not None else ():
                self._delete(cron, job)

    def _follow(self, cron: Json, jobs: list[Json]) -> None:
        """Update the list of running Jobs, and the time of the latest success."""
        status = cron["status"]
        active = {one["uid"] for one in listed(status, "active")}
        for job in jobs:
            uid, end, name = job["metadata"]["uid"], _outcome(job), job["metadata"]["name"]
            if end is None:
                if uid not in active:
                    said = f"Saw a job that the controller did not create or forgot: {name}"
                    self._record(cron, "UnexpectedJob", said, warning=True)
                continue
            if uid in active:
                _forget(status, uid)
                word = "condition" if self.objects.state.release.interim_job_conditions else "status"
                self._record(cron, "SawCompletedJob", f"Saw completed job: {name}, {word}: {end}")
            at = member(job, "status").get("completionTime")
            if end == COMPLETE and at and at > status.get("lastSuccessfulTime", ""):
                status["lastSuccessfulTime"] = at
        there = {job["metadata"]["uid"] for job in jobs}
        for one in listed(status, "active"):
            if one["uid"] in there:
                continue
            if self.objects.stored(_JOBS, f"{one['namespace']}/{one['name']}") is None:
                self._record(cron, "MissingJob", f"Active job went missing: {one['name']}")
                _forget(status, one["uid"])

    # The next one.

    def _start(self, cron: Json) -> float | None:
        """Start what is due; return after how many seconds the next one is due."""
        spec, status = cron["spec"], cron["status"]
        if "deletionTimestamp" in cron["metadata"]:
            return None
        timing = self._timing(cron)
        if timing is None or spec.get("suspend"):
            return None
        at, many = self._missed(cron, *timing, with_deadline=True)
        left = self._until_next(cron, *timing)
        if at is None:
            return left
        if many:
            self._record(cron, "TooManyMissedTimes", _TOO_MANY, warning=True)
        name = f"{cron['metadata']['name']}-{int(at) // 60}"
        if self._is_too_late(cron, at) or _has_started(status, name, at) or self._is_forbidden(cron):
            return left
        if spec.get("concurrencyPolicy") == "Replace":
            self._replace(cron)
        made = self._create(cron, name, at, timing[1])
        if made is None:
            return None
        meta = made["metadata"]
        status.setdefault("active", []).append({
            "kind": "Job", "namespace": meta["namespace"], "name": name, "uid": meta["uid"],
            "apiVersion": "batch/v1", "resourceVersion": meta["resourceVersion"],
        })  # fmt: skip
        status["lastScheduleTime"] = _stamp(at)
        return self._until_next(cron, *timing)

    def _is_too_late(self, cron: Json, at: float) -> bool:
        deadline = cron["spec"].get("startingDeadlineSeconds")
        if deadline is None or at + deadline >= self.objects.now:
            return False
        when = datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
        said = f"Missed scheduled time to start a job: {when}"
        self._record(cron, "MissSchedule", said, warning=True)
        return True

    def _is_forbidden(self, cron: Json) -> bool:
        """Whether a Job is running, and none may run beside it."""
        if cron["spec"].get("concurrencyPolicy") != "Forbid" or not listed(cron["status"], "active"):
            return False
        said = "Not starting job because prior execution is running and concurrency policy is Forbid"
        self._record(cron, "JobAlreadyActive", said)
        return True

    def _timing(self, cron: Json) -> tuple[Schedule, datetime.tzinfo] | None:
        """Return the schedule of a CronJob and its time zone; None, with an Event, if either is unknown."""
        zone, name = datetime.UTC, cron["spec"].get("timeZone")
        if name is not None:
            found = self.objects.state.time_zone(name)
            if found is None:
                said = f'invalid timeZone: "{name}": unknown time zone {name}'
                self._record(cron, "UnknownTimeZone", said, warning=True)
                return None
            return read_schedule(cron["spec"]["schedule"]), found
        try:
            return read_schedule(cron["spec"]["schedule"]), zone
        except BadSchedule as error:
            said = f'unparseable schedule: "{cron["spec"]["schedule"]}" : {error}'
            self._record(cron, "UnparseableSchedule", said, warning=True)
            return None

    def _missed(
        self, cron: Json, schedule: Schedule, zone: datetime.tzinfo, *, with_deadline: bool
    ) -> tuple[float | None, bool]:
        """Return the latest time that was missed, and whether too many were."""
        now = self.objects.now
        earliest = _earliest(cron)
        deadline = cron["spec"].get("startingDeadlineSeconds")
        if with_deadline and deadline is not None:
            earliest = max(earliest, now - deadline)
        first = schedule.after(earliest, zone)
        if first is None or first > now:
            return None, False
        second = schedule.after(first, zone)
        if second is None or second > now:
            return first, False
        apart = max(round(second - first), 1)
        missed = int(now - first) // apart + 1
        latest, at = None, schedule.after(first + (missed - 2) * apart, zone)
        while at is not None and at <= now:
            latest, at = at, schedule.after(at, zone)
        return latest, missed > _MANY

    def _until_next(self, cron: Json, schedule: Schedule, zone: datetime.tzinfo) -> float:
        latest, _ = self._missed(cron, schedule, zone, with_deadline=False)
        following = schedule.after(_earliest(cron) if latest is None else latest, zone)
        if following is None:
            return 10.0 * 365 * 86400  # practically never
        return following + _DELTA - self.objects.now

    # What is written.

    def _create(self, cron: Json, name: str, at: float, zone: datetime.tzinfo) -> Json | None:
        template: Json = copied(cron["spec"]["jobTemplate"])
        meta = member(template, "metadata")
        when = datetime.datetime.fromtimestamp(int(at), zone).isoformat().replace("+00:00", "Z")
        made: Json = {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": name, "namespace": cron["metadata"]["namespace"],
                "annotations": meta.get("annotations", {}) | {_SCHEDULED: when},
                "ownerReferences": [reference_to(cron)],
            },
            "spec": template["spec"],
        }  # fmt: skip
        if labels := meta.get("labels"):
            made["metadata"]["labels"] = labels
        try:
            found = self.objects.create(_JOBS, made, self.user)
        except Rejection as refused:
            if reason_of(refused) == "AlreadyExists":
                there = self.objects.get(_JOBS, key_of(made))
                return there if there is not None and is_controlled_by(there, cron) else None
            if not is_namespace_going(refused):
                said = f"Error creating job: {message_of(refused)}"
                self._record(cron, "FailedCreate", said, warning=True)
            raise
        self._record(cron, "SuccessfulCreate", f"Created job {name}")
        return found

    def _replace(self, cron: Json) -> None:
        for one in list(listed(cron["status"], "active")):
            job = self.objects.get(_JOBS, f"{one['namespace']}/{one['name']}")
            if job is not None:
                self._delete(cron, job)

    def _delete(self, cron: Json, job: Json) -> None:
        meta = job["metadata"]
        try:
            self.objects.delete(_JOBS, key_of(job), self.user, policy="Background")
        except Rejection as refused:
            self._record(cron, "FailedDelete", f"Deleted job: {message_of(refused)}", warning=True)
            return
        _forget(cron["status"], meta["uid"])
        self._record(cron, "SuccessfulDelete", f"Deleted job {meta['name']}")

    def _record(self, cron: Json, reason: str, message: str, *, warning: bool = False) -> None:
        self.shared.recorder.record(cron, reason, message, self.component, warning=warning)


def _outcome(job: Json) -> str | None:
    """Return how a Job has finished; None if it has not."""
    end = end_of(job)
    return None if end is None else str(end["type"])


def _started(job: Json) -> tuple[bool, str, str]:
    at = member(job, "status").get("startTime", "")
    return not at, at, job["metadata"]["name"]


def _has_started(status: Json, name: str, at: float) -> bool:
    """Whether the Job of a time is active, or was started."""
    last = status.get("lastScheduleTime")
    return any(one["name"] == name for one in listed(status, "active")) or (
        last is not None and seconds_of(last) == at
    )


def _earliest(cron: Json) -> float:
    """Return the time since which a CronJob has started nothing."""
    last = member(cron, "status").get("lastScheduleTime")
    return seconds_of(last or cron["metadata"]["creationTimestamp"])


def _forget(status: Json, uid: str) -> None:
    status["active"] = [one for one in listed(status, "active") if one["uid"] != uid]


def _stamp(at: float) -> str:
    return datetime.datetime.fromtimestamp(int(at), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
