"""The Status of a refusal, as a webhook sends it."""

from __future__ import annotations

from typing import Any, Final

_REASONS: Final = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed",
    406: "NotAcceptable", 409: "Conflict", 410: "Gone", 413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError",
    503: "ServiceUnavailable", 504: "Timeout",
}  # fmt: skip


def reason_for(code: int) -> str:
    """The reason that goes with an HTTP status code; empty if none does."""
    return _REASONS.get(code, "")


def failure(message: str, reason: str = "", code: int = 0) -> dict[str, Any]:
    """A Status as it stands inside a review."""
    status: dict[str, Any] = {"metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if code:
        status["code"] = code
    return status
