"""The reasons of error responses, with their HTTP status codes and phrases, as Kubernetes pairs them.

A reason is more precise than its code: three codes have several reasons. This is the only table of both.
"""

from __future__ import annotations

from typing import Final

_CODES: Final = {
    "BadRequest": 400, "Unauthorized": 401, "Forbidden": 403, "NotFound": 404, "MethodNotAllowed": 405,
    "NotAcceptable": 406, "Conflict": 409, "AlreadyExists": 409, "Gone": 410, "Expired": 410,
    "RequestEntityTooLarge": 413, "UnsupportedMediaType": 415, "Invalid": 422, "TooManyRequests": 429,
    "InternalError": 500, "ServerTimeout": 500, "StorageReadError": 500, "ServiceUnavailable": 503,
    "Timeout": 504,
}  # fmt: skip


def _split_words(reason: str) -> str:
    return "".join(f" {letter}" if letter.isupper() else letter for letter in reason).strip()


# The phrases of status lines, as Go's server has them.
_PHRASES: Final = {
    # Most reasons are the phrase without its spaces: NotFound, Not Found.
    **{code: _split_words(reason) for reason, code in reversed(_CODES.items())},
    101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
    304: "Not Modified", 422: "Unprocessable Entity", 431: "Request Header Fields Too Large",
    500: "Internal Server Error", 502: "Bad Gateway", 504: "Gateway Timeout",
}  # fmt: skip

# Several reasons share a code; the first reason is the default of the code.
_REASONS: Final = {code: reason for reason, code in reversed(_CODES.items())}


def code_of(reason: str) -> int:
    """Return the HTTP status code that a reason implies; 0 if the reason is unknown."""
    return _CODES.get(reason, 0)


def reason_of(code: int) -> str:
    """Return the reason that an HTTP status code implies by itself; empty if there is none."""
    return _REASONS.get(code, "")


def phrase_of(code: int) -> str:
    """Return the phrase of an HTTP status line; empty if the code has none."""
    return _PHRASES.get(code, "")
