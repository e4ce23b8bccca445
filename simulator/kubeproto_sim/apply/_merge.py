"""Merging an applied object into the live one, and removing fields from an object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..storage._json_values import copied, is_list, is_map
from ._list_elements import Unidentified, by_step, step_of
from ._merge_schemas import ABSENT, UNTYPED, Facts
from .fieldsets import FieldSet, below, field_step, has, node


def merged(live: Any, applied: Any, facts: Facts) -> Any:
    """Return both merged, where the applied object wins; neither is changed."""
    if applied is ABSENT:
        return copied(live)
    if live is ABSENT or facts.atomic or not _meet(live, applied, facts):
        return copied(applied)
    if is_list(live):
        return _merged_lists(live, applied or [], facts)
    result: dict[str, Any] = {}
    held: dict[str, Any] = applied or {}
    for name in [*live, *(name for name in held if name not in live)]:
        facts_of_name = facts.member(name) or UNTYPED
        result[name] = merged(live.get(name, ABSENT), held.get(name, ABSENT), facts_of_name)
    return result


def removed(value: Any, fields: FieldSet, facts: Facts, *, emptied: Any = ABSENT) -> Any:
    """Return the value without these fields. `emptied`, if given, replaces a map or list left empty."""
    if not fields or facts.atomic:
        return value
    left: Any
    if is_map(value) and facts.shape in ("map", "any"):
        left = {
            name: removed(held, below(fields, step), facts.member(name) or UNTYPED, emptied=emptied)
            for name, held in value.items()
            if not has(fields, step := field_step(name))
        }
    elif is_list(value) and facts.shape == "list":
        left = [
            removed(element, below(fields, step), facts.element, emptied=emptied)
            for element, step in _left(value, fields, facts)
        ]
    else:
        return value
    return emptied if value and not left and emptied is not ABSENT else left


def with_parents(fields: FieldSet, facts: Facts) -> FieldSet:
    """Return the set with each declared field that contains one of its members.

    A manager who owns everything in a struct owns the struct: when that is removed, no empty struct stays.
    """
    result: dict[str, FieldSet] = {}
    for step in fields:
        if step == ".":
            continue
        name = step[2:] if step.startswith("f:") else None
        declared = name is not None and name in facts.fields
        facts_below = facts.element if name is None else facts.member(name) or UNTYPED
        inside = with_parents(below(fields, step), facts_below)
        found = node(inside, member=has(fields, step) or declared)
        if found is not None:
            result[step] = found
    return result


def _meet(live: Any, applied: Any, facts: Facts) -> bool:
    """Return whether the two can be merged: maps, and lists whose elements can be identified.

    Null counts as an empty value of the other's type, and applying it removes nothing.
    """
    if is_map(live) and live:
        return (is_map(applied) or applied is None) and facts.shape in ("map", "any")
    if is_list(live) and live:
        return (is_list(applied) or applied is None) and facts.shape == "list"
    return False


def _left(value: list[Any], fields: FieldSet, facts: Facts) -> Iterator[tuple[Any, str]]:
    """Return the elements that are not in the set, with their steps."""
    for element in value:
        try:
            step = step_of(element, facts)
        except Unidentified:
            step = ""  # nobody can own it, so it stays
        if not has(fields, step):
            yield element, step


# Lists: the live order stays, and new elements go where the applied list has them.


def _merged_lists(live: list[Any], applied: list[Any], facts: Facts) -> list[Any]:
    old, new = by_step(live, facts), by_step(applied, facts)
    return [element for step in _order(list(old), list(new)) for element in _elements(step, old, new, facts)]


def _elements(step: str, old: dict[str, list[Any]], new: dict[str, list[Any]], facts: Facts) -> Sequence[Any]:
    if step not in new:
        return [copied(element) for element in old[step]]
    was = old.get(step, [])
    # Duplicate elements of the live list are replaced by the one that is applied.
    return [merged(was[0] if len(was) == 1 else ABSENT, new[step][0], facts.element)]


def _order(live: list[str], applied: list[str]) -> list[str]:
    """Return both lists as one: shared elements as applied, those of the live list alone in their places."""
    wanted = set(applied)
    lived = set(live)
    shared = iter([step for step in applied if step in lived])
    following = next(shared, None)
    result: list[str] = []
    taken: set[str] = set()
    at, to = 0, 0
    while at < len(live) or to < len(applied):
        if at < len(live):
            step = live[at]
            if step not in wanted:
                result.append(step)
                at += 1
                continue
            if to < len(applied) and following not in (None, step):
                at += 1  # it goes where the applied list has it
                continue
            if step in taken or (to < len(applied) and step == applied[to]):
                at += 1
        if to < len(applied):
            step = applied[to]
            result.append(step)
            taken.add(step)
            to += 1
            if step == following:
                following = next(shared, None)
    return result
