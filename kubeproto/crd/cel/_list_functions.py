"""CEL functions on lists and strings that Kubernetes adds, and those that rewritten rules call (`kp_…`)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...objects import is_list, is_object
from .._go_patterns import find_matches
from ._cel_values import escape_name

FunctionRow = tuple[str, bool, tuple[str, ...], str, Callable[..., Any]]
"""Name, True for a method, types of the parameters and of the result, implementation."""

_MAX_RANGE: Final = 100_000  # elements of lists.range; a server's cost limit is far below


def _is_sorted(values: list[Any]) -> bool:
    return all(a <= b for a, b in itertools.pairwise(values))


def _sum(values: list[Any]) -> Any:
    return sum(values)


def _min(values: list[Any]) -> Any:
    return min(_require_elements(values, "min"))


def _max(values: list[Any]) -> Any:
    return max(_require_elements(values, "max"))


def _require_elements(values: list[Any], function: str) -> list[Any]:
    if not values:
        raise ValueError(f"{function} called on empty list")
    return values


def _distinct(values: list[Any]) -> list[Any]:
    return [value for index, value in enumerate(values) if value not in values[:index]]


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values)


def _contains_all(values: list[Any], others: list[Any]) -> bool:
    return all(value in values for value in others)


def _equivalent(values: list[Any], others: list[Any]) -> bool:
    return _contains_all(values, others) and _contains_all(others, values)


def _intersects(values: list[Any], others: list[Any]) -> bool:
    return any(value in others for value in values)


def _find(text: str, pattern: str) -> str:
    match = next(find_matches(pattern, text), None)
    return match[0] if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    matches = [match[0] for match in find_matches(pattern, text)]
    return matches if limit < 0 else matches[:limit]


def _reversed(values: list[Any]) -> list[Any]:
    return values[::-1]


def _sorted_by(keys: list[Any], values: list[Any]) -> list[Any]:
    return [values[index] for index in sorted(range(len(values)), key=keys.__getitem__)]


def _index_of(values: list[Any], value: Any) -> int:
    return values.index(value) if value in values else -1


def _last_index_of(values: list[Any], value: Any) -> int:
    reversed_index = _index_of(values[::-1], value)
    return -1 if reversed_index < 0 else len(values) - 1 - reversed_index


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(values):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return values[start:end]


def _flatten(values: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise ValueError("level must be non-negative")
    flat: list[Any] = []
    for value in values:
        if is_list(value) and depth:
            flat += _flatten(value, depth - 1) if depth > 1 else value
        else:
            flat.append(value)
    return flat


def _range(count: int) -> list[int]:
    if count > _MAX_RANGE:
        raise ValueError(f"lists.range({count}) has too many elements")
    return list(range(count))


def _keys(values: Any) -> list[Any]:
    return list(values) if is_object(values) else list(range(len(values)))


def _join_maps(maps: list[dict[Any, Any]]) -> dict[Any, Any]:
    joined: dict[Any, Any] = {}
    for map_ in maps:
        for key, value in map_.items():
            if key in joined:
                raise ValueError(f"insert failed: key {key!r} already exists")
            joined[key] = value
    return joined


def _integer(number: Any) -> Any:
    if isinstance(number, float):
        raise TypeError("invalid data, expected int, got float64")
    return number


def _same(schema_json: str, left: Any, right: Any) -> bool:
    schema = _decode_json(schema_json)
    return _encode_sorted(schema, left) == _encode_sorted(schema, right)


def _union(left: list[Any], right: list[Any]) -> list[Any]:
    return _distinct([*left, *right])


def _merge(keys_json: str, left: list[Any], right: list[Any]) -> list[Any]:
    names = [escape_name(name) or name for name in _decode_json(keys_json)]
    return list({_key(names, element): element for element in (*left, *right)}.values())


def _key(names: list[str], element: dict[str, Any]) -> bytes:
    return msgspec.json.encode([element.get(name) for name in names])


@functools.lru_cache(maxsize=256)
def _decode_json(text: str) -> Any:
    return msgspec.json.decode(text)


def _encode_sorted(schema: Any, value: Any) -> bytes:
    """Return a value as JSON in which sets and map lists are sorted, because their order is irrelevant."""
    return msgspec.json.encode(_sort_associative(schema, value), order="deterministic")


def _sort_associative(schema: Any, value: Any) -> Any:
    if is_object(value):
        properties = {
            escape_name(name): property_ for name, property_ in schema.get("properties", {}).items()
        }
        additional = schema.get("additionalProperties")
        default = additional if is_object(additional) else {}
        return {
            name: _sort_associative(properties.get(name, default), member) for name, member in value.items()
        }
    if is_list(value):
        elements = [_sort_associative(schema.get("items", {}), element) for element in value]
        if schema.get("x-kubernetes-list-type") in ("set", "map"):
            elements.sort(key=lambda element: msgspec.json.encode(element, order="deterministic"))
        return elements
    return value


_ALL_TYPES: Final = (
    "BOOL",
    "INT",
    "UINT",
    "DOUBLE",
    "STRING",
    "BYTES",
    "LIST",
    "MAP",
    "TIMESTAMP",
    "DURATION",
)
FUNCTIONS: Final[tuple[FunctionRow, ...]] = (
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
    *(("kp_indexOf", False, ("LIST", type_), "INT", _index_of) for type_ in _ALL_TYPES),
    *(("kp_lastIndexOf", False, ("LIST", type_), "INT", _last_index_of) for type_ in _ALL_TYPES),
    *(("kp_keys", False, (type_,), "LIST", _keys) for type_ in ("LIST", "MAP")),
    ("kp_joined", False, ("LIST",), "MAP", _join_maps),
    *(("kp_int", False, (type_,), "DYN", _integer) for type_ in ("INT", "DOUBLE")),
    *(("kp_same", False, ("STRING", type_, type_), "BOOL", _same) for type_ in ("LIST", "MAP")),
    ("kp_union", False, ("LIST", "LIST"), "LIST", _union),
    ("kp_merged", False, ("STRING", "LIST", "LIST"), "LIST", _merge),
)
