"""Predicates on pairs of objects: which changes pass."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec
import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.control import CachedObject, Change
from kubeproto_runtime import predicates
from kubeproto_runtime.predicates import Predicate, changed, selected

OLD: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "uid": "u1",
        "generation": 1,
        "resourceVersion": "1",
        "labels": {"app.kubernetes.io/name": "web"},
        "annotations": {"note": "x"},
        "finalizers": ["example.com/f"],
    },
    "spec": {"size": 1, "pages": {"first": 1}},
    "status": {"copies": 1},
}


def entry(obj: dict[str, Any] | bytes, version: str) -> CachedObject:
    return CachedObject(version, obj if isinstance(obj, bytes) else msgspec.json.encode(obj))


def change(
    old: dict[str, Any] | bytes | None,
    new: dict[str, Any] | bytes | None,
    type_: Literal["ADDED", "MODIFIED", "DELETED"] = "MODIFIED",
) -> Change[kp.Dynamic]:
    before = None if old is None else entry(old, "1")
    after = None if new is None else entry(new, "2")
    return Change(kp.Dynamic, type_, "default/a", before, after)


def edited(*path: str, to: object) -> dict[str, Any]:
    new: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(OLD))
    new["metadata"]["resourceVersion"] = "2"
    place = new
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = to
    return new


EDITS = {
    "nothing": edited("metadata", "resourceVersion", to="2"),
    "generation": edited("metadata", "generation", to=2),
    "labels": edited("metadata", "labels", to={}),
    "annotations": edited("metadata", "annotations", to={"note": "y"}),
    "finalizers": edited("metadata", "finalizers", to=[]),
    "deletion": edited("metadata", "deletionTimestamp", to="2026-01-01T00:00:00Z"),
    "owners": edited("metadata", "ownerReferences", to=[{"kind": "Shelf", "name": "s"}]),
    "managed": edited("metadata", "managedFields", to=[{"manager": "me"}]),
    "size": edited("spec", "size", to=2),
    "pages": edited("spec", "pages", to={"first": 2}),
    "status": edited("status", "copies", to=2),
    "another": edited("metadata", "uid", to="u2"),
}


def in_order(value: Any) -> str:
    return repr(sorted(cast("set[str]", value)) if isinstance(value, set) else value)


@pytest.mark.parametrize(
    ("predicate", "passing"),
    [
        (predicates.generation, {"generation", "another"}),
        (predicates.labels, {"labels", "another"}),
        (predicates.annotations, {"annotations", "another"}),
        (predicates.finalizers, {"finalizers", "deletion", "another"}),
        (changed("spec.size"), {"size", "another"}),
        (changed("spec.pages.first"), {"pages", "another"}),
        (changed("metadata", "labels", "app.kubernetes.io/name"), {"labels", "another"}),
        (changed("status"), {"status", "another"}),
        (changed("no.such.field"), {"another"}),
        (changed("spec.size.deeper"), {"another"}),
        (
            predicates.beyond_status,
            {"labels", "annotations", "finalizers", "deletion", "owners", "size", "pages", "another"},
        ),
        (predicates.labels | predicates.annotations, {"labels", "annotations", "another"}),
        (predicates.labels & predicates.annotations, {"another"}),
        (~predicates.labels, set(EDITS) - {"labels", "another"}),
        (selected("app.kubernetes.io/name=web"), set(EDITS)),
        (selected("app.kubernetes.io/name=db"), set[str]()),
        (Predicate(lambda change: change.object["spec"]["size"] > 1), {"size"}),
    ],
    ids=in_order,
)
def test_each_predicate_lets_its_own_changes_pass(predicate: Predicate, passing: set[str]) -> None:
    assert {name for name, new in EDITS.items() if predicate(change(OLD, new))} == passing


EVERY = [
    predicates.generation,
    predicates.labels,
    predicates.annotations,
    predicates.finalizers,
    predicates.beyond_status,
    changed("spec.size"),
]


@pytest.mark.parametrize("predicate", EVERY, ids=repr)
def test_what_comes_goes_or_cannot_be_read_passes(predicate: Predicate) -> None:
    assert predicate(change(None, OLD, "ADDED"))
    assert predicate(change(OLD, OLD, "DELETED"))
    assert predicate(change(OLD, None, "DELETED"))
    assert predicate(change(b"", OLD))
    assert predicate(change(OLD, b'{"metadata":5}')) or predicate is EVERY[-1]


@pytest.mark.parametrize("predicate", EVERY, ids=repr)
def test_a_replay_of_what_did_not_change_does_not_pass(predicate: Predicate) -> None:
    same = entry(OLD, "1")
    assert not predicate(Change(kp.Dynamic, "MODIFIED", "default/a", same, same))


def test_a_kind_without_a_generation_says_nothing_by_it() -> None:
    bare = {"metadata": {"name": "a", "uid": "u1"}}
    assert predicates.generation(change(bare, bare))


def test_the_order_of_keys_is_not_a_change() -> None:
    assert not changed("spec")(change(b'{"spec":{"a":1,"b":2}}', b'{"spec":{"b":2, "a":1}}'))
    assert not predicates.beyond_status(
        change(b'{"metadata":{},"spec":{"a":1,"b":2}}', b'{"spec":{"b":2,"a":1},"metadata":{},"status":{}}')
    )


def test_a_predicate_says_what_it_is() -> None:
    assert repr(changed("spec.size") | ~predicates.labels) == "(changed(spec.size) | ~labels)"


def test_a_field_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="the path of the field is empty"):
        changed("")


@given(st.sampled_from(sorted(EDITS)), st.sampled_from(EVERY), st.sampled_from(EVERY))
def test_predicates_combine_as_logic_does(name: str, one: Predicate, other: Predicate) -> None:
    seen = change(OLD, EDITS[name])
    assert (one & other)(seen) == (one(seen) and other(seen))
    assert (one | other)(seen) == (one(seen) or other(seen))
    assert (~one)(seen) is not one(seen)
    assert (~(one & other))(seen) == (~one | ~other)(seen)
