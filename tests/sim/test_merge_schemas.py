"""One view of any kind: built in, by a structural schema, or without either."""

from __future__ import annotations

from typing import Any

import pytest
from apply_cases import CONFIG_MAP, DEPLOYMENT, FOO, POD, SERVICE

from kubeproto.kinds import kind_table
from kubeproto.objects import GroupVersionKind
from kubeproto_sim.apply import (
    ABSENT,
    SCHEMALESS,
    UNTYPED,
    MergeSchema,
    merge_schema_of_kind,
    merge_schema_of_openapi,
)

PRESERVES = "x-kubernetes-preserve-unknown-fields"


def schema_at(merge_schema: MergeSchema, path: str) -> MergeSchema:
    """Return the schema at a path; ``*`` is the element of a list."""
    for name in path.split("."):
        member_schema = merge_schema.element if name == "*" else merge_schema.member(name)
        assert member_schema is not None, path
        merge_schema = member_schema
    return merge_schema


@pytest.mark.parametrize(
    ("merge_schema", "path", "shape", "atomic", "keys"),
    [
        (CONFIG_MAP, "data", "map", False, ()),
        (CONFIG_MAP, "data.any-key", "scalar", False, ()),
        (POD, "spec.containers", "list", False, ("name",)),
        (POD, "spec.containers.*.ports", "list", False, ("containerPort", "protocol")),
        (POD, "spec.containers.*.args", "list", True, ()),
        (POD, "spec.nodeSelector", "map", True, ()),
        (POD, "metadata.finalizers", "list", False, ()),
        (POD, "metadata.ownerReferences", "list", False, ("uid",)),
        (DEPLOYMENT, "spec.selector", "map", True, ()),
        (SERVICE, "spec.ports.*.targetPort", "scalar", False, ()),
        (FOO, "metadata.finalizers", "list", False, ()),
        (FOO, "spec.tags", "list", False, ()),
        (FOO, "spec.words", "list", True, ()),
        (FOO, "spec.place", "map", True, ()),
        (FOO, "spec.ports", "list", False, ("port", "protocol")),
        (FOO, "spec.labels.a", "scalar", False, ()),
        (FOO, "spec.any.deep.er", "any", False, ()),
        (SCHEMALESS, "a.b", "any", False, ()),
    ],
)
def test_a_field_is_located_by_its_path(
    merge_schema: MergeSchema, path: str, shape: str, atomic: bool, keys: tuple[str, ...]
) -> None:
    schema = schema_at(merge_schema, path)
    assert (schema.shape, schema.atomic, schema.keys) == (shape, atomic, keys)


def test_an_undeclared_field_has_no_schema() -> None:
    assert POD.member("spce") is None
    assert schema_at(FOO, "spec").member("x") is None


def test_a_typed_object_always_has_its_structs_and_required_fields() -> None:
    assert POD.zeros == {"metadata": {}, "spec": {}, "status": {}}
    assert schema_at(POD, "spec").zeros == {"containers": None}
    assert schema_at(DEPLOYMENT, "spec").zeros == {"strategy": {}, "template": {}}
    assert schema_at(FOO, "spec").zeros == {}
    assert schema_at(CONFIG_MAP, "data").zero is ABSENT


def test_a_missing_key_of_an_element_has_its_default() -> None:
    assert schema_at(POD, "spec.containers.*.ports.*.protocol").default == "TCP"
    assert schema_at(FOO, "spec.ports.*.protocol").default == "TCP"


def test_merge_keys_are_those_of_the_patch_strategy() -> None:
    assert schema_at(POD, "spec.containers.*.ports").merge_key == "containerPort"
    assert not schema_at(POD, "spec.tolerations").merges
    assert schema_at(POD, "metadata.finalizers").merges
    assert schema_at(POD, "metadata.finalizers").merge_key == ""


@pytest.mark.parametrize(
    ("schema", "shape", "closed"),
    [
        ({"type": "object"}, "map", False),
        ({"type": "object", "properties": {"x": {}}}, "map", True),
        ({"type": "object", "properties": {"x": {}}, PRESERVES: True}, "map", False),
        ({"type": "object", "additionalProperties": True}, "map", False),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "map", False),
        ({PRESERVES: True}, "any", False),
        ({}, "any", True),
        ({"type": "integer"}, "scalar", True),
        ({"type": "array", "items": {"type": "string"}}, "list", False),
    ],
)  # fmt: skip
def test_a_schema_is_open_where_it_declares_it(schema: dict[str, Any], shape: str, closed: bool) -> None:
    member_schema = merge_schema_of_openapi({"type": "object", "properties": {"here": schema}}).member("here")
    assert member_schema is not None
    assert member_schema.shape == shape
    assert (member_schema.member("unknown") is None) == closed


def test_an_embedded_object_has_metadata() -> None:
    embedded: dict[str, Any] = {"type": "object", "properties": {}, "x-kubernetes-embedded-resource": True}
    merge_schema = merge_schema_of_openapi({"type": "object", "properties": {"template": embedded}})
    assert schema_at(merge_schema, "template.metadata.ownerReferences").keys == ("uid",)


def test_the_schema_of_every_built_in_kind_can_be_traversed() -> None:
    visited: set[int] = set()

    def walk(merge_schema: MergeSchema) -> None:
        if id(merge_schema) not in visited:
            visited.add(id(merge_schema))
            assert merge_schema.keys == () or not merge_schema.atomic
            for member_schema in (*merge_schema.fields.values(), merge_schema.elements):
                if member_schema is not None and member_schema is not UNTYPED:
                    walk(member_schema)

    for type_ in kind_table().types.values():
        if type_.gvk:
            walk(merge_schema_of_kind(type_.gvk))
    assert len(visited) > 1000


def test_a_kind_that_is_not_built_in_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        merge_schema_of_kind(GroupVersionKind("wire.test", "v1", "Foo"))
