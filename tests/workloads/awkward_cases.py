"""Interrupted courses, unusual selectors and limits, and refused specs."""

from __future__ import annotations

from typing import Any, Final

from cron_cases import MISS, change_cron, cronjob
from daemon_cases import agent_image, daemonset, no_nodes, nodes
from deployment_cases import WEB, change, create, deployment, image, rolling
from job_cases import FAILED, change_job, failed, job, on_exit, succeeded
from set_cases import change_set, set_image, statefulset
from workload_steps import APPS, Case, Json, Relabel, Remove, Report, Send, Step, Wait

ALL: Final = Report(99)
ONE: Final = Report(1)
INDEXED: Final = "Indexed"
DELETE: Final = Send("DELETE", APPS, "daemonsets/agent")


def expressions(*rows: tuple[str, ...]) -> Json:
    """Return a selector from keys, each with an operator and its values."""
    return {"matchExpressions": [
        {"key": key, "operator": operator, **({"values": values} if values else {})}
        for key, operator, *values in rows
    ]}  # fmt: skip


def daemons(case: str, count: int, *steps: Step) -> Case:
    """Return a case with its own nodes, and a DaemonSet that is deleted with them."""
    return Case(case, (*nodes(case, count), *steps, DELETE, *no_nodes(case, count)))


def partition(number: int) -> Json:
    return {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}


def job_with_success_rules(*rules: Json, **spec: Any) -> Send:
    return job(
        completionMode=INDEXED, completions=3, parallelism=3, successPolicy={"rules": [*rules]}, **spec
    )


def job_with_failure_rules(*rules: Json, **spec: Any) -> Send:
    return job(podFailurePolicy={"rules": [*rules]}, **spec)


AWKWARD: Final = (
    Case("interrupted", (
        create(deployment(replicas=4)), ALL, image("i:2"), ONE, image("i:3"), ONE, image("i:1"),
        change(replicas=6), ONE, ALL, ALL, ALL,
    )),
    Case("expressions", (
        create(deployment(selector=expressions(("app", "In", "web", "shop"), ("canary", "DoesNotExist")))),
        ALL, Relabel(WEB, {"canary": "yes"}), ALL, image("i:2"), ALL, ALL, ALL,
    )),
    Case("selector-refused", (
        create(deployment(selector=expressions(("app", "NotIn", "web")))), create(deployment(selector={})),
        create(deployment(selector=expressions(("app", "Exists", "x")))),
        create(deployment(minReadySeconds=9, progressDeadlineSeconds=9)),
    )),
    Case("overlapping", (
        create(deployment("one", replicas=2)), create(deployment("two", replicas=1, image="i:2")), ALL,
        change("one", replicas=3), ALL,
    )),
    Case("small-percents", (
        create(deployment(strategy=rolling("1%", "1%"))), ALL, image("i:2"), ONE, ONE, ALL, ALL,
    )),
    Case("strategy-changes", (
        create(deployment()), ALL, image("i:2"), ONE,
        change(strategy={"type": "Recreate", "rollingUpdate": None}), ALL, change(strategy=rolling(0, 3)),
        image("i:3"), ALL, ALL,
    )),
    Case("deleted-in-the-middle", (
        create(deployment()), ALL, image("i:2"),
        Send("DELETE", APPS, "deployments/web?propagationPolicy=Orphan"), create(deployment(replicas=2)), ALL,
    )),
    Case("job-successes-by-count", (
        job(completionMode=INDEXED, completions=5, parallelism=5, backoffLimitPerIndex=0,
            successPolicy={"rules": [{"succeededIndexes": "0"}, {"succeededCount": 3}]}),
        Report(5), failed(1, index="0"), succeeded(1, "1"), succeeded(1, "2"), succeeded(1, "4"), Wait(2),
    )),
    Case("job-successes-refused", (
        job_with_success_rules(),
        job_with_success_rules({}),
        job_with_success_rules({"succeededIndexes": "2-5"}),
        job_with_success_rules({"succeededIndexes": "0,2-1"}),
        job_with_success_rules({"succeededIndexes": "1-2,2"}),
        job_with_success_rules({"succeededIndexes": "0-1-2"}),
        job_with_success_rules({"succeededIndexes": "a"}),
        job_with_success_rules({"succeededIndexes": "0-1", "succeededCount": 3}),
        job_with_success_rules({"succeededCount": 4}),
    )),
    Case("job-failures-refused", (
        job_with_failure_rules({"action": "FailJob"}), job_with_failure_rules(on_exit("FailJob")),
        job_with_failure_rules(on_exit("FailJob", 0)),
        job_with_failure_rules(on_exit("FailJob", 2, 1)), job_with_failure_rules(on_exit("FailJob", 1, 1)),
        job_with_failure_rules(on_exit("Forget", 1)), job_with_failure_rules(on_exit("FailIndex", 1)),
        job_with_failure_rules({**on_exit("Count", 1), "onPodConditions": [{"type": "Ready"}]}),
        job_with_failure_rules(
            {"action": "Count", "onPodConditions": [{"type": "Ready", "status": "Maybe"}]}
        ),
        job_with_failure_rules(
            {"action": "Count", "onExitCodes": {"operator": "In", "values": [1], "containerName": "x"}}
        ),
        job_with_failure_rules(on_exit("Count", 1), policy="OnFailure"),
        job_with_failure_rules(on_exit("Count", 1), podReplacementPolicy="TerminatingOrFailed"),
    )),
    Case("job-refused", (
        job(backoffLimitPerIndex=1), job(maxFailedIndexes=1), job(completionMode=INDEXED),
        job(completionMode=INDEXED, completions=2, backoffLimitPerIndex=1, maxFailedIndexes=3),
        job(manualSelector=True), job("x" * 62, completionMode=INDEXED, completions=11),
    )),
    Case("job-fixed", (
        job(completions=3, parallelism=3), change_job(completions=2), change_job(completionMode=INDEXED),
        change_job(parallelism=1, backoffLimit=2, suspend=True), succeeded(1),
    )),
    Case("job-fixed-in-tandem", (
        job(completionMode=INDEXED, completions=3, parallelism=3), change_job(completions=2),
        change_job(completions=2, parallelism=2), change_job(completions=4, parallelism=4), succeeded(1, "3"),
        succeeded(9),
    )),
    Case("job-suspended-when-done", (
        job(completions=3, parallelism=3), succeeded(1), change_job(suspend=True), change_job(suspend=False),
        succeeded(1), succeeded(9),
    )),
    Case("job-suspended-when-failed", (
        job(backoffLimit=0, parallelism=2, completions=2), Report(2), failed(1), change_job(suspend=True),
        change_job(suspend=False),
    )),
    Case("job-of-none", (job(completions=0, parallelism=2), job("still", parallelism=0))),
    Case("set-partition-above", (
        statefulset(2, updateStrategy=partition(5)), ONE, ONE, set_image("i:2"), change_set(replicas=3), ONE,
        change_set(updateStrategy=partition(1)), ONE, ONE, set_image("i:3"), ONE,
        change_set(updateStrategy=partition(0)), ONE, ONE, ONE,
    )),
    Case("set-max-unavailable", (
        statefulset(3, podManagementPolicy="Parallel",
                    updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}),
        ALL, set_image("i:2"), ONE, ALL,
    )),
    Case("set-interrupted", (
        statefulset(3), ONE, ONE, ONE, set_image("i:2"), set_image("i:3"), ONE, set_image("i:1"), ONE, ONE,
        ONE,
    )),
    Case("set-parallel-partition", (
        statefulset(4, podManagementPolicy="Parallel", updateStrategy=partition(2)), Report(3),
        set_image("i:2"), ONE, Report(1, FAILED, ready=False, name="db-3"), ONE, ONE, change_set(replicas=6),
        ALL,
    )),
    Case("set-partition-of-ordinals", (
        statefulset(3, ordinals={"start": 2}, updateStrategy=partition(3)), ONE, ONE, ONE, set_image("i:2"),
        ONE, ONE,
    )),
    daemons("daemons-surge-share", 4, daemonset("daemons-surge-share", updateStrategy=rolling("30%", 0)), ALL,
            agent_image("i:2"), ONE, ONE, ALL, ALL, ALL),
    daemons("daemons-surge-waits", 2,
            daemonset("daemons-surge-waits", updateStrategy=rolling(2, 0), minReadySeconds=6), ALL, Wait(7),
            agent_image("i:2"), ALL, Wait(7), ALL),
    daemons("daemons-surge-again", 2, daemonset("daemons-surge-again", updateStrategy=rolling(1, 0)), ONE,
            agent_image("i:2"), agent_image("i:3"), ALL, ALL, ALL),
    daemons("daemons-ended", 2, daemonset("daemons-ended"), ALL, Report(1, FAILED, ready=False), Wait(2),
            Remove(1), ALL),
    Case("daemons-refused", tuple(
        daemonset("daemons-refused", updateStrategy=rolling(surge, unavailable))
        for surge, unavailable in ((0, 0), (1, 1), ("0%", "0%"), ("120%", 0), (0, "101%"))
    )),
    Case("cron-refused", (
        cronjob("61 * * * *"), cronjob("TZ=UTC 0 0 1 6 *"), cronjob(timeZone="Nowhere/City"),
        cronjob(timeZone="local"), cronjob(timeZone=""), cronjob(concurrencyPolicy="Perhaps"),
    )),
    Case("cron-missed-many", (
        cronjob("*/1 * * * *", suspend=True), MISS, change_cron(suspend=False), Wait(3),
    )),
)  # fmt: skip
