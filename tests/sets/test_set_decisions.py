"""The plan is a function of the desired objects, the existing objects and the results of dry runs."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from sets_rig import outcome, to_dynamic

import kubeproto as kp
from kubeproto.objects import StatusCause, StatusDetails
from kubeproto_runtime.sets import (
    ApplySet,
    DryRunFailure,
    DryRunSuccess,
    Listing,
    ManagerConflict,
    Membership,
    NoDryRun,
    Observation,
    Parent,
    Plan,
    applyset_id,
    decide_plan,
)

CONFIGS: Final = kp.Resource("", "v1", "ConfigMap", "configmaps")
PARENT: Final = Parent(ApplySet("configmaps/shop"), CONFIGS, "shop", "default")
MEMBERSHIP: Final = PARENT.membership


def make_document(name: str, *, part_of: str = "", **parts: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    metadata |= {"resourceVersion": "7"} | parts.pop("metadata", {})
    if part_of:
        metadata["labels"] = {MEMBERSHIP.label: part_of}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **parts}


def make_member(name: str, **parts: Any) -> dict[str, Any]:
    return make_document(name, part_of=MEMBERSHIP.value, **parts)


def observe(name: str, live: dict[str, Any] | None, result: Any) -> Observation:
    ref: kp.ObjectRef[Any] = kp.ObjectRef("", "ConfigMap", "default", name)
    return Observation(ref, to_dynamic(make_member(name)), live, result)


def conflict(*fields: tuple[str, str]) -> DryRunFailure:
    causes = tuple(
        StatusCause(reason="FieldManagerConflict", message=f'conflict with "{manager}" using v1', field=field)
        for manager, field in fields
    )
    status = kp.Status(
        code=409, reason="Conflict", message="Apply failed", details=StatusDetails(causes=causes)
    )
    return DryRunFailure(kp.Conflict(status))


INVALID: Final = DryRunFailure(
    kp.Invalid(kp.Status(code=422, reason="Invalid", message="data: must be a map"))
)
OTHER: Final = make_document("a", part_of="applyset-other-v1")
DELETING: Final = make_member(
    "a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]}
)

# An observation, and the expected plan.
ROWS: Final[dict[str, tuple[Observation, dict[str, list[str]]]]] = {
    "a new object": (observe("a", None, DryRunSuccess(make_member("a"))), {"created": ["a"]}),
    "an object without a difference": (
        observe("a", make_member("a"), DryRunSuccess(make_member("a"))),
        {"unchanged": ["a"]},
    ),
    "an object with a difference": (
        observe("a", make_member("a", data={"k": "1"}), DryRunSuccess(make_member("a", data={"k": "2"}))),
        {"changed": ["a"]},
    ),
    "an object outside of all sets is adopted": (
        observe("a", make_document("a"), DryRunSuccess(make_member("a"))),
        {"changed": ["a"]},
    ),
    "a write by the server is not a change": (
        observe(
            "a",
            make_member("a"),
            DryRunSuccess(make_member("a", metadata={"resourceVersion": "8", "generation": 3})),
        ),
        {"unchanged": ["a"]},
    ),
    "times and order of the owners are not a change": (
        observe(
            "a",
            make_member("a", metadata={"managedFields": [{"manager": "x", "time": "1"}, {"manager": "y"}]}),
            DryRunSuccess(
                make_member(
                    "a", metadata={"managedFields": [{"manager": "y"}, {"manager": "x", "time": "2"}]}
                )
            ),
        ),
        {"unchanged": ["a"]},
    ),
    "another owner is a change": (
        observe(
            "a",
            make_member("a", metadata={"managedFields": [{"manager": "x"}]}),
            DryRunSuccess(make_member("a", metadata={"managedFields": [{"manager": "x"}, {"manager": "y"}]})),
        ),
        {"changed": ["a"]},
    ),
    "a member of another set": (observe("a", OTHER, DryRunSuccess(make_member("a"))), {"refused": ["a"]}),
    "an object that is being deleted": (observe("a", DELETING, DryRunSuccess(DELETING)), {"refused": ["a"]}),
    "an object that the server refuses": (observe("a", None, INVALID), {"refused": ["a"]}),
    "a conflict": (observe("a", make_member("a"), conflict(("m", ".data.k"))), {"refused": ["a"]}),
    "no dry run of a new object": (observe("a", None, NoDryRun("the reason")), {"created": ["a"]}),
    "no dry run of an existing object": (
        observe("a", make_member("a"), NoDryRun("the reason")),
        {"changed": ["a"]},
    ),
}


def plan_of(*observations: Observation, listings: tuple[Listing, ...] = (), **options: Any) -> Plan:
    return decide_plan(observations, listings, membership=MEMBERSHIP, parent=PARENT, **options)


def parts_of(plan: Plan) -> dict[str, list[str]]:
    return {
        part: [name.rpartition("/")[2] for name in documents] for part, documents in outcome(plan).items()
    }


@pytest.mark.parametrize("row", ROWS)
def test_an_observation_decides_the_plan_of_an_object(row: str) -> None:
    observation, expected = ROWS[row]
    assert parts_of(plan_of(observation)) == expected


LISTED: Final = Listing(("", "ConfigMap"), "default", CONFIGS, (make_member("old"), make_member("a")))
FAILED: Final = Listing(("", "Secret"), "default", failure="403 Forbidden")
GOOD: Final = observe("a", make_member("a"), DryRunSuccess(make_member("a")))

# Observations and listings with the undesired member `old`, and the reason for keeping `old`.
PRUNING: Final[dict[str, tuple[tuple[Observation, ...], tuple[Listing, ...], tuple[str, ...], str]]] = {
    "everything is known": ((GOOD,), (LISTED,), (), ""),
    "a kind cannot be listed": (
        (GOOD,),
        (LISTED, FAILED),
        (),
        "Secret in namespace default cannot be listed: 403 Forbidden",
    ),
    "an object is refused": (
        (GOOD, observe("b", None, INVALID)),
        (LISTED,),
        (),
        "1 of the desired objects cannot be applied",
    ),
    "a file cannot be read": ((GOOD,), (LISTED,), ("x.yaml: document 1",), "not all files can be read"),
    "the wanted object itself is refused": (
        (observe("a", make_member("a"), INVALID),),
        (LISTED,),
        (),
        "1 of the desired objects cannot be applied",
    ),
}


@pytest.mark.parametrize("row", PRUNING)
def test_nothing_is_deleted_while_any_information_is_missing(row: str) -> None:
    observations, listings, unreadable, because = PRUNING[row]
    plan = plan_of(*observations, listings=listings, unreadable=unreadable)
    assert plan.withheld_because == because
    parts = parts_of(plan)
    assert parts.get("deleted", []) == ([] if because else ["old"])
    assert parts.get("withheld", []) == (["old"] if because else [])
    assert plan.complete == (not (unreadable or plan.refusals))


def test_only_members_are_deleted_and_never_the_parent() -> None:
    foreign = make_document("foreign", part_of="applyset-other-v1")
    listing = Listing(
        ("", "ConfigMap"), "default", CONFIGS, (foreign, make_document("nobody"), make_member("shop"))
    )
    assert parts_of(plan_of(listings=(listing,))) == {}


def test_a_plan_without_a_set_deletes_nothing() -> None:
    plan = decide_plan([observe("a", None, DryRunSuccess(make_member("a")))], [LISTED])
    assert parts_of(plan) == {"created": ["a"]}
    assert plan.withheld_because == ""


def test_a_conflict_names_the_managers_and_their_fields() -> None:
    fields = (("m1", ".data.a"), ("m2", ".data.a"), ('odd "one"', ".spec"), ("m2", ".data.b"))
    [refused] = plan_of(observe("a", make_member("a"), conflict(*fields))).refusals
    assert refused.conflicts == (
        ManagerConflict("m1", (".data.a",)),
        ManagerConflict("m2", (".data.a", ".data.b")),
        ManagerConflict('odd "one"', (".spec",)),
    )
    assert "m2 owns .data.a, .data.b" in str(refused)
    assert "force" in str(refused)


KINDS: Final = (
    ("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition"), ("", "ServiceAccount"),
    ("", "ConfigMap"), ("", "Service"), ("apps", "Deployment"), ("example.com", "Gadget"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
)  # fmt: skip


def test_deletions_are_ordered_from_webhooks_to_namespaces() -> None:
    listings = [Listing(kind, "", CONFIGS, (make_member(kind[1].lower()),)) for kind in KINDS]
    plan = plan_of(listings=tuple(listings))
    assert [deletion.ref.kind for deletion in plan.deletions] == [kind for _, kind in reversed(KINDS)]
    assert [deletion.cascades for deletion in plan.deletions][-2:] == [
        "and all objects of its kind",
        "and all objects in it",
    ]


def test_the_id_of_a_set_equals_that_of_kubectl() -> None:
    # Written by kubectl 1.32.
    assert (
        applyset_id("shop", "default", "ConfigMap", "")
        == "applyset-eJnHvE2GWb1x7cuOigFbmWy6kz3rLjS9N8VMrZGS2Os-v1"
    )
    assert (
        len(applyset_id("x" * 250, "n" * 63, "K" * 63, "g" * 200)) <= 63
    )  # the maximum length of a label value


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(("member", "other", "nobody"))),
    st.sets(st.sampled_from("abcdef")),
)
def test_foreign_objects_are_never_deleted(documents: dict[str, str], desired_names: set[str]) -> None:
    labels = {"member": MEMBERSHIP.value, "other": "applyset-x-v1", "nobody": ""}
    objects = {
        name: make_document(name, part_of=labels[membership_kind])
        for name, membership_kind in documents.items()
    }
    listing = Listing(("", "ConfigMap"), "default", CONFIGS, tuple(objects.values()))
    observations = [
        observe(name, objects.get(name), DryRunSuccess(make_member(name))) for name in sorted(desired_names)
    ]
    plan = plan_of(*observations, listings=(listing,))
    deleted_names = {deletion.ref.name for deletion in (*plan.deletions, *plan.withheld)}
    assert (
        deleted_names
        == {name for name, membership_kind in documents.items() if membership_kind == "member"}
        - desired_names
    )
    assert bool(plan.withheld_because) == any(documents.get(name) == "other" for name in desired_names)


OWNER: Final = {"apiVersion": "v1", "kind": "Book", "name": "moby", "uid": "u1", "controller": True}
CHILDREN: Final = Membership("of", "moby", OWNER)


@pytest.mark.parametrize(
    ("labels", "owners", "includes", "foreign"),
    [
        ({"of": "moby"}, [OWNER], True, ""),
        ({}, [OWNER], False, ""),
        ({"of": "moby"}, [], False, ""),
        ({"of": "moby"}, [OWNER | {"uid": "u2"}], False, "Book moby controls it"),
        ({"of": "moby"}, [OWNER | {"controller": False}], False, ""),
        ({"of": "other"}, [OWNER], False, "it belongs to another owner: its label of is 'other'"),
        ({}, [OWNER | {"uid": "u2", "controller": False}], False, ""),
    ],
)  # fmt: skip
def test_children_have_both_the_label_and_the_controller_reference(
    labels: dict[str, str], owners: list[dict[str, Any]], includes: bool, foreign: str
) -> None:
    documents = {"metadata": {"labels": labels, "ownerReferences": owners}}
    assert CHILDREN.includes(documents) == includes
    assert CHILDREN.find_obstacle(documents) == foreign
    labelled = CHILDREN.add_to(documents)
    assert CHILDREN.includes(labelled) or foreign.endswith("controls it")
