"""The book on fields that is written from memory is the one that would be written again."""

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


def book(before: Any, after: Any) -> Any:
    return update(before, after, manager="m", schema=SCHEMALESS, api_version="v1", now="now")


@given(OBJECTS, OBJECTS)
def test_new_objects_of_one_shape_have_one_book(one: Any, other: Any) -> None:
    if shape_of(one) == shape_of(other):
        assert book(None, copy.deepcopy(one)) == book(None, copy.deepcopy(other))


@given(OBJECTS, OBJECTS)
def test_where_only_values_change_the_book_stays_but_for_the_time(before: Any, after: Any) -> None:
    entries = book(None, copy.deepcopy(before))
    copy_ = copy.deepcopy(before)
    copy_["metadata"]["managedFields"] = entries
    result = difference(copy_, after)
    again = book(copy_, copy.deepcopy(after))
    if result == "values" and entries:
        assert [entry["fieldsV1"] for entry in again] == [entry["fieldsV1"] for entry in entries]
    if result == "none":
        assert again == entries
