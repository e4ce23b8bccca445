"""An object that passes as its stored form is in its stored form: its plan changes nothing."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from kubeproto.kinds import BuiltinField, kind_table
from kubeproto.objects import Quantity
from kubeproto_sim.kinds._kubernetes_releases import NEWEST, Release, release_of
from kubeproto_sim.kinds._stored_form import stored_form
from kubeproto_sim.kinds._typed_codec import TypedCodec

TYPES = sorted(kind_table().types)
OLD = release_of("1.30")
# For each type of value: stored values, values that are normalized, and refused values.
LEAVES: dict[str, list[Any]] = {
    "string": ["a", "a", "", 0, None],
    "bytes": ["YQ==", ""],
    "integer": [1, 1, 0, -1, 1.5, False, 2**31, -(2**31) - 1, 2**63],
    "number": [1, 0.5, 0, 0.0],
    "boolean": [True, True, False, ""],
    "time": ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00.5Z", "", None],
    "micro-time": ["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000+01:00"],
    "quantity": ["1", "100m", "64Mi", "0", "0.5", "1000m", "1024Ki", 1, "", "x"],
    "int-or-string": [1, "a", 0, "", 0.5, 2**31, 2**63],
    "object": [{"a": 1}, {"a": None}, {}, None],
    "any": [{"a": None}, [], "", 0, None],
}
EMPTY: list[Any] = [None, {}, [], [None], {"a": None}, {"a": {}}, [{}]]


def values(field: BuiltinField, depth: int) -> st.SearchStrategy[Any]:
    """Draw values of a field, most of them valid."""
    strategy: st.SearchStrategy[Any]
    if "." in field.type:
        strategy = objects(field.type, depth - 1) if depth else st.just({})
    else:
        strategy = st.sampled_from(LEAVES.get(field.type, LEAVES["any"]))
    for form in reversed(field.form):
        if form == "list":
            strategy = st.lists(strategy, max_size=2)
        else:
            strategy = st.dictionaries(st.sampled_from("ab"), strategy, max_size=2)
    return strategy | st.sampled_from(EMPTY) if depth > 2 else strategy


def objects(type_: str, depth: int) -> st.SearchStrategy[dict[str, Any]]:
    """Draw objects of a type with a few of its fields, and rarely with an unknown field."""

    @st.composite
    def draw_object(draw: st.DrawFn) -> dict[str, Any]:
        fields = kind_table().types[type_].fields
        names = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True)) if fields else []
        obj = {name: draw(values(fields[name], depth)) for name in names}
        return obj | {"unheard": 1} if draw(st.integers(0, 20)) == 20 else obj

    return draw_object()


def tidied(type_: str, obj: dict[str, Any], release: Release) -> tuple[dict[str, Any], list[str]]:
    """Return the object as the plan of its type changes it; a value of a wrong type is a `TypeMismatch`."""
    codec, obj_copy, unknown = TypedCodec(type_, "Kind", release), copy.deepcopy(obj), list[str]()
    codec.plan.tidy(obj_copy, "", unknown)
    codec.write(obj_copy)
    return obj_copy, unknown


@given(st.data(), st.sampled_from([NEWEST, OLD]))
def test_an_object_that_passes_as_its_stored_form_is_not_changed_by_its_plan(
    data: st.DataObject, release: Release
) -> None:
    type_ = data.draw(st.sampled_from(TYPES))
    obj = data.draw(objects(type_, 3))
    if stored_form(type_, release)(obj):
        tidied_obj, unknown = tidied(type_, obj, release)
        assert (tidied_obj, list(tidied_obj), unknown) == (obj, list(obj), [])


@pytest.mark.parametrize("type_", TYPES)
def test_each_field_passes_as_its_stored_form_only_if_it_is(type_: str) -> None:
    fits = stored_form(type_, NEWEST)
    for name, field in kind_table().types[type_].fields.items():
        for value in [*LEAVES.get(field.type, LEAVES["any"]), *EMPTY]:
            forms: list[Any] = [value, [value], {"a": value}, {"a": [value]}]
            for form in forms:
                if fits({name: form}):
                    assert tidied(type_, {name: form}, NEWEST) == ({name: form}, [])


@given(st.from_regex(r"\A[0-9]{1,4}(m|k|M|G|T|P|n|u|Ki|Mi|Gi|Ti)?\Z"))
@example("1000")
@example("0m")
def test_a_quantity_passes_as_stored_only_if_it_is(text: str) -> None:
    if stored_form("core_v1.ResourceRequirements", NEWEST)({"limits": {"cpu": text}}):
        assert str(Quantity(text)) == text


def test_usual_objects_are_in_their_stored_form() -> None:
    times = {"startTime": "2026-01-01T00:00:00Z"}
    container = {"name": "a", "image": "b", "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"app": ""}}}
    assert stored_form("core_v1.Pod", NEWEST)(pod | {"spec": {"containers": [container]}, "status": times})
    assert stored_form("core_v1.ConfigMap", NEWEST)({"metadata": {"name": "a"}, "data": {"a": ""}})
    assert not stored_form("core_v1.ConfigMap", NEWEST)({"metadata": {"name": "a"}, "data": {}})
