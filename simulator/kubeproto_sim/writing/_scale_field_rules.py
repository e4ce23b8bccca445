"""The rules of the fields of a custom resource that its scale subresource reads."""

from __future__ import annotations

from typing import Any, Final

from kubeproto.crd import Violation
from kubeproto.objects import Scale, is_object

from ..storage._json_values import go_text, go_type

_MAX_REPLICAS: Final = (1 << 31) - 1  # a Scale counts in 32 bits


def with_scale(scale: Scale, obj: dict[str, Any], violations: list[Violation]) -> list[Violation]:
    """Add the violations of the scale's fields to those of an object, in the order of a server."""
    field_violations = [
        *_number(obj, scale.spec_replicas),
        *_number(obj, scale.status_replicas),
        *(_text(obj, scale.label_selector) if scale.label_selector else ()),
    ]
    # The remark that some rules were not checked comes last.
    insertion_index = (
        len(violations) - 1 if violations and violations[-1].field == "<nil>" else len(violations)
    )
    return (
        [*violations[:insertion_index], *field_violations, *violations[insertion_index:]]
        if field_violations
        else violations
    )


def _number(obj: dict[str, Any], path: str) -> list[Violation]:
    value = _read(obj, path)
    if isinstance(value, _AccessError):
        return [Violation("FieldValueInvalid", path, 0, value.message)]
    if isinstance(value, bool) or not isinstance(value, int):
        return [Violation("FieldValueInvalid", path, 0, _type_error(path, value, "int64").message)]
    if value < 0:
        return [Violation("FieldValueInvalid", path, value, "should be a non-negative integer")]
    if value > _MAX_REPLICAS:
        return [
            Violation("FieldValueInvalid", path, value, f"should be less than or equal to {_MAX_REPLICAS}")
        ]
    return []


def _text(obj: dict[str, Any], path: str) -> list[Violation]:
    value = _read(obj, path, default="")
    if isinstance(value, str):
        return []
    message = value.message if isinstance(value, _AccessError) else _type_error(path, value, "string").message
    return [Violation("FieldValueInvalid", path, "", message)]


class _AccessError:
    """The error of a path that leads through a value without fields."""

    def __init__(self, message: str) -> None:
        self.message = message


def _type_error(path: str, value: Any, expected: str) -> _AccessError:
    return _AccessError(
        f"{path} accessor error: {go_text(value)} is of the type {go_type(value)}, expected {expected}"
    )


def _read(obj: Any, path: str, default: Any = 0) -> Any:
    for name in path.removeprefix(".").split("."):
        if obj is None:
            return default
        if not is_object(obj):
            return _type_error(path, obj, "map[string]interface{}")
        if name not in obj:
            return default
        obj = obj[name]
    return obj
