"""Sets of fields, in the form of managedFields: FieldsV1.

::

    {"f:metadata": {"f:labels": {".": {}, "f:app": {}}},          .metadata.labels, .metadata.labels.app
     "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}}

A key is a step: ``f:`` to a field, ``k:`` to an element of a list by its keys, ``v:`` to an element of a set,
``i:`` to an element by its index. A path to ``{}`` is in the set, and a path to another map if this map
contains ``.``. So equal sets are equal maps. Sets are never changed in place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from kubeproto.objects import is_object

from ..storage._json_values import quoted

FieldSet = Mapping[str, "FieldSet"]
Path = tuple[str, ...]

__all__ = [
    "EMPTY",
    "FieldSet",
    "Path",
    "below",
    "decode_fields",
    "difference",
    "encode_fields",
    "field_step",
    "fieldset",
    "format_path",
    "has",
    "intersection",
    "keys_step",
    "leaves",
    "node",
    "paths",
    "union",
    "value_step",
]

EMPTY: Final[FieldSet] = {}
_SELF: Final = "."
_MEMBER: Final[dict[str, FieldSet]] = {_SELF: {}}


def field_step(name: str) -> str:
    """Return the step to a field."""
    return "f:" + name


def keys_step(keys: Mapping[str, Any]) -> str:
    """Return the step to the element of a list that has these keys."""
    return "k:" + msgspec.json.encode(keys, order="sorted").decode()


def value_step(value: Any) -> str:
    """Return the step to an element of a set."""
    return "v:" + msgspec.json.encode(value, order="sorted").decode()


def fieldset(paths: Iterable[Path]) -> FieldSet:
    """Return the set of these paths."""
    return functools.reduce(union, map(_single, paths), EMPTY)


def node(inside: FieldSet, *, member: bool) -> FieldSet | None:
    """Return the value of a step from its membership and its inner set; None if both are empty."""
    if not inside:
        return {} if member else None
    return {**_MEMBER, **inside} if member else inside


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """Return the union."""
    if not a or not b:
        return a or b
    result = dict(a)
    for step, other in b.items():
        if (own := a.get(step)) is None:
            result[step] = other
        elif own is not other and step != _SELF:
            member = _is_member(own) or _is_member(other)
            result[step] = node(union(_inner_fields(own), _inner_fields(other)), member=member) or {}
    return result


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    """Return the intersection."""
    result: dict[str, FieldSet] = {}
    for step, own in a.items():
        other = b.get(step)
        if other is None or step == _SELF:
            continue
        inside = intersection(_inner_fields(own), _inner_fields(other))
        subset = node(inside, member=_is_member(own) and _is_member(other))
        if subset is not None:
            result[step] = subset
    return result


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """Return the difference. The removal of a field does not remove its inner fields."""
    if not b:
        return a
    result: dict[str, FieldSet] = {}
    for step, own in a.items():
        other = b.get(step)
        if other is None:
            result[step] = own
        elif step != _SELF:
            inside = difference(_inner_fields(own), _inner_fields(other))
            subset = node(inside, member=_is_member(own) and not _is_member(other))
            if subset is not None:
                result[step] = subset
    return result


def has(fields: FieldSet, step: str) -> bool:
    """Return whether the field at a step is itself in the set."""
    subset = fields.get(step)
    return subset is not None and _is_member(subset)


def below(fields: FieldSet, step: str) -> FieldSet:
    """Return the subset inside the field at a step."""
    subset = fields.get(step)
    return _inner_fields(subset) if subset else EMPTY


def paths(fields: FieldSet) -> Iterator[Path]:
    """Yield every path of the set in a server's order: all fields of a level, then their inner fields."""
    steps = sorted((step for step in fields if step != _SELF), key=_order)
    yield from ((step,) for step in steps if _is_member(fields[step]))
    for step in steps:
        yield from ((step, *path) for path in paths(_inner_fields(fields[step])))


def leaves(fields: FieldSet) -> FieldSet:
    """Return the members that contain no other member."""
    return {step: leaves(subset) for step, subset in fields.items() if step != _SELF}


def encode_fields(fields: FieldSet) -> dict[str, Any]:
    """Return the `fieldsV1` of a set, its keys in a server's order."""
    return {step: encode_fields(fields[step]) for step in sorted(fields, key=_order)}


def decode_fields(fields_v1: Any) -> FieldSet:
    """Return the set of a `fieldsV1`; raise ValueError if it is invalid."""
    return _decode(fields_v1, member=False) or EMPTY


def format_path(path: Path) -> str:
    """Return a path in the form of messages: ``.spec.containers[name="c"].image``."""
    return "".join(map(_format_step, path))


def _single(path: Path) -> FieldSet:
    result: FieldSet = {}
    for step in reversed(path):
        result = {step: result}
    return result


def _is_member(subset: FieldSet) -> bool:
    return not subset or _SELF in subset


def _inner_fields(subset: FieldSet) -> FieldSet:
    return {step: inner for step, inner in subset.items() if step != _SELF} if _SELF in subset else subset


def _decode(fields: Any, *, member: bool) -> FieldSet | None:
    if not is_object(fields):
        raise ValueError(f"{fields!r} is not a set of fields: a set of fields is an object of objects")
    inside: dict[str, FieldSet] = {}
    for step, content in fields.items():
        if step == _SELF:
            continue
        _order(step)  # raises ValueError for an invalid step
        inside[step] = _decode(content, member=not content) or {}
    return node(inside, member=member or _SELF in fields)


_RANKS: Final = {"f": 1, "k": 2, "v": 3, "i": 4}


@functools.lru_cache(maxsize=4096)
def _order(step: str) -> tuple[Any, ...]:
    """Return the key by which a server sorts steps; ValueError for an invalid step."""
    if step == _SELF:
        return (0,)
    rank = _RANKS.get(step[:1]) if step[1:2] == ":" else None
    if rank is None:
        raise ValueError(f"{step!r} is not a path element: it must begin with f:, k:, v: or i:")
    if rank == 1:
        return rank, step
    try:
        value = msgspec.json.decode(step[2:])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{step!r} is not a path element: {error}") from None
    if rank == 2 and not is_object(value):
        raise ValueError(f"{step!r} is not a path element: the keys of a list element must be an object")
    if rank == 4 and not isinstance(value, int):
        raise ValueError(f"{step!r} is not a path element: a list index must be an integer")
    if is_object(value):
        return rank, *((name, *_value_order(value[name])) for name in sorted(value))
    return rank, *_value_order(value)


def _value_order(value: Any) -> tuple[Any, ...]:
    """Return the sort key of a value: numbers, strings, booleans, and then other values by their JSON."""
    if isinstance(value, bool):
        return 2, value
    if isinstance(value, int | float):
        return 0, value
    if isinstance(value, str):
        return 1, value
    return 3, msgspec.json.encode(value, order="sorted")


def _format_step(step: str) -> str:
    if step.startswith("f:"):
        return "." + step[2:]
    value = msgspec.json.decode(step[2:])
    if is_object(value):
        return f"[{','.join(f'{name}={quoted(value[name])}' for name in sorted(value))}]"
    return f"[={quoted(value)}]" if step.startswith("v:") else f"[{value}]"
