"""The fields of an object, and the fields that a write adds, changes or removes.

A field is a scalar, an atomic value, an empty map, or an element of a list. A map that is not empty is a
field only if it is an element, or a member of a map without declared fields; otherwise its members are.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import is_list, is_object, json_equal

from ..storage._json_values import members
from ._list_elements import by_step
from ._merge_schemas import ABSENT, UNTYPED, MergeSchema
from .fieldsets import EMPTY, FieldSet, field_step, fieldset, node, union

Object = dict[str, Any]

# The identity of an object, and the fields that the server sets itself: no manager owns them.
_UNOWNED_METADATA: Final = frozenset(
    {
        "clusterName",
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)
UNOWNED: Final = fieldset(
    [("f:apiVersion",), ("f:kind",), ("f:metadata",)]
    + [("f:metadata", field_step(name)) for name in sorted(_UNOWNED_METADATA)]
)


class FieldChanges(Struct, frozen=True, gc=False):
    """The fields in which two objects differ."""

    added: FieldSet = EMPTY
    modified: FieldSet = EMPTY
    removed: FieldSet = EMPTY

    @property
    def written(self) -> FieldSet:
        """The added and modified fields."""
        return union(self.added, self.modified)


def fields_of(value: Any, schema: MergeSchema) -> FieldSet:
    """Return the fields that a manager that applies the object owns."""
    return _inside(value, schema) or EMPTY


def _inside(value: Any, schema: MergeSchema) -> FieldSet | None:
    """Return the fields inside a value; None if the value itself is a field."""
    if _is_leaf(value, schema):
        return None
    fields: dict[str, FieldSet] = {}
    if is_object(value):
        for name, member in value.items():
            member_schema = schema.member(name) or UNTYPED
            inner = _inside(member, member_schema)
            # A member of a map without declared fields is a field itself: a label, not the labels.
            is_member = inner is None or member is None or member == {} or name not in schema.fields
            _add(fields, field_step(name), node(inner or EMPTY, member=is_member))
    elif is_list(value):
        for step, elements in by_step(value, schema).items():
            inner = _inside(elements[0], schema.element) if len(elements) == 1 else None
            _add(fields, step, node(inner or EMPTY, member=True))
    return fields


def _add(fields: dict[str, FieldSet], step: str, subset: FieldSet | None) -> None:
    if subset is not None:
        fields[step] = subset


def _is_leaf(value: Any, schema: MergeSchema) -> bool:
    """Return whether a value is a single field."""
    if is_object(value):
        return schema.shape not in ("map", "any") or schema.atomic
    if is_list(value):
        # Without a schema, elements cannot be identified.
        return schema.shape != "list" or schema.atomic
    if value is None:
        return schema.shape == "scalar" or schema.atomic
    return True


def compare(old: Any, new: Any, schema: MergeSchema) -> FieldChanges:
    """Return the changes between two objects, including maps that are added or removed."""
    changes = _CollectedChanges({}, {}, {})
    if is_object(old) or is_object(new):
        _compare_maps(old, new, schema, changes)
    if is_list(old) or is_list(new):
        _compare_lists(old, new, schema, changes)
    return FieldChanges(changes.added, changes.modified, changes.removed)


class _CollectedChanges(Struct, frozen=True, gc=False):
    """Changes while they are collected."""

    added: dict[str, FieldSet]
    modified: dict[str, FieldSet]
    removed: dict[str, FieldSet]


def _compare_maps(old_map: Any, new_map: Any, schema: MergeSchema, changes: _CollectedChanges) -> None:
    old, new = _typed_members(old_map, schema), _typed_members(new_map, schema)
    for name, value in old.items():
        other = new.get(name, ABSENT)
        if other is not value:
            _compare_pair(field_step(name), value, other, schema.member(name) or UNTYPED, changes)
    for name, value in new.items():
        if name not in old:
            changes.added[field_step(name)] = _all_fields(value, schema.member(name) or UNTYPED)


def _compare_lists(old_list: Any, new_list: Any, schema: MergeSchema, changes: _CollectedChanges) -> None:
    old, new = _elements(old_list, schema), _elements(new_list, schema)
    for step in [*old, *(step for step in new if step not in old)]:
        old_elements, new_elements = old.get(step, []), new.get(step, [])
        if len(old_elements) > 1 or len(new_elements) > 1:
            # Duplicate elements are compared together.
            if not json_equal(old_elements, new_elements):
                if not old_elements:
                    changes.added[step] = {}
                elif not new_elements:
                    changes.removed[step] = {}
                else:
                    changes.modified[step] = {}
        elif not old_elements:
            changes.added[step] = _all_fields(new_elements[0], schema.element)
        else:
            _compare_pair(
                step, old_elements[0], new_elements[0] if new_elements else ABSENT, schema.element, changes
            )


def _compare_pair(step: str, old: Any, new: Any, schema: MergeSchema, changes: _CollectedChanges) -> None:
    """Collect the change of a value that existed before."""
    if new is ABSENT:
        changes.removed[step] = _all_fields(old, schema)
    elif not _same(old, new):
        if _is_end(old, schema) and _is_end(new, schema):
            if not json_equal(old, new):
                changes.modified[step] = {}
            return
        inside = compare(old, new, schema)
        _add(changes.added, step, node(inside.added, member=False))
        # A change of type, for example from a map to a string, modifies the field itself.
        _add(changes.modified, step, node(inside.modified, member=_types_differ(old, new)))
        _add(changes.removed, step, node(inside.removed, member=False))


def _all_fields(value: Any, schema: MergeSchema) -> FieldSet:
    """Return the field of a value and all fields below it."""
    if _is_leaf(value, schema):
        return {}
    inside: dict[str, FieldSet] = {}
    if is_object(value):
        for name, member in _typed_members(value, schema).items():
            inside[field_step(name)] = _all_fields(member, schema.member(name) or UNTYPED)
    elif is_list(value):
        for step, elements in by_step(value, schema).items():
            inside[step] = _all_fields(elements[0], schema.element) if len(elements) == 1 else {}
    return node(inside, member=True) or {}


def _typed_members(value: Any, schema: MergeSchema) -> dict[str, Any]:
    """Return the members of a map, including the zero values of a server's typed object."""
    if not is_object(value):
        return {}
    return {**schema.zeros, **value} if schema.zeros else value


def _elements(value: Any, schema: MergeSchema) -> dict[str, list[Any]]:
    return by_step(value, schema) if is_list(value) and not _is_leaf(value, schema) else {}


def _is_end(value: Any, schema: MergeSchema) -> bool:
    """Return whether a value has no content to compare. An empty map or list is a field."""
    return not value or _is_leaf(value, schema)


def _types_differ(old: Any, new: Any) -> bool:
    kinds = {
        "map" if is_object(value) else "list" if is_list(value) else "scalar"
        for value in (old, new)
        if value is not None
    }
    return len(kinds) > 1


def _same(old: Any, new: Any) -> bool:
    """Compare quickly by JSON: equal JSON means equal values. Otherwise only the order of keys may differ."""
    if type(old) is not type(new):
        return False
    if is_object(old) or is_list(old):
        return len(old) == len(new) and msgspec.json.encode(old) == msgspec.json.encode(new)
    return bool(old == new)


def tracked(object_: Object) -> Object:
    """Return the object without the fields that nobody owns, which need no comparison."""
    tracked_members = {name: value for name, value in object_.items() if name not in ("apiVersion", "kind")}
    if metadata := members(tracked_members.pop("metadata", None)):
        metadata = {name: value for name, value in metadata.items() if name not in _UNOWNED_METADATA}
    return {"metadata": metadata, **tracked_members} if metadata else tracked_members
