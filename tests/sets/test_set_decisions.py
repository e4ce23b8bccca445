"""The plan as a function of values: what is wanted, what there is, and what a dry run returned."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from sets_rig import dynamic, outcome

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


def document(name: str, *, part_of: str = "", **parts: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    metadata |= {"resourceVersion": "7"} | parts.pop("metadata", {})
    if part_of:
        metadata["labels"] = {MEMBERSHIP.label: part_of}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **parts}


def member(name: str, **parts: Any) -> dict[str, Any]:
    return document(name, part_of=MEMBERSHIP.value, **parts)


def seen(name: str, live: dict[str, Any] | None, result: Any) -> Observation:
    ref: kp.ObjectRef[Any] = kp.ObjectRef("", "ConfigMap", "default", name)
    return Observation(ref, dynamic(member(name)), live, result)


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
OTHER: Final = document("a", part_of="applyset-other-v1")
DELETING: Final = member("a", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x/y"]})

# What is observed, and what is planned for it.
ROWS: Final[dict[str, tuple[Observation, dict[str, list[str]]]]] = {
    "a new one": (seen("a", None, DryRunSuccess(member("a"))), {"created": ["a"]}),
    "one that is as it should be": (seen("a", member("a"), DryRunSuccess(member("a"))), {"unchanged": ["a"]}),
    "one that differs": (
        seen("a", member("a", data={"k": "1"}), DryRunSuccess(member("a", data={"k": "2"}))),
        {"changed": ["a"]},
    ),
    "one of nobody is adopted": (seen("a", document("a"), DryRunSuccess(member("a"))), {"changed": ["a"]}),
    "a write of the server's own is not a change": (
        seen(
            "a", member("a"), DryRunSuccess(member("a", metadata={"resourceVersion": "8", "generation": 3}))
        ),
        {"unchanged": ["a"]},
    ),
    "times and order of the owners are not a change": (
        seen(
            "a",
            member("a", metadata={"managedFields": [{"manager": "x", "time": "1"}, {"manager": "y"}]}),
            DryRunSuccess(
                member("a", metadata={"managedFields": [{"manager": "y"}, {"manager": "x", "time": "2"}]})
            ),
        ),
        {"unchanged": ["a"]},
    ),
    "another owner is a change": (
        seen(
            "a",
            member("a", metadata={"managedFields": [{"manager": "x"}]}),
            DryRunSuccess(member("a", metadata={"managedFields": [{"manager": "x"}, {"manager": "y"}]})),
        ),
        {"changed": ["a"]},
    ),
    "one of another set": (seen("a", OTHER, DryRunSuccess(member("a"))), {"refused": ["a"]}),
    "one that is being deleted": (seen("a", DELETING, DryRunSuccess(DELETING)), {"refused": ["a"]}),
    "one that the server refuses": (seen("a", None, INVALID), {"refused": ["a"]}),
    "a conflict": (seen("a", member("a"), conflict(("m", ".data.k"))), {"refused": ["a"]}),
    "no dry run of a new one": (seen("a", None, NoDryRun("why")), {"created": ["a"]}),
    "no dry run of one that exists": (seen("a", member("a"), NoDryRun("why")), {"changed": ["a"]}),
}  # fmt: skip


def plan_of(*observations: Observation, listings: tuple[Listing, ...] = (), **facts: Any) -> Plan:
    return decide_plan(observations, listings, membership=MEMBERSHIP, parent=PARENT, **facts)


def shown(plan: Plan) -> dict[str, list[str]]:
    return {part: [name.rpartition("/")[2] for name in found] for part, found in outcome(plan).items()}


@pytest.mark.parametrize("row", ROWS)
def test_what_happens_to_a_document(row: str) -> None:
    observation, expected = ROWS[row]
    assert shown(plan_of(observation)) == expected


LISTED: Final = Listing(("", "ConfigMap"), "default", CONFIGS, (member("old"), member("a")))
FAILED: Final = Listing(("", "Secret"), "default", failure="403 Forbidden")
GOOD: Final = seen("a", member("a"), DryRunSuccess(member("a")))

# What is observed beside the member `old`, which nobody wants; and why it is kept, if it is.
PRUNING: Final[dict[str, tuple[tuple[Observation, ...], tuple[Listing, ...], tuple[str, ...], str]]] = {
    "everything is known": ((GOOD,), (LISTED,), (), ""),
    "a kind cannot be listed": (
        (GOOD,), (LISTED, FAILED), (), "Secret in namespace default cannot be listed: 403 Forbidden",
    ),
    "an object is refused": (
        (GOOD, seen("b", None, INVALID)), (LISTED,), (), "1 of the wanted objects cannot be applied",
    ),
    "a file cannot be read": ((GOOD,), (LISTED,), ("x.yaml: document 1",), "not all files can be read"),
    "the wanted object itself is refused": (
        (seen("a", member("a"), INVALID),), (LISTED,), (), "1 of the wanted objects cannot be applied",
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", PRUNING)
def test_nothing_is_deleted_while_anything_is_not_known(row: str) -> None:
    observations, listings, unreadable, because = PRUNING[row]
    plan = plan_of(*observations, listings=listings, unreadable=unreadable)
    assert plan.withheld_because == because
    parts = shown(plan)
    assert parts.get("deleted", []) == ([] if because else ["old"])
    assert parts.get("withheld", []) == (["old"] if because else [])
    assert plan.complete == (not (unreadable or plan.refusals))


def test_only_members_are_deleted_and_the_parent_is_not() -> None:
    foreign = document("foreign", part_of="applyset-other-v1")
    listing = Listing(("", "ConfigMap"), "default", CONFIGS, (foreign, document("nobody"), member("shop")))
    assert shown(plan_of(listings=(listing,))) == {}


def test_without_a_set_nothing_is_deleted() -> None:
    plan = decide_plan([seen("a", None, DryRunSuccess(member("a")))], [LISTED])
    assert shown(plan) == {"created": ["a"]}
    assert plan.withheld_because == ""


def test_a_conflict_names_the_managers_and_their_fields() -> None:
    fields = (("m1", ".data.a"), ("m2", ".data.a"), ('odd "one"', ".spec"), ("m2", ".data.b"))
    [refused] = plan_of(seen("a", member("a"), conflict(*fields))).refusals
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


def test_deletions_go_from_webhooks_to_namespaces() -> None:
    listings = [Listing(kind, "", CONFIGS, (member(kind[1].lower()),)) for kind in KINDS]
    plan = plan_of(listings=tuple(listings))
    assert [one.ref.kind for one in plan.deletions] == [kind for _, kind in reversed(KINDS)]
    assert [one.cascades for one in plan.deletions][-2:] == [
        "and all objects of its kind",
        "and all objects in it",
    ]


def test_the_id_of_a_set_is_that_of_kubectl() -> None:
    # As kubectl 1.32 writes them for a Secret, a ConfigMap and a custom resource without a namespace.
    assert (
        applyset_id("shop", "default", "ConfigMap", "")
        == "applyset-eJnHvE2GWb1x7cuOigFbmWy6kz3rLjS9N8VMrZGS2Os-v1"
    )
    assert len(applyset_id("x" * 250, "n" * 63, "K" * 63, "g" * 200)) <= 63  # what a label's value may have


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(("member", "other", "nobody"))),
    st.sets(st.sampled_from("abcdef")),
)
def test_nobody_elses_object_is_ever_deleted(found: dict[str, str], wanted: set[str]) -> None:
    labels = {"member": MEMBERSHIP.value, "other": "applyset-x-v1", "nobody": ""}
    objects = {name: document(name, part_of=labels[whose]) for name, whose in found.items()}
    listing = Listing(("", "ConfigMap"), "default", CONFIGS, tuple(objects.values()))
    observations = [seen(name, objects.get(name), DryRunSuccess(member(name))) for name in sorted(wanted)]
    plan = plan_of(*observations, listings=(listing,))
    gone = {one.ref.name for one in (*plan.deletions, *plan.withheld)}
    assert gone == {name for name, whose in found.items() if whose == "member"} - wanted
    assert bool(plan.withheld_because) == any(found.get(name) == "other" for name in wanted)


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
def test_children_are_what_their_owner_controls_and_what_is_labelled(
    labels: dict[str, str], owners: list[dict[str, Any]], includes: bool, foreign: str
) -> None:
    found = {"metadata": {"labels": labels, "ownerReferences": owners}}
    assert CHILDREN.includes(found) == includes
    assert CHILDREN.find_obstacle(found) == foreign
    marked = CHILDREN.mark(found)
    assert CHILDREN.includes(marked) or foreign.endswith("controls it")
