"""Evictions and the budgets that allow or refuse them; quotas that several controllers use."""

from __future__ import annotations

from typing import Any, Final

from cron_cases import CORE, change_quota, pod as quota_pod, quota, service as quota_service
from daemon_cases import no_nodes, nodes
from deployment_cases import WEB, change, create, deployment
from set_cases import change_set, claim, statefulset
from workload_steps import MERGE, POLICY, Case, Json, Report, Send

ALL: Final = Report(99)
BUDGETS: Final = "poddisruptionbudgets"


def evict(name: str, query: str = "", **options: Any) -> Send:
    """Evict a pod, with the options of its deletion."""
    body: Json = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options:
        body["deleteOptions"] = options
    return Send("POST", CORE, f"pods/{name}/eviction{query}", body)


def evict_with(name: str, body: Json) -> Send:
    return Send("POST", CORE, f"pods/{name}/eviction", body)


def lone(name: str, **spec: Any) -> Send:
    """Create a pod without an owner."""
    pod_spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return Send("POST", CORE, "pods", {"metadata": {"name": name, "labels": WEB}, "spec": pod_spec})


def budget(name: str = "web", labels: Json = WEB, **spec: Any) -> Send:
    budget_spec = {"selector": {"matchLabels": labels}, **spec}
    return Send("POST", POLICY, BUDGETS, {"metadata": {"name": name}, "spec": budget_spec})


def change_budget(**spec: Any) -> Send:
    return Send("PATCH", POLICY, f"{BUDGETS}/web", {"spec": spec}, MERGE)


def scoped(name: str, *scopes: str, **hard: str) -> Send:
    body = {"metadata": {"name": name}, "spec": {"hard": hard, "scopes": [*scopes]}}
    return Send("POST", CORE, "resourcequotas", body)


def running(name: str) -> Report:
    return Report(1, name=name)


EVICTIONS: Final = (
    Case("evict-pending", (lone("a"), budget(minAvailable=1), evict("a"))),
    Case("evict-ended", (
        lone("a"), budget(minAvailable=1), Report(1, "Succeeded", ready=False, name="a"), evict("a"),
    )),
    Case("evict-dry-run", (
        *nodes("daemons-evict", 1), lone("a", nodeName="daemons-evict-0"),
        lone("b", nodeName="daemons-evict-0"), budget(minAvailable=1), running("a"), running("b"),
        evict("a", "?dryRun=All"), evict("a", dryRun=["All"]), evict("a"), evict("b", "?dryRun=All"),
        *no_nodes("daemons-evict", 1),
    )),
    Case("evict-two-budgets", (
        lone("a"), ALL, budget("one", minAvailable=1), budget("two", minAvailable=1), evict("a"),
    )),
    Case("evict-not-ready", (
        *nodes("daemons-broken", 1), lone("a", nodeName="daemons-broken-0"),
        lone("b", nodeName="daemons-broken-0"), budget(minAvailable=1), running("a"),
        Report(1, ready=False, name="b"), evict("a"), evict("b"), evict("a"),
        *no_nodes("daemons-broken", 1),
    )),
    Case("evict-always-allowed", (
        *nodes("daemons-ill", 1), lone("a", nodeName="daemons-ill-0"), lone("b", nodeName="daemons-ill-0"),
        budget(minAvailable=2), running("a"), Report(1, ready=False, name="b"), evict("b"),
        change_budget(unhealthyPodEvictionPolicy="AlwaysAllow"), evict("b"), *no_nodes("daemons-ill", 1),
    )),
    Case("evict-of-none", (
        *nodes("daemons-none", 1), lone("a", nodeName="daemons-none-0"), running("a"),
        budget(maxUnavailable="0%"), evict("a"), change_budget(maxUnavailable=None, minAvailable="0%"),
        evict("a"), *no_nodes("daemons-none", 1),
    )),
    Case("evict-of-many", (
        *nodes("daemons-many", 1), create(deployment(replicas=3)), ALL, budget(maxUnavailable=0),
        change(replicas=1), ALL, *no_nodes("daemons-many", 1),
    )),
    Case("evict-conditions", (
        lone("a"), ALL, evict("a", preconditions={"uid": "00000000-0000-4000-8000-000000000000"}),
        evict("a", gracePeriodSeconds=0), evict("a"),
    )),
    Case("evict-another", (
        lone("a"),
        evict_with("a", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "b"}}),
        evict_with("a", {}),
        evict_with("b", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}),
        evict_with("a", {"metadata": {"name": "a", "namespace": "other"}}),
    )),
    Case("budget-of-seven", (
        create(deployment(replicas=7)), budget(maxUnavailable="30%"), Report(7), change(replicas=1),
        change(replicas=10), Report(8),
    )),
    Case("budget-of-a-set", (
        statefulset(3, podManagementPolicy="Parallel"), budget(labels={"app": "db"}, maxUnavailable="34%"),
        ALL, change_set(replicas=2),
    )),
    Case("budget-of-one-without-owner", (
        create(deployment(replicas=2)), budget(maxUnavailable=1), ALL, lone("bare"), ALL,
    )),
    Case("quota-dry-run", (
        quota(pods="1"),
        Send("POST", CORE, "pods?dryRun=All", {
            "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]},
        }),
        quota_pod("b"), quota_pod("c"),
    )),
    Case("quota-twice", (quota(pods="2"), quota("r", pods="1"), quota_pod("a"), quota_pod("b"))),
    Case("quota-of-claims", (
        quota(persistentvolumeclaims="1", requests_storage="2Gi"),
        statefulset(2, podManagementPolicy="Parallel", volumeClaimTemplates=[claim()]), ALL,
    )),
    Case("quota-of-services", (
        quota(services_loadbalancers="0", services="1"), quota_service("s", "ClusterIP", 1),
        Send("PATCH", CORE, "services/s", {"spec": {"type": "LoadBalancer"}}, MERGE),
        Send("PATCH", CORE, "services/s", {"spec": {"type": "NodePort"}}, MERGE),
        change_quota(services_nodeports="0"),
        Send("PATCH", CORE, "services/s", {
            "spec": {"ports": [{"name": "p0", "port": 80}, {"name": "p1", "port": 81}]},
        }, MERGE),
    )),
    Case("quota-refused", (
        quota(pods="-1"), quota(foo="1"), quota(pods="1.5"), scoped("u", "BestEffort", services="1"),
        scoped("v", "BestEffort", "NotBestEffort", pods="1"), scoped("w", "Terminating", memory="1Gi"),
        scoped("x", "NotTerminating", secrets="1"),
    )),
)  # fmt: skip
