"""The changes of a new definition, and which of them break stored objects or running clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from ...objects import is_list, is_object, json_equal
from .._violations import child
from ._reading import DefinedKind, DefinedVersion


class SchemaChange(Struct, frozen=True):
    """One difference: its version ("" for the kind), the path of the field, what happened to it."""

    version: str
    field: str
    what: str
    breaks: bool

    def __str__(self) -> str:
        where = " ".join(part for part in (self.version, self.field) if part)
        return f"{where}: {self.what}" if where else self.what


# Keywords that narrow when they grow (or appear), and those that narrow when they shrink (or appear).
_LOWER: Final = ("minimum", "minLength", "minItems", "minProperties")
_UPPER: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
_FLAGS: Final = ("exclusiveMinimum", "exclusiveMaximum")
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
_TYPES: Final = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
_LOOSE: Final = "x-kubernetes-preserve-unknown-fields"
_SILENT: Final = ("title", "description", "example", "externalDocs")


def compare_definitions(old: DefinedKind, new: DefinedKind) -> list[SchemaChange]:
    """Return every difference; those that break stored objects or running clients are marked."""
    return list(_compare(old, new))


def _compare(old: DefinedKind, new: DefinedKind) -> Iterator[SchemaChange]:
    before, after = old.stored.resource, new.stored.resource
    for what in ("group", "plural", "kind", "namespaced"):
        was, becomes = getattr(before, what), getattr(after, what)
        if was != becomes:
            yield SchemaChange("", "", f"{what} was {was!r} and becomes {becomes!r}: another kind", True)
    for what in ("singular", "short_names", "categories"):
        was, becomes = getattr(before, what), getattr(after, what)
        if was != becomes:
            yield SchemaChange("", "", f"{what} was {was!r} and becomes {becomes!r}", False)
    known = {one.resource.version: one for one in new.versions}
    for one in old.versions:
        name = one.resource.version
        if name not in known:
            why = "stored objects cannot be read" if one.stored else "clients that talk in it fail"
            yield SchemaChange(name, "", f"the version is gone: {why}", True)
        else:
            yield from _compare_versions(name, one, known[name])
    for name in known.keys() - {one.resource.version for one in old.versions}:
        yield SchemaChange(name, "", "the version is new", False)
    if before.version != after.version:
        yield SchemaChange(after.version, "", f"the stored version was {before.version}", False)


def _compare_versions(name: str, old: DefinedVersion, new: DefinedVersion) -> Iterator[SchemaChange]:
    if old.served != new.served:
        yield SchemaChange(
            name, "", f"the version is {'served now' if new.served else 'no longer served'}", old.served
        )
    for what in ("status", "scale"):
        had, has = (what in one.resource.subresources for one in (old, new))
        if had != has:
            yield SchemaChange(name, "", f"the subresource {what} {'is gone' if had else 'is new'}", had)
    if old.scale is not None and new.scale is not None and old.scale != new.scale:
        yield SchemaChange(name, "", "the paths of the scale subresource change", True)
    for path in old.selectable_fields:
        if path not in new.selectable_fields:
            yield SchemaChange(name, path, "the field is no longer selectable", True)
    for path in new.selectable_fields:
        if path not in old.selectable_fields:
            yield SchemaChange(name, path, "the field is selectable now", False)
    if old.columns != new.columns:
        yield SchemaChange(name, "", "the printer columns change", False)
    if old.deprecation != new.deprecation:
        yield SchemaChange(name, "", "the deprecation changes", False)
    for field, what, breaks in _compare_schemas(old.schema, new.schema, ""):
        yield SchemaChange(name, field, what, breaks)


_Difference = tuple[str, str, bool]


def _compare_schemas(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    yield from _compare_types(old, new, path)
    yield from _compare_limits(old, new, path)
    yield from _compare_enums(old, new, path)
    yield from _compare_members(old, new, path)
    for keyword in ("items", "additionalProperties"):
        was, becomes = old.get(keyword), new.get(keyword)
        where = f"{path}{'[]' if keyword == 'items' else '{}'}"
        if is_object(was) and is_object(becomes):
            yield from _compare_schemas(was, becomes, where)
        elif keyword == "additionalProperties" and was is not None and becomes is None:
            kept = bool(new.get(_LOOSE))
            yield path, "what is not named is no longer allowed: stored entries are pruned", not kept
    for keyword in _SILENT:
        if old.get(keyword) != new.get(keyword):
            yield path, f"the {keyword} changes", False


def _compare_types(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    was, becomes = _type(old), _type(new)
    if was != becomes:
        widened = (
            becomes == "anything"
            or (was == "integer" and becomes == "number")
            or (was in ("integer", "string") and becomes == "int-or-string")
        )
        yield path, f"the type was {was} and becomes {becomes}", not widened
    if old.get("nullable") and not new.get("nullable"):
        yield path, "null is no longer allowed", True
    elif new.get("nullable") and not old.get("nullable"):
        yield path, "null is allowed now", False
    if old.get(_LOOSE) and not new.get(_LOOSE) and becomes != "anything" and was != "anything":
        yield path, "unknown fields are pruned now", True
    elif new.get(_LOOSE) and not old.get(_LOOSE) and becomes != "anything":
        yield path, "unknown fields are kept now", False
    for keyword in _TYPES:
        if old.get(keyword) != new.get(keyword):
            # Sets and map lists refuse duplicates that stored lists may hold.
            breaks = keyword != "x-kubernetes-map-type" and new.get("x-kubernetes-list-type") in (
                "set",
                "map",
            )
            yield path, f"{keyword} was {old.get(keyword)} and becomes {new.get(keyword)}", breaks
    if not json_equal(old.get("default"), new.get("default")):
        yield path, f"the default was {old.get('default')} and becomes {new.get('default')}", False


def _type(schema: dict[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "int-or-string"
    return str(schema.get("type", "anything"))


def _compare_limits(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    for keyword in (*_LOWER, *_UPPER):
        was, becomes = old.get(keyword), new.get(keyword)
        if was == becomes:
            continue
        tighter = becomes is not None and (
            was is None or (becomes > was if keyword in _LOWER else becomes < was)
        )
        yield path, f"{keyword} was {was} and becomes {becomes}", tighter
    for keyword in _FLAGS:
        was, becomes = bool(old.get(keyword)), bool(new.get(keyword))
        if was != becomes:
            yield path, f"{keyword} was {was} and becomes {becomes}", becomes
    for keyword in _CONDITIONS:
        was, becomes = old.get(keyword), new.get(keyword)
        if not json_equal(was, becomes):
            what = "is new" if was is None else "is gone" if becomes is None else "changes"
            yield path, f"{keyword} {what}", becomes is not None and not _looser(was, becomes)


def _looser(was: Any, becomes: Any) -> bool:
    """Return whether some of several conditions that must all hold were removed, and none was added."""
    if not is_list(was) or not is_list(becomes) or not becomes:
        return False
    rules = is_object(becomes[0]) and "rule" in becomes[0]
    return rules and all(any(json_equal(one, other) for other in was) for one in becomes)


def _compare_enums(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    was, becomes = _enum_of(old), _enum_of(new)
    if was is None and becomes is not None:
        yield path, f"only {becomes} are allowed now", True
    elif was is not None and becomes is None:
        yield path, "any value is allowed now", False
    elif was is not None and becomes is not None:
        for value in was:
            if value not in becomes:
                yield path, f"{value!r} is no longer allowed", True
        for value in becomes:
            if value not in was:
                yield path, f"{value!r} is allowed now", False


def _enum_of(schema: dict[str, Any]) -> Any:
    """Return the values that are allowed. Where null is one of them, they are in an allOf of their own."""
    match schema:
        case {"enum": values} | {"allOf": [{"enum": values}]}:
            return values
        case _:
            return None


def _compare_members(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[_Difference]:
    was: dict[str, Any] = old.get("properties", {})
    becomes: dict[str, Any] = new.get("properties", {})
    open_ended = bool(new.get(_LOOSE)) or new.get("additionalProperties") is not None
    for name, one in was.items():
        if name in becomes:
            yield from _compare_schemas(one, becomes[name], child(path, name))
        else:
            fate = "kept unchecked" if open_ended else "pruned"
            yield child(path, name), f"the field is gone: stored values are {fate}", not open_ended
    for name in becomes:
        if name not in was:
            yield child(path, name), "the field is new", False
    for name in new.get("required", ()):
        if name not in old.get("required", ()):
            filled_in = becomes.get(name, {}).get("default") is not None
            yield child(path, name), "the field is required now", not filled_in
    for name in old.get("required", ()):
        if name not in new.get("required", ()) and name in becomes:
            yield child(path, name), "the field is optional now", False
