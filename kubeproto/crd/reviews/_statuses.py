"""The Status of a refusal, as a webhook sends it."""

from __future__ import annotations

from typing import Any


def failure(message: str, reason: str = "", code: int = 0) -> dict[str, Any]:
    """A Status as it is inside a review."""
    status: dict[str, Any] = {"metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if code:
        status["code"] = code
    return status
