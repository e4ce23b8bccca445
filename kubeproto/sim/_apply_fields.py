"""Which fields an object has, and which of them a write adds, changes or removes.

A field of an object is a scalar, an atomic value, an empty map, or an element of a list. A map that holds
something counts only where it is an element, or a member of an open map: what is inside speaks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from ..objects import json_equal
from ._apply_elements import by_step
from ._apply_facts import ABSENT, UNTYPED, Facts
from ._apply_values import is_list, is_map
from ._fieldsets import EMPTY, FieldSet, field_step, node, union


class Changes(Struct, frozen=True, gc=False):
    """The fields in which two objects differ."""

    added: FieldSet = EMPTY
    modified: FieldSet = EMPTY
    removed: FieldSet = EMPTY

    @property
    def written(self) -> FieldSet:
        """What is new or different."""
        return union(self.added, self.modified)


def fields_of(value: Any, facts: Facts) -> FieldSet:
    """The fields of an object, as one who applies it would own them."""
    return _inside(value, facts) or EMPTY


def _inside(value: Any, facts: Facts) -> FieldSet | None:
    """The fields within a value; None if the value is one as a whole."""
    if _is_leaf(value, facts):
        return None
    found: dict[str, FieldSet] = {}
    if is_map(value):
        for name, held in value.items():
            below = facts.member(name) or UNTYPED
            inside = _inside(held, below)
            # An open map's members may be there for their own sake: a label, not the labels.
            member = inside is None or held is None or held == {} or name not in facts.fields
            _put(found, field_step(name), node(inside or EMPTY, member=member))
    elif is_list(value):
        for step, elements in by_step(value, facts).items():
            inside = _inside(elements[0], facts.element) if len(elements) == 1 else None
            _put(found, step, node(inside or EMPTY, member=True))
    return found


def _put(found: dict[str, FieldSet], step: str, below: FieldSet | None) -> None:
    if below is not None:
        found[step] = below


def _is_leaf(value: Any, facts: Facts) -> bool:
    """Whether the value is owned as a whole."""
    if is_map(value):
        return facts.shape not in ("map", "any") or facts.atomic
    if is_list(value):
        # Where nothing is known, elements cannot be told apart.
        return facts.shape != "list" or facts.atomic
    if value is None:
        return facts.shape == "scalar" or facts.atomic
    return True


def compare(before: Any, after: Any, facts: Facts) -> Changes:
    """What a write did, field by field. Maps that come or go as a whole count themselves, too."""
    added: dict[str, FieldSet] = {}
    modified: dict[str, FieldSet] = {}
    removed: dict[str, FieldSet] = {}
    for step, old, new, below in _pairs(before, after, facts):
        changes = _EVEN if old is new else _compare(old, new, below)
        if changes is _EVEN:
            continue
        _put(added, step, changes.added)
        _put(modified, step, changes.modified)
        _put(removed, step, changes.removed)
    return Changes(added, modified, removed)


class _Step(Struct, frozen=True, gc=False):
    """Changes as seen from one level up: a set behind a step, or None where there is nothing."""

    added: FieldSet | None = None
    modified: FieldSet | None = None
    removed: FieldSet | None = None


_EVEN = _Step()


def _compare(old: Any, new: Any, facts: Facts) -> _Step:
    if _same(old, new):
        return _EVEN
    leaf = (old is ABSENT or _ends(old, new, facts)) and (new is ABSENT or _ends(new, old, facts))
    if leaf:
        return _leaf(old, new)
    inside = compare(old, new, facts)
    return _Step(
        node(inside.added, member=old is ABSENT),
        # One kind of value gave way to another: a map to a string.
        node(inside.modified, member=_other_kind(old, new)),
        node(inside.removed, member=new is ABSENT),
    )


def _leaf(old: Any, new: Any) -> _Step:
    if old is ABSENT:
        return _Step(added={})
    if new is ABSENT:
        return _Step(removed={})
    return _EVEN if json_equal(old, new) else _Step(modified={})


def _ends(value: Any, other: Any, facts: Facts) -> bool:
    """Whether nothing inside of the value is compared, given what stands on the other side.

    An empty map or list is a field of its own only where the other side has nothing inside either.
    """
    if _is_leaf(value, facts):
        return True
    return not value and not (other is not ABSENT and other and not _is_leaf(other, facts))


def _other_kind(old: Any, new: Any) -> bool:
    kinds = [
        "map" if is_map(value) else "list" if is_list(value) else "scalar"
        for value in (old, new)
        if value is not ABSENT and value is not None
    ]
    return len(set(kinds)) > 1


def _same(old: Any, new: Any) -> bool:
    """A quick yes: whatever reads the same is the same. A no means little, for the order of keys counts."""
    if old is ABSENT or new is ABSENT or type(old) is not type(new):
        return False
    if is_map(old) or is_list(old):
        return len(old) == len(new) and msgspec.json.encode(old) == msgspec.json.encode(new)
    return bool(old == new)


def _pairs(before: Any, after: Any, facts: Facts) -> Iterator[tuple[str, Any, Any, Facts]]:
    """What stands at the same place on both sides, one step down."""
    if is_map(before) or is_map(after):
        yield from _member_pairs(before, after, facts)
    if is_list(before) or is_list(after):
        old, new = _elements(before, facts), _elements(after, facts)
        for step in old.keys() | new.keys():
            yield step, _one(old.get(step)), _one(new.get(step)), _one_facts(old, new, step, facts)


def _member_pairs(before: Any, after: Any, facts: Facts) -> Iterator[tuple[str, Any, Any, Facts]]:
    # What a typed object always has is there on the side that is there at all.
    old = {**facts.zeros, **before} if is_map(before) else {}
    new = {**facts.zeros, **after} if is_map(after) else {}
    for name, value in old.items():
        yield field_step(name), value, new.get(name, ABSENT), facts.member(name) or UNTYPED
    for name, value in new.items():
        if name not in old:
            yield field_step(name), ABSENT, value, facts.member(name) or UNTYPED


def _elements(value: Any, facts: Facts) -> dict[str, list[Any]]:
    return by_step(value, facts) if is_list(value) and not _is_leaf(value, facts) else {}


def _one(elements: list[Any] | None) -> Any:
    """An element; those that stand there several times are looked at as one."""
    if elements is None:
        return ABSENT
    return elements[0] if len(elements) == 1 else elements


def _one_facts(old: dict[str, list[Any]], new: dict[str, list[Any]], step: str, facts: Facts) -> Facts:
    repeated = len(old.get(step, ())) > 1 or len(new.get(step, ())) > 1
    return UNTYPED if repeated else facts.element
