"""The indexes of an indexed Job: their text in the status, and which have succeeded or failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...storage._json_values import member, objects_in
from ..objects._object_client import Json
from ..objects._status_conditions import phase
from ._job_failures import FailureStreak, finish_time, judge_failure, remaining_backoff
from ._job_pods import (
    failure_counts,
    has_failed,
    has_limit_per_index,
    index_of,
    is_indexed,
    is_tracked,
)

_PAIR: Final = 2


# The text ``1,3-5,7``


def read_indexes(text: str, completions: int) -> set[int]:
    """Return the indexes below `completions` in a text; unreadable parts are ignored."""
    indexes: set[int] = set()
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        if first.isdecimal() and (last.isdecimal() or not last):
            indexes |= set(range(int(first), min(int(last or first) + 1, completions)))
    return indexes


def write_indexes(indexes: Iterable[int]) -> str:
    """Return indexes as a text; three or more in a row form a range."""
    parts: list[str] = []
    run: list[int] = []
    for index in [*sorted(set(indexes)), -1]:
        if run and index != run[-1] + 1:
            parts += [f"{run[0]}-{run[-1]}"] if len(run) > _PAIR else map(str, run)
            run = []
        run.append(index)
    return ",".join(parts)


def pending_indexes(completed: set[int], count: int, completions: int) -> list[int]:
    """Return the first indexes that are not complete, at most `count`."""
    pending: list[int] = []
    for index in range(completions):
        if len(pending) >= count:
            break
        if index not in completed:
            pending.append(index)
    return pending


# The results of the indexes


class IndexResults:
    """The indexes of a Job by the result of their pods; empty for a Job without indexes."""

    def __init__(self) -> None:
        self.succeeded: set[int] = set()
        self.failed: set[int] | None = None  # None unless failures are counted for each index
        self.awaiting_retry: dict[int, Json] = {}  # failed pods that stay until they are replaced

    @classmethod
    def read(cls, job: Json, pods: list[Json], active: list[Json]) -> IndexResults:
        """Return the indexes in the status of a Job, and those of pods that are not counted yet."""
        results = cls()
        completions: int | None = job["spec"].get("completions")
        if not is_indexed(job) or completions is None:
            return results
        status = job["status"]
        indexed = [(index_of(pod), pod) for pod in pods if is_tracked(pod)]
        tracked = [(index, pod) for index, pod in indexed if index is not None and index < completions]
        results.succeeded = read_indexes(status.get("completedIndexes", ""), completions)
        results.succeeded |= {index for index, pod in tracked if phase(pod) == "Succeeded"}
        if not has_limit_per_index(job):
            return results
        results.failed = read_indexes(status.get("failedIndexes") or "", completions)
        results.failed |= {index for index, pod in tracked if _fails_index(pod, job)}
        settled = results.succeeded | results.failed | {index_of(pod) for pod in active}
        for index, pod in tracked:
            if index not in settled and has_failed(pod, job):
                other = results.awaiting_retry.get(index)
                if other is None or _failed_later(pod, other):
                    results.awaiting_retry[index] = pod
        return results

    def failure(self, spec: Json) -> tuple[str, str] | None:
        """Return the reason and the message if the Job fails because of its indexes."""
        if self.failed is None:
            return None
        max_failed = spec.get("maxFailedIndexes")
        if max_failed is not None and len(self.failed) > max_failed:
            message = "Job has exceeded the specified maximal number of failed indexes"
            return "MaxFailedIndexesExceeded", message
        if self.failed and len(self.failed) + len(self.succeeded) >= spec["completions"]:
            return "FailedIndexes", "Job has failed indexes"
        return None

    def success(self, job: Json) -> str | None:
        """Return the message if the indexes meet the `successPolicy` of the Job."""
        if not self.succeeded:
            return None
        for rule_index, rule in enumerate(objects_in(member(job["spec"], "successPolicy"), "rules")):
            min_count: int | None = rule.get("succeededCount")
            if "succeededIndexes" in rule:
                required = read_indexes(rule["succeededIndexes"], job["spec"]["completions"])
                count = len(required & self.succeeded)
                is_met = bool(required) and (
                    count == len(required) or (min_count is not None and count >= min_count)
                )
            else:
                is_met = min_count is not None and len(self.succeeded) >= min_count
            if is_met:
                return f"Matched rules at index {rule_index}"
        return None

    def remaining_backoff(self, index: int, now: float) -> float:
        """Return how many seconds an index still waits for its next pod."""
        pod = self.awaiting_retry.get(index)
        if pod is None:
            return 0.0
        return remaining_backoff(FailureStreak(sum(failure_counts(pod)) + 1, finish_time(pod)), now)


def _fails_index(pod: Json, job: Json) -> bool:
    if not has_failed(pod, job):
        return False
    verdict = judge_failure(job, pod)
    if verdict.action == "FailIndex":
        return True
    limit: int = job["spec"]["backoffLimitPerIndex"]
    return bool(verdict.counts and failure_counts(pod)[0] >= limit)


def _failed_later(pod: Json, other: Json) -> bool:
    more_failures = sum(failure_counts(pod)) >= sum(failure_counts(other))
    return more_failures and finish_time(pod) >= finish_time(other)
