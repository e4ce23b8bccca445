"""Webhooks that review the bodies of subresources: evictions, bindings, tokens, scales, commands."""

from __future__ import annotations

from typing import Final

from admission_cases import (
    MERGE,
    NAMESPACE,
    Case,
    Json,
    Step,
    always_answer,
    deny,
    patch,
    webhook_configuration,
)

PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
ACCOUNTS: Final = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
DEPLOYMENTS: Final = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
SUBRESOURCES: Final = (
    "pods/eviction", "pods/binding", "pods/exec", "pods/attach", "pods/portforward", "deployments/scale",
    "serviceaccounts/token",
)  # fmt: skip


def pod(name: str) -> tuple[str, Json]:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return PODS, {"metadata": {"name": name, "labels": {"app": "d"}}, "spec": spec}


def replicas(count: int) -> Json:
    return patch({"op": "replace", "path": "/spec/replicas", "value": count})


_TEMPLATE: Final = {
    "metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
_DEPLOYMENT: Final = {
    "metadata": {"name": "d"},
    "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": _TEMPLATE},
}
_TOKEN: Final = {"spec": {"audiences": ["a"]}}
BODIES: Final = Case(
    "bodies of subresources",
    (webhook_configuration("m1", *SUBRESOURCES),),
    (
        webhook_configuration("v1", *SUBRESOURCES),
        webhook_configuration("v2", "pods", "deployments", "serviceaccounts"),
    ),
    (
        Step("POST", f"{PODS}/p/eviction?dryRun=All", {"metadata": {"name": "p"}}),
        Step("POST", f"{PODS}/p/eviction", {"metadata": {"name": "p"}}, webhooks={"v1": deny()}),
        Step("POST", f"{PODS}/p/eviction", {"metadata": {"name": "q"}}),
        Step(
            "POST", f"{PODS}/q/binding", {"metadata": {"name": "q"}, "target": {"kind": "Node", "name": "n"}},
            webhooks={"v1": deny(message="not there")},
        ),
        Step("PATCH", f"{DEPLOYMENTS}/d/scale?dryRun=All", {"spec": {"replicas": 2}}, MERGE),
        Step(
            "PATCH", f"{DEPLOYMENTS}/d/scale?dryRun=All", {"spec": {"replicas": 2}}, MERGE,
            webhooks={"m1": always_answer(replicas(3))},
        ),
        Step(
            "PUT", f"{DEPLOYMENTS}/d/scale", {"metadata": {"name": "d"}, "spec": {"replicas": 5}},
            webhooks={"v1": deny()},
        ),
        Step("POST", f"{ACCOUNTS}/s/token", _TOKEN, webhooks={"v1": deny()}),
        Step("POST", f"{ACCOUNTS}/none/token", _TOKEN, webhooks={"v1": deny()}),
        Step("GET", f"{PODS}/p/exec?command=ls&command=-l&stdout=true&stderr=true&container=c"),
        Step("GET", f"{PODS}/p/exec?command=ls&stdin=true&tty=true", webhooks={"v1": deny()}),
        Step("GET", f"{PODS}/p/attach?stdout=true", webhooks={"v1": deny(code=418)}),
        Step("GET", f"{PODS}/p/portforward?ports=80", webhooks={"v1": deny()}),
        Step("GET", f"{PODS}/none/exec?command=ls&stdout=true", webhooks={"v1": deny()}),
    ),
    (pod("p"), pod("q"), (DEPLOYMENTS, _DEPLOYMENT), (ACCOUNTS, {"metadata": {"name": "s"}})),
)  # fmt: skip
