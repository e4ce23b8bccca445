"""The errors of refused requests, with the Status of the server; `_errors` shows the whole tree.

They are in a layer above the objects, because a Status is an object.
"""

from __future__ import annotations

from typing import Final

from ._errors import MAX_MESSAGE, KubeprotoError, printable
from ._reasons import reason_of
from .objects import Status


class ApiError(KubeprotoError):
    """The server refused a request. `retry_after` is the number of seconds before a retry."""

    def __init__(self, status: Status, *, request: str = "", retry_after: float | None = None) -> None:
        super().__init__(status, request, retry_after)
        self.status = status
        self.request = request
        self.retry_after = retry_after

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The machine-readable reason, such as ``NotFound``; empty when the server gave none."""
        return self.status.reason

    def __str__(self) -> str:
        outcome = f"{self.status.code or ''} {self.status.reason}".strip()
        parts = self.request, outcome, self.status.message
        return ": ".join(printable(part, MAX_MESSAGE) for part in parts if part)

    def __reduce__(self) -> tuple[object, ...]:
        return _remake_api_error, (type(self), self.status, self.request, self.retry_after)


def _remake_api_error(
    kind: type[ApiError], status: Status, request: str, retry_after: float | None
) -> ApiError:
    return kind(status, request=request, retry_after=retry_after)


class BadRequest(ApiError):
    """400: the request is malformed."""


class Unauthorized(ApiError):
    """401: the credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """403: these credentials may not do this, or an admission rule forbids it."""


class NotFound(ApiError):
    """404: the object, kind or path does not exist."""


class MethodNotAllowed(ApiError):
    """405: the resource does not support this verb."""


class NotAcceptable(ApiError):
    """406: the server cannot respond in the requested form."""


class Conflict(ApiError):
    """409: the object has changed, a precondition failed, or another manager owns a field."""


class AlreadyExists(ApiError):
    """409: an object of this name exists, and may be in deletion."""


class Gone(ApiError):
    """410: the resource version or continue token is too old (reasons Expired and Gone)."""


class RequestEntityTooLarge(ApiError):
    """413: the body or patch is too large."""


class UnsupportedMediaType(ApiError):
    """415: the server does not accept a body of this type here."""


class Invalid(ApiError):
    """422: the object or the options break a rule; the causes name the fields."""


class TooManyRequests(ApiError):
    """429: the server is busy, not ready, or a disruption budget forbids an eviction."""


class InternalError(ApiError):
    """500 with this reason: the server failed, or a webhook did."""


class ServerTimeout(ApiError):
    """500 with this reason: the server could not finish in time, and the request may be retried."""


class ServiceUnavailable(ApiError):
    """503: the server, or a server behind it, is not available now."""


class Timeout(ApiError):
    """504: the deadline passed; a write may have happened."""


_KINDS: Final[tuple[type[ApiError], ...]] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Conflict, AlreadyExists,
    Gone, RequestEntityTooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, ServerTimeout,
    ServiceUnavailable, Timeout,
)  # fmt: skip
_BY_REASON: Final[dict[str, type[ApiError]]] = {**{kind.__name__: kind for kind in _KINDS}, "Expired": Gone}


def api_error(status: Status, *, request: str = "", retry_after: float | None = None) -> ApiError:
    """Return the error for a Status: by its reason, else by its code, else plain `ApiError`."""
    kind = _BY_REASON.get(status.reason) or _by_code(status.code)
    return kind(status, request=request, retry_after=retry_after)


def _by_code(code: int) -> type[ApiError]:
    # A 500 without a reason is usually the caller's fault (a bad resource version, a schema error in an
    # apply), so it stays a plain ApiError.
    return ApiError if code == 500 else _BY_REASON.get(reason_of(code), ApiError)
