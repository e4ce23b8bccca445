"""Which fields an object has, and which of them a write adds, changes or removes.

A field of an object is a scalar, an atomic value, an empty map, or an element of a list. A map that is not
empty counts only where it is an element, or a member of an open map: otherwise its members count.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from kubeproto.objects import json_equal

from ..storage._json_values import is_list, is_map, members
from ._list_elements import by_step
from ._merge_schemas import ABSENT, UNTYPED, Facts
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
    """Return the fields of an object, as a manager who applies it would own them."""
    return _inside(value, facts) or EMPTY


def _inside(value: Any, facts: Facts) -> FieldSet | None:
    """Return the fields within a value; None if the value is one as a whole."""
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
    """Return whether the value is owned as a whole."""
    if is_map(value):
        return facts.shape not in ("map", "any") or facts.atomic
    if is_list(value):
        # Where nothing is known, elements cannot be identified.
        return facts.shape != "list" or facts.atomic
    if value is None:
        return facts.shape == "scalar" or facts.atomic
    return True


def compare(before: Any, after: Any, facts: Facts) -> Changes:
    """Return what a write did, field by field. Maps that are added or removed as a whole count too."""
    found = _Found({}, {}, {})
    if is_map(before) or is_map(after):
        _compare_maps(before, after, facts, found)
    if is_list(before) or is_list(after):
        _compare_lists(before, after, facts, found)
    return Changes(found.added, found.modified, found.removed)


class _Found(Struct, frozen=True, gc=False):
    """Changes while they are collected."""

    added: dict[str, FieldSet]
    modified: dict[str, FieldSet]
    removed: dict[str, FieldSet]


def _compare_maps(before: Any, after: Any, facts: Facts, found: _Found) -> None:
    old, new = _typed(before, facts), _typed(after, facts)
    for name, value in old.items():
        other = new.get(name, ABSENT)
        if other is not value:
            _compare_pair(field_step(name), value, other, facts.member(name) or UNTYPED, found)
    for name, value in new.items():
        if name not in old:
            found.added[field_step(name)] = _whole(value, facts.member(name) or UNTYPED)


def _compare_lists(before: Any, after: Any, facts: Facts, found: _Found) -> None:
    old, new = _elements(before, facts), _elements(after, facts)
    for step in [*old, *(step for step in new if step not in old)]:
        ours, theirs = old.get(step, []), new.get(step, [])
        if len(ours) > 1 or len(theirs) > 1:
            # Duplicate elements are treated as one.
            if not json_equal(ours, theirs):
                side = found.added if not ours else found.modified if theirs else found.removed
                side[step] = {}
        elif not ours:
            found.added[step] = _whole(theirs[0], facts.element)
        else:
            _compare_pair(step, ours[0], theirs[0] if theirs else ABSENT, facts.element, found)


def _compare_pair(step: str, old: Any, new: Any, facts: Facts, found: _Found) -> None:
    """Note what happened to a value that existed before."""
    if new is ABSENT:
        found.removed[step] = _whole(old, facts)
    elif not _same(old, new):
        if _ends(old, facts) and _ends(new, facts):
            if not json_equal(old, new):
                found.modified[step] = {}
            return
        inside = compare(old, new, facts)
        _put(found.added, step, node(inside.added, member=False))
        # A value of another type: a map became a string.
        _put(found.modified, step, node(inside.modified, member=_other_kind(old, new)))
        _put(found.removed, step, node(inside.removed, member=False))


def _whole(value: Any, facts: Facts) -> FieldSet:
    """Yield all that is added or removed with a value, itself included."""
    if _is_leaf(value, facts):
        return {}
    inside: dict[str, FieldSet] = {}
    if is_map(value):
        for name, held in _typed(value, facts).items():
            inside[field_step(name)] = _whole(held, facts.member(name) or UNTYPED)
    elif is_list(value):
        for step, elements in by_step(value, facts).items():
            inside[step] = _whole(elements[0], facts.element) if len(elements) == 1 else {}
    return node(inside, member=True) or {}


def _typed(value: Any, facts: Facts) -> dict[str, Any]:
    """Return the members of a map, with those that a server's typed object always has."""
    if not is_map(value):
        return {}
    return {**facts.zeros, **value} if facts.zeros else value


def _elements(value: Any, facts: Facts) -> dict[str, list[Any]]:
    return by_step(value, facts) if is_list(value) and not _is_leaf(value, facts) else {}


def _ends(value: Any, facts: Facts) -> bool:
    """Return whether the value has nothing inside to compare. An empty map or list is a field of its own."""
    return not value or _is_leaf(value, facts)


def _other_kind(old: Any, new: Any) -> bool:
    kinds = {
        "map" if is_map(value) else "list" if is_list(value) else "scalar"
        for value in (old, new)
        if value is not None
    }
    return len(kinds) > 1


def _same(old: Any, new: Any) -> bool:
    """Compare quickly: equal JSON means equal values; other JSON may differ in the order of keys only."""
    if type(old) is not type(new):
        return False
    if is_map(old) or is_list(old):
        return len(old) == len(new) and msgspec.json.encode(old) == msgspec.json.encode(new)
    return bool(old == new)


def tracked(object_: Object) -> Object:
    """Return the object without what nobody owns: less to compare."""
    rest = {name: value for name, value in object_.items() if name not in ("apiVersion", "kind")}
    if metadata := members(rest.pop("metadata", None)):
        metadata = {name: value for name, value in metadata.items() if name not in _UNOWNED_METADATA}
    return {"metadata": metadata, **rest} if metadata else rest
