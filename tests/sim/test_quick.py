"""The full validation has no objection to an object that the fast check accepts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kubeproto.crd import apply_defaults, prune, validate
from kubeproto_sim.kinds._schema_quick_check import quick_check

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["title"],
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 3},
        "pages": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "labels": {"type": "object", "additionalProperties": {"type": "boolean"}},
        "inner": {"type": "object", "properties": {"x": {"type": "integer", "format": "int64"}}},
    },
}
SCHEMA: dict[str, Any] = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC}}
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["", "a", "abc", "abcd", 0, 1, 9, 10, 1.0, 2.5, True, None]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
    max_leaves=4,
)
FIT: dict[str, st.SearchStrategy[Any]] = {
    "title": st.sampled_from(["a", "abc"]),
    "pages": st.integers(1, 9),
    "tags": st.lists(st.sampled_from("ab"), max_size=2),
    "mode": st.sampled_from("ab"),
    "labels": st.dictionaries(st.sampled_from("xy"), st.booleans(), max_size=2),
    "inner": st.fixed_dictionaries({}, optional={"x": st.integers(0, 5)}),
    "other": VALUES,
}
SPECS = st.fixed_dictionaries({}, optional={name: fit | VALUES for name, fit in FIT.items()})


@given(SPECS)
def test_an_accepted_object_is_pruned_defaulted_and_valid(spec: dict[str, Any]) -> None:
    obj = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": spec}
    if quick_check(SCHEMA)(obj):
        same = copy.deepcopy(obj)
        assert prune(SCHEMA, same) == []
        apply_defaults(SCHEMA, same)
        assert same == obj
        assert validate(SCHEMA, obj) == []


def test_a_plainly_valid_object_is_accepted() -> None:
    spec = {"title": "a", "pages": 1, "tags": ["x"], "mode": "a", "labels": {"x": True}, "inner": {"x": 1}}
    assert quick_check(SCHEMA)({"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": spec})


@pytest.mark.parametrize(
    "more",
    [
        {"x-kubernetes-validations": [{"rule": "true"}]},
        {"pattern": "a"},
        {"format": "date-time"},
        {"anyOf": [{"type": "string"}]},
        {"x-kubernetes-preserve-unknown-fields": True},
    ],
)
def test_a_schema_with_further_rules_has_no_fast_check(more: dict[str, Any]) -> None:
    properties = SPEC["properties"] | {"title": SPEC["properties"]["title"] | more}
    schema = SCHEMA | {"properties": {"spec": SPEC | {"properties": properties}}}
    obj = {"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {"title": "a", "pages": 1}}
    assert quick_check(SCHEMA)(obj)
    assert not quick_check(schema)(obj)
