"""Strategic merge patches as kubectl computes them change any object into any other."""

from __future__ import annotations

from typing import Any

from apply_cases import POD
from hypothesis import given, strategies as st

from kubeproto.objects import is_list, is_object
from kubeproto_sim.apply import SCHEMALESS, MergeSchema, strategic_merge

META = "metadata"

Map = dict[str, Any]


NAMES: st.SearchStrategy[str] = st.sampled_from("abcdef")


def by_name(element: Map) -> str:
    """Return the key that makes an element unique."""
    return str(element["name"])


CONTAINERS: st.SearchStrategy[list[Map]] = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "image": NAMES,
            "args": st.lists(NAMES, min_size=1, max_size=3),
            "env": st.lists(
                st.fixed_dictionaries({"name": NAMES, "value": NAMES}),
                min_size=1,
                max_size=3,
                unique_by=by_name,
            ),
        },
    ),
    min_size=1,
    max_size=4,
    unique_by=by_name,
)
PODS: st.SearchStrategy[Map] = st.fixed_dictionaries(
    {"spec": st.fixed_dictionaries({"containers": CONTAINERS}, optional={"nodeName": NAMES})},
    optional={
        META: st.fixed_dictionaries(
            {},
            optional={
                "labels": st.dictionaries(NAMES, NAMES, min_size=1, max_size=3),
                "finalizers": st.lists(NAMES, min_size=1, max_size=3, unique=True),
            },
        )
    },
)


def make_patch(original: Map, target: Map, schema: MergeSchema) -> Map:
    patch: Map = {name: None for name in original if name not in target}
    for name, value in target.items():
        old = original.get(name)
        member_schema = schema.member(name) or SCHEMALESS
        if old == value:
            continue
        if is_object(value) and is_object(old):
            patch[name] = make_patch(old, value, member_schema)
        elif is_list(value) and is_list(old) and member_schema.merges:
            patch |= make_list_patch(name, old, value, member_schema)
        else:
            patch[name] = value
    return patch


def make_list_patch(name: str, old: list[Any], new: list[Any], schema: MergeSchema) -> Map:
    key = schema.merge_key
    if not key:
        removed_elements = [value for value in old if value not in new]
        added = [value for value in new if value not in old]
        return {
            f"$setElementOrder/{name}": new,
            f"$deleteFromPrimitiveList/{name}": removed_elements,
            **({name: added} if added else {}),
        }
    was = {element[key]: element for element in old}
    changed = [
        {key: element[key], **make_patch(was.get(element[key], {}), element, schema.element)}
        for element in new
        if was.get(element[key]) != element
    ]
    names = {element[key] for element in new}
    removed_elements = [{key: value, "$patch": "delete"} for value in was if value not in names]
    return {
        f"$setElementOrder/{name}": [{key: element[key]} for element in new],
        name: changed + removed_elements,
    }


@given(PODS, PODS)
def test_a_patch_computed_from_two_objects_changes_the_first_into_the_second(
    original: Map, target: Map
) -> None:
    assert strategic_merge(original, make_patch(original, target, POD), POD) == target


@given(PODS, PODS)
def test_a_patch_applied_twice_has_the_effect_of_a_single_application(original: Map, patch: Map) -> None:
    once = strategic_merge(original, patch, POD)
    assert strategic_merge(once, patch, POD) == once


@given(PODS)
def test_an_empty_patch_changes_nothing(original: Map) -> None:
    assert strategic_merge(original, {}, POD) == original
