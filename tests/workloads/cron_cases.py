"""CronJobs and quotas. A schedule becomes due by writing an earlier last schedule time."""

from __future__ import annotations

from typing import Any, Final

from deployment_cases import WEB, change, create, deployment, template
from workload_steps import BATCH, MERGE, Case, Json, Remove, Report, Send

CORE: Final = "/api/v1"
STATUS: Final = "cronjobs/tick/status"


def cronjob(schedule: str = "0 0 1 6 *", **spec: Any) -> Send:
    """Create a CronJob; `spec` uses the field names of the API."""
    work = {"backoffLimit": 0, "template": template(labels={"app": "tick"}, restartPolicy="Never")}
    spec_: Json = {
        "schedule": schedule,
        "jobTemplate": {"metadata": {"labels": {"from": "tick"}}, "spec": work},
        **spec,
    }
    return Send("POST", BATCH, "cronjobs", {"metadata": {"name": "tick"}, "spec": spec_})


def change_cron(**spec: Any) -> Send:
    return Send("PATCH", BATCH, "cronjobs/tick", {"spec": spec}, MERGE)


MISS: Final = Send("PATCH", BATCH, STATUS, {"status": {"lastScheduleTime": "2024-01-01T00:00:00Z"}}, MERGE)
DONE: Final = Report(9, "Succeeded", ready=False, exit_code=0)
BROKEN: Final = Report(9, "Failed", ready=False, exit_code=1)
SECOND_MISS: Final = (change_cron(schedule="0 0 1 5 *"), MISS)
CRONJOBS: Final = (
    Case("cron", (cronjob(), MISS, Report(1), DONE, *SECOND_MISS, DONE)),
    Case("cron-forbids", (cronjob(concurrencyPolicy="Forbid"), MISS, *SECOND_MISS, DONE)),
    Case("cron-replaces", (cronjob(concurrencyPolicy="Replace"), MISS, *SECOND_MISS, DONE)),
    Case("cron-allows", (cronjob(), MISS, *SECOND_MISS, DONE)),
    Case("cron-keeps-none", (cronjob(successfulJobsHistoryLimit=0), MISS, DONE)),
    Case(
        "cron-keeps-one",
        (
            cronjob(failedJobsHistoryLimit=1),
            MISS,
            BROKEN,
            *SECOND_MISS,
            BROKEN,
            change_cron(failedJobsHistoryLimit=0),
        ),
    ),
    Case("cron-too-late", (cronjob(startingDeadlineSeconds=30), MISS)),
    Case("cron-suspended", (cronjob(suspend=True), MISS, change_cron(suspend=False))),
    Case("cron-loses-a-job", (cronjob(), MISS, Send("DELETE", BATCH, "jobs?propagationPolicy=Background"))),
)


def quota(name: str = "q", **hard: str) -> Send:
    """Create a quota; names of resources have _ for characters that Python does not allow in names."""
    limits = {_name(name_): amount for name_, amount in hard.items()}
    return Send("POST", CORE, "resourcequotas", {"metadata": {"name": name}, "spec": {"hard": limits}})


def _name(text: str) -> str:
    return text.replace("__", "/").replace("_", ".")


def pod(name: str, cpu: str = "", memory: str = "", **spec: Any) -> Send:
    amounts = {"cpu": cpu, "memory": memory}
    resources = {"requests": {kind: amount for kind, amount in amounts.items() if amount}}
    container = {"name": "c", "image": "i:1", **({"resources": resources} if resources["requests"] else {})}
    return Send(
        "POST",
        CORE,
        "pods",
        {"metadata": {"name": name, "labels": WEB}, "spec": {"containers": [container], **spec}},
    )


def config(name: str) -> Send:
    return Send("POST", CORE, "configmaps", {"metadata": {"name": name}})


def service(name: str, kind: str, ports: int) -> Send:
    spec = {"type": kind, "ports": [{"name": f"p{index}", "port": 80 + index} for index in range(ports)]}
    return Send("POST", CORE, "services", {"metadata": {"name": name}, "spec": spec})


def change_quota(**hard: str) -> Send:
    limits = {_name(name): amount for name, amount in hard.items()}
    return Send("PATCH", CORE, "resourcequotas/q", {"spec": {"hard": limits}}, MERGE)


QUOTAS: Final = (
    Case(
        "quota-of-pods",
        (
            quota(pods="2", requests_cpu="1", count__pods="5"),
            pod("a"),
            pod("a", "600m"),
            pod("b", "600m"),
            pod("b", "400m"),
            pod("c", "1m"),
            Report(1, "Succeeded", ready=False, name="a"),
            pod("c", "600m"),
            Remove(1, name="b"),
            pod("d", "500m"),
            change_quota(pods="9", requests_cpu="1100m"),
            pod("d", "500m"),
        ),
    ),
    Case(
        "quota-of-a-deployment",
        (
            quota(pods="2"),
            create(deployment(replicas=4)),
            Report(9),
            change(replicas=1),
            Send("DELETE", CORE, "resourcequotas/q"),
        ),
    ),
    Case(
        "quota-of-counts",
        (
            quota(
                configmaps="3",
                count__secrets="1",
                count__deployments_apps="1",
                services="2",
                services_nodeports="2",
            ),
            config("a"),
            config("b"),
            config("c"),
            Send("DELETE", CORE, "configmaps/a"),
            config("c"),
            create(deployment("one", replicas=0)),
            create(deployment("two", replicas=0)),
            service("s", "ClusterIP", 1),
            service("t", "NodePort", 3),
            service("t", "NodePort", 2),
            service("u", "ClusterIP", 1),
        ),
    ),
    Case(
        "quota-with-scopes",
        (
            Send(
                "POST",
                CORE,
                "resourcequotas",
                {"metadata": {"name": "best"}, "spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}},
            ),
            Send(
                "POST",
                CORE,
                "resourcequotas",
                {
                    "metadata": {"name": "rest"},
                    "spec": {
                        "hard": {"pods": "1", "memory": "1Gi"},
                        "scopes": ["NotBestEffort", "NotTerminating"],
                    },
                },
            ),
            pod("a"),
            pod("b"),
            pod("c", "100m"),
            pod("c", "100m", "512Mi"),
            pod("d", "100m", "1Mi"),
            pod("d", "100m", "1Mi", activeDeadlineSeconds=60),
        ),
    ),
)
