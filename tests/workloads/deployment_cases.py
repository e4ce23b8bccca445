"""Deployments and ReplicaSets: rollouts of both kinds, sizes, pauses, histories, adoption and failure."""

from __future__ import annotations

from typing import Any, Final

from workload_steps import APPS, MERGE, Case, Json, Relabel, Remove, Report, RollBack, Send, Wait

WEB: Final = {"app": "web"}


def template(image: str = "i:1", labels: Json = WEB, **spec: Any) -> Json:
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def deployment(name: str = "web", replicas: int = 3, image: str = "i:1", **spec: Any) -> Json:
    """A Deployment with a single container; `spec` uses the field names of the API."""
    selected = {"matchLabels": WEB}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": {"note": "one"}},
        "spec": {"replicas": replicas, "selector": selected, "template": template(image), **spec},
    }


def rolling(surge: int | str, unavailable: int | str) -> Json:
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
    }


def create(body: Json) -> Send:
    return Send("POST", APPS, f"{body['kind'].lower()}s", body)


def change(name: str = "web", kind: str = "deployments", **spec: Any) -> Send:
    return Send("PATCH", APPS, f"{kind}/{name}", {"spec": spec}, MERGE)


def image(image: str, name: str = "web") -> Send:
    return change(name, template={"spec": {"containers": [{"name": "c", "image": image}]}})


def annotate(note: str) -> Send:
    return Send("PATCH", APPS, "deployments/web", {"metadata": {"annotations": {"note": note}}}, MERGE)


ALL: Final = Report(99)
DEPLOYMENTS: Final = (
    Case(
        "rollout",
        (
            create(deployment(replicas=4)),
            ALL,
            image("i:2"),
            Report(1),
            Report(1),
            ALL,
            ALL,
            ALL,
            ALL,
        ),
    ),
    Case(
        "surge-alone",
        (
            create(deployment(replicas=5, strategy=rolling(2, 0))),
            ALL,
            image("i:2"),
            Report(1),
            Report(1),
            ALL,
            ALL,
            ALL,
            ALL,
        ),
    ),
    Case(
        "unavailable-alone",
        (
            create(deployment(replicas=5, strategy=rolling(0, "40%"))),
            ALL,
            image("i:2"),
            ALL,
            ALL,
            ALL,
            ALL,
        ),
    ),
    Case(
        "recreate",
        (
            create(deployment(strategy={"type": "Recreate"})),
            ALL,
            image("i:2"),
            ALL,
            change(replicas=5),
            ALL,
        ),
    ),
    Case(
        "scale",
        (
            create(deployment(replicas=2)),
            ALL,
            change(replicas=5),
            ALL,
            change(replicas=1),
            change(replicas=0),
            ALL,
            Send("PATCH", APPS, "deployments/web/scale", {"spec": {"replicas": 3}}, MERGE),
            ALL,
        ),
    ),
    Case(
        "scale-in-the-middle",
        (
            create(deployment(replicas=10, strategy=rolling(3, 2))),
            ALL,
            image("i:2"),
            Report(2),
            change(replicas=15),
            ALL,
            change(replicas=4),
            ALL,
            ALL,
        ),
    ),
    Case(
        "pause",
        (
            create(deployment(replicas=3)),
            ALL,
            change(paused=True),
            image("i:2"),
            change(replicas=5),
            ALL,
            change(paused=False),
            ALL,
            ALL,
            ALL,
            ALL,
            ALL,
        ),
    ),
    Case(
        "undo",
        (
            create(deployment(replicas=2)),
            ALL,
            annotate("two"),
            image("i:2"),
            ALL,
            ALL,
            image("i:3"),
            ALL,
            ALL,
            RollBack("web", 1),
            ALL,
            ALL,
            RollBack("web", 2),
            ALL,
            ALL,
            ALL,
        ),
    ),
    Case(
        "history-limit",
        (
            create(deployment(replicas=1, revisionHistoryLimit=1)),
            ALL,
            image("i:2"),
            ALL,
            image("i:3"),
            ALL,
            image("i:4"),
            ALL,
            change(revisionHistoryLimit=0),
            annotate("more"),
        ),
    ),
    Case(
        "deprecated-rollback",
        (
            create(deployment(replicas=1)),
            ALL,
            image("i:2"),
            ALL,
            Send(
                "PATCH",
                APPS,
                "deployments/web",
                {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "0"}}},
                MERGE,
            ),
            ALL,
            Send(
                "PATCH",
                APPS,
                "deployments/web",
                {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "9"}}},
                MERGE,
            ),
            Send(
                "PATCH",
                APPS,
                "deployments/web",
                {"metadata": {"annotations": {"deprecated.deployment.rollback.to": "3"}}},
                MERGE,
            ),
        ),
    ),
    Case(
        "bad-image",
        (
            create(deployment(replicas=4)),
            ALL,
            image("bad"),
            image("worse"),
            RollBack("web", 1),
            ALL,
            ALL,
        ),
    ),
    Case(
        "deadline",
        (
            create(deployment(replicas=2, progressDeadlineSeconds=8)),
            Wait(10),
            ALL,
            image("i:2"),
            Wait(10),
            ALL,
            ALL,
        ),
    ),
    Case(
        "no-deadline",
        (
            create(deployment(replicas=1, progressDeadlineSeconds=2147483647)),
            ALL,
            change(progressDeadlineSeconds=100),
            change(progressDeadlineSeconds=2147483647),
            image("i:2"),
            ALL,
        ),
    ),
    Case(
        "min-ready",
        (
            create(deployment(replicas=2, minReadySeconds=9)),
            ALL,
            Wait(10),
            image("i:2"),
            ALL,
            Wait(10),
            ALL,
            Wait(10),
            change(minReadySeconds=0),
            ALL,
        ),
    ),
    Case(
        "pods-die",
        (
            create(deployment(replicas=3)),
            ALL,
            Report(1, "Failed", ready=False),
            Remove(1),
            ALL,
            Report(1, "Succeeded", ready=False),
            Report(1, ready=False),
            ALL,
        ),
    ),
    Case(
        "release-and-adopt",
        (
            create(deployment(replicas=2)),
            ALL,
            Relabel(WEB, {"app": "other"}),
            ALL,
            Relabel({"app": "other"}, {"app": "web"}),
            Remove(1),
            ALL,
        ),
    ),
    Case(
        "adopted-replicaset",
        (
            create(
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "metadata": {"name": "lone", "labels": WEB},
                    "spec": {"replicas": 2, "selector": {"matchLabels": WEB}, "template": template("i:1")},
                }
            ),
            ALL,
            create(deployment(replicas=3)),
            ALL,
            ALL,
            Send("DELETE", APPS, "deployments/web?propagationPolicy=Orphan"),
            ALL,
        ),
    ),
    Case(
        "replicaset",
        (
            create(
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "metadata": {"name": "lone"},
                    "spec": {"replicas": 3, "selector": {"matchLabels": WEB}, "template": template("i:1")},
                }
            ),
            Report(2),
            change("lone", "replicasets", replicas=2),
            change("lone", "replicasets", minReadySeconds=3600),
            change("lone", "replicasets", minReadySeconds=1),
            change("lone", "replicasets", template={"metadata": {"labels": {"more": "x"}}}),
            change("lone", "replicasets", replicas=3),
            Send("DELETE", APPS, "replicasets/lone"),
        ),
    ),
    Case(
        "replication-controller",
        (
            Send(
                "POST",
                "/api/v1",
                "replicationcontrollers",
                {
                    "metadata": {"name": "old"},
                    "spec": {"replicas": 2, "selector": WEB, "template": template()},
                },
            ),
            ALL,
            Send("PATCH", "/api/v1", "replicationcontrollers/old", {"spec": {"replicas": 1}}, MERGE),
            Send("DELETE", "/api/v1", "replicationcontrollers/old"),
        ),
    ),
    Case(
        "deleted-in-the-foreground",
        (
            create(deployment(replicas=2)),
            ALL,
            Send("DELETE", APPS, "deployments/web?propagationPolicy=Foreground"),
        ),
    ),
)
