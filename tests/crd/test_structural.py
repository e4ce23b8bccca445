"""A schema that a server refuses is refused with the server's path and reason."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeproto.crd.definitions._structural_checks import check_schema

INT: dict[str, Any] = {"type": "integer"}
STRING: dict[str, Any] = {"type": "string"}
ANYTHING: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}


def schema_with_list_keys(items: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {
        "type": "array",
        "items": items,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": list(keys),
    }


def schema_with_rules(**rule: Any) -> dict[str, Any]:
    return {**INT, "x-kubernetes-validations": [{"rule": "true", **rule}]}


def rules_of(rule: str) -> dict[str, Any]:
    return {"x-kubernetes-validations": [{"rule": rule}]}


F = "properties[f]"
RULE = f"{F}.x-kubernetes-validations[0].rule: Invalid value: "
ITEM_RULE = f"{F}.items.x-kubernetes-validations[0].rule: Invalid value: "
ATOMIC_ITEM = "must be atomic as item of a list with x-kubernetes-list-type=set"
SCALAR_KEY = "must be a scalar type if parent array's x-kubernetes-list-type is map"
KEY = "this property is in x-kubernetes-list-map-keys, so it"
OF_MAP = {"properties": {"k": STRING}, "required": ["k"], "type": "object"}

REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, [f"{F}.type: Required value: must not be empty for specified object fields"]),
    (
        {"type": "array", "items": {}},
        [f"{F}.items.type: Required value: must not be empty for specified array items"],
    ),
    ({"type": "array"}, [f"{F}.items: Required value: must be specified"]),
    (
        {"type": "array", "items": [INT]},
        [f"{F}.items: Forbidden: items must be a schema object and not an array"],
    ),
    (
        {"type": "null"},
        [f"{F}.type: Forbidden: type cannot be set to null, use nullable as an alternative"],
    ),
    (
        {"type": "text"},
        [
            (
                f'{F}.type: Unsupported value: "text": supported values:'
                ' "array", "boolean", "integer", "number",'
                ' "object", "string"'
            )
        ],
    ),
    ({**INT, "$ref": "#/x"}, [f"{F}.$ref: Forbidden: $ref is not supported"]),
    ({**INT, "definitions": {"a": {}}}, [f"{F}.definitions: Forbidden: definitions is not supported"]),
    (
        {**INT, "patternProperties": {"a": {}}},
        [f"{F}.patternProperties: Forbidden: patternProperties is not supported"],
    ),
    ({**INT, "dependencies": {"a": {}}}, [f"{F}.dependencies: Forbidden: dependencies is not supported"]),
    ({**INT, "additionalItems": True}, [f"{F}.additionalItems: Forbidden: additionalItems is not supported"]),
    ({**INT, "id": "x"}, [f"{F}.id: Forbidden: id is not supported"]),
    (
        {"type": "array", "items": INT, "uniqueItems": True},
        [
            (
                f"{F}.uniqueItems: Forbidden: uniqueItems cannot be set to"
                " true since the runtime complexity becomes"
                " quadratic"
            )
        ],
    ),
    (
        {"type": "object", "properties": {"a": INT}, "additionalProperties": INT},
        [f"{F}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    (
        {"type": "object", "properties": {"a": INT}, "additionalProperties": False},
        [f"{F}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"],
    ),
    (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": False},
        [f"{F}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined"],
    ),
    (
        {"x-kubernetes-int-or-string": True, **ANYTHING},
        [
            (
                f"{F}.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if"
                " x-kubernetes-int-or-string is true"
            )
        ],
    ),
    (
        {"x-kubernetes-embedded-resource": True, **ANYTHING},
        [f"{F}.type: Required value: must be object if x-kubernetes-embedded-resource is true"],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True},
        [
            (
                f"{F}.properties: Required value: must not be empty if"
                " x-kubernetes-embedded-resource is true without"
                " x-kubernetes-preserve-unknown-fields"
            )
        ],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, "additionalProperties": INT, **ANYTHING},
        [f"{F}.additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set"],
    ),
    (
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"kind": INT}},
        [f'{F}.properties[kind].type: Invalid value: "integer": must be string'],
    ),
    (
        {**INT, "x-kubernetes-list-type": "set"},
        [f'{F}.type: Invalid value: "integer": must be array if x-kubernetes-list-type is specified'],
    ),
    (
        {"type": "array", "items": INT, "x-kubernetes-list-type": "bag"},
        [f'{F}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"'],
    ),
    (
        {"type": "array", "items": INT, "x-kubernetes-list-map-keys": ["k"]},
        [
            (
                f"{F}.x-kubernetes-list-type: Required value: must be map if"
                " x-kubernetes-list-map-keys is non-empty"
            )
        ],
    ),
    (
        {"type": "array", "items": {**INT, "nullable": True}, "x-kubernetes-list-type": "set"},
        [f"{F}.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set"],
    ),
    (
        {"type": "array", "items": {"type": "object", **ANYTHING}, "x-kubernetes-list-type": "set"},
        [f"{F}.items.x-kubernetes-map-type: Invalid value: null: {ATOMIC_ITEM}"],
    ),
    (
        {
            "type": "array",
            "items": {"type": "array", "items": INT, "x-kubernetes-list-type": "set"},
            "x-kubernetes-list-type": "set",
        },
        [f'{F}.items.x-kubernetes-list-type: Invalid value: "set": {ATOMIC_ITEM}'],
    ),
    (
        schema_with_list_keys(OF_MAP),
        [
            (
                f"{F}.x-kubernetes-list-map-keys: Required value: must not be"
                " empty if x-kubernetes-list-type is map"
            )
        ],
    ),
    (
        schema_with_list_keys(OF_MAP, "x"),
        [
            (
                f'{F}.x-kubernetes-list-map-keys: Invalid value: ["x"]:'
                " entries must all be names of item properties"
            )
        ],
    ),
    (
        schema_with_list_keys(OF_MAP, "k", "k"),
        [f'{F}.x-kubernetes-list-map-keys: Invalid value: ["k","k"]: must not contain duplicate entries'],
    ),
    (
        schema_with_list_keys(INT, "k"),
        [
            (
                f'{F}.items.type: Invalid value: "integer": must be object if'
                " parent array's x-kubernetes-list-type is map"
            )
        ],
    ),
    (
        schema_with_list_keys({**OF_MAP, "required": []}, "k"),
        [
            (
                f"{F}.items.properties[k].default: Required value: {KEY} must"
                " have a default or be a required property"
            )
        ],
    ),
    (
        schema_with_list_keys({**OF_MAP, "properties": {"k": {**STRING, "nullable": True}}}, "k"),
        [f"{F}.items.properties[k].nullable: Forbidden: {KEY} cannot be nullable"],
    ),
    (
        schema_with_list_keys({**OF_MAP, "properties": {"k": {"type": "array", "items": INT}}}, "k"),
        [f'{F}.items.properties[k].type: Invalid value: "array": {SCALAR_KEY}'],
    ),
    (
        {**INT, "x-kubernetes-map-type": "atomic"},
        [f'{F}.type: Invalid value: "integer": must be object if x-kubernetes-map-type is specified'],
    ),
    (
        {"type": "object", "x-kubernetes-map-type": "loose"},
        [f'{F}.x-kubernetes-map-type: Unsupported value: "loose": supported values: "atomic", "granular"'],
    ),
    (
        schema_with_rules(rule=""),
        [f"{F}.x-kubernetes-validations[0].rule: Required value: rule is not specified"],
    ),
    (
        schema_with_rules(message=" "),
        [
            (
                f'{F}.x-kubernetes-validations[0].message: Invalid value: "'
                ' ": message must be non-empty if specified'
            )
        ],
    ),
    (
        schema_with_rules(message="a\nb"),
        [
            (
                f"{F}.x-kubernetes-validations[0].message: Invalid value:"
                ' "a\\nb": message must not contain line breaks'
            )
        ],
    ),
    (
        schema_with_rules(rule="true\n&& true"),
        [
            (
                f"{F}.x-kubernetes-validations[0].message: Required value:"
                " message must be specified if rule contains"
                " line breaks"
            )
        ],
    ),
    (
        schema_with_rules(messageExpression=" "),
        [
            (
                f"{F}.x-kubernetes-validations[0].messageExpression: Required"
                " value: messageExpression must be"
                " non-empty if specified"
            )
        ],
    ),
    (
        schema_with_rules(reason="Odd"),
        [
            (
                f'{F}.x-kubernetes-validations[0].reason: Unsupported value: "Odd": supported values:'
                ' "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"'
            )
        ],
    ),
    (
        schema_with_rules(fieldPath=".x"),
        [f'{F}.x-kubernetes-validations[0].fieldPath: Invalid value: ".x": fieldPath must be a valid path'],
    ),
    (
        schema_with_rules(optionalOldSelf=True),
        [
            (
                f"{F}.x-kubernetes-validations[0].optionalOldSelf: Invalid"
                " value: true: may not be set if oldSelf is"
                " not used in rule"
            )
        ],
    ),
    (
        {
            "type": "object",
            "properties": {"a": INT},
            **rules_of("has(self.b) && self.a > 1 && 'self.c' != ''"),
        },
        [f"{RULE}compilation failed: undefined field '.b'"],
    ),
    (
        {"type": "object", "properties": {"a": INT}, **rules_of("self.a >")},
        [f"{RULE}compilation failed: Syntax error: mismatched input '<EOF>'"],
    ),
    (
        {"type": "object", "properties": {"a": INT}, **rules_of("self.a != 'x'")},
        [f"{RULE}compilation failed: it compares integer with 'x'"],
    ),
    (
        {"type": "array", "items": {**INT, **rules_of("self > oldSelf")}},
        [f"{ITEM_RULE}oldSelf cannot be used on the uncorrelatable portion of the schema within {F}"],
    ),
    (
        {"type": "object", "properties": {"a": INT}, "anyOf": [{"properties": {"b": {"minimum": 1}}}]},
        [f"{F}.properties[b]: Required value: because it is defined in {F}.anyOf[0].properties[b]"],
    ),
    (
        {**INT, "allOf": [{"type": "integer"}]},
        [f"{F}.allOf[0].type: Forbidden: must be empty to be structural"],
    ),
    ({**INT, "not": {"default": 1}}, [f"{F}.not.default: Forbidden: must be undefined to be structural"]),
    (
        {**INT, "oneOf": [{"nullable": True}]},
        [f"{F}.oneOf[0].nullable: Forbidden: must be false to be structural"],
    ),
    (
        {"type": "object", "properties": {"a": INT}, "anyOf": [{"properties": {"metadata": {}}}]},
        [
            f"{F}.anyOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
            (
                f"{F}.properties[metadata]: Required value: because it is defined in"
                f" {F}.anyOf[0].properties[metadata]"
            ),
        ],
    ),
    (
        {**INT, "default": "x"},
        [f'{F}.default: Invalid value: "string": {F}.default in body must be of type integer: "string"'],
    ),
    (
        {**INT, "maximum": 5, "default": 6},
        [f"{F}.default: Invalid value: 6: {F}.default in body should be less than or equal to 5"],
    ),
    (
        {"type": "object", "additionalProperties": {**INT, "maximum": 5, "default": 6}},
        [
            (
                f"{F}.additionalProperties.default: Invalid value: 6: {F}.additionalProperties.default in"
                " body should be less than or equal to 5"
            )
        ],
    ),
    (
        {"type": "object", "properties": {"a": INT}, "default": {"b": 1}},
        [f'{F}.default: Invalid value: {{"b":1}}: must not have unknown fields'],
    ),
    (
        {"type": "array", "items": INT, "x-kubernetes-list-type": "set", "default": [1, 1]},
        [f"{F}.default[1]: Duplicate value: 1"],
    ),
]


@pytest.mark.parametrize(("field", "errors"), REFUSED, ids=[row[1][0][:70] for row in REFUSED])
def test_an_invalid_schema_is_refused_in_the_words_of_a_server(
    field: dict[str, Any], errors: list[str]
) -> None:
    messages = [str(error) for error in check_schema({"type": "object", "properties": {"f": field}})]
    assert [
        re.sub(r"(rule: Invalid value: ).*?: (compil|oldSelf)", r"\1\2", error) for error in messages
    ] == errors


ROOTS: list[tuple[Any, str]] = [
    ({}, "s.type: Required value: must not be empty at the root"),
    (INT, 's.type: Invalid value: "integer": must be object at the root'),
    ({"type": "object", "nullable": True}, "s.nullable: Forbidden: nullable cannot be true at the root"),
    (
        {"type": "object", "additionalProperties": INT},
        "s.additionalProperties: Forbidden: must not be used at the root",
    ),
    (
        {"type": "object", "properties": {"kind": {**STRING, "default": "K"}}},
        "s.properties[kind].default: Forbidden: must not be set in top-level kind",
    ),
    (
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": ANYTHING}}},
        },
        (
            "s.properties[metadata]: Forbidden: must not specify"
            " anything other than name and generateName, but"
            " metadata is implicitly specified"
        ),
    ),
    (5, "s: Invalid value: 5: must be a schema object"),
]


@pytest.mark.parametrize(("schema", "error"), ROOTS)
def test_the_root_of_a_schema_has_further_rules(schema: Any, error: str) -> None:
    assert [str(violation) for violation in check_schema(schema, "s")] == [error]


GOOD: list[dict[str, Any]] = [
    {**INT, "anyOf": [{"minimum": 1}, {"maximum": -1}]},
    {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    {
        "x-kubernetes-int-or-string": True,
        "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"maxLength": 5}],
    },
    schema_with_list_keys({**OF_MAP, "required": [], "properties": {"k": {**STRING, "default": "x"}}}, "k"),
    {"type": "object", "additionalProperties": True},
    ANYTHING,
    schema_with_rules(rule="self >= oldSelf", optionalOldSelf=True),
    schema_with_list_keys({**OF_MAP, **rules_of("self.k == oldSelf.k")}, "k"),
    {
        "type": "object",
        "additionalProperties": {**INT, **rules_of("self > oldSelf")},
        **rules_of("self.any > 1"),
    },
]


@pytest.mark.parametrize("field", GOOD)
def test_a_valid_schema_is_accepted(field: dict[str, Any]) -> None:
    assert check_schema({"type": "object", "properties": {"f": field}}) == []


def test_metadata_at_the_root_may_restrict_names() -> None:
    names = {"type": "object", "properties": {"name": {**STRING, "maxLength": 5}}}
    assert check_schema({"type": "object", "properties": {"metadata": names}}) == []
