"""What a server checks of a schema itself: that it is structural, that list types and defaults make sense.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...objects import is_object
from .._json import copy_json
from .._list_types import duplicates
from .._patterns import check_pattern
from .._violations import Violation, child, forbidden, invalid, key, required, unsupported
from ..cel._rule_forms import check_rule_forms
from ..validation._embedded import embedded
from ..validation._pruning import prune
from ..validation._values import check_value
from ._merge_types import check_list_type, check_map_type

_Violations = Iterator[Violation]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
# anyOf, oneOf, allOf and not may only restrict the value; its type is outside of them.
_ONLY_OUTSIDE: Final = {
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
    """Return what a server would refuse in the schema of a version; empty if the schema is valid."""
    if not is_object(schema):
        return [invalid(path, schema, "must be a schema object")]
    found = list(_check(schema, path, "root"))
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    return found or list(_check_defaults(schema, path))


def _check(schema: dict[str, Any], path: str, level: str, uncorrelated: str | None = None) -> _Violations:
    """Check a schema; `uncorrelated` is the list or map above whose elements have no old selves, if any."""
    yield from _check_keywords(schema, path)
    yield from _check_type(schema, path, level)
    yield from check_list_type(schema, path)
    yield from check_map_type(schema, path)
    root = level == "root" or bool(schema.get("x-kubernetes-embedded-resource"))
    yield from check_rule_forms(schema, path, uncorrelated, root=root)
    yield from _check_embedded(schema, path)
    yield from _check_metadata(schema, path, level)
    yield from _check_combinations(schema, schema, path, path)
    others = schema.get("additionalProperties")
    if others is not None:
        where = child(path, "additionalProperties")
        if level == "root":
            yield forbidden(where, "must not be used at the root")
        if schema.get("properties") and others is not True:
            yield forbidden(where, "additionalProperties and properties are mutual exclusive")
        if is_object(others):
            yield from _check(others, where, "field", uncorrelated)
    if is_object(schema.get("items")):
        keyed = schema.get("x-kubernetes-list-type") == "map"
        above = uncorrelated if keyed else uncorrelated or path
        yield from _check(schema["items"], child(path, "items"), "item", above)
    above = uncorrelated or (path if schema.get("x-kubernetes-map-type") == "atomic" else None)
    for name, one in schema.get("properties", {}).items():
        yield from _check(one, key(child(path, "properties"), name), "field", above)


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
    type_, where = schema.get("type", ""), child(path, "type")
    if type_ == "null":
        yield forbidden(where, "type cannot be set to null, use nullable as an alternative")
    elif type_ and type_ not in _TYPES:
        yield unsupported(where, type_, _TYPES)
    elif schema.get("x-kubernetes-embedded-resource") and type_ != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(where, type_, detail) if type_ else required(where, detail)
    elif not type_ and not (
        schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        yield required(where, _MISSING_TYPE[level])
    elif level == "root" and type_ and type_ != "object":
        yield invalid(where, type_, "must be object at the root")
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
    """Check metadata: the server defines an object's identity; a schema may only narrow names at the root."""
    if level != "root" and not schema.get("x-kubernetes-embedded-resource"):
        return
    for name, one in schema.get("properties", {}).items():
        where = key(child(path, "properties"), name)
        wanted = "object" if name == "metadata" else "string"
        if name in _META and one.get("type") != wanted:
            yield invalid(child(where, "type"), one.get("type", ""), f"must be {wanted}")
        if name in _META and level == "root" and one.get("default") is not None:
            yield forbidden(child(where, "default"), f"must not be set in top-level {name}")
        if name == "metadata" and level == "root":
            rest = {
                keyword: value for keyword, value in one.items() if keyword not in ("type", "description")
            }
            if rest.keys() - {"properties"} or set(rest.get("properties", ())) - {"name", "generateName"}:
                yield forbidden(
                    where,
                    "must not specify anything other than name and generateName, but metadata is implicitly"
                    " specified",
                )


def _check_combinations(
    schema: dict[str, Any], outer: dict[str, Any], path: str, outer_path: str
) -> _Violations:
    """Check anyOf, oneOf, allOf and not, which may restrict only what the schema around them describes."""
    for junctor in ("anyOf", "allOf", "oneOf"):
        for index, one in enumerate(schema.get(junctor, ())):
            where = key(child(path, junctor), index)
            if junctor == "anyOf" and schema[junctor] == _INT_OR_STRING:
                continue
            if junctor == "allOf" and index == 0 and one.get("anyOf") == _INT_OR_STRING:
                continue
            yield from _check_nested(one, outer, where, outer_path)
    if "not" in schema:
        yield from _check_nested(schema["not"], outer, child(path, "not"), outer_path)


def _check_nested(nested: dict[str, Any], outer: Any, path: str, outer_path: str) -> _Violations:
    if not is_object(outer):
        yield required(outer_path, f"because it is defined in {path}")
        return
    for keyword, detail in _ONLY_OUTSIDE.items():
        if nested.get(keyword) not in (None, False, "", []):
            yield forbidden(child(path, keyword), detail)
    if "metadata" in nested.get("properties", {}):
        where = key(child(path, "properties"), "metadata")
        yield forbidden(where, "must not be specified in a nested context")
    yield from _check_combinations(nested, outer, path, outer_path)
    if "items" in nested:
        where = child(path, "items")
        yield from _check_nested(nested["items"], outer.get("items"), where, child(outer_path, "items"))
    for name, one in nested.get("properties", {}).items():
        where, outer_where = (key(child(at, "properties"), name) for at in (path, outer_path))
        yield from _check_nested(one, outer.get("properties", {}).get(name), where, outer_where)


def _check_defaults(schema: dict[str, Any], path: str) -> _Violations:
    """Check defaults: each must be a value that the schema allows, without anything that would be pruned."""
    value, where = schema.get("default"), child(path, "default")
    if value is not None:
        pruned = copy_json({"value": value})
        prune({"properties": {"value": schema}}, pruned)
        if pruned["value"] != value:
            yield invalid(where, value, "must not have unknown fields")
        else:
            yield from check_value(schema, value, where)
            yield from duplicates(schema, value, where)
            yield from embedded(schema, value, where)
    for name, one in schema.get("properties", {}).items():
        yield from _check_defaults(one, key(child(path, "properties"), name))
    for keyword in ("items", "additionalProperties"):
        if is_object(schema.get(keyword)):
            yield from _check_defaults(schema[keyword], child(path, keyword))
