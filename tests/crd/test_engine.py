"""The engine prunes, defaults and validates like a server: recorded responses, and a table of rules."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

import kubeproto as kp
from kubeproto.crd import apply_defaults, invalid_status, prune, validate
from kubeproto.crd.definitions._structural_checks import check_schema

RECORDINGS = Path(__file__).parent.parent / "recordings"
FOO = kp.Resource("wire.test", "v1", "Foo", "foos")
FOO_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["color"],
            "properties": {
                "mode": {"type": "string", "enum": ["A", "B"]},
                "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
                "color": {"type": "string"},
            },
            "x-kubernetes-validations": [
                {
                    "rule": "!has(self.mode) || self.mode != 'B' || self.size > 5",
                    "message": "mode B needs size above 5",
                }
            ],
        }
    },
}
ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}


def read_exchange(name: str) -> tuple[dict[str, Any], dict[str, Any], list[list[str]]]:
    exchange = json.loads((RECORDINGS / name).read_text())
    response = exchange["response"]
    return json.loads(exchange["request"]["body"]), json.loads(response["body"]), response["headers"]


@pytest.mark.parametrize("name", ["cr-validation-422.json", "cr-validation-rule-422.json"])
def test_a_refusal_equals_that_of_a_server(name: str) -> None:
    obj, answer, _ = read_exchange(name)
    apply_defaults(FOO_SCHEMA, obj)
    status = invalid_status(FOO, obj["metadata"]["name"], validate(FOO_SCHEMA, obj))
    actual_status = json.loads(msgspec.json.encode(status))
    assert {"kind": "Status", "apiVersion": "v1", "metadata": {}} | actual_status == answer


def test_pruning_and_defaulting_give_the_object_and_the_warnings_of_a_server() -> None:
    obj, answer, headers = read_exchange("cr-pruned-field-201.json")
    warnings = [f'299 - "unknown field \\"{path}\\""' for path in sorted(prune(FOO_SCHEMA, obj))]
    assert warnings == [value for name, value in headers if name == "Warning"]
    apply_defaults(FOO_SCHEMA, obj)
    assert validate(FOO_SCHEMA, obj) == []
    assert obj["spec"] == answer["spec"] == {"color": "red", "size": 3}


def in_field(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"f": schema}}


INT = {"type": "integer"}
LIST_MAP = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a", "b"],
    "items": {"type": "object", "properties": {"a": INT, "b": INT, "c": INT}, "required": ["a", "b"]},
}
ONE_KEY = {
    **LIST_MAP,
    "x-kubernetes-list-map-keys": ["a"],
    "items": {"type": "object", "properties": {"a": INT, "c": INT}, "required": ["a"]},
}
INT_OR_STRING = {"x-kubernetes-int-or-string": True}
TWO_VALID = (
    '<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives'
)
WRONG_KIND = (
    'f.kind: Invalid value: "A_b": may have mixed case, but should otherwise match: a DNS-1035 label must consist'  # noqa: E501
    " of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an"
    " alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is"
    " '[a-z]([-a-z0-9]*[a-z0-9])?')"
)

JUDGED: list[tuple[dict[str, Any], Any, list[str]]] = [
    ({"type": "string"}, 5, ['f: Invalid value: "integer": f in body must be of type string: "integer"']),
    (
        {"type": "integer"},
        1.5,
        [
            'f: Invalid value: "number": f in body must be of type integer: "number"',
            '<nil>: Invalid value: "": Checked value must be of type integer (default format) in f',
        ],
    ),
    ({"type": "integer"}, 2.0, []),
    ({"type": "number"}, 2, []),
    ({"type": "boolean"}, 1, ['f: Invalid value: "integer": f in body must be of type boolean: "integer"']),
    (
        {"type": "integer"},
        True,
        ['f: Invalid value: "boolean": f in body must be of type integer: "boolean"'],
    ),
    ({"type": "object"}, [], ['f: Invalid value: "array": f in body must be of type object: "array"']),
    ({"type": "string"}, None, ['f: Invalid value: "null": f in body must be of type string: "null"']),
    ({"type": "string", "nullable": True}, None, []),
    (
        {"type": "string", "nullable": True, "enum": ["a"]},
        None,
        ['f: Unsupported value: null: supported values: "a"'],
    ),
    (
        {"type": "string", "nullable": True, "enum": ["a", None]},
        None,
        ['f: Unsupported value: null: supported values: "a", "null"'],
    ),
    ({"type": "string", "nullable": True, "allOf": [{"enum": ["a"]}]}, None, []),
    ({"type": "integer", "enum": [1, 2]}, 3, ['f: Unsupported value: 3: supported values: "1", "2"']),
    (INT_OR_STRING, 1, []),
    (INT_OR_STRING, "1", []),
    (
        INT_OR_STRING,
        True,
        ['f: Invalid value: "boolean": f in body must be of type integer,string: "boolean"'],
    ),
    (ANYTHING, [{"a": None}], []),
    (
        {"type": "integer", "maximum": 9},
        10,
        ["f: Invalid value: 10: f in body should be less than or equal to 9"],
    ),
    (
        {"type": "integer", "maximum": 9, "exclusiveMaximum": True},
        9,
        ["f: Invalid value: 9: f in body should be less than 9"],
    ),
    (
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        1,
        ["f: Invalid value: 1: f in body should be greater than 1"],
    ),
    ({"type": "integer", "minimum": 1, "maximum": 1}, 1, []),
    ({"type": "integer", "multipleOf": 5}, 7, ["f: Invalid value: 7: f in body should be a multiple of 5"]),
    (
        {"type": "string", "minLength": 2},
        "a",
        ['f: Invalid value: "a": f in body should be at least 2 chars long'],
    ),
    ({"type": "string", "maxLength": 2}, "abc", ["f: Too long: may not be more than 2 bytes"]),
    ({"type": "string", "maxLength": 3}, "äöü", []),
    ({"type": "string", "pattern": "^a$"}, "b", ["f: Invalid value: \"b\": f in body should match '^a$'"]),
    (
        {"type": "string", "pattern": "^a$"},
        "a\n",
        ["f: Invalid value: \"a\\n\": f in body should match '^a$'"],
    ),
    ({"type": "string", "pattern": "b"}, "abc", []),
    ({"type": "string", "pattern": "^[$]$"}, "$", []),
    (
        {"type": "array", "items": INT, "minItems": 1},
        [],
        ["f: Invalid value: 0: f in body should have at least 1 items"],
    ),
    ({"type": "array", "items": INT, "maxItems": 1}, [1, 2], ["f: Too many: 2: must have at most 1 item"]),
    (
        {"type": "array", "items": INT},
        [1, "x"],
        ['f[1]: Invalid value: "string": f[1] in body must be of type integer: "string"'],
    ),
    (
        {"type": "object", "additionalProperties": INT},
        {"k": "x"},
        ['f.k: Invalid value: "string": f.k in body must be of type integer: "string"'],
    ),
    (
        {"type": "object", "additionalProperties": INT, "minProperties": 1},
        {},
        ["f: Invalid value: 0: f in body should have at least 1 properties"],
    ),
    (
        {"type": "object", "additionalProperties": INT, "maxProperties": 1},
        {"a": 1, "b": 2},
        ["f: Too many: 2: must have at most 1 item"],
    ),
    ({"type": "object", "properties": {"a": INT}, "required": ["a"]}, {}, ["f.a: Required value"]),
    (
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        ["a", "b", "a", "a"],
        ['f[2]: Duplicate value: "a"'],
    ),
    (LIST_MAP, [{"a": 1, "b": 1}, {"a": 1, "b": 2}], []),
    (LIST_MAP, [{"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 5}], ['f[1]: Duplicate value: {"a":1,"b":1}']),
    (ONE_KEY, [{"a": 1}, {"a": 1}], ['f[1]: Duplicate value: {"a":1}']),
    (
        {"type": "integer", "anyOf": [{"maximum": 1}, {"minimum": 5}]},
        3,
        [
            '<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)',
            "f: Invalid value: 3: f in body should be less than or equal to 1",
        ],
    ),
    (
        {"type": "integer", "oneOf": [{"maximum": 5}, {"minimum": 1}]},
        3,
        [
            TWO_VALID,
        ],
    ),
    (
        {"type": "integer", "allOf": [{"maximum": 2}, {"minimum": 1}]},
        3,
        [
            "f: Invalid value: 3: f in body should be less than or equal to 2",
            '<nil>: Invalid value: "": "f" must validate all the schemas (allOf)',
        ],
    ),
    (
        {"type": "integer", "not": {"minimum": 1}},
        3,
        ['<nil>: Invalid value: "": "f" must not validate the schema (not)'],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING},
        {"kind": "A_b", "metadata": 1},
        [
            "f.apiVersion: Required value",
            WRONG_KIND,
            "f.metadata: Invalid value: 1: must be metadata of an object: Expected `object`, got `int`",
        ],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING},
        {
            "kind": "K",
            "apiVersion": "v1",
            "metadata": {"name": "a/b%", "generateName": "."},
        },
        [
            "f.metadata.name: Invalid value: \"a/b%\": may not contain '/'",
            "f.metadata.name: Invalid value: \"a/b%\": may not contain '%'",
        ],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING},
        {"kind": "K", "apiVersion": "v1", "metadata": {"name": ".."}},
        ["f.metadata.name: Invalid value: \"..\": may not be '..'"],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING},
        {"kind": "", "apiVersion": ""},
        [
            'f.apiVersion: Invalid value: "": must not be empty',
            'f.kind: Invalid value: "": must not be empty',
        ],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING},
        {"kind": "K", "apiVersion": "a/", "metadata": {"name": None, "labels": {"a": None}}},
        [],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, **ANYTHING},
        {"kind": "K", "apiVersion": "a/b/c"},
        ['f.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ),
]


@pytest.mark.parametrize(
    ("schema", "value", "errors"), JUDGED, ids=[f"{row[0]} {row[1]}"[:70] for row in JUDGED]
)
def test_a_violation_has_the_words_of_a_server(schema: dict[str, Any], value: Any, errors: list[str]) -> None:
    assert check_schema(in_field(schema)) == []
    assert [str(error) for error in validate(in_field(schema), {"f": value})] == errors


FORMATS: list[tuple[str, str, str]] = [
    ("date-time", "2026-01-31T09:30:00Z", "2026-01-31 09:30:00"),
    ("date-time", "2026-01-31t09:30:00.5+01:00", "2026-01-31T24:30:00Z"),
    ("date", "2026-01-31", "2026-02-30"),
    ("duration", "1h15m", "a while"),
    ("duration", "3 days", "3 moons"),
    ("ipv4", "10.0.0.1", "10.0.0.256"),
    ("ipv6", "fe80::1", "10.0.0.1"),
    ("cidr", "10.0.0.0/8", "10.0.0.0"),
    ("uuid", "7c9b0a1e-6f4e-4d0c-9d0e-3f6a1b2c3d4e", "7c9b0a1e"),
    ("byte", "aGk=", "a"),
    ("email", "a@b.example", "a"),
    ("hostname", "a.b.example", "a b"),
    ("mac", "00:1b:63:84:45:e6", "00:1b"),
    ("uri", "https://a.example/b", "a b"),
    ("hexcolor", "#ffcc00", "#ff"),
]


@pytest.mark.parametrize(("name", "good", "bad"), FORMATS)
def test_a_format_is_checked_as_a_type(name: str, good: str, bad: str) -> None:
    schema = in_field({"type": "string", "format": name})
    assert validate(schema, {"f": good}) == []
    (error,) = validate(schema, {"f": bad})
    assert error.reason == "FieldValueTypeInvalid"
    assert error.message == f'Invalid value: "{bad}": f in body must be of type {name}: "{bad}"'


def test_a_number_outside_its_format_is_refused_and_an_unknown_format_is_ignored() -> None:
    schema = in_field({"type": "integer", "format": "int32"})
    assert validate(schema, {"f": 2**31 - 1}) == []
    assert "format int32 in f" in str(validate(schema, {"f": 2**31})[0])
    assert validate(in_field({"type": "string", "format": "poem"}), {"f": "x"}) == []


PRUNED: list[tuple[dict[str, Any], Any, Any, list[str]]] = [
    (in_field(INT), {"f": 1, "g": 2}, {"f": 1}, ["g"]),
    (in_field(INT), {"kind": "K", "apiVersion": "v1", "metadata": {"x": 1}}, ..., []),
    (in_field({"type": "object", **ANYTHING}), {"f": {"a": {"b": 1}}}, ..., []),
    (in_field({"type": "array", "items": in_field(INT)}), {"f": [{"g": 1}]}, {"f": [{}]}, ["f[0].g"]),
    (
        in_field({"type": "object", "additionalProperties": in_field(INT)}),
        {"f": {"k": {"g": 1}}},
        {"f": {"k": {}}},
        ["f.k.g"],
    ),
    (
        in_field({"type": "object", "properties": {"a": in_field(INT)}, **ANYTHING}),
        {"f": {"a": {"g": 1}, "b": {"g": 1}}},
        {"f": {"a": {}, "b": {"g": 1}}},
        ["f.a.g"],
    ),
    (
        in_field(
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": in_field(INT)}}
        ),
        {"f": {"kind": "K", "apiVersion": "v1", "metadata": {"name": "n"}, "spec": {"g": 1}, "x": 1}},
        {"f": {"kind": "K", "apiVersion": "v1", "metadata": {"name": "n"}, "spec": {}}},
        ["f.spec.g", "f.x"],
    ),
    (
        in_field({"type": "object", "x-kubernetes-embedded-resource": True}),
        {"f": {"kind": "K", "apiVersion": "v1", "metadata": {"name": "n", "labels": {}, "colour": "red"}}},
        {"f": {"kind": "K", "apiVersion": "v1", "metadata": {"name": "n"}}},
        ["f.metadata.colour"],
    ),
]


@pytest.mark.parametrize(("schema", "obj", "pruned", "dropped"), PRUNED)
def test_pruning_removes_fields_that_the_schema_does_not_specify(
    schema: dict[str, Any], obj: Any, pruned: Any, dropped: list[str]
) -> None:
    expected = copy.deepcopy(obj) if pruned is ... else pruned
    copied = copy.deepcopy(obj)
    assert prune(schema, copied) == dropped
    assert copied == expected
    assert prune(schema, copied) == []


DEFAULT = {"type": "integer", "default": 7}
DEFAULTED: list[tuple[dict[str, Any], Any, Any]] = [
    (in_field(DEFAULT), {}, {"f": 7}),
    (in_field(DEFAULT), {"f": 0}, {"f": 0}),
    (in_field(DEFAULT), {"f": None}, {"f": 7}),
    (in_field({**DEFAULT, "nullable": True}), {"f": None}, {"f": None}),
    (in_field(INT), {"f": None}, {}),
    (in_field({**INT, "nullable": True}), {"f": None}, {"f": None}),
    (in_field(in_field(DEFAULT)), {}, {}),
    (in_field({**in_field(DEFAULT), "default": {}}), {}, {"f": {"f": 7}}),
    (in_field({"type": "array", "items": in_field(DEFAULT)}), {"f": [{}]}, {"f": [{"f": 7}]}),
    (in_field({"type": "array", "items": DEFAULT}), {"f": [None]}, {"f": [7]}),
    (
        in_field({"type": "object", "additionalProperties": in_field(DEFAULT)}),
        {"f": {"k": {}}},
        {"f": {"k": {"f": 7}}},
    ),
    (in_field({"type": "object", "additionalProperties": DEFAULT}), {"f": {"k": None}}, {"f": {"k": 7}}),
]


@pytest.mark.parametrize(("schema", "obj", "filled"), DEFAULTED)
def test_defaulting_sets_missing_and_null_fields(schema: dict[str, Any], obj: Any, filled: Any) -> None:
    copied = copy.deepcopy(obj)
    apply_defaults(schema, copied)
    assert copied == filled


def test_a_default_is_copied_into_each_object() -> None:
    schema = in_field({"type": "array", "items": INT, "default": []})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    apply_defaults(schema, first)
    apply_defaults(schema, second)
    first["f"].append(1)
    assert (second, schema["properties"]["f"]["default"]) == ({"f": []}, [])


def test_an_unchanged_value_is_not_checked_again() -> None:
    schema = in_field({"type": "object", "properties": {"a": {**INT, "maximum": 5}, "b": INT}})
    old = {"f": {"a": 9, "b": 1}}
    assert validate(schema, {"f": {"a": 9, "b": 2}}, old) == []
    assert [error.field for error in validate(schema, {"f": {"a": 8, "b": 2}}, old)] == ["f.a"]
    assert [error.field for error in validate(schema, {"f": {"a": 9, "b": 2}})] == ["f.a"]


def test_only_elements_of_map_lists_are_matched_with_old_elements() -> None:
    items = {"type": "object", "properties": {"a": INT, "c": {**INT, "maximum": 5}}, "required": ["a"]}
    old = {"f": [{"a": 1, "c": 9}]}
    new = {"f": [{"a": 2, "c": 1}, {"a": 1, "c": 9}]}
    assert validate(in_field({**ONE_KEY, "items": items}), new, old) == []
    plain = {"type": "array", "items": items}
    assert [error.field for error in validate(in_field(plain), new, old)] == ["f[1].c"]


def test_stored_duplicates_do_not_block_an_update() -> None:
    schema = in_field(ONE_KEY)
    twice = {"f": [{"a": 1}, {"a": 1}]}
    assert validate(schema, twice | {"g": 1}, twice) == []
    assert validate(schema, twice, {"f": [{"a": 1}]}) != []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["red", "A", "B", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "color", "mode", "size", "f"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON.filter(lambda value: isinstance(value, dict)))
def test_pruning_and_defaulting_any_json_twice_changes_nothing_more(
    obj: dict[str, Any],
) -> None:
    prune(FOO_SCHEMA, obj)
    apply_defaults(FOO_SCHEMA, obj)
    once = copy.deepcopy(obj)
    assert prune(FOO_SCHEMA, obj) == []
    apply_defaults(FOO_SCHEMA, obj)
    assert obj == once
    for violation in validate(FOO_SCHEMA, obj):
        assert violation.cause().field
