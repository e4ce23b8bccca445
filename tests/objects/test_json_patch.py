"""JSON patches: the RFC's examples, and patches that are computed from two documents."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kubeproto.objects import PatchError, apply_json_patch, is_list, is_object, json_equal, make_json_patch

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.0, 1.0, 1.5, "", "a", "b"])
)
documents = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "~", "/", ""]), inner, max_size=4)
    ),
    max_leaves=12,
)

# RFC 6902, appendix A; the examples that succeed.
EXAMPLES: list[tuple[str, Any, list[dict[str, Any]], Any]] = [
    ("A.1", {"foo": "bar"}, [{"op": "add", "path": "/baz", "value": "qux"}], {"baz": "qux", "foo": "bar"}),
    (
        "A.2",
        {"foo": ["bar", "baz"]},
        [{"op": "add", "path": "/foo/1", "value": "qux"}],
        {"foo": ["bar", "qux", "baz"]},
    ),
    ("A.3", {"baz": "qux", "foo": "bar"}, [{"op": "remove", "path": "/baz"}], {"foo": "bar"}),
    ("A.4", {"foo": ["bar", "qux", "baz"]}, [{"op": "remove", "path": "/foo/1"}], {"foo": ["bar", "baz"]}),
    (
        "A.5",
        {"baz": "qux", "foo": "bar"},
        [{"op": "replace", "path": "/baz", "value": "boo"}],
        {"baz": "boo", "foo": "bar"},
    ),
    (
        "A.6",
        {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
        [{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}],
        {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
    ),
    (
        "A.7",
        {"foo": ["all", "grass", "cows", "eat"]},
        [{"op": "move", "from": "/foo/1", "path": "/foo/3"}],
        {"foo": ["all", "cows", "eat", "grass"]},
    ),
    (
        "A.8",
        {"baz": "qux", "foo": ["a", 2, "c"]},
        [{"op": "test", "path": "/baz", "value": "qux"}, {"op": "test", "path": "/foo/1", "value": 2}],
        {"baz": "qux", "foo": ["a", 2, "c"]},
    ),
    (
        "A.10",
        {"foo": "bar"},
        [{"op": "add", "path": "/child", "value": {"grandchild": {}}}],
        {"foo": "bar", "child": {"grandchild": {}}},
    ),
    (
        "A.11",
        {"foo": "bar"},
        [{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}],
        {"foo": "bar", "baz": "qux"},
    ),
    ("A.14", {"/": 9, "~1": 10}, [{"op": "test", "path": "/~01", "value": 10}], {"/": 9, "~1": 10}),
    (
        "A.16",
        {"foo": ["bar"]},
        [{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}],
        {"foo": ["bar", ["abc", "def"]]},
    ),
    ("add replaces", {"a": 1}, [{"op": "add", "path": "/a", "value": 2}], {"a": 2}),
    ("add at the end", [1], [{"op": "add", "path": "/1", "value": 2}], [1, 2]),
    ("add the whole", {"a": 1}, [{"op": "add", "path": "", "value": [1]}], [1]),
    ("replace the whole", {"a": 1}, [{"op": "replace", "path": "", "value": None}], None),
    ("replace in a list", [1, 2], [{"op": "replace", "path": "/1", "value": 3}], [1, 3]),
    ("copy", {"a": {"b": 1}}, [{"op": "copy", "from": "/a", "path": "/c"}], {"a": {"b": 1}, "c": {"b": 1}}),
    (
        "change what was copied",
        {"a": {"b": 1}},
        [{"op": "copy", "from": "/a", "path": "/c"}, {"op": "remove", "path": "/c/b"}],
        {"a": {"b": 1}, "c": {}},
    ),
    ("move to itself", {"a": 1}, [{"op": "move", "from": "/a", "path": "/a"}], {"a": 1}),
    ("move over the whole", {"a": 1}, [{"op": "move", "from": "/a", "path": ""}], 1),
    ("test a number", {"a": 1}, [{"op": "test", "path": "/a", "value": 1.0}], {"a": 1}),
    ("test the whole", [None], [{"op": "test", "path": "", "value": [None]}], [None]),
    ("move to a sibling prefix", {"a": 1}, [{"op": "move", "from": "/a", "path": "/ab"}], {"ab": 1}),
]

# A.9, A.12 and A.15 of the appendix (A.13 is JSON with doubled keys, which Python cannot hold), and more.
FAILURES: list[tuple[str, Any, dict[str, Any], str]] = [
    ("A.9", {"baz": "qux"}, {"op": "test", "path": "/baz", "value": "bar"}, "the value differs"),
    ("A.12", {"foo": "bar"}, {"op": "add", "path": "/baz/bat", "value": "qux"}, "has no 'baz'"),
    ("A.15", {"/": 9, "~1": 10}, {"op": "test", "path": "/~01", "value": "10"}, "the value differs"),
    ("true is not a number", {"a": 1}, {"op": "test", "path": "/a", "value": True}, "the value differs"),
    ("remove a missing member", {}, {"op": "remove", "path": "/a"}, "has no 'a'"),
    ("remove a missing element", [1], {"op": "remove", "path": "/1"}, "no index 1"),
    ("remove the end", [1], {"op": "remove", "path": "/-"}, "not an index"),
    ("remove the whole", {}, {"op": "remove", "path": ""}, "whole document"),
    ("replace a missing member", {}, {"op": "replace", "path": "/a", "value": 1}, "has no 'a'"),
    ("replace a missing element", [1], {"op": "replace", "path": "/-", "value": 1}, "not an index"),
    ("add beyond the end", [1], {"op": "add", "path": "/2", "value": 1}, "no index 2"),
    ("add into a scalar", {"a": 1}, {"op": "add", "path": "/a/b", "value": 1}, "neither object nor list"),
    (
        "move into itself",
        {"a": {"b": 1}},
        {"op": "move", "from": "/a", "path": "/a/b/c"},
        "cannot move into itself",
    ),
    ("move what is not there", {}, {"op": "move", "from": "/a", "path": "/b"}, "has no 'a'"),
    ("copy what is not there", {}, {"op": "copy", "from": "/a", "path": "/b"}, "has no 'a'"),
    ("test what is not there", {}, {"op": "test", "path": "/a", "value": None}, "has no 'a'"),
    ("unknown op", {}, {"op": "spam", "path": "/a"}, "the op must be one of"),
    ("no op", {}, {"path": "/a"}, "the op must be one of"),
    ("no path", {}, {"op": "add", "value": 1}, "needs 'path'"),
    ("no from", {}, {"op": "copy", "path": "/a"}, "needs 'from'"),
    ("no value", {}, {"op": "add", "path": "/a"}, "needs a 'value'"),
    ("no pointer", {}, {"op": "add", "path": "a", "value": 1}, "is not a JSON pointer"),
]


@pytest.mark.parametrize(("name", "old", "patch", "new"), EXAMPLES, ids=[row[0] for row in EXAMPLES])
def test_an_example_of_the_rfc_gives_its_result(
    name: str, old: Any, patch: list[dict[str, Any]], new: Any
) -> None:
    given_document, given_patch = copy.deepcopy(old), copy.deepcopy(patch)
    assert json_equal(apply_json_patch(old, patch), new), name
    assert (old, patch) == (given_document, given_patch)


@pytest.mark.parametrize(
    ("name", "document", "operation", "message"), FAILURES, ids=[row[0] for row in FAILURES]
)
def test_the_error_for_an_impossible_operation_names_it_and_the_reason(
    name: str, document: Any, operation: dict[str, Any], message: str
) -> None:
    untouched = copy.deepcopy(document)
    fine = {"op": "test", "path": "", "value": document}
    with pytest.raises(PatchError, match=f"^operation 1 .*{message}") as refused:
        apply_json_patch(document, [fine, operation])
    assert refused.value.index == 1, name
    assert refused.value.path == str(operation.get("path"))
    assert document == untouched


def test_a_patch_that_fails_late_does_not_change_the_document() -> None:
    document = {"a": [1]}
    with pytest.raises(PatchError, match=r"operation 1 \(remove '/b'\): the object has no 'b'"):
        apply_json_patch(
            document, [{"op": "add", "path": "/a/0", "value": 0}, {"op": "remove", "path": "/b"}]
        )
    assert document == {"a": [1]}


@pytest.mark.parametrize(
    ("document", "operation", "new"),
    [
        ({}, {"op": "replace", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": {}}, {"op": "test", "path": "/a/b", "value": None}, {"a": {}}),
        ({}, {"op": "copy", "from": "/a", "path": "/b"}, {"b": None}),
    ],
)
def test_like_server_treats_a_missing_member_as_null(
    document: Any, operation: dict[str, Any], new: Any
) -> None:
    assert apply_json_patch(document, [operation], like_server=True) == new
    with pytest.raises(PatchError, match="has no"):
        apply_json_patch(document, [operation])


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/b"},
        {"op": "move", "from": "/b", "path": "/c"},
        {"op": "test", "path": "/b", "value": 1},
        {"op": "test", "path": "/a/7", "value": None},
        {"op": "replace", "path": "/a/7", "value": 1},
        {"op": "replace", "path": "/b/c", "value": 1},
    ],
)
def test_like_server_refuses_other_invalid_operations(operation: dict[str, Any]) -> None:
    with pytest.raises(PatchError):
        apply_json_patch({"a": [1]}, [operation], like_server=True)


@given(documents, documents)
def test_a_computed_patch_changes_the_first_document_to_the_second(old: Any, new: Any) -> None:
    old_copy, new_copy = copy.deepcopy(old), copy.deepcopy(new)
    patch = make_json_patch(old, new)
    assert json_equal(apply_json_patch(old, patch), new)
    assert bool(patch) is not json_equal(old, new)
    assert json_equal(old, old_copy)
    assert json_equal(new, new_copy)


@given(documents, documents)
def test_result_and_patch_share_no_objects_with_their_sources(old: Any, new: Any) -> None:
    patch = make_json_patch(old, new)
    result = apply_json_patch(old, patch)
    assert not containers(result) & (containers(old) | containers(new) | containers(patch))
    assert not containers(patch) & containers(new)


def containers(value: Any) -> set[int]:
    """Return the identities of all objects and lists in `value`."""
    if is_object(value):
        return {id(value)}.union(*map(containers, value.values()))
    return {id(value)}.union(*map(containers, value)) if is_list(value) else set()


SMALLEST: list[tuple[Any, Any, Any]] = [
    ([1, 2, 3, 4], [1, 3, 4], [{"op": "remove", "path": "/1"}]),
    ([1, 3], [1, 2, 3], [{"op": "add", "path": "/1", "value": 2}]),
    ([1, 2, 3], [], [{"op": "remove", "path": f"/{index}"} for index in (2, 1, 0)]),
    ([{"a": 1}, 2], [{"a": 3}, 2], [{"op": "replace", "path": "/0/a", "value": 3}]),
    ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
    ({"a": 1}, {"a": 1.0}, []),
    ({"a/b": {"~": 1}}, {"a/b": {}}, [{"op": "remove", "path": "/a~1b/~0"}]),
    ({"a": None}, {}, [{"op": "remove", "path": "/a"}]),
    ({}, {"a": None}, [{"op": "add", "path": "/a", "value": None}]),
    ({}, [], [{"op": "replace", "path": "", "value": []}]),
]


@pytest.mark.parametrize(("old", "new", "patch"), SMALLEST)
def test_a_computed_patch_is_minimal(old: Any, new: Any, patch: Any) -> None:
    assert make_json_patch(old, new) == patch


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (None, False, False),
        (None, None, True),
        ("1", 1, False),
        ([1], [1.0], True),
        ([1], [True], False),
        ([1], [1, 1], False),
        ([], {}, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ({"a": 0}, {"a": False}, False),
    ],
)
def test_equality_follows_json(a: Any, b: Any, equal: bool) -> None:
    assert json_equal(a, b) is equal
    assert json_equal(b, a) is equal
