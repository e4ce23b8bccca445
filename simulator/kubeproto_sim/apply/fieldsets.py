"""Sets of fields, in the form in which managed fields are written: FieldsV1.

::

    {"f:metadata": {"f:labels": {".": {}, "f:app": {}}},          .metadata.labels, .metadata.labels.app
     "f:spec": {"f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}}}}}

A key is a step: ``f:`` a field, ``k:`` an element of a list by its keys, ``v:`` an element of a set, ``i:``
one by its index. What leads to ``{}`` is in the set; what leads further only if there is a ``.`` inside.
No map is empty otherwise, so equal sets are equal as maps. Sets are never changed in place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ..storage._json_values import is_map

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
_ME: Final[dict[str, FieldSet]] = {_SELF: {}}


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
    """Return what is below a step: its own membership and what is inside; None if neither."""
    if not inside:
        return {} if member else None
    return {**_ME, **inside} if member else inside


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    """Return the union."""
    if not a or not b:
        return a or b
    result = dict(a)
    for step, below in b.items():
        if (mine := a.get(step)) is None:
            result[step] = below
        elif mine is not below and step != _SELF:
            member = _is_member(mine) or _is_member(below)
            result[step] = node(union(_inside(mine), _inside(below)), member=member) or {}
    return result


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    """Return the intersection."""
    result: dict[str, FieldSet] = {}
    for step, mine in a.items():
        below = b.get(step)
        if below is None or step == _SELF:
            continue
        inside = intersection(_inside(mine), _inside(below))
        found = node(inside, member=_is_member(mine) and _is_member(below))
        if found is not None:
            result[step] = found
    return result


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """Return the difference. A field does not take with it what is inside of it."""
    if not b:
        return a
    result: dict[str, FieldSet] = {}
    for step, mine in a.items():
        below = b.get(step)
        if below is None:
            result[step] = mine
        elif step != _SELF:
            inside = difference(_inside(mine), _inside(below))
            found = node(inside, member=_is_member(mine) and not _is_member(below))
            if found is not None:
                result[step] = found
    return result


def has(fields: FieldSet, step: str) -> bool:
    """Return whether the field one step away is itself in the set."""
    below = fields.get(step)
    return below is not None and _is_member(below)


def below(fields: FieldSet, step: str) -> FieldSet:
    """Return what is in the set inside of the field one step away."""
    found = fields.get(step)
    return _inside(found) if found else EMPTY


def paths(fields: FieldSet) -> Iterator[Path]:
    """Yield every path of the set, in a server's order: the fields of a level before what is inside."""
    steps = sorted((step for step in fields if step != _SELF), key=_order)
    yield from ((step,) for step in steps if _is_member(fields[step]))
    for step in steps:
        yield from ((step, *path) for path in paths(_inside(fields[step])))


def leaves(fields: FieldSet) -> FieldSet:
    """Return the members that contain no other member."""
    return {step: leaves(held) for step, held in fields.items() if step != _SELF}


def encode_fields(fields: FieldSet) -> dict[str, Any]:
    """Return the `fieldsV1` of a set, its keys in a server's order."""
    return {step: encode_fields(fields[step]) for step in sorted(fields, key=_order)}


def decode_fields(fields_v1: Any) -> FieldSet:
    """Return the set of a `fieldsV1`; ValueError if it is not one."""
    return _decode(fields_v1, member=False) or EMPTY


def format_path(path: Path) -> str:
    """Return a path as messages have it: ``.spec.containers[name="c"].image``."""
    return "".join(map(_format_step, path))


def _single(path: Path) -> FieldSet:
    result: FieldSet = {}
    for step in reversed(path):
        result = {step: result}
    return result


def _is_member(below: FieldSet) -> bool:
    return not below or _SELF in below


def _inside(below: FieldSet) -> FieldSet:
    return {step: held for step, held in below.items() if step != _SELF} if _SELF in below else below


def _decode(fields: Any, *, member: bool) -> FieldSet | None:
    if not is_map(fields):
        raise ValueError(f"{fields!r} is not a set of fields: those are objects inside of objects")
    inside: dict[str, FieldSet] = {}
    for step, held in fields.items():
        if step == _SELF:
            continue
        _order(step)  # refuses what is not a step
        inside[step] = _decode(held, member=not held) or {}
    return node(inside, member=member or _SELF in fields)


_RANKS: Final = {"f": 1, "k": 2, "v": 3, "i": 4}


@functools.lru_cache(maxsize=4096)
def _order(step: str) -> tuple[Any, ...]:
    """Return a key that sorts steps as a server does; ValueError for what is not a step."""
    if step == _SELF:
        return (0,)
    rank = _RANKS.get(step[:1]) if step[1:2] == ":" else None
    if rank is None:
        raise ValueError(f"{step!r} is not a step of a path: those begin with f:, k:, v: or i:")
    if rank == 1:
        return rank, step
    try:
        value = msgspec.json.decode(step[2:])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"{step!r} is not a step of a path: {error}") from None
    if rank == 2 and not is_map(value):
        raise ValueError(f"{step!r} is not a step of a path: the keys of an element are an object")
    if rank == 4 and not isinstance(value, int):
        raise ValueError(f"{step!r} is not a step of a path: an index is a number")
    if is_map(value):
        return rank, *((name, *_value_order(value[name])) for name in sorted(value))
    return rank, *_value_order(value)


def _value_order(value: Any) -> tuple[Any, ...]:
    """Numbers come before strings, strings before booleans, the rest last by its text."""
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
    if is_map(value):
        return f"[{','.join(f'{name}={_text(value[name])}' for name in sorted(value))}]"
    return f"[={_text(value)}]" if step.startswith("v:") else f"[{value}]"


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
