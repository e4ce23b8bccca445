"""Merging an applied object into the live one, and removing fields from an object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubeproto.objects import copy_json, is_list, is_object

from ._list_elements import UnidentifiedElement, by_step, step_of
from ._merge_schemas import ABSENT, UNTYPED, MergeSchema
from .fieldsets import FieldSet, below, field_step, has, node


def merged(live: Any, applied: Any, schema: MergeSchema) -> Any:
    """Return the merge of two values, where the applied value wins; neither is changed."""
    if applied is ABSENT:
        return copy_json(live)
    if live is ABSENT or schema.atomic or not _can_merge(live, applied, schema):
        return copy_json(applied)
    if is_list(live):
        return _merge_lists(live, applied or [], schema)
    result: dict[str, Any] = {}
    applied_members: dict[str, Any] = applied or {}
    for name in [*live, *(name for name in applied_members if name not in live)]:
        schema_of_name = schema.member(name) or UNTYPED
        result[name] = merged(live.get(name, ABSENT), applied_members.get(name, ABSENT), schema_of_name)
    return result


def removed(value: Any, fields: FieldSet, schema: MergeSchema, *, emptied: Any = ABSENT) -> Any:
    """Return the value without these fields. `emptied` replaces a map or list that becomes empty."""
    if not fields or schema.atomic:
        return value
    remaining: Any
    if is_object(value) and schema.shape in ("map", "any"):
        remaining = {
            name: removed(member, below(fields, step), schema.member(name) or UNTYPED, emptied=emptied)
            for name, member in value.items()
            if not has(fields, step := field_step(name))
        }
    elif is_list(value) and schema.shape == "list":
        remaining = [
            removed(element, below(fields, step), schema.element, emptied=emptied)
            for element, step in _remaining_elements(value, fields, schema)
        ]
    else:
        return value
    return emptied if value and not remaining and emptied is not ABSENT else remaining


def with_parents(fields: FieldSet, schema: MergeSchema) -> FieldSet:
    """Return the set with each declared field that contains one of its members.

    A manager that owns all members of a struct owns the struct, so no empty struct remains after a removal.
    """
    result: dict[str, FieldSet] = {}
    for step in fields:
        if step == ".":
            continue
        name = step[2:] if step.startswith("f:") else None
        declared = name is not None and name in schema.fields
        schema_below = schema.element if name is None else schema.member(name) or UNTYPED
        inner = with_parents(below(fields, step), schema_below)
        subset = node(inner, member=has(fields, step) or declared)
        if subset is not None:
            result[step] = subset
    return result


def _can_merge(live: Any, applied: Any, schema: MergeSchema) -> bool:
    """Return whether two values can be merged: two maps, or two lists whose elements have identities.

    Null counts as an empty value of the same type, so applying null removes nothing.
    """
    if is_object(live) and live:
        return (is_object(applied) or applied is None) and schema.shape in ("map", "any")
    if is_list(live) and live:
        return (is_list(applied) or applied is None) and schema.shape == "list"
    return False


def _remaining_elements(value: list[Any], fields: FieldSet, schema: MergeSchema) -> Iterator[tuple[Any, str]]:
    """Return the elements that are not in the set, with their steps."""
    for element in value:
        try:
            step = step_of(element, schema)
        except UnidentifiedElement:
            step = ""  # nobody can own it, so it is not removed
        if not has(fields, step):
            yield element, step


# Lists: live elements keep their order, and new elements are inserted by the order of the applied list.


def _merge_lists(live: list[Any], applied: list[Any], schema: MergeSchema) -> list[Any]:
    old, new = by_step(live, schema), by_step(applied, schema)
    return [element for step in _order(list(old), list(new)) for element in _elements(step, old, new, schema)]


def _elements(
    step: str, old: dict[str, list[Any]], new: dict[str, list[Any]], schema: MergeSchema
) -> Sequence[Any]:
    if step not in new:
        return [copy_json(element) for element in old[step]]
    old_elements = old.get(step, [])
    # The applied element replaces duplicate elements of the live list.
    return [merged(old_elements[0] if len(old_elements) == 1 else ABSENT, new[step][0], schema.element)]


def _order(live: list[str], applied: list[str]) -> list[str]:
    """Merge the order of two lists: that of the applied list, then that of the live list."""
    applied_steps = set(applied)
    live_steps = set(live)
    shared = iter([step for step in applied if step in live_steps])
    following = next(shared, None)
    result: list[str] = []
    used: set[str] = set()
    live_index, applied_index = 0, 0
    while live_index < len(live) or applied_index < len(applied):
        if live_index < len(live):
            step = live[live_index]
            if step not in applied_steps:
                result.append(step)
                live_index += 1
                continue
            if applied_index < len(applied) and following not in (None, step):
                live_index += 1  # the applied list determines its position
                continue
            if step in used or (applied_index < len(applied) and step == applied[applied_index]):
                live_index += 1
        if applied_index < len(applied):
            step = applied[applied_index]
            result.append(step)
            used.add(step)
            applied_index += 1
            if step == following:
                following = next(shared, None)
    return result
