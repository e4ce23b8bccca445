"""DaemonSets: the nodes that get a pod, and the replacement of pods."""

from __future__ import annotations

from typing import Any, Final

from deployment_cases import rolling, template
from workload_steps import APPS, MERGE, Ask, Case, Json, Remove, Report, Send

AGENT: Final = {"app": "agent"}
ALL: Final = Report(99)
NODES: Final = "/api/v1/nodes"


def nodes(case: str, count: int) -> tuple[Ask, ...]:
    """Create the nodes of a case, which are used by no other case."""
    names = [f"{case}-{number}" for number in range(count)]
    return tuple(Ask("POST", NODES, {"metadata": {"name": name, "labels": {"case": case}}}) for name in names)


def no_nodes(case: str, count: int) -> tuple[Ask, ...]:
    return tuple(Ask("DELETE", f"{NODES}/{case}-{number}") for number in range(count))


def daemonset(case: str, **spec: Any) -> Send:
    """Create a DaemonSet for the nodes of a case."""
    obj: Json = {
        "selector": {"matchLabels": AGENT},
        "template": template(labels=AGENT, nodeSelector={"case": case}, tolerations=[{"operator": "Exists"}]),
        **spec,
    }
    return Send("POST", APPS, "daemonsets", {"metadata": {"name": "agent"}, "spec": obj})


def change_daemon(**spec: Any) -> Send:
    return Send("PATCH", APPS, "daemonsets/agent", {"spec": spec}, MERGE)


def agent_image(image: str) -> Send:
    return change_daemon(template={"spec": {"containers": [{"name": "c", "image": image}]}})


DAEMONSETS: Final = (
    Case(
        "daemons",
        (
            *nodes("daemons", 3),
            daemonset("daemons"),
            Report(2),
            ALL,
            Remove(1),
            ALL,
            Send("DELETE", APPS, "daemonsets/agent"),
            *no_nodes("daemons", 3),
        ),
    ),
    Case(
        "daemons-update",
        (
            *nodes("daemons-update", 3),
            daemonset("daemons-update"),
            ALL,
            agent_image("i:2"),
            ALL,
            ALL,
            ALL,
            agent_image("i:1"),
            ALL,
            ALL,
            ALL,
            Send("DELETE", APPS, "daemonsets/agent"),
            *no_nodes("daemons-update", 3),
        ),
    ),
    Case(
        "daemons-update-many",
        (
            *nodes("daemons-update-many", 4),
            daemonset("daemons-update-many", updateStrategy=rolling(0, "50%")),
            Report(3),
            agent_image("i:2"),
            ALL,
            ALL,
            ALL,
            Send("DELETE", APPS, "daemonsets/agent"),
            *no_nodes("daemons-update-many", 4),
        ),
    ),
    Case(
        "daemons-surge",
        (
            *nodes("daemons-surge", 2),
            daemonset("daemons-surge", updateStrategy=rolling(1, 0)),
            ALL,
            agent_image("i:2"),
            ALL,
            ALL,
            ALL,
            Send("DELETE", APPS, "daemonsets/agent"),
            *no_nodes("daemons-surge", 2),
        ),
    ),
    Case(
        "daemons-on-delete",
        (
            *nodes("daemons-on-delete", 2),
            daemonset("daemons-on-delete", updateStrategy={"type": "OnDelete"}),
            ALL,
            agent_image("i:2"),
            Remove(1),
            ALL,
            Remove(2),
            ALL,
            Send("DELETE", APPS, "daemonsets/agent"),
            *no_nodes("daemons-on-delete", 2),
        ),
    ),
)
