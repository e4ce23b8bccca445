"""Jobs that have finished are deleted after `ttlSecondsAfterFinished`, and their pods with them."""

from __future__ import annotations

from collections.abc import Mapping

from ...storage._json_values import seconds_of
from ...storage._storage import StoredEvent
from ..loops._loop import ControlLoop, Listener
from ._job_conditions import end_of

_JOBS = "jobs.batch"


class TtlAfterFinished(ControlLoop):
    """The controller that cleans up Jobs."""

    name = "ttl-after-finished-controller"

    def follows(self) -> Mapping[str, Listener]:
        return {_JOBS: self._on_job}

    def _on_job(self, event: StoredEvent) -> None:
        if event.change != "DELETED" and b'"ttlSecondsAfterFinished":' in event.stored.data:
            self.enqueue(event.stored.key)

    def sync(self, key: str) -> float | None:
        job = self.objects.get(_JOBS, key)
        if job is None or "deletionTimestamp" in job["metadata"]:
            return None
        ttl, end = job["spec"].get("ttlSecondsAfterFinished"), end_of(job)
        if ttl is None or end is None:
            return None
        left: float = seconds_of(end["lastTransitionTime"]) + ttl - self.objects.now
        if left > 0:
            return left
        self.objects.delete(_JOBS, key, self.user, uid=job["metadata"]["uid"], policy="Foreground")
        return None
