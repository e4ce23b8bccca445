"""Services with pods on a node, and budgets of pods."""

from __future__ import annotations

from typing import Any, Final

from deployment_cases import WEB, change, create, deployment
from workload_steps import MERGE, POLICY, Ask, Case, Json, Relabel, Remove, Report, Send

CORE: Final = "/api/v1"


def node(name: str) -> Ask:
    return Ask("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": {"rack": "1"}}})


def service(name: str = "web", **spec: Any) -> Send:
    """Create a Service; `spec` uses the field names of the API."""
    service_spec: Json = {"selector": WEB, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    return Send(
        "POST", CORE, "services", {"metadata": {"name": name, "labels": {"l": "1"}}, "spec": service_spec}
    )


def pod(name: str, on: str, **spec: Any) -> Send:
    """Create a pod on a node."""
    ports = [{"name": "http", "containerPort": 8000}]
    container = {"name": "c", "image": "i:1", "ports": ports}
    pod_spec = {"nodeName": on, "containers": [container], "terminationGracePeriodSeconds": 30, **spec}
    return Send("POST", CORE, "pods", {"metadata": {"name": name, "labels": WEB}, "spec": pod_spec})


def ready(name: str, last: str) -> Report:
    """Let a pod run; its address ends so."""
    return Report(1, name=name, ip=f"10.9.{last}.")


def end(name: str) -> Send:
    return Send("DELETE", CORE, f"pods/{name}?gracePeriodSeconds=0")


def budget(**spec: Any) -> Send:
    budget_spec = {"selector": {"matchLabels": WEB}, **spec}
    return Send("POST", POLICY, "poddisruptionbudgets", {"metadata": {"name": "web"}, "spec": budget_spec})


SERVICES: Final = (
    Case(
        "service",
        (
            node("n-service"),
            service(),
            pod("a", "n-service"),
            ready("a", "1"),
            pod("b", "n-service"),
            ready("b", "2"),
            Report(1, ready=False, name="a", ip="10.9.1."),
            Send("DELETE", CORE, "pods/b"),
            end("b"),
            ready("a", "1"),
            Relabel(WEB, {"app": "other"}),
            Send("PATCH", CORE, "services/web", {"metadata": {"labels": {"l": "2"}}}, MERGE),
            Send("DELETE", CORE, "services/web"),
            end("a"),
            Ask("DELETE", "/api/v1/nodes/n-service"),
        ),
    ),
    Case(
        "service-by-names",
        (
            node("n-names"),
            service(
                ports=[
                    {"name": "http", "port": 80, "targetPort": "http"},
                    {"name": "admin", "port": 81, "targetPort": "admin"},
                ]
            ),
            pod("a", "n-names"),
            ready("a", "1"),
            pod(
                "b",
                "n-names",
                containers=[
                    {
                        "name": "c",
                        "image": "i",
                        "ports": [
                            {"name": "http", "containerPort": 9000},
                            {"name": "admin", "containerPort": 9001},
                        ],
                    }
                ],
            ),
            ready("b", "2"),
            Send("PATCH", CORE, "services/web", {"spec": {"selector": {"app": "none"}}}, MERGE),
            end("a"),
            end("b"),
            Ask("DELETE", "/api/v1/nodes/n-names"),
        ),
    ),
    Case(
        "service-headless",
        (
            node("n-headless"),
            service(clusterIP="None", publishNotReadyAddresses=True),
            pod("a", "n-headless", hostname="first", subdomain="web"),
            Report(1, ready=False, name="a", ip="10.9.1."),
            Send("DELETE", CORE, "pods/a"),
            end("a"),
            Ask("DELETE", "/api/v1/nodes/n-headless"),
        ),
    ),
    Case(
        "service-of-others",
        (
            service(selector=None),
            Send("PATCH", CORE, "services/web", {"spec": {"selector": WEB}}, MERGE),
            Send("DELETE", CORE, "endpoints/web"),
        ),
    ),
    Case(
        "budget",
        (
            budget(minAvailable=2),
            create(deployment(replicas=3)),
            Report(2),
            Report(1),
            Remove(1),
            Send("PATCH", POLICY, "poddisruptionbudgets/web", {"spec": {"minAvailable": 3}}, MERGE),
            Report(9),
            change(replicas=0),
        ),
    ),
    Case(
        "budget-in-percent",
        (
            create(deployment(replicas=5)),
            budget(minAvailable="50%"),
            Report(5),
            change(replicas=4),
            Report(5),
            Send(
                "PATCH",
                POLICY,
                "poddisruptionbudgets/web",
                {"spec": {"minAvailable": None, "maxUnavailable": "30%"}},
                MERGE,
            ),
            Report(1, ready=False),
        ),
    ),
    Case(
        "budget-of-nobody",
        (
            Send(
                "POST",
                CORE,
                "pods",
                {
                    "metadata": {"name": "lone", "labels": WEB},
                    "spec": {"containers": [{"name": "c", "image": "i"}]},
                },
            ),
            budget(maxUnavailable=1),
            Report(1),
            Remove(1),
        ),
    ),
)
