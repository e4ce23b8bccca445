"""The checks of a server on the fields that a scale subresource reads, in addition to their schema."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.objects import Scale

from ..storage._json_values import go_text, go_type, is_map

_MOST: Final = (1 << 31) - 1  # a Scale counts in 32 bits


def with_scale(scale: Scale, obj: dict[str, Any], found: list[Violation]) -> list[Violation]:
    """Return the faults of an object and of the fields that its scale reads, in a server's order."""
    own = [
        *_number(obj, scale.spec_replicas),
        *_number(obj, scale.status_replicas),
        *(_text(obj, scale.label_selector) if scale.label_selector else ()),
    ]
    # The note that some rules were not checked comes last.
    end = len(found) - 1 if found and found[-1].field == "<nil>" else len(found)
    return [*found[:end], *own, *found[end:]] if own else found


def _number(obj: dict[str, Any], path: str) -> list[Violation]:
    value = _read(obj, path)
    if isinstance(value, _Astray):
        return [Violation("FieldValueInvalid", path, 0, value.why)]
    if isinstance(value, bool) or not isinstance(value, int):
        return [Violation("FieldValueInvalid", path, 0, _wrong(path, value, "int64").why)]
    if value < 0:
        return [Violation("FieldValueInvalid", path, value, "should be a non-negative integer")]
    if value > _MOST:
        return [Violation("FieldValueInvalid", path, value, f"should be less than or equal to {_MOST}")]
    return []


def _text(obj: dict[str, Any], path: str) -> list[Violation]:
    value = _read(obj, path, default="")
    if isinstance(value, str):
        return []
    why = value.why if isinstance(value, _Astray) else _wrong(path, value, "string").why
    return [Violation("FieldValueInvalid", path, "", why)]


class _Astray:
    """A path leads through a value that has no fields."""

    def __init__(self, why: str) -> None:
        self.why = why


def _wrong(path: str, value: Any, expected: str) -> _Astray:
    return _Astray(
        f"{path} accessor error: {go_text(value)} is of the type {go_type(value)}, expected {expected}"
    )


def _read(obj: Any, path: str, default: Any = 0) -> Any:
    for name in path.removeprefix(".").split("."):
        if obj is None:
            return default
        if not is_map(obj):
            return _wrong(path, obj, "map[string]interface{}")
        if name not in obj:
            return default
        obj = obj[name]
    return obj
