"""Checks of a value against its schema: types, limits, formats, enums, required fields, combinations.

A value that an update does not change is not checked again, so that a schema can become stricter although
objects are stored:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/ (validation
ratcheting).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET

from ...objects import is_list, is_object, json_equal
from .._go_patterns import matches
from .._list_types import element_key, elements_by_key
from .._string_formats import checked_format, has_format
from .._violations import NO_FIELD, Violation, child, format_value, invalid, key, required, unsupported

_Violations = Iterator[Violation]

_FORMAT_OF_TYPE: Final = {"integer": "int64", "number": "float64"}


def check_value(schema: dict[str, Any], value: Any, path: str = "", old: Any = UNSET) -> _Violations:
    """Yield the violations of a schema by a value, in the order of a server."""
    if old is not UNSET and json_equal(value, old):
        return
    yield from _check_type(schema, value, path)
    if value is None:
        yield from _check_enum(schema, value, path)
        return
    yield from _check_combinations(schema, value, path)
    if isinstance(value, str):
        yield from _check_text(schema, value, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(schema, value, path)
    elif is_list(value):
        yield from _check_list(schema, value, path, old)
    yield from _check_enum(schema, value, path)
    if is_object(value):
        yield from _check_object(schema, value, path, old)


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _check_type(schema: dict[str, Any], value: Any, path: str) -> _Violations:
    expected = "integer,string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    actual = _type_of(value)
    format_ = checked_format(schema)
    if format_ and actual == "array" and expected not in ("integer", "number"):
        return  # a server accepts a list for a string of any format, and then does not check the format
    if not expected or actual in expected.split(","):
        return
    if actual == "null" and schema.get("nullable"):
        return
    if "number" in expected and actual == "integer":
        return
    if "integer" in expected and actual == "number" and float(value).is_integer():
        return
    if format_ and actual not in ("null", "string", "array"):
        # With a format, the message of a server names formats in place of types.
        expected, actual = format_, _FORMAT_OF_TYPE.get(actual, "")
    yield Violation(
        "FieldValueTypeInvalid",
        path,
        actual,
        f"{path} in body must be of type {expected}: {format_value(actual)}",
    )


def _check_combinations(schema: dict[str, Any], value: Any, path: str) -> _Violations:
    """Check anyOf, oneOf, allOf and not.

    A server names no field for them, and adds the violations of the alternative that fits best.
    """
    if "anyOf" in schema:
        failures = [list(check_value(alternative, value, path)) for alternative in schema["anyOf"]]
        if all(failures):
            yield _combination_violation(f'"{path}" must validate at least one schema (anyOf)')
            yield from _best_alternative(schema["anyOf"], value, failures)
    if "oneOf" in schema:
        failures = [list(check_value(alternative, value, path)) for alternative in schema["oneOf"]]
        valid_count = failures.count([])
        if valid_count != 1:
            detail = f"Found {valid_count} valid alternatives" if valid_count else "Found none valid"
            yield _combination_violation(f'"{path}" must validate one and only one schema (oneOf). {detail}')
            if not valid_count:
                yield from _best_alternative(schema["oneOf"], value, failures)
    if "allOf" in schema:
        failures = [list(check_value(nested, value, path)) for nested in schema["allOf"]]
        for failure in failures:
            yield from failure
        if any(failures):
            none = ". None validated" if all(failures) else ""
            yield _combination_violation(f'"{path}" must validate all the schemas (allOf){none}')
    if "not" in schema and not list(check_value(schema["not"], value, path)):
        yield _combination_violation(f'"{path}" must not validate the schema (not)')


def _best_alternative(
    alternatives: list[dict[str, Any]], value: Any, failures: list[list[Violation]]
) -> list[Violation]:
    """Return the violations of the first of the alternatives that match the most fields."""
    best = max(range(len(failures)), key=lambda index: (_count_checked(alternatives[index], value), -index))
    return failures[best]


def _count_checked(schema: dict[str, Any], value: Any) -> int:
    if is_object(value):
        properties: dict[str, Any] = schema.get("properties", {})
        return 1 + sum(_count_checked(properties[name], value[name]) for name in properties if name in value)
    if is_list(value) and is_object(schema.get("items")):
        return 1 + sum(_count_checked(schema["items"], element) for element in value)
    return 1


def _combination_violation(message: str) -> Violation:
    return invalid(NO_FIELD, "", message)


def _check_text(schema: dict[str, Any], text: str, path: str) -> _Violations:
    if "maxLength" in schema and len(text) > schema["maxLength"]:
        limit = schema["maxLength"]
        unit = "byte" if limit == 1 else "bytes"
        yield Violation("FieldValueTooLong", path, detail=f"may not be more than {limit} {unit}")
    elif "minLength" in schema and len(text) < schema["minLength"]:
        yield _broken_rule(path, text, f"should be at least {schema['minLength']} chars long")
    elif "pattern" in schema and not matches(schema["pattern"], text):
        yield _broken_rule(path, text, f"should match '{schema['pattern']}'")
    if "format" in schema and not has_format(text, schema["format"]):
        detail = f"{path} in body must be of type {schema['format']}: {format_value(text)}"
        yield Violation("FieldValueTypeInvalid", path, text, detail)


def _check_number(schema: dict[str, Any], number: float, path: str) -> _Violations:
    if "multipleOf" in schema and number % schema["multipleOf"]:
        yield _broken_rule(path, number, f"should be a multiple of {format_value(schema['multipleOf'])}")
    if "maximum" in schema:
        limit, exclusive = _truncate_limit(schema["maximum"], number), schema.get("exclusiveMaximum", False)
        if number > limit or (exclusive and number == limit):
            yield _broken_rule(path, number, f"should be less than {_or_equal(limit, exclusive)}")
    if "minimum" in schema:
        limit, exclusive = _truncate_limit(schema["minimum"], number), schema.get("exclusiveMinimum", False)
        if number < limit or (exclusive and number == limit):
            yield _broken_rule(path, number, f"should be greater than {_or_equal(limit, exclusive)}")
    kind, format_ = schema.get("type", "number"), checked_format(schema)
    is_fraction = kind == "integer" and number != int(number)
    if is_fraction or not has_format(number, format_):
        detail = f"with format {format_}" if format_ else "(default format)"
        yield invalid(NO_FIELD, "", f"Checked value must be of type {kind} {detail} in {path or 'body'}")


def _truncate_limit(limit: float, number: float) -> float:
    """Return the limit as a server uses it, truncated for an integer: 0 satisfies a minimum of 0.5."""
    return int(limit) if isinstance(number, int) else limit


def _or_equal(limit: float, exclusive: bool) -> str:
    return f"{'' if exclusive else 'or equal to '}{format_value(limit)}"


def _check_list(schema: dict[str, Any], elements: list[Any], path: str, old: Any) -> _Violations:
    if "items" in schema:
        old_elements = elements_by_key(schema, old)
        keys = schema.get("x-kubernetes-list-map-keys", [])
        for index, element in enumerate(elements):
            old_element: Any = UNSET
            if old_elements and is_object(element):
                old_element = old_elements.get(element_key(keys, element), UNSET)
            yield from check_value(schema["items"], element, key(path, index), old_element)
    if "minItems" in schema and len(elements) < schema["minItems"]:
        yield _broken_rule(path, len(elements), f"should have at least {schema['minItems']} items")
    if "maxItems" in schema and len(elements) > schema["maxItems"]:
        yield _too_many(path, len(elements), schema["maxItems"])


def _too_many(path: str, count: int, limit: int) -> Violation:
    unit = "item" if limit == 1 else "items"
    return Violation("FieldValueTooMany", path, count, f"must have at most {limit} {unit}")


def _check_enum(schema: dict[str, Any], value: Any, path: str) -> _Violations:
    allowed = schema.get("enum")
    # Null is never allowed, even if the enum lists it: a server does not compare it.
    if allowed and (value is None or not any(_equals(value, member) for member in allowed)):
        yield unsupported(path, value, allowed)


def _equals(value: Any, member: Any) -> bool:
    """Return whether a value equals a member of an enum; a server converts it to the member's type first."""
    if isinstance(value, float) and type(member) is int:
        return int(value) == member
    if type(value) is int and isinstance(member, str):
        return 0 <= value < 0x110000 and chr(value) == member
    return json_equal(value, member)


def _check_object(schema: dict[str, Any], members: dict[str, Any], path: str, old: Any) -> _Violations:
    if "minProperties" in schema and len(members) < schema["minProperties"]:
        yield _broken_rule(path, len(members), f"should have at least {schema['minProperties']} properties")
    if "maxProperties" in schema and len(members) > schema["maxProperties"]:
        yield _too_many(path, len(members), schema["maxProperties"])
    old_members = old if is_object(old) else {}
    properties: dict[str, Any] = schema.get("properties", {})
    additional = schema.get("additionalProperties")
    if is_object(additional):
        for name in sorted(members.keys() - properties.keys()):
            yield from check_value(additional, members[name], child(path, name), old_members.get(name, UNSET))
    for name in sorted(members.keys() & properties.keys()):
        yield from check_value(
            properties[name], members[name], child(path, name), old_members.get(name, UNSET)
        )
    for name in schema.get("required", ()):
        if name not in members:
            yield required(child(path, name))


def _broken_rule(path: str, value: Any, rule: str) -> Violation:
    return invalid(path, value, f"{path} in body {rule}")
