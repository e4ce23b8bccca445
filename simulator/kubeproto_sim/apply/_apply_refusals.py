"""The refusals of an apply: a body that cannot be applied, or conflicts with other managers."""

from __future__ import annotations

from msgspec import Struct

from kubeproto.objects import StatusCause

from ._field_managers import Owner
from .fieldsets import FieldSet, Path, fieldset, format_path, intersection


class FieldConflict(Struct, frozen=True):
    """A field that another manager owns with another value."""

    owner: Owner
    path: Path


class Conflicts(Struct, frozen=True):
    """The refusal of an apply: every field in conflict, by owner and path."""

    conflicts: tuple[FieldConflict, ...]

    def without(self, allowed: FieldSet) -> Conflicts | None:
        """Return the conflicts without those about the allowed fields; None if none remain."""
        remaining = [
            conflict for conflict in self.conflicts if not intersection(fieldset([conflict.path]), allowed)
        ]
        return Conflicts(tuple(remaining)) if remaining else None

    @property
    def message(self) -> str:
        """The message of the Status."""
        if len(self.conflicts) == 1:
            [only] = self.conflicts
            return f"Apply failed with 1 conflict: conflict with {only.owner}: {format_path(only.path)}"
        lines: list[str] = []
        for owner in dict.fromkeys(conflict.owner for conflict in self.conflicts):
            lines.append(f"conflicts with {owner}:")
            lines += [
                f"- {format_path(conflict.path)}" for conflict in self.conflicts if conflict.owner == owner
            ]
        return f"Apply failed with {len(self.conflicts)} conflicts: " + "\n".join(lines)

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        """The causes of the Status, the only content of its details."""
        return tuple(
            StatusCause(
                reason="FieldManagerConflict",
                message=f"conflict with {conflict.owner}",
                field=format_path(conflict.path),
            )
            for conflict in self.conflicts
        )


class ApplyRejection(ValueError):
    """A server refuses a body or a patch. `code` and `message` are those of its Status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def reason(self) -> str:
        """The reason of the Status; a 500 of this kind has none."""
        return {400: "BadRequest", 422: "Invalid"}.get(self.code, "")
