"""A server's checks of a schema: it is structural, and its list types and defaults are consistent.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...objects import is_object
from ...objects._shared import copy_json
from .._go_patterns import check_pattern
from .._list_types import find_duplicates
from .._violations import Violation, child, forbidden, invalid, key, required, unsupported
from ..cel._rule_checks import check_rule_definitions
from ..validation._embedded_resources import check_embedded
from ..validation._pruning import prune
from ..validation._value_checks import check_value
from ._merge_type_checks import check_list_type, check_map_type

_Violations = Iterator[Violation]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
# Keywords that anyOf, oneOf, allOf and not must not contain: these may only restrict the value.
_NOT_IN_COMBINATIONS: Final = {
    "type": "must be empty to be structural",
    "additionalProperties": "must be undefined to be structural",
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "externalDocs": "must be undefined to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}
_INT_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
_META: Final = ("apiVersion", "kind", "metadata")
_MISSING_TYPE: Final = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def check_schema(schema: Any, path: str = "") -> list[Violation]:
    """Return the violations that a server would report for the schema of a version."""
    if not is_object(schema):
        return [invalid(path, schema, "must be a schema object")]
    violations = list(_check(schema, path, "root"))
    if schema.get("nullable"):
        violations.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    return violations or list(_check_defaults(schema, path))


def _check(schema: dict[str, Any], path: str, level: str, uncorrelated: str | None = None) -> _Violations:
    """Check a schema. `uncorrelated` is the path of an enclosing list or map without old elements."""
    yield from _check_keywords(schema, path)
    yield from _check_type(schema, path, level)
    yield from check_list_type(schema, path)
    yield from check_map_type(schema, path)
    root = level == "root" or bool(schema.get("x-kubernetes-embedded-resource"))
    yield from check_rule_definitions(schema, path, uncorrelated, root=root)
    yield from _check_embedded(schema, path)
    yield from _check_metadata(schema, path, level)
    yield from _check_combinations(schema, schema, path, path)
    additional = schema.get("additionalProperties")
    if additional is not None:
        keyword_path = child(path, "additionalProperties")
        if level == "root":
            yield forbidden(keyword_path, "must not be used at the root")
        if schema.get("properties") and additional is not True:
            yield forbidden(keyword_path, "additionalProperties and properties are mutual exclusive")
        if is_object(additional):
            yield from _check(additional, keyword_path, "field", uncorrelated)
    if is_object(schema.get("items")):
        has_keys = schema.get("x-kubernetes-list-type") == "map"
        items_uncorrelated_path = uncorrelated if has_keys else uncorrelated or path
        yield from _check(schema["items"], child(path, "items"), "item", items_uncorrelated_path)
    is_atomic = schema.get("x-kubernetes-map-type") == "atomic"
    property_uncorrelated_path = uncorrelated or (path if is_atomic else None)
    for name, property_ in schema.get("properties", {}).items():
        property_path = key(child(path, "properties"), name)
        yield from _check(property_, property_path, "field", property_uncorrelated_path)


def _check_keywords(schema: dict[str, Any], path: str) -> _Violations:
    for keyword in _UNSUPPORTED:
        if schema.get(keyword):
            yield forbidden(child(path, keyword), f"{keyword} is not supported")
    if schema.get("uniqueItems"):
        yield forbidden(
            child(path, "uniqueItems"),
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        )
    if isinstance(schema.get("items"), list):
        yield forbidden(child(path, "items"), "items must be a schema object and not an array")
    if "pattern" in schema:
        try:
            check_pattern(schema["pattern"])
        except ValueError as error:
            detail = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(child(path, "pattern"), schema["pattern"], detail)
    preserve = schema.get("x-kubernetes-preserve-unknown-fields")
    if preserve is False:
        yield invalid(child(path, "x-kubernetes-preserve-unknown-fields"), False, "must be true or undefined")
    if schema.get("x-kubernetes-int-or-string"):
        for keyword in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if schema.get(keyword):
                detail = "must be false if x-kubernetes-int-or-string is true"
                yield invalid(child(path, keyword), True, detail)


def _check_type(schema: dict[str, Any], path: str, level: str) -> _Violations:
    type_, keyword_path = schema.get("type", ""), child(path, "type")
    if type_ == "null":
        yield forbidden(keyword_path, "type cannot be set to null, use nullable as an alternative")
    elif type_ and type_ not in _TYPES:
        yield unsupported(keyword_path, type_, _TYPES)
    elif schema.get("x-kubernetes-embedded-resource") and type_ != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(keyword_path, type_, detail) if type_ else required(keyword_path, detail)
    elif not type_ and not (
        schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        yield required(keyword_path, _MISSING_TYPE[level])
    elif level == "root" and type_ and type_ != "object":
        yield invalid(keyword_path, type_, "must be object at the root")
    if type_ == "array" and "items" not in schema:
        yield required(child(path, "items"), "must be specified")


def _check_embedded(schema: dict[str, Any], path: str) -> _Violations:
    if not schema.get("x-kubernetes-embedded-resource"):
        return
    if "additionalProperties" in schema:
        yield forbidden(
            child(path, "additionalProperties"),
            "must not be used if x-kubernetes-embedded-resource is set",
        )
    if not schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        yield required(
            child(path, "properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without"
            " x-kubernetes-preserve-unknown-fields",
        )


def _check_metadata(schema: dict[str, Any], path: str, level: str) -> _Violations:
    """Check apiVersion, kind and metadata, which the server defines: a schema may only restrict names."""
    if level != "root" and not schema.get("x-kubernetes-embedded-resource"):
        return
    for name, property_ in schema.get("properties", {}).items():
        keyword_path = key(child(path, "properties"), name)
        expected = "object" if name == "metadata" else "string"
        if name in _META and property_.get("type") != expected:
            yield invalid(child(keyword_path, "type"), property_.get("type", ""), f"must be {expected}")
        if name in _META and level == "root" and property_.get("default") is not None:
            yield forbidden(child(keyword_path, "default"), f"must not be set in top-level {name}")
        if name == "metadata" and level == "root":
            keywords = property_.keys() - {"type", "description", "properties"}
            if keywords or set(property_.get("properties", ())) - {"name", "generateName"}:
                yield forbidden(
                    keyword_path,
                    "must not specify anything other than name and generateName, but metadata is implicitly"
                    " specified",
                )


def _check_combinations(
    schema: dict[str, Any], outer: dict[str, Any], path: str, outer_path: str
) -> _Violations:
    """Check anyOf, oneOf, allOf and not, which may restrict only fields that the outer schema specifies."""
    for keyword in ("anyOf", "allOf", "oneOf"):
        for index, nested in enumerate(schema.get(keyword, ())):
            keyword_path = key(child(path, keyword), index)
            if keyword == "anyOf" and schema[keyword] == _INT_OR_STRING:
                continue
            if keyword == "allOf" and index == 0 and nested.get("anyOf") == _INT_OR_STRING:
                continue
            yield from _check_nested(nested, outer, keyword_path, outer_path)
    if "not" in schema:
        yield from _check_nested(schema["not"], outer, child(path, "not"), outer_path)


def _check_nested(nested: dict[str, Any], outer: Any, path: str, outer_path: str) -> _Violations:
    if not is_object(outer):
        yield required(outer_path, f"because it is defined in {path}")
        return
    for keyword, detail in _NOT_IN_COMBINATIONS.items():
        if nested.get(keyword) not in (None, False, "", []):
            yield forbidden(child(path, keyword), detail)
    if "metadata" in nested.get("properties", {}):
        keyword_path = key(child(path, "properties"), "metadata")
        yield forbidden(keyword_path, "must not be specified in a nested context")
    yield from _check_combinations(nested, outer, path, outer_path)
    if "items" in nested:
        keyword_path = child(path, "items")
        yield from _check_nested(
            nested["items"], outer.get("items"), keyword_path, child(outer_path, "items")
        )
    for name, property_ in nested.get("properties", {}).items():
        keyword_path, outer_keyword_path = (
            key(child(parent, "properties"), name) for parent in (path, outer_path)
        )
        yield from _check_nested(
            property_, outer.get("properties", {}).get(name), keyword_path, outer_keyword_path
        )


def _check_defaults(schema: dict[str, Any], path: str) -> _Violations:
    """Check that the schema allows each default, and that pruning would not change it."""
    value, keyword_path = schema.get("default"), child(path, "default")
    if value is not None:
        pruned = copy_json({"value": value})
        prune({"properties": {"value": schema}}, pruned)
        if pruned["value"] != value:
            yield invalid(keyword_path, value, "must not have unknown fields")
        else:
            yield from check_value(schema, value, keyword_path)
            yield from find_duplicates(schema, value, keyword_path)
            yield from check_embedded(schema, value, keyword_path)
    for name, property_ in schema.get("properties", {}).items():
        yield from _check_defaults(property_, key(child(path, "properties"), name))
    for keyword in ("items", "additionalProperties"):
        if is_object(schema.get(keyword)):
            yield from _check_defaults(schema[keyword], child(path, keyword))
