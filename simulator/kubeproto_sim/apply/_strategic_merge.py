"""Strategic merge patches, which merge maps, and lists by their merge keys.

A patch can also contain directives: in a map or an element of a list, ``$patch: replace`` or
``$patch: delete``; beside a field ``x``, ``$deleteFromPrimitiveList/x`` (strings to remove),
``$setElementOrder/x`` (the order of the elements) and ``$retainKeys`` (the only fields to keep).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final

import msgspec

from kubeproto.objects import copy_json, is_list, is_object

from ..storage._json_values import go_text
from ._apply_refusals import ApplyRejection
from ._merge_schemas import UNTYPED, MergeSchema

Map = dict[str, Any]

_DIRECTIVE: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE: Final = "$deleteFromPrimitiveList"
_ORDER: Final = "$setElementOrder"


class PatchRejection(ApplyRejection):
    """A strategic merge patch that a server refuses, with the code and the message of its Status."""


def strategic_merge(current: Map, patch: Map, schema: MergeSchema) -> Map:
    """Return the object after the patch; neither argument is changed.

    Raise PatchRejection if the patch is malformed.
    """
    return _merge_maps(current, patch, schema)


def _merge_maps(current: Map, patch: Map, schema: MergeSchema) -> Map:
    if _DIRECTIVE in patch:
        return _apply_directive(patch)
    result = _retain_keys(current, patch)
    ordered_fields = [_field_of(key, _ORDER) for key in patch if key.startswith(_ORDER)]
    for name in ordered_fields:
        _merge_in_order(result, name, patch, schema)
    for key, value in patch.items():
        if key == _RETAIN or key.startswith(_ORDER) or key in ordered_fields:
            continue
        if key.startswith(_DELETE):
            _delete_from(result, _field_of(key, _DELETE), value, schema)
        elif value is None:
            result.pop(key, None)
        else:
            member_schema = schema.member(key) or UNTYPED
            result[key] = (
                _merge_values(result[key], value, member_schema)
                if key in result
                else _strip_directives(value)
            )
    return result


def _merge_values(current: Any, patch: Any, schema: MergeSchema) -> Any:
    if is_object(current) and is_object(patch) and not schema.replaces:
        return _merge_maps(current, patch, schema)
    if is_list(current) and is_list(patch) and schema.merges:
        return _merge_lists(current, patch, schema)
    if type(current) is type(patch):
        return copy_json(patch)
    return _strip_directives(patch)


def _apply_directive(patch: Map) -> Map:
    match patch[_DIRECTIVE]:
        case "replace":
            return {key: copy_json(value) for key, value in patch.items() if key != _DIRECTIVE}
        case "delete":
            return {}
        case other:
            raise _unknown_directive(other, patch)


def _retain_keys(current: Map, patch: Map) -> Map:
    """Return the fields of a map that `$retainKeys` retains, or all fields without it."""
    if _RETAIN not in patch:
        return {key: copy_json(value) for key, value in current.items()}
    keep = patch[_RETAIN]
    parallel = (_RETAIN, _DELETE, _ORDER)
    fields = [key for key, value in patch.items() if value is not None and not key.startswith(parallel)]
    if not is_list(keep) or any(name not in keep for name in fields):
        raise PatchRejection(400, "invalid patch format of retainKeys")
    return {key: copy_json(value) for key, value in current.items() if key in keep}


def _field_of(directive: str, prefix: str) -> str:
    """Return the name of the field of a directive."""
    head, slash, name = directive.partition("/")
    if head != prefix or not slash:
        list_name = "primitive" if prefix == _DELETE else "setElementOrder"
        raise PatchRejection(400, f"invalid patch format of {list_name} list")
    return name


def _delete_from(result: Map, name: str, values: Any, schema: MergeSchema) -> None:
    current = result.get(name)
    if values is None:
        result.pop(name, None)
    elif is_list(current) and is_list(values) and (schema.member(name) or UNTYPED).merges:
        result[name] = [value for value in current if value not in values]
    elif is_list(current) and is_list(values):
        # Without the merge strategy, a server replaces the list by the list of values to remove.
        result[name] = copy_json(values)


# Lists.


def _merge_lists(current: list[Any], patch: list[Any], schema: MergeSchema) -> list[Any]:
    if not current and not patch:
        return []
    if not _holds_maps([*current, *patch]):
        merged = list(dict.fromkeys([*current, *patch]))
        return ordered(merged, by=patch, live=current, identity=_scalar)
    if not schema.merge_key:
        raise PatchRejection(500, "cannot merge lists without merge key for type map")
    identity = _by_key(schema.merge_key)
    live, plain = _without_directives(current, patch, schema.merge_key)
    merged = _merge_elements(live, plain, schema, identity)
    return ordered(merged, by=plain, live=live, identity=identity)


def _merge_elements(
    live: list[Any], patch: list[Any], schema: MergeSchema, identity: Callable[[Any], Hashable]
) -> list[Any]:
    merged: list[Any] = copy_json(live)
    for element in patch:
        key = identity(element)
        places = (index for index, other in enumerate(merged) if _key_value(other, schema.merge_key) == key)
        if (index := next(places, None)) is not None:
            merged[index] = _merge_maps(merged[index], element, schema.element)
        else:
            merged.append(_strip_directives(element))
    return merged


def _without_directives(current: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Return the live elements to keep, and the elements of the patch that are not directives."""
    plain: list[Any] = []
    replaces = False
    for element in patch:
        match element.get(_DIRECTIVE):
            case None if _DIRECTIVE not in element:
                plain.append(element)
            case "delete":
                key = _by_key(merge_key)(element)
                current = [
                    live_element for live_element in current if _key_value(live_element, merge_key) != key
                ]
            case "replace":
                replaces = True
            case "merge":
                raise PatchRejection(500, "merging lists cannot yet be specified in the patch")
            case other:
                raise _unknown_directive(other, element)
    # A replacement has all elements, so it is merged into an empty list.
    return ([], plain) if replaces else (current, plain)


def _merge_in_order(result: Map, name: str, patch: Map, schema: MergeSchema) -> None:
    """Merge a field with `$setElementOrder`, which takes precedence over the order of the patch."""
    order = patch[f"{_ORDER}/{name}"]
    list_schema = schema.member(name) or UNTYPED
    live, changes = result.get(name), patch.get(name)
    for value in (order, *(side[name] for side in (result, patch) if name in side)):
        if not is_list(value):
            raise PatchRejection(500, f"expected a []interface {{}}, but received a {_go_type(value)}")
    if live is None and changes is None:
        return
    identity = _by_key(list_schema.merge_key) if list_schema.merge_key else _scalar
    _check_order(changes or [], order, identity)
    if live is not None and changes is not None:
        merged = _merge_values(live, changes, list_schema)
    else:
        merged = copy_json(live) if changes is None else _strip_directives(changes)
    if not live and not changes:
        # A server determines the type of the elements before it sorts them.
        raise PatchRejection(500, "no elements in any of the given slices")
    result[name] = ordered(merged, by=order, live=live or [], identity=identity)


def _check_order(changes: list[Any], order: list[Any], identity: Callable[[Any], Hashable]) -> None:
    """Refuse a patch whose elements are not in the order of its `$setElementOrder`."""
    if not order:
        return
    places = iter([identity(element) for element in order])
    for element in changes:
        if is_object(element) and _DIRECTIVE in element:
            continue
        if identity(element) not in places:  # the search continues after the previous match
            raise PatchRejection(
                500,
                f"The order in patch list:\n{go_text(changes)}\n"
                f" doesn't match {_ORDER} list:\n{go_text(order)}\n",
            )


# New values of a patch.


def _strip_directives(value: Any) -> Any:
    """Return a new value without nulls in its maps and without directives."""
    if is_object(value):
        if _DIRECTIVE in value:
            return _apply_directive(value)
        return {
            key: _strip_directives(member)
            for key, member in value.items()
            if member is not None and not _is_directive(key)
        }
    if is_list(value):
        return [
            _strip_directives(element)
            for element in value
            if not (is_object(element) and _DIRECTIVE in element)
        ]
    return value


def _is_directive(key: str) -> bool:
    return key == _RETAIN or key.startswith((f"{_DELETE}/", f"{_ORDER}/"))


# Elements and how they are identified.


def _by_key(merge_key: str) -> Callable[[Any], Hashable]:
    def identity(element: Any) -> Hashable:
        if not is_object(element) or merge_key not in element:
            raise PatchRejection(
                500, f"map: {go_text(element)} does not contain declared merge key: {merge_key}"
            )
        return _scalar(element[merge_key])

    return identity


def _key_value(element: Any, merge_key: str) -> Hashable:
    return _scalar(element.get(merge_key)) if is_object(element) else None


def _scalar(value: Any) -> Hashable:
    """Return a hashable form: a string, or the JSON of another value, so that true differs from 1."""
    return value if isinstance(value, str) else msgspec.json.encode(value)


def _holds_maps(elements: Iterable[Any]) -> bool:
    """Return whether a list consists of maps; raise PatchRejection for mixed types or lists in lists."""
    kinds = {
        "list" if is_list(element) else "map" if is_object(element) else "scalar" for element in elements
    }
    if "list" in kinds:
        raise PatchRejection(422, _REFUSED)
    if len(kinds) > 1:
        raise PatchRejection(500, "list element types are not identical")
    return kinds == {"map"}


_REFUSED: Final = "the server rejected our request due to an error in our request"


def _unknown_directive(directive: Any, element: Map) -> PatchRejection:
    return PatchRejection(500, f"unknown patch type: {go_text(directive)} in map: {go_text(element)}")


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
    """Return the elements of `merged` in the order `by`, with the others between them in their live order.

    An element of the live list alone stays before its previous neighbours where `by` permits that, and moves
    to the end otherwise.
    """
    wanted_indexes = {identity(element): index for index, element in reversed([*enumerate(by)])}
    live_places: dict[Hashable, int] = {
        identity(element): index for index, element in reversed([*enumerate(live)])
    }

    def in_live_order(element: Any) -> int:
        return live_places.get(identity(element), len(live_places))

    ordered_elements = [element for element in merged if identity(element) in wanted_indexes]
    ordered_elements.sort(key=lambda element: wanted_indexes[identity(element)])
    # These are still in the order of the live list, because merging changes elements in place.
    others = [element for element in merged if identity(element) not in wanted_indexes]
    result: list[Any] = []
    for element in ordered_elements:
        index = live_places.get(identity(element))
        # Earlier elements of the live list come first, until the first element that it does not have.
        while others and index is not None and in_live_order(others[0]) < index:
            result.append(others.pop(0))
        result.append(element)
    return result + others
