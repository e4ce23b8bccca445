"""A definition is read back as its source, and two definitions are compared change by change."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

import kubeproto as kp
from kubeproto.crd import compare_definitions, definition_of, read_definition
from kubeproto.objects import Column, Definition, Scale


class ShelfSpec(kp.Fields):
    size: int = 1


class ShelfStatus(kp.Fields):
    size: int | None = None


DEFINITION = Definition(
    columns=(Column("Size", ".spec.size", "integer", description="how big", priority=1),),
    scale=Scale(".spec.size", ".status.size", ".status.selector"),
    selectable_fields=(".spec.size",),
    deprecated=True,
    storage=True,
)


class Shelf(
    kp.Object[ShelfSpec, ShelfStatus],
    group="library.example.com",
    version="v1",
    plural="shelves",
    short_names=("sh",),
    namespaced=False,
    definition=DEFINITION,
): ...


class OldShelf(
    kp.Object[ShelfSpec, None],
    group="library.example.com",
    version="v1beta1",
    kind="Shelf",
    plural="shelves",
    namespaced=False,
): ...


MADE = definition_of(OldShelf, Shelf)


def test_a_definition_is_read_from_json_and_from_decoded_values() -> None:
    kind = read_definition(MADE.to_json())
    assert kind == read_definition(MADE.to_json().encode()) == read_definition(msgspec.to_builtins(MADE))
    assert (kind.name, kind.list_kind) == ("shelves.library.example.com", "ShelfList")
    assert [version.resource.version for version in kind.versions] == ["v1", "v1beta1"]
    assert kind.preferred is kind.stored is kind.version("v1")
    stored = kind.stored
    assert stored.resource == msgspec.structs.replace(Shelf.resource, subresources=("status", "scale"))
    assert (stored.columns, stored.scale) == (DEFINITION.columns, DEFINITION.scale)
    assert stored.selectable_fields == (".spec.size",)
    assert stored.deprecation == "library.example.com/v1 Shelf is deprecated"
    assert kind.version("v1beta1").deprecation == ""
    assert stored.schema == MADE.spec["versions"][0]["schema"]["openAPIV3Schema"]


def test_the_resource_of_a_definition_is_used_for_dynamic_objects() -> None:
    api = kp.Api(kp.Dynamic, resource=read_definition(MADE.to_json()).preferred.resource)
    assert "/apis/library.example.com/v1/shelves/a" in api.get("a").target


def test_any_other_object_is_an_error() -> None:
    with pytest.raises(
        kp.InvalidObject, match=r"not a CustomResourceDefinition .* missing required field `spec`"
    ):
        read_definition(b"{}")
    with pytest.raises(kp.InvalidObject, match="exactly one version must have storage: true"):
        read_definition(MADE.to_json().replace('"storage": true', '"storage": false'))
    with pytest.raises(LookupError, match="has no version 'v3', only v1, v1beta1"):
        read_definition(MADE.to_json()).version("v3")
    unserved = read_definition(MADE.to_json().replace('"served": true', '"served": false'))
    with pytest.raises(LookupError, match=r"no version of .* is served"):
        _ = unserved.preferred


INT = {"type": "integer"}
STRING = {"type": "string"}


def _kind(field: dict[str, Any] | None, **root: Any) -> Any:
    properties = {} if field is None else {"f": field}
    schema = {"type": "object", "properties": properties, **root}
    data = msgspec.to_builtins(MADE)
    data["spec"]["versions"] = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    ]
    return read_definition(data)


RULE = {"rule": "self > 1"}
OTHER_RULE = {"rule": "self < 9"}
CHANGES: list[tuple[dict[str, Any] | None, dict[str, Any] | None, list[tuple[str, bool]]]] = [
    (INT, INT, []),
    (INT, None, [("f: the field is removed: stored values are pruned", True)]),
    (None, INT, [("f: the field is new", False)]),
    (INT, STRING, [("f: the type changes from integer to string", True)]),
    (INT, {"type": "number"}, [("f: the type changes from integer to number", False)]),
    (
        INT,
        {"x-kubernetes-int-or-string": True},
        [("f: the type changes from integer to int-or-string", False)],
    ),
    (
        {"x-kubernetes-int-or-string": True},
        INT,
        [("f: the type changes from int-or-string to integer", True)],
    ),
    (
        INT,
        {"x-kubernetes-preserve-unknown-fields": True},
        [("f: the type changes from integer to any", False)],
    ),
    ({**INT, "nullable": True}, INT, [("f: null is no longer allowed", True)]),
    (INT, {**INT, "nullable": True}, [("f: null is now allowed", False)]),
    (INT, {**INT, "minimum": 1}, [("f: minimum changes from None to 1", True)]),
    ({**INT, "minimum": 1}, {**INT, "minimum": 2}, [("f: minimum changes from 1 to 2", True)]),
    ({**INT, "minimum": 2}, {**INT, "minimum": 1}, [("f: minimum changes from 2 to 1", False)]),
    ({**INT, "maximum": 1}, {**INT, "maximum": 2}, [("f: maximum changes from 1 to 2", False)]),
    ({**INT, "maximum": 2}, {**INT, "maximum": 1}, [("f: maximum changes from 2 to 1", True)]),
    ({**INT, "maximum": 2}, INT, [("f: maximum changes from 2 to None", False)]),
    (
        {**INT, "maximum": 2},
        {**INT, "maximum": 2, "exclusiveMaximum": True},
        [("f: exclusiveMaximum changes from False to True", True)],
    ),
    (STRING, {**STRING, "pattern": "a"}, [("f: pattern is new", True)]),
    ({**STRING, "pattern": "a"}, {**STRING, "pattern": "b"}, [("f: pattern changes", True)]),
    ({**STRING, "pattern": "a"}, STRING, [("f: pattern is removed", False)]),
    (
        {**INT, "x-kubernetes-validations": [RULE, OTHER_RULE]},
        {**INT, "x-kubernetes-validations": [RULE]},
        [("f: x-kubernetes-validations changes", False)],
    ),
    (
        {**INT, "x-kubernetes-validations": [RULE]},
        {**INT, "x-kubernetes-validations": [RULE, OTHER_RULE]},
        [("f: x-kubernetes-validations changes", True)],
    ),
    (STRING, {**STRING, "enum": ["a"]}, [("f: only ['a'] are now allowed", True)]),
    (
        {**STRING, "enum": ["a", "b"]},
        {**STRING, "enum": ["b", "c"]},
        [("f: 'a' is no longer allowed", True), ("f: 'c' is now allowed", False)],
    ),
    ({**STRING, "enum": ["a"]}, STRING, [("f: any value is now allowed", False)]),
    ({**INT, "default": 1}, {**INT, "default": 2}, [("f: the default changes from 1 to 2", False)]),
    ({**INT, "description": "a"}, INT, [("f: the description changes", False)]),
    (
        {"type": "array", "items": INT},
        {"type": "array", "items": {**INT, "minimum": 1}},
        [("f[]: minimum changes from None to 1", True)],
    ),
    (
        {"type": "object", "additionalProperties": INT},
        {"type": "object", "additionalProperties": STRING},
        [("f{}: the type changes from integer to string", True)],
    ),
    (
        {"type": "object", "additionalProperties": INT},
        {"type": "object"},
        [("f: additional properties are no longer allowed: stored entries are pruned", True)],
    ),
    (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object"},
        [("f: unknown fields are now pruned", True)],
    ),
    (
        {"type": "array", "items": INT},
        {"type": "array", "items": INT, "x-kubernetes-list-type": "set"},
        [("f: x-kubernetes-list-type changes from None to set", True)],
    ),
]


@pytest.mark.parametrize(("old", "new", "changes"), CHANGES, ids=[str(row[2])[:60] for row in CHANGES])
def test_a_change_of_a_field_is_reported_as_breaking_or_not(
    old: dict[str, Any] | None, new: dict[str, Any] | None, changes: list[tuple[str, bool]]
) -> None:
    found_changes = compare_definitions(_kind(old), _kind(new))
    assert [(str(change), change.breaking) for change in found_changes] == [
        (f"v1 {text}", breaking) for text, breaking in changes
    ]


def test_a_field_that_becomes_required_is_breaking_without_a_default() -> None:
    def breaks(field: dict[str, Any]) -> list[bool]:
        return [change.breaking for change in compare_definitions(_kind(field), _kind(field, required=["f"]))]

    assert (breaks(INT), breaks({**INT, "default": 1})) == ([True], [False])
    (back,) = compare_definitions(_kind(INT, required=["f"]), _kind(INT))
    assert str(back) == "v1 f: the field is now optional"


def _with_versions(*versions: dict[str, Any], **names: Any) -> Any:
    data = copy.deepcopy(msgspec.to_builtins(MADE))
    data["spec"]["versions"] = [{"served": True, "storage": False, **version} for version in versions]
    data["spec"]["names"] |= names
    return read_definition(data)


V1 = {"name": "v1", "storage": True}
V2 = {"name": "v2"}
VERSIONS: list[tuple[Any, Any, list[tuple[str, bool]]]] = [
    (
        _with_versions(V1, V2),
        _with_versions({**V2, "storage": True}),
        [
            ("v1: the version is removed: stored objects cannot be read", True),
            ("v2: becomes the stored version instead of v1", False),
        ],
    ),
    (
        _with_versions(V1, V2),
        _with_versions(V1),
        [("v2: the version is removed: clients that use it fail", True)],
    ),
    (_with_versions(V1), _with_versions(V1, V2), [("v2: the version is new", False)]),
    (
        _with_versions(V1),
        _with_versions({**V1, "served": False}),
        [("v1: the version is no longer served", True)],
    ),
    (
        _with_versions({**V1, "subresources": {"status": {}}}),
        _with_versions(V1),
        [("v1: the subresource status is removed", True)],
    ),
    (
        _with_versions({**V1, "selectableFields": [{"jsonPath": ".a"}]}),
        _with_versions({**V1, "selectableFields": [{"jsonPath": ".b"}]}),
        [("v1 .a: the field is no longer selectable", True), ("v1 .b: the field is now selectable", False)],
    ),
    (
        _with_versions(V1),
        _with_versions({**V1, "deprecated": True}),
        [("v1: the deprecation changes", False)],
    ),
    (
        _with_versions(V1),
        _with_versions(V1, kind="Rack"),
        [("kind changes from 'Shelf' to 'Rack': this is another kind", True)],
    ),
    (
        _with_versions(V1),
        _with_versions(V1, shortNames=["s"]),
        [("short_names changes from ('sh',) to ('s',)", False)],
    ),
]


@pytest.mark.parametrize(("old", "new", "changes"), VERSIONS, ids=[str(row[2])[:60] for row in VERSIONS])
def test_a_change_of_a_version_or_name_is_reported_as_breaking_or_not(
    old: Any, new: Any, changes: list[tuple[str, bool]]
) -> None:
    assert [(str(change), change.breaking) for change in compare_definitions(old, new)] == changes


def test_removing_a_field_is_not_breaking_if_unknown_fields_are_preserved() -> None:
    preserve_unknown = {"x-kubernetes-preserve-unknown-fields": True}
    changes = compare_definitions(_kind(INT, **preserve_unknown), _kind(None, **preserve_unknown))
    (change,) = changes
    assert (str(change), change.breaking) == (
        "v1 f: the field is removed: stored values are preserved without checks",
        False,
    )


def test_a_definition_has_no_changes_to_itself() -> None:
    kind = read_definition(MADE.to_json())
    assert compare_definitions(kind, kind) == []
