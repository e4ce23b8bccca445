"""Properties of any apply by any manager over any object."""

from __future__ import annotations

from typing import Any

from apply_cases import FOO, LATER, NOW, Object, apply_successfully, foo, owners, try_apply, write_object
from hypothesis import given, strategies as st

from kubeproto_sim.apply import AppliedObject, Conflicts
from kubeproto_sim.apply._merge import merged, removed, with_parents
from kubeproto_sim.apply._object_fields import UNOWNED, compare, fields_of
from kubeproto_sim.apply.fieldsets import (
    EMPTY,
    decode_fields,
    difference,
    fieldset,
    intersection,
    leaves,
    paths,
    union,
)

NAMES: st.SearchStrategy[str] = st.sampled_from("abc")
NUMBERS: st.SearchStrategy[int] = st.integers(0, 2)
PORTS: st.SearchStrategy[Object] = st.fixed_dictionaries({"port": NUMBERS}, optional={"name": NAMES})
ANY: st.SearchStrategy[Any] = st.recursive(
    NUMBERS | st.booleans() | NAMES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, min_size=1, max_size=2),
    max_leaves=4,
)
SPECS: st.SearchStrategy[Object] = st.fixed_dictionaries(
    {},
    optional={
        "color": NAMES,
        "size": NUMBERS,
        "labels": st.dictionaries(NAMES, NAMES, min_size=1, max_size=3),
        "tags": st.lists(NAMES, min_size=1, max_size=3, unique=True),
        "words": st.lists(NAMES, max_size=3),
        "place": st.fixed_dictionaries({}, optional={"x": NUMBERS, "y": NUMBERS}),
        "ports": st.lists(PORTS, min_size=1, max_size=3, unique_by=lambda port: int(port["port"])),
        "any": st.dictionaries(NAMES, ANY, min_size=1, max_size=2),
    },
)
FOOS = SPECS.map(lambda spec: foo(**spec))
MANAGERS: st.SearchStrategy[str] = st.sampled_from(["m1", "m2", "m3"])
WRITES = st.lists(st.tuples(MANAGERS, FOOS, st.booleans()), min_size=1, max_size=5)


def history(writes: list[tuple[str, Object, bool]]) -> Object:
    """Draw an object after some writes: forced applies or puts."""
    live: Object | None = None
    for manager, body, applies in writes:
        if applies or live is None:
            live = apply_successfully(live, body, manager, force=True)
        else:
            live = write_object(live, {**live, "spec": body["spec"]}, manager)
    assert live is not None
    return live


def owned_fields(body: Object) -> Any:
    """Return the fields that an applier of this body owns."""
    return difference(fields_of(body, FOO), UNOWNED)


@given(WRITES, FOOS, MANAGERS)
def test_applying_twice_is_applying_once(
    writes: list[tuple[str, Object, bool]], body: Object, manager: str
) -> None:
    once = apply_successfully(history(writes), body, manager, force=True)
    again = try_apply(once, body, manager, now=LATER)
    assert isinstance(again, AppliedObject)
    assert not again.changed
    assert again.object == once


@given(WRITES, FOOS, MANAGERS)
def test_applied_fields_exist_and_are_owned(
    writes: list[tuple[str, Object, bool]], body: Object, manager: str
) -> None:
    result = apply_successfully(history(writes), body, manager, force=True)
    assert not compare(result, merged(result, body, FOO), FOO).written
    [mine] = [
        decode_fields(entry["fieldsV1"])
        for entry in result["metadata"].get("managedFields", [])
        if (entry["manager"], entry["operation"]) == (manager, "Apply")
    ] or [EMPTY]
    assert mine == owned_fields(body)


@given(WRITES, FOOS)
def test_conflicts_name_the_fields_of_others_and_force_resolves_them(
    writes: list[tuple[str, Object, bool]], body: Object
) -> None:
    live = history(writes)
    outcome = try_apply(live, body, "new")
    forced = apply_successfully(live, body, "new", force=True)
    if isinstance(outcome, Conflicts):
        for conflict in outcome.conflicts:
            if conflict.owner.manager == "before-first-apply":
                continue  # whose entry is not written unless the body is applied
            assert intersection(owned_fields(body), decode_fields(owners_of(live, conflict.owner.manager)))
        assert isinstance(try_apply(forced, body, "new"), AppliedObject)
    else:
        assert outcome.object == forced


def owners_of(live: Object, manager: str) -> Any:
    sets = [entry["fieldsV1"] for entry in live["metadata"]["managedFields"] if entry["manager"] == manager]
    fields = EMPTY
    for each in sets:
        fields = union(fields, decode_fields(each))
    return fields


@given(WRITES)
def test_owned_fields_exist(writes: list[tuple[str, Object, bool]]) -> None:
    live = history(writes)
    present = with_parents(fields_of(live, FOO), FOO)
    for fields in owners(live).values():
        # A map that has its own entry may exist because of fields that others added to it.
        assert not difference(leaves(decode_fields(fields)), union(present, shells(live)))


def shells(live: Object) -> Any:
    """Return the maps and lists without any field of their own."""
    return fieldset(("f:spec", f"f:{name}") for name in live.get("spec", {}))


@given(FOOS, FOOS)
def test_the_creator_owns_every_leaf(first_object: Object, second_object: Object) -> None:
    created = write_object(None, first_object, "w")
    everything = difference(leaves(fields_of(first_object, FOO)), UNOWNED)
    owned = decode_fields(owners(created).get("w", {}))
    assert not difference(everything, owned)
    changed = write_object(created, second_object, "other", now=LATER)
    field_sets = [decode_fields(fields) for fields in owners(changed).values()]
    # Every field that the second writer did not change still belongs to the first, and no field belongs to
    # both.
    assert not intersection(*field_sets) if len(field_sets) == 2 else True


@given(FOOS, FOOS)
def test_a_reversed_comparison_adds_the_removed_fields(a: Object, b: Object) -> None:
    forward, backward = compare(a, b, FOO), compare(b, a, FOO)
    assert (forward.added, forward.removed) == (backward.removed, backward.added)
    assert forward.modified == backward.modified
    assert not intersection(forward.added, forward.removed)


@given(FOOS)
def test_an_object_does_not_differ_from_itself(body: Object) -> None:
    changes = compare(body, {**body, "spec": dict(reversed(list(body["spec"].items())))}, FOO)
    assert not changes.written
    assert not changes.removed


@given(FOOS, FOOS)
def test_exactly_the_removed_fields_are_missing(body: Object, other: Object) -> None:
    shared = intersection(owned_fields(body), owned_fields(other))
    remaining = fields_of(removed(body, shared, FOO), FOO)
    assert not intersection(remaining, shared)
    spared = {path for path in paths(fields_of(body, FOO)) if not beneath(path, set(paths(shared)))}
    assert spared <= set(paths(remaining))


def beneath(path: tuple[str, ...], removed_paths: set[tuple[str, ...]]) -> bool:
    return any(path[: len(each)] == each for each in removed_paths)


@given(FOOS, FOOS)
def test_merging_an_object_over_another_preserves_unmentioned_fields(live: Object, body: Object) -> None:
    result = merged(live, body, FOO)
    assert merged(result, body, FOO) == result
    assert not compare(live, result, FOO).removed or has_atomic_change(live, body)


def has_atomic_change(live: Object, body: Object) -> bool:
    """Fields can only disappear inside an atomic value."""
    return bool(live["spec"].get("any") != body["spec"].get("any"))


@given(FOOS)
def test_applying_fewer_and_fewer_fields_removes_all(body: Object) -> None:
    live = apply_successfully(None, body, "m1", now=NOW)
    bare = {name: value for name, value in body.items() if name != "spec"}
    assert "spec" not in apply_successfully(live, bare, "m1") or not body["spec"]
