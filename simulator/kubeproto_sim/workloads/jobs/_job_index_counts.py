"""The indexes of an indexed Job: which have succeeded, which have failed, and which wait to be replaced."""

from __future__ import annotations

from ..facts._objects import Json
from ..facts._pods import phase
from ._job_backoff import Failures, time_left
from ._job_indexes import read_indexes
from ._job_pods import (
    failure_counts,
    finished_at,
    has_failed,
    index_of,
    is_indexed,
    is_tracked,
    limits_each_index,
)
from ._job_policies import judge_failure


class IndexCounts:
    """The indexes of a Job, by what became of their pods; empty for a Job without indexes."""

    def __init__(self) -> None:
        self.succeeded: set[int] = set()
        self.failed: set[int] | None = None  # None unless failures are counted for each index
        self.waiting: dict[int, Json] = {}  # failed pods that stay until they are replaced

    @classmethod
    def read(cls, job: Json, pods: list[Json], active: list[Json]) -> IndexCounts:
        """Return the indexes that the status of a Job records, and those of pods not counted yet."""
        counts = cls()
        completions: int | None = job["spec"].get("completions")
        if not is_indexed(job) or completions is None:
            return counts
        status = job["status"]
        indexed = [(index_of(pod), pod) for pod in pods if is_tracked(pod)]
        tracked = [(index, pod) for index, pod in indexed if index is not None and index < completions]
        counts.succeeded = read_indexes(status.get("completedIndexes", ""), completions)
        counts.succeeded |= {index for index, pod in tracked if phase(pod) == "Succeeded"}
        if not limits_each_index(job):
            return counts
        counts.failed = read_indexes(status.get("failedIndexes") or "", completions)
        counts.failed |= {index for index, pod in tracked if _fails_index(pod, job)}
        done = counts.succeeded | counts.failed | {index_of(pod) for pod in active}
        for index, pod in tracked:
            if index not in done and has_failed(pod, job):
                other = counts.waiting.get(index)
                if other is None or _is_later(pod, other):
                    counts.waiting[index] = pod
        return counts

    def failure(self, spec: Json) -> tuple[str, str] | None:
        """Return why the Job fails because of its indexes, if it does."""
        if self.failed is None:
            return None
        most = spec.get("maxFailedIndexes")
        if most is not None and len(self.failed) > most:
            said = "Job has exceeded the specified maximal number of failed indexes"
            return "MaxFailedIndexesExceeded", said
        if self.failed and len(self.failed) + len(self.succeeded) >= spec["completions"]:
            return "FailedIndexes", "Job has failed indexes"
        return None

    def time_left(self, index: int, now: float) -> float:
        """Return how many seconds an index still waits for its next pod."""
        failed = self.waiting.get(index)
        if failed is None:
            return 0.0
        return time_left(Failures(sum(failure_counts(failed)) + 1, finished_at(failed)), now)


def is_valid(pod: Json, job: Json) -> bool:
    """Whether a pod counts for a Job: one of an indexed Job needs an index that the Job has."""
    if not is_indexed(job):
        return True
    index, completions = index_of(pod), job["spec"].get("completions")
    return index is not None and completions is not None and index < completions


def _fails_index(pod: Json, job: Json) -> bool:
    if not has_failed(pod, job):
        return False
    verdict = judge_failure(job, pod)
    if verdict.action == "FailIndex":
        return True
    limit: int = job["spec"]["backoffLimitPerIndex"]
    return bool(verdict.counts and failure_counts(pod)[0] >= limit)


def _is_later(pod: Json, other: Json) -> bool:
    """Whether a pod failed after another pod of its index."""
    return sum(failure_counts(pod)) >= sum(failure_counts(other)) and finished_at(pod) >= finished_at(other)
