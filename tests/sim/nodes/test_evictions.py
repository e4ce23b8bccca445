"""Evictions: the disruptions that a budget allows by its status, or by its pods if no controller maintains
the status.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import pytest
from nodes_rig import Json, Rig

from kubeproto import RawRequest

BUDGETS = "policy/v1/PodDisruptionBudget"


def budget(rig: Rig, name: str = "pdb", status: Json | None = None, **spec: Any) -> None:
    selector = spec.pop("selector", {"matchLabels": {"app": "web"}})
    budget_body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"selector": selector, **spec}}  # fmt: skip
    rig.cluster.put(budget_body)
    if status is not None:
        rig.cluster.edit(BUDGETS, name, lambda obj: obj.update(status=status))


def evict(rig: Rig, name: str, *, query: str = "", **options: Any) -> tuple[int, Json]:
    body: Json = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options:
        body["deleteOptions"] = options
    path = f"/api/v1/namespaces/default/pods/{name}/eviction{query}"
    answer = rig.cluster.respond(RawRequest("POST", path, (), msgspec.json.encode(body)))
    assert isinstance(answer.body, bytes)
    rig.cluster.settle()
    return answer.status, msgspec.json.decode(answer.body)


def cause(status: Json) -> str:
    message: str = status["details"]["causes"][0]["message"]
    return message


def running(*names: str) -> Rig:
    rig = Rig()
    for name in names:
        rig.run(name, labels={"app": "web"})
    return rig


def test_an_evicted_pod_reports_the_reason_and_has_its_grace_period() -> None:
    rig = running("a")
    assert evict(rig, "a")[0] == 201
    condition = rig.condition("a", "DisruptionTarget")
    assert (condition["status"], condition["reason"]) == ("True", "EvictionByEvictionAPI")
    assert rig.pod("a")["metadata"]["deletionGracePeriodSeconds"] == 30
    rig.cluster.advance(30)
    assert rig.cluster.get("v1/Pod", "a") is None


def test_a_dry_run_evicts_no_pod() -> None:
    rig = running("a")
    version = rig.cluster.version
    assert evict(rig, "a", query="?dryRun=All")[0] == 201
    assert evict(rig, "a", dryRun=["All"])[0] == 201
    assert rig.cluster.version == version


def test_preconditions_of_an_eviction_are_enforced() -> None:
    rig = running("a")
    assert evict(rig, "a", preconditions={"uid": "another"})[0] == 409
    assert evict(rig, "a", preconditions={"resourceVersion": "1"})[0] == 409
    assert not [
        condition
        for condition in rig.pod("a")["status"]["conditions"]
        if condition["type"] == "DisruptionTarget"
    ]
    version = rig.pod("a")["metadata"]["resourceVersion"]
    assert evict(rig, "a", preconditions={"resourceVersion": version})[0] == 201


def test_without_a_controller_ready_pods_are_counted() -> None:
    rig = running("a", "b", "c")
    budget(rig, minAvailable=2)
    rig.nodes.set_ready("c", ready=False)
    code, status = evict(rig, "a")
    assert (code, status["reason"]) == (429, "TooManyRequests")
    assert cause(status) == "The disruption budget pdb needs 2 healthy pods and has 2 currently"
    rig.nodes.set_ready("c", ready=True)
    assert evict(rig, "a")[0] == 201
    assert evict(rig, "b")[0] == 429


def test_a_terminal_or_pending_pod_needs_no_budget() -> None:
    rig = Rig(ready_after=5)
    budget(rig, maxUnavailable=0)
    rig.run("young", labels={"app": "web"}, until=1)
    assert evict(rig, "young")[0] == 201
    rig.run("old", labels={"app": "web"}, restartPolicy="Never")
    assert evict(rig, "old")[0] == 429
    rig.nodes.exit("old", 0)
    assert evict(rig, "old")[0] == 201


def test_a_pod_with_two_budgets_cannot_be_evicted() -> None:
    rig = running("a")
    budget(rig, "one", minAvailable=0)
    budget(rig, "two", minAvailable=0)
    assert evict(rig, "a")[0] == 500


def test_a_missing_selector_covers_no_pod_and_an_empty_selector_covers_all() -> None:
    rig = running("a")
    budget(rig, maxUnavailable=0, selector=None)
    assert evict(rig, "a", query="?dryRun=All")[0] == 201
    budget(rig, "all", maxUnavailable=0, selector={})
    assert evict(rig, "a")[0] == 429


def status_of(**changes: Any) -> Json:
    return {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2,
            "expectedPods": 3} | changes  # fmt: skip


def test_the_status_of_a_budget_decides_if_a_controller_maintains_it() -> None:
    rig = running("a", "b")
    budget(rig, minAvailable=2, status=status_of())
    assert evict(rig, "a", query="?dryRun=All")[0] == 201
    assert evict(rig, "a")[0] == 201
    budget_ = rig.cluster.get(BUDGETS, "pdb")
    assert budget_ is not None
    assert (budget_["status"]["disruptionsAllowed"], list(budget_["status"]["disruptedPods"])) == (0, ["a"])
    code, status = evict(rig, "b")
    assert code == 429
    assert cause(status) == "The disruption budget pdb does not allow evicting pods currently"


REASONS: Final[list[tuple[Json, str]]] = [
    ({}, ""),
    ({"reason": "InsufficientPods", "message": "m"}, " (InsufficientPods): m"),
    ({"reason": "SyncFailed", "message": "m"}, " because it failed sync: m"),
]


@pytest.mark.parametrize(("condition", "reason"), REASONS, ids=["none", "pods", "sync"])
def test_a_budget_that_allows_no_disruption_of_healthy_pods_reports_the_reason(
    condition: Json, reason: str
) -> None:
    rig = running("a")
    entry: Json = {"type": "DisruptionAllowed", "status": "False", **condition}
    budget(rig, minAvailable=2, status=status_of(disruptionsAllowed=0, conditions=[entry]))
    _, status = evict(rig, "a")
    assert cause(status) == f"The disruption budget pdb does not allow evicting pods currently{reason}"


def test_a_budget_that_its_controller_has_not_processed_yet_refuses_temporarily() -> None:
    rig = running("a")
    budget(rig, minAvailable=0, status=status_of(observedGeneration=1))
    rig.cluster.edit(BUDGETS, "pdb", lambda obj: obj["metadata"].update(generation=2))
    code, status = evict(rig, "a")
    assert (code, status["details"]["retryAfterSeconds"]) == (429, 10)
    assert cause(status) == "The disruption budget pdb is still being processed by the server."


def test_a_pod_that_is_not_ready_costs_a_healthy_budget_nothing() -> None:
    rig = running("a", "b")
    rig.nodes.set_ready("a", ready=False)
    budget(rig, minAvailable=2, status=status_of(disruptionsAllowed=0, currentHealthy=2))
    assert evict(rig, "a", query="?dryRun=All")[0] == 201
    rig.cluster.edit(BUDGETS, "pdb", lambda obj: obj.update(
        status=status_of(disruptionsAllowed=0, currentHealthy=1)))  # fmt: skip
    assert evict(rig, "a", query="?dryRun=All")[0] == 429
    rig.cluster.edit(BUDGETS, "pdb", lambda obj: obj["spec"].update(unhealthyPodEvictionPolicy="AlwaysAllow"))
    assert evict(rig, "a")[0] == 201
