"""Jobs: how they complete, fail, count, wait and are suspended, and the effects of their policies."""

from __future__ import annotations

from typing import Any, Final

from deployment_cases import template
from workload_steps import BATCH, MERGE, Case, Json, Remove, Report, Send, Wait

DONE: Final = "Succeeded"
FAILED: Final = "Failed"


def job(name: str = "work", policy: str = "Never", **spec: Any) -> Send:
    """Create a Job; `spec` uses the field names of the API."""
    job_spec: Json = {"template": template(labels={"app": "work"}, restartPolicy=policy), **spec}
    return Send("POST", BATCH, "jobs", {"metadata": {"name": name}, "spec": job_spec})


def change_job(name: str = "work", **spec: Any) -> Send:
    return Send("PATCH", BATCH, f"jobs/{name}", {"spec": spec}, MERGE)


def failed(count: int, code: int = 1, index: str | None = None) -> Report:
    return Report(count, FAILED, ready=False, exit_code=code, index=index)


def succeeded(count: int, index: str | None = None) -> Report:
    return Report(count, DONE, ready=False, exit_code=0, index=index)


def on_exit(action: str, *codes: int, operator: str = "In") -> Json:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(codes)}}


JOBS: Final = (
    Case("job", (job(), Report(1), succeeded(1))),
    Case(
        "job-of-many",
        (
            job(completions=5, parallelism=2),
            Report(2),
            succeeded(1),
            Report(9),
            succeeded(2),
            change_job(parallelism=4),
            Report(9),
            succeeded(9),
        ),
    ),
    Case(
        "job-without-completions",
        (
            job(parallelism=3, completions=None),
            Report(3),
            succeeded(1),
            succeeded(1),
            succeeded(1),
        ),
    ),
    Case(
        "job-fails",
        (
            job(backoffLimit=1),
            failed(1),
            Wait(11),
            Report(1),
            failed(1),
            Wait(2),
        ),
    ),
    Case("job-fails-at-once", (job(backoffLimit=0, parallelism=3, completions=3), Report(3), failed(1))),
    Case(
        "job-recovers",
        (job(completions=2, parallelism=2), failed(1), succeeded(1), Wait(11), Report(1), succeeded(1)),
    ),
    Case("job-deadline", (job(activeDeadlineSeconds=8), Report(1), Wait(10))),
    Case(
        "job-loses-a-pod", (job(completions=2, parallelism=2), Report(2), Remove(1), Wait(11), succeeded(9))
    ),
    Case(
        "job-suspended",
        (
            job(suspend=True, parallelism=2, completions=2),
            change_job(suspend=False),
            Report(2),
            change_job(suspend=True),
            change_job(suspend=False),
            Report(2),
            succeeded(2),
        ),
    ),
    Case("job-cleaned-up", (job(ttlSecondsAfterFinished=5), succeeded(1), Wait(7))),
    Case("job-restarted-in-place", (job(policy="OnFailure", backoffLimit=2), Report(1), succeeded(1))),
    Case(
        "job-indexed",
        (
            job(completionMode="Indexed", completions=6, parallelism=3),
            Report(3),
            succeeded(1, "1"),
            Report(9),
            succeeded(1, "0"),
            failed(1, index="2"),
            Wait(11),
            Report(9),
            succeeded(9),
            Report(9),
            succeeded(9),
        ),
    ),
    Case(
        "job-limited-by-index",
        (
            job(
                completionMode="Indexed",
                completions=3,
                parallelism=3,
                backoffLimitPerIndex=1,
                maxFailedIndexes=2,
            ),
            Report(3),
            failed(1, index="0"),
            succeeded(1, "2"),
            Wait(11),
            failed(1, index="0"),
            succeeded(1, "1"),
            Wait(2),
        ),
    ),
    Case(
        "job-failed-indexes",
        (
            job(
                completionMode="Indexed",
                completions=4,
                parallelism=4,
                backoffLimitPerIndex=0,
                maxFailedIndexes=1,
            ),
            Report(4),
            failed(1, index="0"),
            failed(1, index="3"),
            Wait(2),
        ),
    ),
    Case(
        "job-failure-policy",
        (
            job(
                parallelism=2,
                completions=3,
                backoffLimit=1,
                podFailurePolicy={
                    "rules": [on_exit("Ignore", 3), on_exit("FailJob", 42), on_exit("Count", 7)]
                },
            ),
            Report(2),
            failed(1, 3),
            Wait(2),
            failed(1, 7),
            Wait(11),
            Report(2),
            failed(1, 42),
            Wait(2),
        ),
    ),
    Case(
        "job-failure-policy-of-an-index",
        (
            job(
                completionMode="Indexed",
                completions=2,
                parallelism=2,
                backoffLimitPerIndex=3,
                podFailurePolicy={"rules": [on_exit("FailIndex", 42)]},
            ),
            Report(2),
            failed(1, 42, "0"),
            succeeded(1, "1"),
            Wait(2),
        ),
    ),
    Case(
        "job-success-policy",
        (
            job(
                completionMode="Indexed",
                completions=5,
                parallelism=5,
                successPolicy={"rules": [{"succeededIndexes": "0,2-3", "succeededCount": 2}]},
            ),
            Report(5),
            succeeded(1, "1"),
            succeeded(1, "0"),
            succeeded(1, "3"),
            Wait(2),
        ),
    ),
    Case(
        "job-scaled-down",
        (
            job(completions=9, parallelism=5),
            Report(3),
            change_job(parallelism=2),
            change_job(parallelism=0),
            change_job(parallelism=1),
            succeeded(1),
        ),
    ),
    Case(
        "job-deleted",
        (
            job(completions=3, parallelism=3),
            Report(2),
            succeeded(1),
            Send("DELETE", BATCH, "jobs/work?propagationPolicy=Background"),
        ),
    ),
    Case(
        "job-orphans",
        (
            job(completions=3, parallelism=3),
            Report(2),
            succeeded(1),
            Send("DELETE", BATCH, "jobs/work?propagationPolicy=Orphan"),
        ),
    ),
    Case(
        "job-elastic",
        (
            job(completionMode="Indexed", completions=3, parallelism=3),
            Report(3),
            succeeded(1, "0"),
            change_job(completions=2, parallelism=2),
            succeeded(1, "1"),
        ),
    ),
    Case("job-of-another", (job(managedBy="example.com/other"),)),
)
