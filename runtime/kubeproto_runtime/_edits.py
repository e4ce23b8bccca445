"""`Original`: the JSON that an object was read from, into which changes of the object are merged.

A class may describe only a few fields of a kind, and the JSON has all of them. A difference of two objects of
that class would lose the other fields wherever an edit replaced a value, above all a list. So the object is
merged into its JSON: a field of the class gets the value in the object, and any other field stays.

An element of a list is merged into its origin, the element of the JSON that it came from:

1. If it is the Python object that was read from an element, that element is its origin. Its index may differ.
2. Otherwise its origin is the remaining element of the same list with the same merge key.
3. Otherwise its origin is the first remaining element with the same content: it was copied and not changed.
4. Otherwise it is new.

The members of objects are matched in the same way, by their names instead of merge keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from msgspec import UNSET, Struct

from kubeproto import Dynamic
from kubeproto.objects import is_list, is_object, json_equal

if TYPE_CHECKING:
    from .writing._shapes import Shape

# A missing value: null is a value.
NOTHING: Final = UNSET

_Equal: TypeAlias = Callable[[Any, Any], bool]


class _Origin(NamedTuple):
    """The origin of a value: the value as it was read, its JSON, and its JSON as its class wrote it then."""

    value: Any
    json: Any
    written: Any


_NEW: Final = _Origin(None, NOTHING, NOTHING)


class Original:
    """A value as it was read, its complete JSON, and its JSON as its class wrote it then (`written`)."""

    def __init__(self, value: Any, json: Any, written: Any) -> None:
        self._root = _Origin(value, json, written)
        # The origins reference their values: otherwise a later object could get the id of a deleted value.
        self._origins: dict[int, _Origin] = {}
        self._remember(value, json, written)

    @property
    def json(self) -> Any:
        """The JSON that was read."""
        return self._root.json

    def merge(self, value: Any, written: Any, shape: Shape) -> Any:
        """Return the new JSON of a changed value, which its class writes as `written`."""
        return self._merge(value, written, self._root, shape)

    # Origins

    def _remember(self, value: Any, json: Any, written: Any) -> None:
        if (members := _members(value)) is not None:
            if is_object(json) and is_object(written):
                self._origins[id(value)] = _Origin(value, json, written)
                for name, member in members.items():
                    if name in json:
                        self._remember(member, json[name], written.get(name, {}))
        elif (elements := _elements(value)) is not None:
            if not (is_list(json) and is_list(written) and len(elements) == len(json) == len(written)):
                return
            for element, element_json, element_written in zip(elements, json, written, strict=True):
                self._remember(element, element_json, element_written)

    def _origin(self, value: Any) -> _Origin | None:
        origin = self._origins.get(id(value))
        return origin if origin is not None and origin.value is value else None

    # Merging

    def _merge(self, value: Any, written: Any, replaced: _Origin, shape: Shape) -> Any:
        """Return the JSON of a value, merged into its own origin or else into the value that it replaces."""
        if is_object(written):
            _, json, old_written = self._origin(value) or replaced
            if not is_object(json):
                return self._merge_members(value, written, {}, {}, shape)
            old_members = old_written if is_object(old_written) else {}
            return self._merge_members(value, written, json, old_members, shape)
        if is_list(written):
            return self._merge_elements(value, written, replaced, shape)
        unchanged = replaced.written is not NOTHING and json_equal(written, replaced.written)
        return replaced.json if unchanged else written

    def _merge_members(
        self,
        value: Any,
        written: dict[str, Any],
        json: dict[str, Any],
        old_written: dict[str, Any],
        shape: Shape,
    ) -> dict[str, Any]:
        members = _members(value) or {}
        merged: dict[str, Any] = {}
        for name, member_json in json.items():
            member = members.get(name)
            if name in written:
                replaced = _Origin(None, member_json, old_written.get(name, NOTHING))
                merged[name] = self._merge(member, written[name], replaced, shape.member(name))
            elif name not in old_written:
                merged[name] = member_json
            elif isinstance(member, Struct):
                # An emptied value: the fields that its class does not have stay.
                replaced = _Origin(None, member_json, old_written[name])
                if unknown_fields := self._merge(member, {}, replaced, shape.member(name)):
                    merged[name] = unknown_fields
        for name, member_written in written.items():
            # Some classes write their defaults too: a default that was not in the JSON is not a change.
            is_default = name in old_written and json_equal(old_written[name], member_written)
            if name not in json and not is_default:
                merged[name] = self._merge(members.get(name), member_written, _NEW, shape.member(name))
        return merged

    def _merge_elements(self, value: Any, written: list[Any], replaced: _Origin, shape: Shape) -> list[Any]:
        elements = _elements(value)
        if elements is None or len(elements) != len(written):
            elements = [None] * len(written)
        json, old_written = replaced.json, replaced.written
        if not (is_list(json) and is_list(old_written) and len(json) == len(old_written)):
            json, old_written = [], []
        origins = self._element_origins(elements, written, json, old_written, shape)
        element_shape = shape.member("")
        return [
            self._merge(element, element_written, origin, element_shape)
            for element, element_written, origin in zip(elements, written, origins, strict=True)
        ]

    def _element_origins(
        self,
        elements: list[Any],
        written: list[Any],
        json: list[Any],
        old_written: list[Any],
        shape: Shape,
    ) -> list[_Origin]:
        origins = [self._origin(element) for element in elements]
        used = {id(origin.json) for origin in origins if origin is not None}
        remaining = [index for index, element_json in enumerate(json) if id(element_json) not in used]
        for equal in (_equal_keys(shape), json_equal):
            for index, element_written in enumerate(written):
                if origins[index] is not None:
                    continue
                old_index = _first_equal(element_written, old_written, remaining, equal)
                if old_index is not None:
                    remaining.remove(old_index)
                    origins[index] = _Origin(None, json[old_index], old_written[old_index])
        return [origin or _NEW for origin in origins]


def _first_equal(element: Any, old_elements: list[Any], remaining: list[int], equal: _Equal) -> int | None:
    return next((index for index in remaining if equal(element, old_elements[index])), None)


def _equal_keys(shape: Shape) -> _Equal:
    """Return a function that compares the merge keys of two elements."""

    def equal(element: Any, other: Any) -> bool:
        if not (shape.keys and is_object(element) and is_object(other)):
            return False
        pairs = [(_key_value(element, key, shape), _key_value(other, key, shape)) for key in shape.keys]
        # A class may lack some of the keys, but not all of them.
        pairs = [(first, second) for first, second in pairs if first is not NOTHING or second is not NOTHING]
        return bool(pairs) and all(
            first is not NOTHING and second is not NOTHING and json_equal(first, second)
            for first, second in pairs
        )

    return equal


def _key_value(element: dict[str, Any], key: str, shape: Shape) -> Any:
    return element[key] if key in element else shape.default(key)


def _members(value: Any) -> dict[str, Any] | None:
    """Return the members of a value under their names in JSON; None if it is not an object."""
    match value:
        case Dynamic():
            return {**value.content, "metadata": value.metadata}
        case Struct():
            names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
            return {json_name: getattr(value, name) for name, json_name in names}
        case dict():
            return value if is_object(value) else None
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        case _:
            return None


def _elements(value: Any) -> list[Any] | None:
    # A tuple stands for a list.
    if isinstance(value, tuple):
        return [*value]  # pyright: ignore[reportUnknownVariableType] # a tuple of anything
    return value if is_list(value) else None


# Changes of two writers


def includes_change(old: Any, new: Any, current: Any) -> bool:
    """Return whether `current` has every change from `old` to `new`."""
    if is_object(old) and is_object(new) and is_object(current):
        names = old.keys() | new.keys()
        return all(
            includes_change(old.get(name, NOTHING), new.get(name, NOTHING), current.get(name, NOTHING))
            for name in names
        )
    return are_equal(old, new) or are_equal(new, current)


def rebase(old: Any, new: Any, current: Any) -> tuple[Any, bool]:
    """Apply the change from `old` to `new` to `current`; the second result is False if they conflict."""
    if is_object(old) and is_object(new) and is_object(current):
        return _rebase_members(old, new, current)
    if are_equal(old, new):
        return current, True
    return new, are_equal(old, current)


def _rebase_members(
    old: dict[str, Any], new: dict[str, Any], current: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    merged: dict[str, Any] = {}
    without_conflict = True
    for name in [*current, *(name for name in new if name not in current)]:
        value, is_clean = rebase(old.get(name, NOTHING), new.get(name, NOTHING), current.get(name, NOTHING))
        without_conflict = without_conflict and is_clean
        if value is not NOTHING:
            merged[name] = value
    # Members that were removed on both sides are in neither `current` nor `new`.
    return merged, without_conflict


def are_equal(value: Any, other: Any) -> bool:
    """Return whether both values are the same JSON, or both are missing."""
    if value is NOTHING or other is NOTHING:
        return value is other
    return json_equal(value, other)
