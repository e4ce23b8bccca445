"""`Original`: the text that an object was read from, into which changes of the object are merged.

A class may describe only a few fields of a kind, and the text has all of them. So the difference is not made
between two objects of that class: everything that an edit replaced as a whole, above all a list, would lose
the fields that the class does not have. Instead the object is merged into its text: a field that the class
knows gets the value in the object, and any other stays.

An element of a list is merged into the element of the text that it came from:

1. If it is the same Python object that was read, that is its origin, wherever it is now.
2. Otherwise its merge key identifies it among the remaining elements of the same list.
3. Otherwise it is the first remaining one with the same content: then it was copied, not changed.
4. Otherwise it is new.

The same holds for parts that are not elements, with their place in the object instead of a merge key.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import UNSET, Struct

from kubeproto import Dynamic
from kubeproto.objects import is_list, is_object, json_equal

if TYPE_CHECKING:
    from .writing._shapes import Shape

# A missing value: null is a value.
NOTHING: Final = UNSET


class _Origin(NamedTuple):
    """The origin of a part: the part as it was read, its text, and what its class knew of that."""

    part: Any
    text: Any
    known: Any


_NEW: Final = _Origin(None, NOTHING, NOTHING)


class Original:
    """A part as it was read. `known` is what its class wrote for it then, `text` the whole text."""

    def __init__(self, part: Any, text: Any, known: Any) -> None:
        self._root = _Origin(part, text, known)
        # It also holds the parts, so that no other object gets the identity of one.
        self._origins: dict[int, _Origin] = {}
        self._remember(part, text, known)

    @property
    def text(self) -> Any:
        """What was read."""
        return self._root.text

    def edited(self, part: Any, known: Any, shape: Shape) -> Any:
        """Return the new text: `part` is what is held now, `known` what its class writes for it."""
        return self._merge(part, known, self._root, shape)

    # The origins of parts

    def _remember(self, part: Any, text: Any, known: Any) -> None:
        if (members := _members(part)) is not None:
            if is_object(text) and is_object(known):
                self._origins[id(part)] = _Origin(part, text, known)
                for name, member in members.items():
                    if name in text:
                        self._remember(member, text[name], known.get(name, {}))
        elif (elements := _elements(part)) is not None:
            if not (is_list(text) and is_list(known) and len(elements) == len(text) == len(known)):
                return
            for element, one, other in zip(elements, text, known, strict=True):
                self._remember(element, one, other)

    def _origin(self, part: Any) -> _Origin | None:
        found = self._origins.get(id(part))
        return found if found is not None and found.part is part else None

    # Merging

    def _merge(self, part: Any, known: Any, place: _Origin, shape: Shape) -> Any:
        """Return the text of a part that replaces `place`, or of where else it was read from."""
        if is_object(known):
            _, text, before = self._origin(part) or place
            if is_object(text):
                return self._merge_members(part, known, text, before if is_object(before) else {}, shape)
            return self._merge_members(part, known, {}, {}, shape)
        if is_list(known):
            return self._merge_elements(part, known, place, shape)
        same = place.known is not NOTHING and json_equal(known, place.known)
        return place.text if same else known

    def _merge_members(
        self, part: Any, known: dict[str, Any], text: dict[str, Any], before: dict[str, Any], shape: Shape
    ) -> dict[str, Any]:
        members = _members(part) or {}
        merged: dict[str, Any] = {}
        for name, was in text.items():
            member = members.get(name)
            if name in known:
                place = _Origin(None, was, before.get(name, NOTHING))
                merged[name] = self._merge(member, known[name], place, shape.below(name))
            elif name not in before:
                merged[name] = was
            elif isinstance(member, Struct) and (
                rest := self._emptied(member, was, before[name], shape, name)
            ):
                merged[name] = rest
        for name, value in known.items():
            # Some classes write their defaults too: what was not in the text then was not edited.
            if name not in text and not (name in before and json_equal(before[name], value)):
                merged[name] = self._merge(members.get(name), value, _NEW, shape.below(name))
        return merged

    def _emptied(self, member: Struct, text: Any, before: Any, shape: Shape, name: str) -> Any:
        """Return what stays of an empty part: the fields that its class does not know."""
        return self._merge(member, {}, _Origin(None, text, before), shape.below(name))

    def _merge_elements(self, part: Any, known: list[Any], place: _Origin, shape: Shape) -> list[Any]:
        elements = _elements(part)
        if elements is None or len(elements) != len(known):
            elements = [None] * len(known)
        text, before = place.text, place.known
        if not (is_list(text) and is_list(before) and len(text) == len(before)):
            text, before = [], []
        origins = self._elements_origins(elements, known, text, before, shape)
        below = shape.below("")
        return [
            self._merge(element, one, origin, below)
            for element, one, origin in zip(elements, known, origins, strict=True)
        ]

    def _elements_origins(
        self, elements: list[Any], known: list[Any], text: list[Any], before: list[Any], shape: Shape
    ) -> list[_Origin]:
        origins = [self._origin(element) for element in elements]
        taken = {id(origin.text) for origin in origins if origin is not None}
        left = [index for index, one in enumerate(text) if id(one) not in taken]
        for same in (_same_key(shape), json_equal):
            for at, one in enumerate(known):
                if origins[at] is None and (index := _only(one, before, left, same)) is not None:
                    left.remove(index)
                    origins[at] = _Origin(None, text[index], before[index])
        return [origin or _NEW for origin in origins]


def _only(one: Any, before: list[Any], left: list[int], same: Any) -> int | None:
    """Return the first remaining element that is the same."""
    return next((index for index in left if same(one, before[index])), None)


def _same_key(shape: Shape) -> Any:
    def same(one: Any, other: Any) -> bool:
        if not (shape.keys and is_object(one) and is_object(other)):
            return False
        told = [(_value(one, key, shape), _value(other, key, shape)) for key in shape.keys]
        # A class may lack some of the keys, but not all of them.
        told = [(a, b) for a, b in told if a is not NOTHING or b is not NOTHING]
        return bool(told) and all(a is not NOTHING and b is not NOTHING and json_equal(a, b) for a, b in told)

    return same


def _value(element: dict[str, Any], key: str, shape: Shape) -> Any:
    return element[key] if key in element else shape.default(key)


def _members(part: Any) -> dict[str, Any] | None:
    """Return the members of a part under the names that they have in JSON; None if it has none."""
    match part:
        case Dynamic():
            return {**part.content, "metadata": part.metadata}
        case Struct():
            names = zip(part.__struct_fields__, part.__struct_encode_fields__, strict=True)
            return {wire: getattr(part, name) for name, wire in names}
        case dict():
            return part if is_object(part) else None
        case _ if is_dataclass(part) and not isinstance(part, type):
            return {field.name: getattr(part, field.name) for field in fields(part)}
        case _:
            return None


def _elements(part: Any) -> list[Any] | None:
    # A tuple stands for a list.
    if isinstance(part, tuple):
        return [*part]  # pyright: ignore[reportUnknownVariableType] # a tuple of anything
    return part if is_list(part) else None


# Two writers


def holds(before: Any, after: Any, found: Any) -> bool:
    """Return whether every difference of `before` and `after` is in `found` as it is in `after`."""
    if is_object(before) and is_object(after) and is_object(found):
        names = before.keys() | after.keys()
        return all(
            holds(before.get(name, NOTHING), after.get(name, NOTHING), found.get(name, NOTHING))
            for name in names
        )
    return same(before, after) or same(after, found)


def rebased(before: Any, after: Any, found: Any) -> tuple[Any, bool]:
    """Apply the change from `before` to `after` to `found`; False if others changed the same."""
    if is_object(before) and is_object(after) and is_object(found):
        return _rebased_members(before, after, found)
    if same(before, after):
        return found, True
    return after, same(before, found)


def _rebased_members(
    before: dict[str, Any], after: dict[str, Any], found: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    merged: dict[str, Any] = {}
    free = True
    for name in [*found, *(name for name in after if name not in found)]:
        value, alone = rebased(before.get(name, NOTHING), after.get(name, NOTHING), found.get(name, NOTHING))
        free = free and alone
        if value is not NOTHING:
            merged[name] = value
    # Members that were removed on both sides are in neither.
    return merged, free


def same(one: Any, other: Any) -> bool:
    """Return whether both are the same JSON, or both missing."""
    if one is NOTHING or other is NOTHING:
        return one is other
    return json_equal(one, other)
