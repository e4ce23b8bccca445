"""Constructors of violations, with the reasons and messages of a server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubeproto.crd import Violation
from kubeproto.objects import Quantity

Json = dict[str, Any]
Violations = Iterator[Violation]


def required(field: str, detail: str = "") -> Violation:
    return Violation("FieldValueRequired", field, detail=detail)


def invalid(field: str, value: Any, detail: str) -> Violation:
    return Violation("FieldValueInvalid", field, value, detail)


def forbidden(field: str, detail: str) -> Violation:
    return Violation("FieldValueForbidden", field, detail=detail)


def duplicate(field: str, value: Any) -> Violation:
    return Violation("FieldValueDuplicate", field, value)


def unsupported(field: str, value: Any, supported: tuple[str, ...]) -> Violation:
    values = ", ".join(f'"{each}"' for each in supported)
    return Violation("FieldValueNotSupported", field, value, f"supported values: {values}")


def number(text: Any) -> float:
    """Return a quantity as a number; 0 if it is invalid."""
    try:
        return float(Quantity(str(text)))
    except (ValueError, ArithmeticError):
        return 0.0
