"""Sets on the simulator: planning, ordered application, pruning, refusals, and completion by a later plan."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

import pytest
from sets_rig import (
    PARENT,
    Gadget,
    RefusingTransport,
    account,
    client_of,
    config,
    definition,
    gadget,
    namespace,
    outcome,
    secret,
    to_dynamic,
    webhooks,
    writes,
)

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime import ApplyError
from kubeproto_runtime.sets import (
    ApplySet,
    DeletionHeld,
    PlanRefused,
    StalePlan,
    applyset_id,
)
from kubeproto_runtime.testing import BACKENDS, SimulatedBlockingClient, run, simulated, simulated_blocking

KINDS: Final = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES: Final = "applyset.kubernetes.io/additional-namespaces"
TOOLING: Final = "applyset.kubernetes.io/tooling"
ID: Final = "applyset.kubernetes.io/id"


@pytest.fixture
def cluster() -> sim.Cluster:
    return sim.Cluster()


@pytest.fixture
def client(cluster: sim.Cluster) -> SimulatedBlockingClient:
    with simulated_blocking(cluster) as simulated_client:
        return simulated_client


def parent_annotations(
    cluster: sim.Cluster, kind: str = "v1/ConfigMap", name: str = "shop"
) -> dict[str, str]:
    obj: Any = cluster.get(kind, name)
    shop_annotations: dict[str, str] = obj["metadata"]["annotations"]
    return shop_annotations


def test_a_set_is_applied_changed_and_pruned(cluster: sim.Cluster, client: SimulatedBlockingClient) -> None:
    desired_objects = [namespace("extra"), config("a", k="1"), config("b", "extra"), account("robot")]
    plan = client.plan(desired_objects, PARENT)
    assert outcome(plan) == {
        "created": [
            "Namespace extra",
            "ServiceAccount default/robot",
            "ConfigMap default/a",
            "ConfigMap extra/b",
        ]
    }
    assert writes(cluster) == []
    client.perform(plan)
    assert parent_annotations(cluster)[KINDS] == "ConfigMap,Namespace,ServiceAccount"
    assert parent_annotations(cluster)[NAMESPACES] == "extra"
    unchanged_plan = client.plan(desired_objects, PARENT)
    assert unchanged_plan.clean
    assert unchanged_plan.summary == "4 unchanged"

    log_length = len(cluster.log)
    assert str(client.perform(unchanged_plan)) == ""
    assert writes(cluster, log_length) == []

    plan = client.plan([config("a", k="2"), config("c")], PARENT)
    assert outcome(plan) == {
        "created": ["ConfigMap default/c"],
        "changed": ["ConfigMap default/a"],
        "deleted": ["ConfigMap extra/b", "ServiceAccount default/robot", "Namespace extra"],
    }
    log_length = len(cluster.log)
    result = client.perform(plan)
    assert writes(cluster, log_length) == [
        "PATCH configmaps/a",
        "PATCH configmaps/c",
        "DELETE configmaps/b",
        "DELETE serviceaccounts/robot",
        "DELETE namespaces/extra",
        "PATCH configmaps/shop",
    ]
    assert names_of(result.deleted) == [
        "ConfigMap extra/b",
        "ServiceAccount default/robot",
        "Namespace extra",
    ]
    assert parent_annotations(cluster)[KINDS] == "ConfigMap"
    assert parent_annotations(cluster)[NAMESPACES] == ""
    assert client.plan([config("a", k="2"), config("c")], PARENT).clean


def names_of(refs: Any) -> list[str]:
    return list(map(str, refs))


def test_the_parent_lists_the_kinds_of_all_members_during_the_whole_change(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("a"), secret("s", k="v")], PARENT))
    plan = client.plan([config("a"), account("robot")], PARENT)
    log_length = len(cluster.log)
    client.perform(plan)
    assert writes(cluster, log_length) == [
        "PATCH configmaps/shop",
        "PATCH serviceaccounts/robot",
        "DELETE secrets/s",
        "PATCH configmaps/shop",
    ]
    manager = "fieldManager=kubeproto-applyset"
    extended, reduced = [
        entry.request.body for entry in cluster.log[log_length:] if manager in entry.request.target
    ]
    assert b"ConfigMap,Secret,ServiceAccount" in extended
    assert b'"ConfigMap,ServiceAccount"' in reduced


def test_perform_waits_for_definitions_and_applies_webhooks_last(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    objects_of_set = [webhooks("checks"), gadget("one"), definition(), config("a")]
    plan = client.plan(objects_of_set, PARENT)
    assert [(str(entry.ref), entry.unverified) for entry in plan.creations] == [
        ("CustomResourceDefinition.apiextensions.k8s.io gadgets.example.com", ""),
        ("ConfigMap default/a", ""),
        ("Gadget.example.com default/one", "the set creates its definition"),
        ("ValidatingWebhookConfiguration.admissionregistration.k8s.io checks", ""),
    ]
    client.perform(plan)
    assert cluster.get(Gadget, "one") is not None
    assert client.plan(objects_of_set, PARENT).clean
    log_length = len(cluster.log)
    client.perform(client.plan([], PARENT))
    assert writes(cluster, log_length)[:-1] == [
        "DELETE validatingwebhookconfigurations/checks",
        "DELETE gadgets/one",
        "DELETE configmaps/a",
        "DELETE customresourcedefinitions/gadgets.example.com",
    ]


def test_both_clients_plan_and_perform_identically() -> None:
    simulated_client: list[str] = []
    for backend in BACKENDS:
        cluster = sim.Cluster()

        async def main(cluster: sim.Cluster = cluster) -> None:
            async with simulated(cluster) as client:
                plan = await client.plan([config("a"), secret("s", k="v")], PARENT)
                result = await client.perform(plan)
                simulated_client.append(f"{plan}\n{result}\n{await client.plan([], PARENT)}")

        run(main, backend=backend)
    with simulated_blocking(sim.Cluster()) as client:
        plan = client.plan([config("a"), secret("s", k="v")], PARENT)
        simulated_client.append(f"{plan}\n{client.perform(plan)}\n{client.plan([], PARENT)}")
    assert len(set(simulated_client)) == 1


# The owner of a set


@pytest.mark.parametrize(
    ("parent", "change", "expected_message"),
    [
        (PARENT, {"annotations": {TOOLING: "helm/v3"}}, "managed by 'helm', and not by 'kubeproto'"),
        (PARENT, {"annotations": None}, "is not the parent of a set"),
        (PARENT, {"labels": {ID: "applyset-x-v1"}}, f"has the label {ID}='applyset-x-v1'"),
        (PARENT, {"annotations": {KINDS: None}}, "does not list the kinds"),
        ("gadgets/shop", None, "serves no resource 'gadgets'"),
        ("namespaces/default", None, "cannot be the parent of a set: its definition namespaces. lacks the"),
    ],
)
def test_a_foreign_parent_is_refused_and_nothing_is_written(
    cluster: sim.Cluster, client: SimulatedBlockingClient, parent: str, change: Any, expected_message: str
) -> None:
    client.perform(client.plan([config("a")], PARENT))
    if change:
        client.api(kp.Dynamic, resource=CONFIGS).merge_patch("shop", {"metadata": change})
    log_length = len(cluster.log)
    plan = client.plan([config("b")], parent)
    assert expected_message in str(plan)
    for partial in (False, True):
        with pytest.raises(PlanRefused):
            client.perform(plan, partial=partial)
    assert writes(cluster, log_length) == []


CONFIGS: Final = kp.Resource("", "v1", "ConfigMap", "configmaps")


def test_a_custom_parent_needs_a_definition_that_permits_it(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    crd = definition()
    cluster.put(crd)
    client.require(Gadget, within=30)
    assert "lacks the label applyset.kubernetes.io/is-parent-type" in str(client.plan([], "gadgets/shop"))
    crd.metadata.labels = {"applyset.kubernetes.io/is-parent-type": "true"}
    cluster.put(crd)
    assert "does not exist: create it, or use a ConfigMap" in str(client.plan([], "gadgets/shop"))
    the_id = applyset_id("shop", "default", "Gadget", "example.com")
    empty = {TOOLING: "kubeproto/v0.0.1", KINDS: ""}
    cluster.put(gadget("shop", namespace="default", labels={ID: the_id}, annotations=empty))
    client.perform(client.plan([config("a")], "gadgets.example.com/shop"))
    assert parent_annotations(cluster, "example.com/v1/Gadget")[KINDS] == "ConfigMap"
    assert outcome(client.plan([], "gadgets/shop")) == {"deleted": ["ConfigMap default/a"]}


def test_the_kinds_annotation_of_older_kubectl_is_read(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("a")], PARENT))
    annotations_of_old_kubectl = {"contains-group-resources": "configmaps", "contains-group-kinds": None}
    patch = {
        "metadata": {
            "annotations": {
                f"applyset.kubernetes.io/{key}": value for key, value in annotations_of_old_kubectl.items()
            }
        }
    }
    client.api(kp.Dynamic, resource=CONFIGS).merge_patch("shop", patch)
    assert outcome(client.plan([], PARENT)) == {"deleted": ["ConfigMap default/a"]}


def test_a_parent_whose_namespace_does_not_exist_is_refused(client: SimulatedBlockingClient) -> None:
    plan = client.plan([namespace("shop")], ApplySet("shop", namespace="shop"))
    assert "the namespace of Secret shop/shop does not exist: create it" in str(plan)


def test_a_plan_is_stale_after_another_client_changed_the_set(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("a")], PARENT))
    stale_plan, other_plan = client.plan([account("mine")], PARENT), client.plan([account("theirs")], PARENT)
    client.perform(other_plan)
    log_length = len(cluster.log)
    with pytest.raises(
        StalePlan, match="ConfigMap default/shop has changed since the plan was made: plan again"
    ):
        client.perform(stale_plan)
    assert writes(cluster, log_length) == ["PATCH configmaps/shop"]
    assert cluster.get("v1/ServiceAccount", "mine") is None


def test_a_plan_keeps_the_kinds_of_members_that_another_client_applied_later(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("a"), account("old")], PARENT))
    stale_plan = client.plan([config("a")], PARENT)  # it removes ServiceAccounts from the set
    client.perform(client.plan([config("a"), account("old"), account("theirs")], PARENT))
    client.perform(stale_plan)
    assert cluster.get("v1/ServiceAccount", "old") is None
    assert parent_annotations(cluster)[KINDS] == "ConfigMap,ServiceAccount"
    plan_after = client.plan([config("a")], PARENT)
    assert outcome(plan_after)["deleted"] == ["ServiceAccount default/theirs"]
    client.perform(plan_after)
    assert parent_annotations(cluster)[KINDS] == "ConfigMap"


def test_a_kind_that_can_no_longer_be_listed_remains_a_kind_of_the_set(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("a"), account("old")], PARENT))
    plan = client.plan([config("a")], PARENT)  # it removes ServiceAccounts from the set
    client.perform(client.plan([config("a"), account("old"), account("theirs")], PARENT))
    client_of(cluster, RefusingTransport(cluster, forbid("GET", "/serviceaccounts?"))).perform(plan)
    assert cluster.get("v1/ServiceAccount", "old") is None
    assert parent_annotations(cluster)[KINDS] == "ConfigMap,ServiceAccount"


def test_a_parent_that_another_tool_created_meanwhile_is_not_taken_over(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    stale_plan = client.plan([config("a")], PARENT)
    client.perform(client.plan([config("b")], ApplySet(PARENT, tooling="kubectl/v1.32.0")))
    with pytest.raises(StalePlan):
        client.perform(stale_plan)
    assert parent_annotations(cluster)[TOOLING] == "kubectl/v1.32.0"


# Refusals


def test_conflicts_are_refusals_without_force(cluster: sim.Cluster, client: SimulatedBlockingClient) -> None:
    api = client.api(kp.Dynamic, resource=CONFIGS)
    api.apply(config("a", k="theirs", l="same"), field_manager="them")
    desired = [config("a", k="ours"), config("b")]
    plan = client.plan(desired, PARENT)
    assert outcome(plan) == {"created": ["ConfigMap default/b"], "refused": ["ConfigMap default/a"]}
    assert "! ConfigMap default/a: them owns .data.k: apply with force to take the fields over" in str(plan)
    with pytest.raises(PlanRefused, match=r"them owns \.data\.k") as raised:
        client.perform(plan)
    assert raised.value.plan is plan
    assert cluster.get("v1/ConfigMap", "b") is None
    client.perform(client.plan(desired, PARENT, force=True))
    obj: Any = cluster.get("v1/ConfigMap", "a")
    assert obj["data"] == {"k": "ours", "l": "same"}


def test_partial_applies_the_valid_objects_and_prunes_nothing(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("old"), secret("s", k="v")], PARENT))
    plan = client.plan([config("good"), config("Bad_Name")], PARENT)
    assert outcome(plan)["withheld"] == ["ConfigMap default/old", "Secret default/s"]
    client.perform(plan, partial=True)
    assert cluster.get("v1/ConfigMap", "good") is not None
    assert cluster.get("v1/ConfigMap", "old") is not None
    assert parent_annotations(cluster)[KINDS] == "ConfigMap,Secret"
    plan = client.plan([config("good")], PARENT)
    assert outcome(plan)["deleted"] == ["ConfigMap default/old", "Secret default/s"]


@pytest.mark.parametrize(
    ("objects", "expected_message"),
    [
        ([gadget("one")], "the definition of Gadget (example.com/v1) is not installed"),
        ([config("a"), config("a", "default")], "it is in the set twice"),
        ([config("shop")], "it is the parent of the set"),
        ([config("", generateName="x")], "it has no name"),
        ([config("a", "nowhere")], 'namespaces "nowhere" not found'),
        ([config("theirs")], "it belongs to another set"),
        ([config("held")], "it is being deleted, and waits for the finalizers example.com/hold"),
    ],
)
def test_an_object_that_cannot_be_applied_is_refused_with_the_reason(
    cluster: sim.Cluster, client: SimulatedBlockingClient, objects: list[kp.Dynamic], expected_message: str
) -> None:
    client.perform(client.plan([config("theirs")], "configmaps/other"))
    finalized_metadata = {"name": "held", "namespace": "default", "finalizers": ["example.com/hold"]}
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": finalized_metadata})
    client.api(kp.Dynamic, resource=CONFIGS).delete("held")
    plan = client.plan([config("old")], PARENT)
    client.perform(plan)
    plan = client.plan(objects, PARENT)
    assert expected_message in str(plan)
    assert plan.deletions == ()
    assert outcome(plan)["withheld"] == ["ConfigMap default/old"]


def test_an_object_is_unverified_if_a_webhook_with_side_effects_refuses_dry_runs(
    cluster: sim.Cluster,
) -> None:
    server_message = 'admission webhook "x.io" does not support dry run'
    status = kp.Status(status="Failure", code=400, reason="BadRequest", message=server_message)

    def refuse(request: kp.RawRequest) -> kp.Status | None:
        return status if "dryRun" in request.target else None

    client = client_of(cluster, RefusingTransport(cluster, refuse))
    plan = client.plan([config("a")], PARENT)
    assert [entry.unverified for entry in plan.creations] == [
        "an admission webhook with side effects refuses dry runs"
    ]
    client.perform(plan)
    assert [entry.unverified for entry in client.plan([config("a")], PARENT).changes] != []


# Protected objects


def forbid(verb: str, part: str) -> Callable[[kp.RawRequest], kp.Status | None]:
    status = kp.Status(status="Failure", code=403, reason="Forbidden", message="you may not")

    def refuse(request: kp.RawRequest) -> kp.Status | None:
        return status if request.method == verb and part in request.target else None

    return refuse


def test_nothing_is_pruned_while_a_kind_cannot_be_listed(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("a"), secret("s", k="v")], PARENT))
    limited = client_of(cluster, RefusingTransport(cluster, forbid("GET", "/secrets?")))
    plan = limited.plan([], PARENT)
    assert outcome(plan) == {"withheld": ["ConfigMap default/a"]}
    assert "Secret in namespace default cannot be listed" in plan.withheld_because
    assert "you may not" in plan.withheld_because
    assert plan.complete
    assert not plan.clean
    limited.perform(plan)
    assert parent_annotations(cluster)[KINDS] == "ConfigMap,Secret"
    assert outcome(client.plan([], PARENT))["deleted"] == ["ConfigMap default/a", "Secret default/s"]


def test_nothing_is_pruned_while_a_defined_kind_is_not_served(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([definition(), gadget("one"), config("a")], PARENT))
    crd: Any = cluster.get("apiextensions.k8s.io/v1/CustomResourceDefinition", "gadgets.example.com")
    crd["spec"]["versions"][0]["served"] = False
    cluster.put(crd)
    plan = client.plan([definition()], PARENT)
    assert outcome(plan)["withheld"] == ["ConfigMap default/a"]
    assert "Gadget.example.com cannot be listed: gadgets.example.com defines it" in plan.withheld_because
    limited = client_of(cluster, RefusingTransport(cluster, forbid("GET", "/customresourcedefinitions?")))
    assert "its definition cannot be read" in limited.plan([], PARENT).withheld_because


def test_a_kind_without_a_definition_does_not_block_pruning(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([definition(), gadget("one"), config("a")], PARENT))
    cluster.remove("apiextensions.k8s.io/v1/CustomResourceDefinition", "gadgets.example.com")
    plan = client.plan([], PARENT)
    assert outcome(plan) == {"deleted": ["ConfigMap default/a"]}
    client.perform(plan)
    assert parent_annotations(cluster)[KINDS] == ""


def test_a_changed_member_is_deleted_and_an_object_that_left_the_set_is_not(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("moved"), config("changed"), config("gone")], PARENT))
    plan = client.plan([], PARENT)
    api = client.api(kp.Dynamic, resource=CONFIGS)
    api.merge_patch("changed", {"data": {"k": "v"}})
    api.merge_patch("moved", {"metadata": {"labels": {"applyset.kubernetes.io/part-of": "applyset-x-v1"}}})
    api.delete("gone")
    api.create(config("gone", k="somebody else's"))
    result = client.perform(plan)
    assert names_of(result.skipped) == ["ConfigMap default/moved"]
    assert "ConfigMap default/moved skipped: it is no longer a member" in str(result)
    assert cluster.get("v1/ConfigMap", "changed") is None
    assert cluster.get("v1/ConfigMap", "moved") is not None
    assert cluster.get("v1/ConfigMap", "gone") is not None


def test_pruning_waits_for_finalizers_before_the_next_deletion(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    finalized_gadget = gadget("one", finalizers=["example.com/hold"])
    client.perform(client.plan([definition(), finalized_gadget, config("a")], PARENT))
    with pytest.raises(
        DeletionHeld, match=r"Gadget.example.com default/one: .* waits for the finalizers example.com/hold"
    ) as raised:
        client.perform(client.plan([], PARENT), timeout=5)
    assert "later objects were not deleted" in str(raised.value)
    assert cluster.get("v1/ConfigMap", "a") is not None
    plan = client.plan([], PARENT)
    assert "Gadget.example.com default/one (it is being deleted already)" in str(plan)
    client.api(Gadget).merge_patch("one", {"metadata": {"finalizers": None}})
    client.perform(client.plan([], PARENT), timeout=5)
    assert client.plan([], PARENT).clean
    assert parent_annotations(cluster)[KINDS] == ""


def test_nothing_is_pruned_after_an_error_during_apply(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    client.perform(client.plan([config("old")], PARENT))
    refuse = forbid("PATCH", "configmaps/new")
    limited = client_of(
        cluster,
        RefusingTransport(cluster, lambda request: None if "dryRun" in request.target else refuse(request)),
    )
    with pytest.raises(ApplyError, match="you may not"):
        limited.perform(limited.plan([config("new")], PARENT))
    assert cluster.get("v1/ConfigMap", "old") is not None


# Without a set


def test_objects_without_a_set_are_planned_and_applied_and_never_pruned(
    cluster: sim.Cluster, client: SimulatedBlockingClient
) -> None:
    desired = config("a", k="1")
    encoded = kp.encode(desired)
    client.perform(client.plan([desired], field_manager="me"))
    assert kp.encode(desired) == encoded  # the caller's object is unchanged
    plan = client.plan([config("a", k="2")], field_manager="me")
    assert outcome(plan) == {"changed": ["ConfigMap default/a"]}
    assert [line for line in plan.changes[0].diff if line[0] in "+-"] == ["-  k: '1'", "+  k: '2'"]
    obj: Any = cluster.get("v1/ConfigMap", "a")
    assert "labels" not in obj["metadata"]


# Rendering


def test_the_values_of_secrets_are_never_shown(cluster: sim.Cluster, client: SimulatedBlockingClient) -> None:
    client.perform(client.plan([secret("s", password="hunter2", same="unchanged-value")], PARENT))
    last = "kubectl.kubernetes.io/last-applied-configuration"
    desired = secret("s", password="correct-horse", same="unchanged-value", more="brand-new")
    desired.metadata.annotations = {last: '{"stringData":{"password":"correct-horse"}}'}
    plan = client.plan([desired, secret("t", password="other-value")], PARENT)
    result = client.perform(plan)
    invalid_secret = to_dynamic(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "u"}, "data": {"k": "no base64!"}}
    )
    refused_plan = client.plan([invalid_secret, secret("t", password="other-value")], PARENT)
    malformed_secret = secret("v")
    malformed_secret["data"] = ["listed-value"]
    texts = [repr(plan), str(plan), repr(result), str(result), repr(plan.creations), repr(plan.changes)]
    texts += ["".join(entry.diff) for entry in plan.writes]
    texts += [
        str(refused_plan),
        repr(refused_plan),
        repr(result.applied),
        str(client.plan([malformed_secret], PARENT)),
    ]
    for value in (
        "hunter2",
        "correct-horse",
        "unchanged-value",
        "brand-new",
        "other-value",
        "no base64!",
        "listed-value",
    ):
        for text in (value, b64encode(value.encode()).decode()):
            assert text not in "\n".join(texts), value
    assert "password: '*** (before)'" in str(plan)
    assert "password: '*** (after)'" in str(plan)
    assert "more: '***'" in str(plan)
    assert "same: '***'" in str(plan)
    assert refused_plan.refusals


def test_the_error_about_a_refused_secret_does_not_quote_its_values(cluster: sim.Cluster) -> None:
    server_message = 'admission webhook "x.io" denied the request: hunter2 (aHVudGVyMg==) is a weak password'
    status = kp.Status(status="Failure", code=403, reason="Forbidden", message=server_message)

    def refuse(request: kp.RawRequest) -> kp.Status | None:
        is_write = request.method == "PATCH" and "dryRun" not in request.target
        return status if is_write and "secrets/s" in request.target else None

    client = client_of(cluster, RefusingTransport(cluster, refuse))
    with pytest.raises(ApplyError, match="is a weak password") as raised:
        client.perform(client.plan([secret("s", password="hunter2")], PARENT))
    error: BaseException | None = raised.value
    while error is not None:
        for text in ("hunter2", "aHVudGVyMg=="):
            assert text not in f"{error} {error!r} {error.args}"
        error = error.__cause__


def test_a_plan_renders_with_and_without_color_and_diffs(client: SimulatedBlockingClient) -> None:
    client.perform(client.plan([config("a", k="1"), config("old")], PARENT))
    plan = client.plan([config("a", k="2"), config("new"), gadget("g")], PARENT)
    assert plan.render(diffs=False).splitlines() == [
        "~ ConfigMap default/a",
        "+ ConfigMap default/new",
        "! Gadget.example.com g: the definition of Gadget (example.com/v1) is not installed",
        "nothing is deleted: 1 of the desired objects cannot be applied",
        "  kept: ConfigMap default/old",
        "1 to create, 1 to change, 1 refused, 1 not deleted yet",
    ]
    colored = plan.render(color=True)
    assert "\x1b[33m~ ConfigMap default/a\x1b[0m" in colored
    assert "    \x1b[31m-  k: '1'\x1b[0m" in colored
    assert re.sub(r"\x1b\[\d*m", "", colored) == plan.render() == str(plan)


def test_control_characters_in_values_do_not_reach_a_terminal(client: SimulatedBlockingClient) -> None:
    client.api(kp.Dynamic, resource=CONFIGS).apply(config("a", k="\x1b[2J"), field_manager="m")
    for force in (False, True):
        texts = str(client.plan([config("a", k="x"), config("b\x1b[2J")], PARENT, force=force))
        assert "\x1b" not in texts
