"""Managed fields from the cache equal newly computed managed fields."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, strategies as st

from kubeproto_sim.apply import SCHEMALESS, update
from kubeproto_sim.writing._object_shapes import difference, shape_of

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["a", "b", 1, True, None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
OBJECTS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {
        "kind": st.just("Foo"),
        "metadata": st.fixed_dictionaries(
            {"name": st.sampled_from("ab")},
            optional={
                "labels": st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), max_size=2),
                "finalizers": st.lists(st.sampled_from(["f", "g"]), max_size=2, unique=True),
            },
        ),
    },
    optional={"spec": VALUES, "data": VALUES},
)


def managed_fields(previous: Any, obj: Any) -> Any:
    return update(previous, obj, manager="m", schema=SCHEMALESS, api_version="v1", now="now")


@given(OBJECTS, OBJECTS)
def test_new_objects_of_the_same_shape_share_their_managed_fields(first: Any, second: Any) -> None:
    if shape_of(first) == shape_of(second):
        assert managed_fields(None, copy.deepcopy(first)) == managed_fields(None, copy.deepcopy(second))


@given(OBJECTS, OBJECTS)
def test_a_change_of_values_only_preserves_the_managed_fields_except_the_time(
    previous: Any, obj: Any
) -> None:
    entries = managed_fields(None, copy.deepcopy(previous))
    copy_ = copy.deepcopy(previous)
    copy_["metadata"]["managedFields"] = entries
    result = difference(copy_, obj)
    again = managed_fields(copy_, copy.deepcopy(obj))
    if result == "values" and entries:
        assert [entry["fieldsV1"] for entry in again] == [entry["fieldsV1"] for entry in entries]
    if result == "none":
        assert again == entries
