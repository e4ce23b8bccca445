"""How a server refuses a body that it cannot apply: a code, a reason and a message."""

from __future__ import annotations


class ApplyRefused(ValueError):
    """A patch that a server refuses. `code` and `message` are those of its Status; a 500 has no reason."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def reason(self) -> str:
        """The reason of the Status; a 500 of this kind has none."""
        return {400: "BadRequest", 422: "Invalid"}.get(self.code, "")
