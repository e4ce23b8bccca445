"""CronJobs: a Job for each time of a schedule, named after its minute.

A missed time is made up for if no more than `startingDeadlineSeconds` have passed; of several missed times
the latest counts. `concurrencyPolicy` applies while a Job still runs: Allow starts another Job, Forbid skips
the time, Replace deletes the running Job.
"""

from __future__ import annotations

import datetime
from typing import Final

from msgspec import Struct

from kubeproto.objects import copy_json

from ..._rejections import Rejection
from ...storage._json_values import member, objects_in, seconds_of
from ...storage._storage import StoredEvent
from ...writing._cron_schedules import InvalidSchedule, Schedule, parse_schedule
from ..loops._owner_loop import OwnerLoop
from ..loops._pod_control import is_namespace_terminating
from ..objects._object_client import Json, message_of, reason_of
from ..objects._ownership_claims import is_controlled_by, key_of, reference_to
from ._job_conditions import COMPLETE, FAILED, finished_condition

_JOBS: Final = "jobs.batch"
_START_DELAY: Final = 0.1  # seconds between a scheduled time and the sync that starts its Job
_MANY_MISSED: Final = 100
_SCHEDULED_TIME: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_TOO_MANY_MISSED: Final = (
    "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
)


class _ZonedSchedule(Struct):
    schedule: Schedule
    zone: datetime.tzinfo

    def next_after(self, time: float) -> float | None:
        return self.schedule.after(time, self.zone)


class CronJobController(OwnerLoop):
    """The controller of CronJobs."""

    name = "cronjob-controller"
    resource = "cronjobs.batch"
    dependents = _JOBS

    def on_owner(self, event: StoredEvent) -> None:
        key, previous = event.stored.key, event.previous
        if event.change == "DELETED":
            self.queue.discard(key)
            return
        cronjob = self.objects.get(self.resource, key)
        if previous is not None and cronjob is not None:
            served = self.objects.state.kinds.of_storage(self.resource)
            assert served is not None  # a kind of the server's own
            old_spec, new_spec = served.read(previous.data)["spec"], cronjob["spec"]
            if any(old_spec.get(name) != new_spec.get(name) for name in ("schedule", "timeZone")):
                # Past times of the new schedule do not count as missed.
                schedule = self._schedule_of(cronjob)
                if schedule is not None:
                    self.enqueue(key, self._seconds_until_next(cronjob, schedule))
                return
        self.enqueue(key)

    def on_dependent(self, event: StoredEvent) -> None:
        for key in self.owner_keys(event):
            self.enqueue(key)

    def sync(self, key: str) -> float | None:
        stored = self.objects.get(self.resource, key)
        if stored is None:
            return None
        cronjob = copy_json(stored)
        status: Json = cronjob.setdefault("status", {})
        previous_status = copy_json(status)
        jobs = [
            job
            for job_key in self.context.dependents[_JOBS].owned(cronjob["metadata"]["uid"])
            if (job := self.objects.get(_JOBS, job_key)) is not None and is_controlled_by(job, cronjob)
        ]
        self._delete_finished(cronjob, jobs)
        self._update_active(cronjob, jobs)
        try:
            return self._start(cronjob)
        finally:
            if not status.get("active"):
                status.pop("active", None)
            if status != previous_status:
                self.objects.set_status(self.resource, key, status, self.user)

    # Jobs that have been started

    def _delete_finished(self, cronjob: Json, jobs: list[Json]) -> None:
        """Delete the oldest finished Jobs beyond the history limits."""
        spec = cronjob["spec"]
        for type_, limit in ((COMPLETE, spec.get("successfulJobsHistoryLimit")),
                             (FAILED, spec.get("failedJobsHistoryLimit"))):  # fmt: skip
            finished = [job for job in jobs if _outcome(job) == type_]
            finished.sort(key=_start_order)
            for job in finished[: max(len(finished) - limit, 0)] if limit is not None else ():
                self._delete(cronjob, job)

    def _update_active(self, cronjob: Json, jobs: list[Json]) -> None:
        """Update the list of active Jobs, and the time of the last success."""
        status = cronjob["status"]
        active_uids = {reference["uid"] for reference in objects_in(status, "active")}
        for job in jobs:
            uid, outcome, name = job["metadata"]["uid"], _outcome(job), job["metadata"]["name"]
            if outcome is None:
                if uid not in active_uids:
                    message = f"Saw a job that the controller did not create or forgot: {name}"
                    self.record(cronjob, "UnexpectedJob", message, warning=True)
                continue
            if uid in active_uids:
                _drop_active(status, uid)
                word = "condition" if self.objects.state.release.interim_job_conditions else "status"
                self.record(cronjob, "SawCompletedJob", f"Saw completed job: {name}, {word}: {outcome}")
            time = member(job, "status").get("completionTime")
            if outcome == COMPLETE and time and time > status.get("lastSuccessfulTime", ""):
                status["lastSuccessfulTime"] = time
        existing_uids = {job["metadata"]["uid"] for job in jobs}
        for reference in objects_in(status, "active"):
            if reference["uid"] in existing_uids:
                continue
            if self.objects.stored(_JOBS, _key_of_reference(reference)) is None:
                self.record(cronjob, "MissingJob", f"Active job went missing: {reference['name']}")
                _drop_active(status, reference["uid"])

    # The next Job

    def _start(self, cronjob: Json) -> float | None:
        """Start the Job that is due; return in how many seconds the next is due."""
        spec, status = cronjob["spec"], cronjob["status"]
        if "deletionTimestamp" in cronjob["metadata"]:
            return None
        schedule = self._schedule_of(cronjob)
        if schedule is None or spec.get("suspend"):
            return None
        time, is_many = self._last_missed(cronjob, schedule, with_deadline=True)
        delay = self._seconds_until_next(cronjob, schedule)
        if time is None:
            return delay
        if is_many:
            self.record(cronjob, "TooManyMissedTimes", _TOO_MANY_MISSED, warning=True)
        name = f"{cronjob['metadata']['name']}-{int(time) // 60}"
        if (
            self._is_too_late(cronjob, time)
            or _has_started(status, name, time)
            or self._is_forbidden(cronjob)
        ):
            return delay
        if spec.get("concurrencyPolicy") == "Replace":
            self._delete_active(cronjob)
        job = self._create(cronjob, name, time, schedule.zone)
        if job is None:
            return None
        meta = job["metadata"]
        status.setdefault("active", []).append({
            "kind": "Job", "namespace": meta["namespace"], "name": name, "uid": meta["uid"],
            "apiVersion": "batch/v1", "resourceVersion": meta["resourceVersion"],
        })  # fmt: skip
        utc = datetime.datetime.fromtimestamp(int(time), datetime.UTC)
        status["lastScheduleTime"] = utc.strftime("%Y-%m-%dT%H:%M:%SZ")
        return self._seconds_until_next(cronjob, schedule)

    def _is_too_late(self, cronjob: Json, time: float) -> bool:
        deadline = cronjob["spec"].get("startingDeadlineSeconds")
        if deadline is None or time + deadline >= self.objects.now:
            return False
        utc = datetime.datetime.fromtimestamp(time, datetime.UTC)
        message = f"Missed scheduled time to start a job: {utc.strftime('%a, %d %b %Y %H:%M:%S +0000')}"
        self.record(cronjob, "MissSchedule", message, warning=True)
        return True

    def _is_forbidden(self, cronjob: Json) -> bool:
        """Return whether an active Job forbids another."""
        if cronjob["spec"].get("concurrencyPolicy") != "Forbid" or not objects_in(
            cronjob["status"], "active"
        ):
            return False
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        self.record(cronjob, "JobAlreadyActive", message)
        return True

    # The schedule

    def _schedule_of(self, cronjob: Json) -> _ZonedSchedule | None:
        """Return the schedule of a CronJob with its time zone; None, with an Event, if either is invalid."""
        text, zone_name = cronjob["spec"]["schedule"], cronjob["spec"].get("timeZone")
        if zone_name is not None:
            zone = self.objects.state.time_zone(zone_name)
            if zone is None:
                message = f'invalid timeZone: "{zone_name}": unknown time zone {zone_name}'
                self.record(cronjob, "UnknownTimeZone", message, warning=True)
                return None
            return _ZonedSchedule(parse_schedule(text), zone)
        try:
            return _ZonedSchedule(parse_schedule(text), datetime.UTC)
        except InvalidSchedule as error:
            message = f'unparseable schedule: "{text}" : {error}'
            self.record(cronjob, "UnparseableSchedule", message, warning=True)
            return None

    def _last_missed(
        self, cronjob: Json, schedule: _ZonedSchedule, *, with_deadline: bool
    ) -> tuple[float | None, bool]:
        """Return the latest missed time, and whether too many were missed."""
        now = self.objects.now
        earliest = _last_schedule_time(cronjob)
        deadline = cronjob["spec"].get("startingDeadlineSeconds")
        if with_deadline and deadline is not None:
            earliest = max(earliest, now - deadline)
        first = schedule.next_after(earliest)
        if first is None or first > now:
            return None, False
        second = schedule.next_after(first)
        if second is None or second > now:
            return first, False
        # A real controller estimates from the first interval and walks only the last times: a schedule of
        # each second that slept for a month would take a million steps.
        interval = max(round(second - first), 1)
        missed_count = int(now - first) // interval + 1
        latest, time = None, schedule.next_after(first + (missed_count - 2) * interval)
        while time is not None and time <= now:
            latest, time = time, schedule.next_after(time)
        return latest, missed_count > _MANY_MISSED

    def _seconds_until_next(self, cronjob: Json, schedule: _ZonedSchedule) -> float:
        latest, _ = self._last_missed(cronjob, schedule, with_deadline=False)
        time = schedule.next_after(_last_schedule_time(cronjob) if latest is None else latest)
        if time is None:
            return 10.0 * 365 * 86400  # practically never
        return time + _START_DELAY - self.objects.now

    # Writes

    def _create(self, cronjob: Json, name: str, time: float, zone: datetime.tzinfo) -> Json | None:
        """Create a Job; return None if a Job of another owner has the name."""
        template: Json = copy_json(cronjob["spec"]["jobTemplate"])
        meta = member(template, "metadata")
        scheduled = datetime.datetime.fromtimestamp(int(time), zone).isoformat().replace("+00:00", "Z")
        job: Json = {
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": name, "namespace": cronjob["metadata"]["namespace"],
                "annotations": meta.get("annotations", {}) | {_SCHEDULED_TIME: scheduled},
                "ownerReferences": [reference_to(cronjob)],
            },
            "spec": template["spec"],
        }  # fmt: skip
        if labels := meta.get("labels"):
            job["metadata"]["labels"] = labels
        try:
            created = self.objects.create(_JOBS, job, self.user)
        except Rejection as rejection:
            if reason_of(rejection) == "AlreadyExists":
                existing = self.objects.get(_JOBS, key_of(job))
                return existing if existing is not None and is_controlled_by(existing, cronjob) else None
            if not is_namespace_terminating(rejection):
                message = f"Error creating job: {message_of(rejection)}"
                self.record(cronjob, "FailedCreate", message, warning=True)
            raise
        self.record(cronjob, "SuccessfulCreate", f"Created job {name}")
        return created

    def _delete_active(self, cronjob: Json) -> None:
        for reference in list(objects_in(cronjob["status"], "active")):
            job = self.objects.get(_JOBS, _key_of_reference(reference))
            if job is not None:
                self._delete(cronjob, job)

    def _delete(self, cronjob: Json, job: Json) -> None:
        meta = job["metadata"]
        try:
            self.objects.delete(_JOBS, key_of(job), self.user, policy="Background")
        except Rejection as rejection:
            # A real controller begins this message with "Deleted" too.
            message = f"Deleted job: {message_of(rejection)}"
            self.record(cronjob, "FailedDelete", message, warning=True)
            return
        _drop_active(cronjob["status"], meta["uid"])
        self.record(cronjob, "SuccessfulDelete", f"Deleted job {meta['name']}")


def _outcome(job: Json) -> str | None:
    """Return the type of the condition with which a Job has finished; None if it has not."""
    end = finished_condition(job)
    return None if end is None else str(end["type"])


def _start_order(job: Json) -> tuple[bool, str, str]:
    time = member(job, "status").get("startTime", "")
    return not time, time, job["metadata"]["name"]


def _has_started(status: Json, name: str, time: float) -> bool:
    """Return whether the Job of a scheduled time is active, or was started."""
    last = status.get("lastScheduleTime")
    return any(reference["name"] == name for reference in objects_in(status, "active")) or (
        last is not None and seconds_of(last) == time
    )


def _last_schedule_time(cronjob: Json) -> float:
    """Return when a CronJob started its last Job, or was created."""
    last = member(cronjob, "status").get("lastScheduleTime")
    return seconds_of(last or cronjob["metadata"]["creationTimestamp"])


def _key_of_reference(reference: Json) -> str:
    return f"{reference['namespace']}/{reference['name']}"


def _drop_active(status: Json, uid: str) -> None:
    status["active"] = [reference for reference in objects_in(status, "active") if reference["uid"] != uid]
