"""The changes from one definition to another, and which of them break stored objects or running clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from ...objects import is_list, is_object, json_equal
from .._violations import child
from ._definition_reading import DefinedKind, DefinedVersion


class SchemaChange(Struct, frozen=True):
    """A difference: its version (empty for the kind), the path of the field, and a description.

    `breaking` is True if stored objects or running clients may fail.
    """

    version: str
    field: str
    description: str
    breaking: bool

    def __str__(self) -> str:
        location = " ".join(part for part in (self.version, self.field) if part)
        return f"{location}: {self.description}" if location else self.description


# Limits that become stricter when they grow, and limits that become stricter when they shrink.
_LOWER_LIMITS: Final = ("minimum", "minLength", "minItems", "minProperties")
_UPPER_LIMITS: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
_EXCLUSIVE: Final = ("exclusiveMinimum", "exclusiveMaximum")
_CONDITIONS: Final = (
    "pattern",
    "format",
    "multipleOf",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "x-kubernetes-validations",
)
_MERGE_TYPES: Final = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_DOCUMENTATION: Final = ("title", "description", "example", "externalDocs")


def compare_definitions(old: DefinedKind, new: DefinedKind) -> list[SchemaChange]:
    """Return every difference, with those that break stored objects or running clients marked."""
    return list(_compare(old, new))


def _compare(old: DefinedKind, new: DefinedKind) -> Iterator[SchemaChange]:
    old_resource, new_resource = old.stored.resource, new.stored.resource
    for name in ("group", "plural", "kind", "namespaced"):
        old_value, new_value = getattr(old_resource, name), getattr(new_resource, name)
        if old_value != new_value:
            text = f"{name} changes from {old_value!r} to {new_value!r}: this is another kind"
            yield SchemaChange("", "", text, True)
    for name in ("singular", "short_names", "categories"):
        old_value, new_value = getattr(old_resource, name), getattr(new_resource, name)
        if old_value != new_value:
            yield SchemaChange("", "", f"{name} changes from {old_value!r} to {new_value!r}", False)
    old_versions = {version.resource.version: version for version in old.versions}
    new_versions = {version.resource.version: version for version in new.versions}
    for name, old_version in old_versions.items():
        if name in new_versions:
            yield from _compare_versions(name, old_version, new_versions[name])
        else:
            effect = "stored objects cannot be read" if old_version.stored else "clients that use it fail"
            yield SchemaChange(name, "", f"the version is removed: {effect}", True)
    for name in new_versions.keys() - old_versions.keys():
        yield SchemaChange(name, "", "the version is new", False)
    if old_resource.version != new_resource.version:
        text = f"becomes the stored version instead of {old_resource.version}"
        yield SchemaChange(new_resource.version, "", text, False)


def _compare_versions(name: str, old: DefinedVersion, new: DefinedVersion) -> Iterator[SchemaChange]:
    if old.served != new.served:
        text = f"the version is {'now served' if new.served else 'no longer served'}"
        yield SchemaChange(name, "", text, old.served)
    for subresource in ("status", "scale"):
        existed, exists = (subresource in version.resource.subresources for version in (old, new))
        if existed != exists:
            text = f"the subresource {subresource} is {'removed' if existed else 'new'}"
            yield SchemaChange(name, "", text, existed)
    if old.scale is not None and new.scale is not None and old.scale != new.scale:
        yield SchemaChange(name, "", "the paths of the scale subresource change", True)
    for path in old.selectable_fields:
        if path not in new.selectable_fields:
            yield SchemaChange(name, path, "the field is no longer selectable", True)
    for path in new.selectable_fields:
        if path not in old.selectable_fields:
            yield SchemaChange(name, path, "the field is now selectable", False)
    if old.columns != new.columns:
        yield SchemaChange(name, "", "the printer columns change", False)
    if old.deprecation != new.deprecation:
        yield SchemaChange(name, "", "the deprecation changes", False)
    for field, text, breaking in _compare_schemas(old.schema, new.schema, ""):
        yield SchemaChange(name, field, text, breaking)


_Difference = tuple[str, str, bool]  # path, description, breaking


def _compare_schemas(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    yield from _compare_types(old, new, path)
    yield from _compare_limits(old, new, path)
    yield from _compare_enums(old, new, path)
    yield from _compare_properties(old, new, path)
    for keyword in ("items", "additionalProperties"):
        old_schema, new_schema = old.get(keyword), new.get(keyword)
        if is_object(old_schema) and is_object(new_schema):
            nested_path = f"{path}{'[]' if keyword == 'items' else '{}'}"
            yield from _compare_schemas(old_schema, new_schema, nested_path)
        elif keyword == "additionalProperties" and old_schema is not None and new_schema is None:
            text = "additional properties are no longer allowed: stored entries are pruned"
            yield path, text, not new.get(_PRESERVE)
    for keyword in _DOCUMENTATION:
        if old.get(keyword) != new.get(keyword):
            yield path, f"the {keyword} changes", False


def _compare_types(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    old_type, new_type = _type_name(old), _type_name(new)
    if old_type != new_type:
        is_wider = (
            new_type == "any"
            or (old_type == "integer" and new_type == "number")
            or (old_type in ("integer", "string") and new_type == "int-or-string")
        )
        yield path, f"the type changes from {old_type} to {new_type}", not is_wider
    if old.get("nullable") and not new.get("nullable"):
        yield path, "null is no longer allowed", True
    elif new.get("nullable") and not old.get("nullable"):
        yield path, "null is now allowed", False
    if old.get(_PRESERVE) and not new.get(_PRESERVE) and "any" not in (old_type, new_type):
        yield path, "unknown fields are now pruned", True
    elif new.get(_PRESERVE) and not old.get(_PRESERVE) and new_type != "any":
        yield path, "unknown fields are now preserved", False
    for keyword in _MERGE_TYPES:
        if old.get(keyword) != new.get(keyword):
            # Sets and map lists refuse duplicates, which stored lists may contain.
            is_unique = new.get("x-kubernetes-list-type") in ("set", "map")
            text = f"{keyword} changes from {old.get(keyword)} to {new.get(keyword)}"
            yield path, text, keyword != "x-kubernetes-map-type" and is_unique
    if not json_equal(old.get("default"), new.get("default")):
        yield path, f"the default changes from {old.get('default')} to {new.get('default')}", False


def _type_name(schema: dict[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    return str(schema.get("type", "any"))


def _compare_limits(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    for keyword in (*_LOWER_LIMITS, *_UPPER_LIMITS):
        old_limit, new_limit = old.get(keyword), new.get(keyword)
        if old_limit == new_limit:
            continue
        is_stricter = new_limit is not None and (
            old_limit is None
            or (new_limit > old_limit if keyword in _LOWER_LIMITS else new_limit < old_limit)
        )
        yield path, f"{keyword} changes from {old_limit} to {new_limit}", is_stricter
    for keyword in _EXCLUSIVE:
        was_exclusive, is_exclusive = bool(old.get(keyword)), bool(new.get(keyword))
        if was_exclusive != is_exclusive:
            yield path, f"{keyword} changes from {was_exclusive} to {is_exclusive}", is_exclusive
    for keyword in _CONDITIONS:
        old_condition, new_condition = old.get(keyword), new.get(keyword)
        if not json_equal(old_condition, new_condition):
            change = (
                "is new" if old_condition is None else "is removed" if new_condition is None else "changes"
            )
            is_stricter = new_condition is not None and not _is_relaxed(old_condition, new_condition)
            yield path, f"{keyword} {change}", is_stricter


def _is_relaxed(old: Any, new: Any) -> bool:
    """Return whether rules were removed from a list of CEL rules, and none was added."""
    if not is_list(old) or not is_list(new) or not new:
        return False
    are_rules = is_object(new[0]) and "rule" in new[0]
    return are_rules and all(any(json_equal(new_rule, old_rule) for old_rule in old) for new_rule in new)


def _compare_enums(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    old_values, new_values = _enum_values(old), _enum_values(new)
    if old_values is None and new_values is not None:
        yield path, f"only {new_values} are now allowed", True
    elif old_values is not None and new_values is None:
        yield path, "any value is now allowed", False
    elif old_values is not None and new_values is not None:
        for value in old_values:
            if value not in new_values:
                yield path, f"{value!r} is no longer allowed", True
        for value in new_values:
            if value not in old_values:
                yield path, f"{value!r} is now allowed", False


def _enum_values(schema: dict[str, Any]) -> Any:
    """Return the allowed values; None without an enum. A nullable enum is inside allOf."""
    match schema:
        case {"enum": values} | {"allOf": [{"enum": values}]}:
            return values
        case _:
            return None


def _compare_properties(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    old_properties: dict[str, Any] = old.get("properties", {})
    new_properties: dict[str, Any] = new.get("properties", {})
    allows_unknown = bool(new.get(_PRESERVE)) or new.get("additionalProperties") is not None
    for name, old_property in old_properties.items():
        if name in new_properties:
            yield from _compare_schemas(old_property, new_properties[name], child(path, name))
        else:
            effect = "preserved without checks" if allows_unknown else "pruned"
            yield child(path, name), f"the field is removed: stored values are {effect}", not allows_unknown
    for name in new_properties:
        if name not in old_properties:
            yield child(path, name), "the field is new", False
    for name in new.get("required", ()):
        if name not in old.get("required", ()):
            has_default = new_properties.get(name, {}).get("default") is not None
            yield child(path, name), "the field is now required", not has_default
    for name in old.get("required", ()):
        if name not in new.get("required", ()) and name in new_properties:
            yield child(path, name), "the field is now optional", False
