"""Whether a value fits its schema: types, bounds, formats, enums, required fields and their combinations.

A value that an update does not change is not checked again, so that a schema can be tightened although
objects are stored:
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/ (validation
ratcheting).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET

from ...objects import is_list, is_object, json_equal
from .._formats import checked_format, fits_format
from .._list_types import correlate, identity
from .._patterns import matches
from .._violations import NO_FIELD, Violation, child, invalid, key, required, show_value, unsupported

_Violations = Iterator[Violation]

_FORMATS_OF_VALUES: Final = {"integer": "int64", "number": "float64"}


def check_value(schema: dict[str, Any], value: Any, path: str = "", old: Any = UNSET) -> _Violations:
    """Return everything about a value that its schema does not allow, in a server's order."""
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
    wanted = "integer,string" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    found = _type_of(value)
    format_ = checked_format(schema)
    if format_ and found == "array" and wanted not in ("integer", "number"):
        return  # a server accepts a list for a string of any format, and then does not check the format
    if not wanted or found in wanted.split(","):
        return
    if found == "null" and schema.get("nullable"):
        return
    if "number" in wanted and found == "integer":
        return
    if "integer" in wanted and found == "number" and float(value).is_integer():
        return
    if format_ and found not in ("null", "string", "array"):
        # The message about the type names the format then.
        wanted, found = format_, _FORMATS_OF_VALUES.get(found, "")
    yield Violation(
        "FieldValueTypeInvalid", path, found, f"{path} in body must be of type {wanted}: {show_value(found)}"
    )


def _check_combinations(schema: dict[str, Any], value: Any, path: str) -> _Violations:
    """Check anyOf, oneOf, allOf and not.

    A server names no field for them, and adds the faults of the alternative that fits best.
    """
    if "anyOf" in schema:
        failures = [list(check_value(one, value, path)) for one in schema["anyOf"]]
        if all(failures):
            yield _combination(f'"{path}" must validate at least one schema (anyOf)')
            yield from _nearest(schema["anyOf"], value, failures)
    if "oneOf" in schema:
        failures = [list(check_value(one, value, path)) for one in schema["oneOf"]]
        fitting = failures.count([])
        if fitting != 1:
            found = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
            yield _combination(f'"{path}" must validate one and only one schema (oneOf). {found}')
            if not fitting:
                yield from _nearest(schema["oneOf"], value, failures)
    if "allOf" in schema:
        failures = [list(check_value(one, value, path)) for one in schema["allOf"]]
        for failure in failures:
            yield from failure
        if any(failures):
            none = ". None validated" if all(failures) else ""
            yield _combination(f'"{path}" must validate all the schemas (allOf){none}')
    if "not" in schema and not list(check_value(schema["not"], value, path)):
        yield _combination(f'"{path}" must not validate the schema (not)')


def _nearest(
    alternatives: list[dict[str, Any]], value: Any, failures: list[list[Violation]]
) -> list[Violation]:
    """Return what is wrong with the first of the alternatives that were checked furthest."""
    most = max(range(len(failures)), key=lambda at: (_looked_at(alternatives[at], value), -at))
    return failures[most]


def _looked_at(schema: dict[str, Any], value: Any) -> int:
    if is_object(value):
        known: dict[str, Any] = schema.get("properties", {})
        return 1 + sum(_looked_at(known[name], value[name]) for name in known if name in value)
    if is_list(value) and is_object(schema.get("items")):
        return 1 + sum(_looked_at(schema["items"], element) for element in value)
    return 1


def _combination(message: str) -> Violation:
    return invalid(NO_FIELD, "", message)


def _check_text(schema: dict[str, Any], text: str, path: str) -> _Violations:
    if "maxLength" in schema and len(text) > schema["maxLength"]:
        limit = schema["maxLength"]
        unit = "byte" if limit == 1 else "bytes"
        yield Violation("FieldValueTooLong", path, detail=f"may not be more than {limit} {unit}")
    elif "minLength" in schema and len(text) < schema["minLength"]:
        yield _breaks(path, text, f"should be at least {schema['minLength']} chars long")
    elif "pattern" in schema and not matches(schema["pattern"], text):
        yield _breaks(path, text, f"should match '{schema['pattern']}'")
    if "format" in schema and not fits_format(text, schema["format"]):
        detail = f"{path} in body must be of type {schema['format']}: {show_value(text)}"
        yield Violation("FieldValueTypeInvalid", path, text, detail)


def _check_number(schema: dict[str, Any], number: float, path: str) -> _Violations:
    if "multipleOf" in schema and number % schema["multipleOf"]:
        yield _breaks(path, number, f"should be a multiple of {show_value(schema['multipleOf'])}")
    if "maximum" in schema:
        limit, exclusive = _limit(schema["maximum"], number), schema.get("exclusiveMaximum", False)
        if number > limit or (exclusive and number == limit):
            yield _breaks(path, number, f"should be less than {_or_equal(limit, exclusive)}")
    if "minimum" in schema:
        limit, exclusive = _limit(schema["minimum"], number), schema.get("exclusiveMinimum", False)
        if number < limit or (exclusive and number == limit):
            yield _breaks(path, number, f"should be greater than {_or_equal(limit, exclusive)}")
    kind, format_ = schema.get("type", "number"), checked_format(schema)
    broken = kind == "integer" and number != int(number)
    if broken or not fits_format(number, format_):
        shown = f"with format {format_}" if format_ else "(default format)"
        yield invalid(NO_FIELD, "", f"Checked value must be of type {kind} {shown} in {path or 'body'}")


def _limit(limit: float, number: float) -> float:
    """Return the bound as a server uses it, cut to an integer for an integer: 0 keeps to 0.5 or more."""
    return int(limit) if isinstance(number, int) else limit


def _or_equal(limit: float, exclusive: bool) -> str:
    return f"{'' if exclusive else 'or equal to '}{show_value(limit)}"


def _check_list(schema: dict[str, Any], elements: list[Any], path: str, old: Any) -> _Violations:
    if "items" in schema:
        before = correlate(schema, old)
        keys = schema.get("x-kubernetes-list-map-keys", [])
        for index, element in enumerate(elements):
            known = before.get(identity(keys, element), UNSET) if before and is_object(element) else UNSET
            yield from check_value(schema["items"], element, key(path, index), known)
    if "minItems" in schema and len(elements) < schema["minItems"]:
        yield _breaks(path, len(elements), f"should have at least {schema['minItems']} items")
    if "maxItems" in schema and len(elements) > schema["maxItems"]:
        yield _too_many(path, len(elements), schema["maxItems"])


def _too_many(path: str, count: int, limit: int) -> Violation:
    unit = "item" if limit == 1 else "items"
    return Violation("FieldValueTooMany", path, count, f"must have at most {limit} {unit}")


def _check_enum(schema: dict[str, Any], value: Any, path: str) -> _Violations:
    allowed = schema.get("enum")
    # Null is never among them, even if it is listed: a server does not compare it.
    if allowed and (value is None or not any(_is_among(value, one) for one in allowed)):
        yield unsupported(path, value, allowed)


def _is_among(value: Any, one: Any) -> bool:
    """Return whether a server finds a value equal to one of an enum, to whose type it converts it first."""
    if isinstance(value, float) and type(one) is int:
        return int(value) == one
    if type(value) is int and isinstance(one, str):
        return 0 <= value < 0x110000 and chr(value) == one
    return json_equal(value, one)


def _check_object(schema: dict[str, Any], members: dict[str, Any], path: str, old: Any) -> _Violations:
    if "minProperties" in schema and len(members) < schema["minProperties"]:
        yield _breaks(path, len(members), f"should have at least {schema['minProperties']} properties")
    if "maxProperties" in schema and len(members) > schema["maxProperties"]:
        yield _too_many(path, len(members), schema["maxProperties"])
    before = old if is_object(old) else {}
    known: dict[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    if is_object(others):
        for name in sorted(members.keys() - known.keys()):
            yield from check_value(others, members[name], child(path, name), before.get(name, UNSET))
    for name in sorted(members.keys() & known.keys()):
        yield from check_value(known[name], members[name], child(path, name), before.get(name, UNSET))
    for name in schema.get("required", ()):
        if name not in members:
            yield required(child(path, name))


def _breaks(path: str, value: Any, rule: str) -> Violation:
    return invalid(path, value, f"{path} in body {rule}")
