"""What a server demands of a schema itself: that it is structural, that list types and defaults make sense.

https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ._embedded import embedded
from ._json import copy_json, is_object
from ._list_types import duplicates
from ._patterns import check_pattern
from ._pruning import prune
from ._values import check_value
from ._violations import Violation, child, forbidden, invalid, key, required, unsupported

_Violations = Iterator[Violation]

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_REASONS: Final = (
    "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"
)  # fmt: skip
# Inside anyOf, oneOf, allOf and not only the value may be restricted; what it is stands outside.
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
    """What a server would refuse in the schema of a version; empty if the schema is good."""
    if not is_object(schema):
        return [invalid(path, schema, "must be a schema object")]
    found = list(_check(schema, path, "root"))
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    return found or list(_check_defaults(schema, path))


def _check(schema: dict[str, Any], path: str, level: str) -> _Violations:
    yield from _check_keywords(schema, path)
    yield from _check_type(schema, path, level)
    yield from _check_list_type(schema, path)
    yield from _check_map_type(schema, path)
    yield from _check_rules(schema, path)
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
            yield from _check(others, where, "field")
    if is_object(schema.get("items")):
        yield from _check(schema["items"], child(path, "items"), "item")
    for name, one in schema.get("properties", {}).items():
        yield from _check(one, key(child(path, "properties"), name), "field")


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


def _check_list_type(schema: dict[str, Any], path: str) -> _Violations:
    kind, keys = schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-list-map-keys", [])
    where = child(path, "x-kubernetes-list-type")
    if keys and kind != "map":
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        yield invalid(where, kind, detail) if kind else required(where, detail)
    if kind is None:
        return
    if kind not in ("atomic", "set", "map"):
        yield unsupported(where, kind, ("atomic", "set", "map"))
    if schema.get("type") != "array":
        detail = "must be array if x-kubernetes-list-type is specified"
        type_ = schema.get("type")
        yield invalid(child(path, "type"), type_, detail) if type_ else required(child(path, "type"), detail)
        return
    items = schema.get("items")
    if not is_object(items) or kind not in ("set", "map"):
        return
    inner = child(path, "items")
    if items.get("nullable"):
        yield forbidden(child(inner, "nullable"), f"cannot be nullable when x-kubernetes-list-type is {kind}")
    if kind == "map":
        yield from _check_list_map(items, keys, path)
        return
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield invalid(child(inner, "x-kubernetes-list-type"), items["x-kubernetes-list-type"], detail)
    elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield invalid(child(inner, "x-kubernetes-map-type"), items.get("x-kubernetes-map-type"), detail)


def _check_list_map(items: dict[str, Any], keys: list[str], path: str) -> _Violations:
    where, inner = child(path, "x-kubernetes-list-map-keys"), child(path, "items")
    if not keys:
        yield required(where, "must not be empty if x-kubernetes-list-type is map")
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(child(inner, "type"), items.get("type"), detail)
        return
    if len(set(keys)) < len(keys):
        yield invalid(where, keys, "must not contain duplicate entries")
    known: dict[str, Any] = items.get("properties", {})
    for name in keys:
        if name not in known:
            yield invalid(where, keys, "entries must all be names of item properties")
            continue
        field, at = known[name], key(child(inner, "properties"), name)
        if field.get("type") in ("array", "object"):
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield invalid(child(at, "type"), field["type"], detail)
        if name not in items.get("required", ()) and field.get("default") is None:
            yield required(
                child(at, "default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required"
                " property",
            )
        if field.get("nullable"):
            detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(child(at, "nullable"), detail)


def _check_map_type(schema: dict[str, Any], path: str) -> _Violations:
    kind, type_ = schema.get("x-kubernetes-map-type"), schema.get("type")
    if kind is None:
        return
    if type_ != "object":
        detail = "must be object if x-kubernetes-map-type is specified"
        yield invalid(child(path, "type"), type_, detail) if type_ else required(child(path, "type"), detail)
    if kind not in ("atomic", "granular"):
        yield unsupported(child(path, "x-kubernetes-map-type"), kind, ("atomic", "granular"))


def _check_rules(schema: dict[str, Any], path: str) -> _Violations:
    """The form of CEL rules; what they say is for a CEL library."""
    for index, rule in enumerate(schema.get("x-kubernetes-validations", ())):
        where = key(child(path, "x-kubernetes-validations"), index)
        text, message = rule.get("rule", "").strip(), rule.get("message", "")
        if not text:
            yield required(child(where, "rule"), "rule is not specified")
        elif message and not message.strip():
            yield invalid(child(where, "message"), message, "message must be non-empty if specified")
        elif "\n" in message.strip():
            yield invalid(child(where, "message"), message, "message must not contain line breaks")
        elif "\n" in text and not message:
            detail = "message must be specified if rule contains line breaks"
            yield required(child(where, "message"), detail)
        if rule.get("messageExpression") and not rule["messageExpression"].strip():
            detail = "messageExpression must be non-empty if specified"
            yield required(child(where, "messageExpression"), detail)
        if "reason" in rule and rule["reason"] not in _REASONS:
            yield unsupported(child(where, "reason"), rule["reason"], _REASONS)
        if rule.get("fieldPath") and find_schema(schema, rule["fieldPath"]) is None:
            yield invalid(child(where, "fieldPath"), rule["fieldPath"], "fieldPath must be a valid path")
        if "optionalOldSelf" in rule and not re.search(r"\boldSelf\b", text):
            yield invalid(
                child(where, "optionalOldSelf"),
                rule["optionalOldSelf"],
                "may not be set if oldSelf is not used in rule",
            )


def find_schema(schema: dict[str, Any], json_path: str) -> dict[str, Any] | None:
    """The schema that a path such as ``.spec.size`` or ``['a.b']`` leads to; None if it leads nowhere."""
    steps = re.findall(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]", json_path)
    if not steps or "".join(f".{dot}" if dot else f"['{quoted}']" for dot, quoted in steps) != json_path:
        return None
    found = schema
    for dot, quoted in steps:
        name = dot or re.sub(r"\\(.)", r"\1", quoted)
        below = found["properties"].get(name) if "properties" in found else found.get("additionalProperties")
        if not is_object(below):
            return None
        found = below
    return found


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
    """The identity of an object is the server's own; a schema may only narrow the names at the root."""
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
    """anyOf, oneOf, allOf and not may restrict only what the schema around them already describes."""
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
    """A default must itself be a value that the schema allows, and hold nothing that would be pruned."""
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
