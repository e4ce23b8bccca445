"""CEL functions on lists and strings that Kubernetes adds, and those that rewritten rules call."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...objects import is_list, is_object
from .._patterns import find_matches
from ._values import escape

Row = tuple[str, bool, tuple[str, ...], str, Callable[..., Any]]
_MOST: Final = 100_000  # elements of lists.range; a server's cost limit is far below


def _is_sorted(values: list[Any]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))


def _sum(values: list[Any]) -> Any:
    return sum(values)


def _min(values: list[Any]) -> Any:
    return min(_filled(values, "min"))


def _max(values: list[Any]) -> Any:
    return max(_filled(values, "max"))


def _filled(values: list[Any], function: str) -> list[Any]:
    if not values:
        raise ValueError(f"{function} called on empty list")
    return values


def _distinct(values: list[Any]) -> list[Any]:
    return [one for at, one in enumerate(values) if one not in values[:at]]


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values)


def _contains_all(values: list[Any], others: list[Any]) -> bool:
    return all(one in values for one in others)


def _equivalent(values: list[Any], others: list[Any]) -> bool:
    return _contains_all(values, others) and _contains_all(others, values)


def _intersects(values: list[Any], others: list[Any]) -> bool:
    return any(one in others for one in values)


def _find(text: str, pattern: str) -> str:
    found = next(find_matches(pattern, text), None)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in find_matches(pattern, text)]
    return found if limit < 0 else found[:limit]


def _reversed(values: list[Any]) -> list[Any]:
    return values[::-1]


def _sorted_by(keys: list[Any], values: list[Any]) -> list[Any]:
    return [values[at] for at in sorted(range(len(values)), key=keys.__getitem__)]


def _index_of(values: list[Any], one: Any) -> int:
    return values.index(one) if one in values else -1


def _last_index_of(values: list[Any], one: Any) -> int:
    at = _index_of(values[::-1], one)
    return at if at < 0 else len(values) - 1 - at


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise ValueError("level must be non-negative")
    found: list[Any] = []
    for one in values:
        found += (_flatten(one, depth - 1) if depth > 1 else one) if is_list(one) and depth else [one]
    return found


def _range(count: int) -> list[int]:
    if count > _MOST:
        raise ValueError(f"lists.range of {count} elements")
    return list(range(count))


def _keys(values: Any) -> list[Any]:
    return list(values) if is_object(values) else list(range(len(values)))


def _joined(maps: list[dict[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for one in maps:
        for key, value in one.items():
            if key in found:
                raise ValueError(f"insert failed: key {key!r} already exists")
            found[key] = value
    return found


def _integer(number: Any) -> Any:
    if isinstance(number, float):
        raise TypeError("invalid data, expected int, got float64")
    return number


def _same(schema: str, one: Any, other: Any) -> bool:
    read = _schema(schema)
    return _in_order(read, one) == _in_order(read, other)


def _union(one: list[Any], other: list[Any]) -> list[Any]:
    return _distinct([*one, *other])


def _merged(keys: str, one: list[Any], other: list[Any]) -> list[Any]:
    names = [escape(name) or name for name in _schema(keys)]
    found = {_key(names, element): element for element in one}
    return list((found | {_key(names, element): element for element in other}).values())


def _key(names: list[str], element: dict[str, Any]) -> bytes:
    return msgspec.json.encode([element.get(name) for name in names])


@functools.lru_cache(maxsize=256)
def _schema(text: str) -> Any:
    return msgspec.json.decode(text)


def _in_order(schema: Any, value: Any) -> bytes:
    """Return a value as a string in which sets and map lists are sorted, as their order does not matter."""
    return msgspec.json.encode(_ordered(schema, value), order="deterministic")


def _ordered(schema: Any, value: Any) -> Any:
    if is_object(value):
        known = {escape(name): below for name, below in schema.get("properties", {}).items()}
        others = schema.get("additionalProperties")
        return {
            name: _ordered(known[name] if name in known else others if is_object(others) else {}, one)
            for name, one in value.items()
        }
    if is_list(value):
        ordered = [_ordered(schema.get("items", {}), element) for element in value]
        if schema.get("x-kubernetes-list-type") in ("set", "map"):
            ordered.sort(key=lambda one: msgspec.json.encode(one, order="deterministic"))
        return ordered
    return value


_ANY: Final = ("BOOL", "INT", "UINT", "DOUBLE", "STRING", "BYTES", "LIST", "MAP", "TIMESTAMP", "DURATION")
FUNCTIONS: Final[tuple[Row, ...]] = (
    ("isSorted", True, ("LIST",), "BOOL", _is_sorted),
    ("sum", True, ("LIST",), "DYN", _sum),
    ("min", True, ("LIST",), "DYN", _min),
    ("max", True, ("LIST",), "DYN", _max),
    ("distinct", True, ("LIST",), "LIST", _distinct),
    ("sort", True, ("LIST",), "LIST", _sorted),
    ("slice", True, ("LIST", "INT", "INT"), "LIST", _slice),
    ("flatten", True, ("LIST",), "LIST", _flatten),
    ("flatten", True, ("LIST", "INT"), "LIST", _flatten),
    ("lists.range", False, ("INT",), "LIST", _range),
    ("sets.contains", False, ("LIST", "LIST"), "BOOL", _contains_all),
    ("sets.equivalent", False, ("LIST", "LIST"), "BOOL", _equivalent),
    ("sets.intersects", False, ("LIST", "LIST"), "BOOL", _intersects),
    ("find", True, ("STRING", "STRING"), "STRING", _find),
    ("findAll", True, ("STRING", "STRING"), "LIST", _find_all),
    ("findAll", True, ("STRING", "STRING", "INT"), "LIST", _find_all),
    ("kp_reverse", False, ("LIST",), "LIST", _reversed),
    ("kp_sorted_by", False, ("LIST", "LIST"), "LIST", _sorted_by),
    *(("kp_indexOf", False, ("LIST", one), "INT", _index_of) for one in _ANY),
    *(("kp_lastIndexOf", False, ("LIST", one), "INT", _last_index_of) for one in _ANY),
    *(("kp_keys", False, (one,), "LIST", _keys) for one in ("LIST", "MAP")),
    ("kp_joined", False, ("LIST",), "MAP", _joined),
    *(("kp_int", False, (one,), "DYN", _integer) for one in ("INT", "DOUBLE")),
    *(("kp_same", False, ("STRING", one, one), "BOOL", _same) for one in ("LIST", "MAP")),
    ("kp_union", False, ("LIST", "LIST"), "LIST", _union),
    ("kp_merged", False, ("STRING", "LIST", "LIST"), "LIST", _merged),
)
