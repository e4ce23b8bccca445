"""Merge patches: the RFC's examples, and patches that are computed from two documents."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import apply_merge_patch, is_list, is_object, json_equal, make_merge_patch

scalars = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([1.0, "", "a"]))
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "c", "~/"]), inner, max_size=4)
    ),
    max_leaves=12,
)

# RFC 7386, appendix A, all fifteen.
EXAMPLES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("old", "patch", "new"), EXAMPLES)
def test_an_example_of_the_rfc_gives_its_result(old: Any, patch: Any, new: Any) -> None:
    given_document, given_patch = copy.deepcopy(old), copy.deepcopy(patch)
    assert json_equal(apply_merge_patch(old, patch), new)
    assert (old, patch) == (given_document, given_patch)


@given(documents, documents)
def test_a_computed_patch_changes_the_first_document_to_the_second_or_is_refused(old: Any, new: Any) -> None:
    old_copy, new_copy = copy.deepcopy(old), copy.deepcopy(new)
    try:
        patch = make_merge_patch(old, new)
    except ValueError:
        assert has_null_member(new)
    else:
        assert json_equal(apply_merge_patch(old, patch), new)
        assert not containers(patch) & containers(new)
    assert json_equal(old, old_copy)
    assert json_equal(new, new_copy)


def has_null_member(value: Any) -> bool:
    """Return whether an object contains a null on a path through objects only."""
    return is_object(value) and any(part is None or has_null_member(part) for part in value.values())


def containers(value: Any) -> set[int]:
    """Return the identities of all objects and lists in `value`."""
    if is_object(value):
        return {id(value)}.union(*map(containers, value.values()))
    return {id(value)}.union(*map(containers, value)) if is_list(value) else set()


@given(documents, documents)
def test_the_result_of_a_patch_shares_no_objects_with_document_or_patch(document: Any, patch: Any) -> None:
    result = apply_merge_patch(document, patch)
    assert not containers(result) & (containers(document) | containers(patch))


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2}, {}),
        ({"a": 1, "b": 2}, {"a": 1}, {"b": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": 1}, {"a": {}}, {"a": {}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": 1}, {"a": 1.0}, {}),
        ({"a": None}, {"a": None, "b": 1}, {"b": 1}),
        ({"a": None}, {}, {"a": None}),
        ({}, {"a": [None, {"b": None}]}, {"a": [None, {"b": None}]}),
        ({"a": 1}, [1], [1]),
        ([1], {"a": 1}, {"a": 1}),
    ],
)
def test_a_computed_patch_is_minimal(old: Any, new: Any, patch: Any) -> None:
    assert make_merge_patch(old, new) == patch


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        ({}, {"a": None}, "/a"),
        ({"a": 1}, {"a": None}, "/a"),
        ({}, {"a": {"b": None}}, "/a/b"),
        ({"a": {"b": 1}}, {"a": {"b": None}}, "/a/b"),
        ({"a": [1]}, {"a": {"b/c": None}}, "/a/b~1c"),
    ],
)
def test_a_null_that_a_merge_patch_cannot_set_is_refused_with_its_path(
    old: Any, new: Any, pointer: str
) -> None:
    with pytest.raises(ValueError, match=f"cannot set {pointer} to null"):
        make_merge_patch(old, new)
