"""Violations in the wording of a server: the path of a field, a reason, the value and the broken rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..objects import Resource, Status, StatusCause, StatusDetails

NO_VALUE: Final = msgspec.UNSET
# The path of a violation that concerns no single field, as a Go server prints it.
NO_FIELD: Final = "<nil>"

_TITLES: Final = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "FieldValueTypeInvalid": "Invalid value",
    "InternalError": "Internal error",
}
_WITHOUT_VALUE: Final = ("FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError")


class Violation(Struct, frozen=True):
    """A field that breaks a rule. `str()` is the line that kubectl would print."""

    reason: str
    field: str
    value: Any = NO_VALUE
    detail: str = ""

    @property
    def message(self) -> str:
        """The message of the cause in a Status: the reason, the value, the rule."""
        title = _TITLES[self.reason]
        if self.value is not NO_VALUE and self.reason not in _WITHOUT_VALUE:
            title += f": {format_value(self.value)}"
        return f"{title}: {self.detail}" if self.detail else title

    def cause(self) -> StatusCause:
        """Return the violation as a cause of a Status."""
        return StatusCause(reason=self.reason, message=self.message, field=self.field)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> Violation:
    """Return the violation for a missing field that is required."""
    return Violation("FieldValueRequired", field, detail=detail)


def invalid(field: str, value: Any, detail: str) -> Violation:
    """Return the violation for a value that breaks a rule."""
    return Violation("FieldValueInvalid", field, value, detail)


def forbidden(field: str, detail: str) -> Violation:
    """Return the violation for a field that must not be set."""
    return Violation("FieldValueForbidden", field, detail=detail)


def duplicate(field: str, value: Any) -> Violation:
    """Return the violation for a duplicate where values must be unique."""
    return Violation("FieldValueDuplicate", field, value)


def unsupported(field: str, value: Any, supported: Sequence[Any]) -> Violation:
    """Return the violation for a value that is not in the list of supported values."""
    values = (format_value(value if isinstance(value, str) else format_value(value)) for value in supported)
    return Violation(
        "FieldValueNotSupported", field, value, f"supported values: {', '.join(values)}" if supported else ""
    )


def invalid_status(resource: Resource, name: str, violations: Iterable[Violation]) -> Status:
    """Return the Status (422) of a server for an object of this resource with these violations."""
    causes = tuple(violation.cause() for violation in violations)
    lines = [f"{cause.field}: {cause.message}" for cause in causes]
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    message = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    return Status(
        status="Failure",
        message=f"{kind} {format_value(name)} is invalid: {message}",
        reason="Invalid",
        details=StatusDetails(name=name, group=resource.group, kind=resource.kind, causes=causes),
        code=422,
    )


def format_value(value: Any) -> str:
    """Return a value for a message: JSON, but 5.0 without a fraction, as Go writes it."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return msgspec.json.encode(value).decode()


def child(path: str, name: str) -> str:
    """Return the path of a member of an object."""
    return f"{path}.{name}" if path else name


def key(path: str, name: object) -> str:
    """Return the path of an entry of a map, or of an element of a list."""
    return f"{path}[{name}]"
