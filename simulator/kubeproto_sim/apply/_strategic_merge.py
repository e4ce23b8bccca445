"""Strategic merge patches: what a merge patch does to maps, and to lists by their merge keys.

A patch can also contain directives: in a map or an element of a list, ``$patch: replace`` or
``$patch: delete``; beside a field ``x``, ``$deleteFromPrimitiveList/x`` (strings to take out),
``$setElementOrder/x`` (the order of the elements) and ``$retainKeys`` (the only fields that stay).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

import msgspec

from ..storage._json_values import copied, go_text, is_list, is_map
from ._apply_refusals import ApplyRefused
from ._merge_schemas import UNTYPED, Facts

Map = dict[str, Any]

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"


class PatchRefused(ApplyRefused):
    """A strategic merge patch that a server refuses, with the code and the message of its Status."""


def strategic_merge(current: Map, patch: Map, facts: Facts) -> Map:
    """Return the object after the patch; neither argument is changed. PatchRefused if it is malformed."""
    return _merge_maps(current, patch, facts)


def _merge_maps(current: Map, patch: Map, facts: Facts) -> Map:
    if _DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(current, patch)
    ordered_fields = [_field_of(key, _ORDER) for key in patch if key.startswith(_ORDER)]
    for name in ordered_fields:
        _merge_in_order(result, name, patch, facts)
    for key, value in patch.items():
        if key == _RETAIN or key.startswith(_ORDER) or key in ordered_fields:
            continue
        if key.startswith(_DELETE):
            _delete_from(result, _field_of(key, _DELETE), value, facts)
        elif value is None:
            result.pop(key, None)
        else:
            below = facts.member(key) or UNTYPED
            result[key] = _merge_values(result[key], value, below) if key in result else _new(value)
    return result


def _merge_values(current: Any, patch: Any, facts: Facts) -> Any:
    if is_map(current) and is_map(patch) and not facts.replaces:
        return _merge_maps(current, patch, facts)
    if is_list(current) and is_list(patch) and facts.merges:
        return _merge_lists(current, patch, facts)
    if type(current) is type(patch):
        return copied(patch)
    return _new(patch)


def _directed(patch: Map) -> Map:
    match patch[_DIRECTIVE]:
        case "replace":
            return {key: copied(value) for key, value in patch.items() if key != _DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise _unknown_directive(other, patch)


def _retained(current: Map, patch: Map) -> Map:
    """Return what `$retainKeys` leaves of a map; without it, all."""
    if _RETAIN not in patch:
        return {key: copied(value) for key, value in current.items()}
    keep = patch[_RETAIN]
    parallel = (_RETAIN, _DELETE, _ORDER)
    fields = [key for key, value in patch.items() if value is not None and not key.startswith(parallel)]
    if not is_list(keep) or any(name not in keep for name in fields):
        raise PatchRefused(400, "invalid patch format of retainKeys")
    return {key: copied(value) for key, value in current.items() if key in keep}


def _field_of(directive: str, prefix: str) -> str:
    """Return the field that a directive beside it is about."""
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        what = "primitive" if prefix == _DELETE else "setElementOrder"
        raise PatchRefused(400, f"invalid patch format of {what} list")
    return name


def _delete_from(result: Map, name: str, gone: Any, facts: Facts) -> None:
    current = result.get(name)
    if gone is None:
        result.pop(name, None)
    elif is_list(current) and is_list(gone) and (facts.member(name) or UNTYPED).merges:
        result[name] = [value for value in current if value not in gone]
    elif is_list(current) and is_list(gone):
        # Without the merge strategy the list of what to remove replaces what was there.
        result[name] = copied(gone)


# Lists.


def _merge_lists(current: list[Any], patch: list[Any], facts: Facts) -> list[Any]:
    if not current and not patch:
        return []
    if not _holds_maps([*current, *patch]):
        merged = list(dict.fromkeys([*current, *patch]))
        return ordered(merged, by=patch, live=current, identity=_scalar)
    if not facts.merge_key:
        raise PatchRefused(500, "cannot merge lists without merge key for type map")
    identity = _by_key(facts.merge_key)
    live, plain = _without_directives(current, patch, facts.merge_key)
    merged = _merge_elements(live, plain, facts, identity)
    return ordered(merged, by=plain, live=live, identity=identity)


def _merge_elements(
    live: list[Any], patch: list[Any], facts: Facts, identity: Callable[[Any], Hashable]
) -> list[Any]:
    merged: list[Any] = copied(live)
    for element in patch:
        wanted = identity(element)
        places = (at for at, held in enumerate(merged) if _key_value(held, facts.merge_key) == wanted)
        if (at := next(places, None)) is not None:
            merged[at] = _merge_maps(merged[at], element, facts.element)
        else:
            merged.append(_new(element))
    return merged


def _without_directives(current: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Return the live elements that stay, and the elements of the patch that are not directives."""
    plain: list[Any] = []
    replaces = False
    for element in patch:
        match element.get(_DIRECTIVE):
            case None if _DIRECTIVE not in element:
                plain.append(element)
            case "delete":
                gone = _by_key(merge_key)(element)
                current = [held for held in current if _key_value(held, merge_key) != gone]
            case "replace":
                replaces = True
            case "merge":
                raise PatchRefused(500, "merging lists cannot yet be specified in the patch")
            case other:
                raise _unknown_directive(other, element)
    # A replacement is merged into nothing: it has all the elements.
    return ([], plain) if replaces else (current, plain)


def _merge_in_order(result: Map, name: str, patch: Map, facts: Facts) -> None:
    """Merge one field whose order the patch sets, which counts more than that of the patch's list."""
    order = patch[f"{_ORDER}/{name}"]
    below = facts.member(name) or UNTYPED
    live, changes = result.get(name), patch.get(name)
    for value in (order, *(side[name] for side in (result, patch) if name in side)):
        if not is_list(value):
            raise PatchRefused(500, f"expected a []interface {{}}, but received a {_go_type(value)}")
    if live is None and changes is None:
        return
    identity = _by_key(below.merge_key) if below.merge_key else _scalar
    _check_order(changes or [], order, identity)
    if live is not None and changes is not None:
        merged = _merge_values(live, changes, below)
    else:
        merged = copied(live) if changes is None else _new(changes)
    if not live and not changes:
        # A server asks for the type of the elements before it sorts them.
        raise PatchRefused(500, "no elements in any of the given slices")
    result[name] = ordered(merged, by=order, live=live or [], identity=identity)


def _check_order(changes: list[Any], order: list[Any], identity: Callable[[Any], Hashable]) -> None:
    """Return the elements of the patch in the order it sets, apart from directives."""
    if not order:
        return
    places = iter([identity(element) for element in order])
    for element in changes:
        if is_map(element) and _DIRECTIVE in element:
            continue
        if identity(element) not in places:  # continues where the last was found
            raise PatchRefused(
                500,
                f"The order in patch list:\n{go_text(changes)}\n"
                f" doesn't match {_ORDER} list:\n{go_text(order)}\n",
            )


# What a patch brings that was not there.


def _new(value: Any) -> Any:
    """Return a value that replaces nothing of its type: without nulls in its maps, without directives."""
    if is_map(value):
        if _DIRECTIVE in value:
            return _directed(value)
        return {key: _new(held) for key, held in value.items() if held is not None and not _directs(key)}
    if is_list(value):
        return [_new(held) for held in value if not (is_map(held) and _DIRECTIVE in held)]
    return value


def _directs(key: str) -> bool:
    return key == _RETAIN or key.startswith((f"{_DELETE}/", f"{_ORDER}/"))


# Elements and how they are identified.


def _by_key(merge_key: str) -> Callable[[Any], Hashable]:
    def identity(element: Any) -> Hashable:
        if not is_map(element) or merge_key not in element:
            raise PatchRefused(
                500, f"map: {go_text(element)} does not contain declared merge key: {merge_key}"
            )
        return _scalar(element[merge_key])

    return identity


def _key_value(element: Any, merge_key: str) -> Hashable:
    return _scalar(element.get(merge_key)) if is_map(element) else None


def _scalar(value: Any) -> Hashable:
    """Return a comparable form: anything but a string as its JSON, so that true differs from 1."""
    return value if isinstance(value, str) else msgspec.json.encode(value)


def _holds_maps(elements: Iterable[Any]) -> bool:
    """Return whether a list consists of maps; PatchRefused for a mixture, or for lists in lists."""
    kinds = {"list" if is_list(element) else "map" if is_map(element) else "scalar" for element in elements}
    if "list" in kinds:
        raise PatchRefused(422, _REFUSED)
    if len(kinds) > 1:
        raise PatchRefused(500, "list element types are not identical")
    return kinds == {"map"}


_REFUSED: Final = "the server rejected our request due to an error in our request"


def _unknown_directive(directive: Any, element: Map) -> PatchRefused:
    return PatchRefused(500, f"unknown patch type: {go_text(directive)} in map: {go_text(element)}")


def _go_type(value: Any) -> str:
    match value:
        case None:
            return "%!s(<nil>)"  # Go has no type to print
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
        case bool():
            return "bool"
        case str():
            return "string"
        case _:
            return "int64" if isinstance(value, int) else "float64"


def ordered(
    merged: list[Any], *, by: list[Any], live: list[Any], identity: Callable[[Any], Hashable]
) -> list[Any]:
    """Return the elements of `merged` in the order `by`, with others in their live order."""
    wished = {identity(element): place for place, element in reversed([*enumerate(by)])}
    lived: dict[Hashable, int] = {identity(element): place for place, element in reversed([*enumerate(live)])}

    def in_live_order(element: Any) -> int:
        return lived.get(identity(element), len(lived))

    named = [element for element in merged if identity(element) in wished]
    named.sort(key=lambda element: wished[identity(element)])
    # These are in the order of the live list already: merging changes elements in place.
    others = [element for element in merged if identity(element) not in wished]
    result: list[Any] = []
    for element in named:
        place = lived.get(identity(element))
        # Elements further up in the live list come first; the first that it does not have stops the others.
        while others and place is not None and in_live_order(others[0]) < place:
            result.append(others.pop(0))
        result.append(element)
    return result + others
