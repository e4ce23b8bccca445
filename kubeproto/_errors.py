"""The error tree: one root, then who is to blame.

::

    KubeprotoError
    ├── LocalProtocolError      you: a bug on this side
    │   └── InvalidRequest      a request that must not be sent (also a ValueError)
    ├── RemoteProtocolError     the server, or what stands before it: garbage, an endless line
    │   ├── InvalidObject       an object that does not fit its type
    │   └── ResponseTooLarge    a response longer than the client reads
    ├── ApiError                the server said no, in the regular way: it carries the Status
    │   ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405,
    │   │   NotAcceptable 406, RequestEntityTooLarge 413, UnsupportedMediaType 415, Invalid 422
    │   ├── Conflict 409, AlreadyExists 409, Gone 410 (both reasons: Expired and Gone)
    │   └── TooManyRequests 429, InternalError 500, ServerTimeout 500, ServiceUnavailable 503, Timeout 504
    └── TransportError          bytes did not make it
        ├── ConnectError        no connection came to be: nothing was sent
        └── DeadlineExceeded    the time that was given ran out

What happens daily on a watch (a 410, a closed stream) is an event inside the machines, not an exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ._reasons import reason_of

if TYPE_CHECKING:
    from .objects import Status


# What a log line or a terminal should take of one error. A Status has some hundred characters, and Go's
# client quotes 2 KiB of what a proxy says.
MAX_MESSAGE: Final = 8 * 1024
MAX_QUOTE: Final = 2 * 1024
_BLANKS: Final = str.maketrans("\r\n\t", "   ")


def printable(text: str, limit: int = MAX_QUOTE) -> str:
    """Return a text from outside as a log may show it: on one line, escaped, cut at `limit`.

    A server, or whoever writes an object, could otherwise forge log lines and talk to the terminal.
    """
    # Messages of several lines are common, and read well on one; other control characters are not common.
    return _escaped(text[: limit + 1].translate(_BLANKS), limit, "", len(text))


def _escaped(text: str, limit: int, kept: str, size: int) -> str:
    cut = text[:limit]
    if not cut.isprintable():
        cut = "".join(
            sign if sign.isprintable() or sign in kept else sign.encode("unicode_escape").decode()
            for sign in cut
        )
    return cut if size <= limit else f"{cut}… ({size} characters)"


class KubeprotoError(Exception):
    """The root of every error that this project raises on purpose.

    Its text is of a length for logs, and holds no control characters but line ends: parts of it came from a
    server or a caller. What is in `args` is whole.
    """

    def __str__(self) -> str:
        said = super().__str__()
        return _escaped(said, MAX_MESSAGE, "\n\t", len(said))


class LocalProtocolError(KubeprotoError):
    """This side did what the protocol does not allow: a bug in the calling program."""


class InvalidRequest(LocalProtocolError, ValueError):
    """A request that must not be sent; the message says which rule it breaks."""


class RemoteProtocolError(KubeprotoError):
    """The other side sent what the protocol does not allow."""


class InvalidObject(RemoteProtocolError):
    """An object does not fit its type; the message names the object and the place."""


class ResponseTooLarge(RemoteProtocolError):
    """A response is longer than this side reads; the message names the option that permits more."""


class ApiError(KubeprotoError):
    """The server refused a request. `status` is its answer, `retry_after` the seconds it asks to wait."""

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
        what = " ".join(word for word in (str(self.status.code or ""), self.status.reason) if word)
        parts = self.request, what, self.status.message
        return ": ".join(printable(part, MAX_MESSAGE) for part in parts if part)

    def __reduce__(self) -> tuple[object, ...]:
        return _remake_api_error, (type(self), self.status, self.request, self.retry_after)


def _remake_api_error(
    kind: type[ApiError], status: Status, request: str, retry_after: float | None
) -> ApiError:
    return kind(status, request=request, retry_after=retry_after)


class BadRequest(ApiError):
    """400: the request makes no sense to the server."""


class Unauthorized(ApiError):
    """401: the credentials are missing, wrong or expired."""


class Forbidden(ApiError):
    """403: these credentials may not do this, or an admission rule forbids it."""


class NotFound(ApiError):
    """404: no such object, kind or path."""


class MethodNotAllowed(ApiError):
    """405: the resource does not know this verb."""


class NotAcceptable(ApiError):
    """406: the server cannot answer in the form that was asked for."""


class Conflict(ApiError):
    """409: the object has changed, a precondition failed, or another manager owns a field."""


class AlreadyExists(ApiError):
    """409: the name is taken, perhaps by an object that is still being deleted."""


class Gone(ApiError):
    """410: the resource version or continue token is too old (reasons Expired and Gone)."""


class RequestEntityTooLarge(ApiError):
    """413: the body or patch is too large."""


class UnsupportedMediaType(ApiError):
    """415: the server does not take a body of this type here."""


class Invalid(ApiError):
    """422: the object or the options break a rule; the causes name the fields."""


class TooManyRequests(ApiError):
    """429: the server is busy, not ready, or a disruption budget forbids an eviction."""


class InternalError(ApiError):
    """500 with this reason: the server failed, or a webhook did."""


class ServerTimeout(ApiError):
    """500 with this reason: the server could not finish in time and says to try again."""


class ServiceUnavailable(ApiError):
    """503: the server, or the one behind it, cannot answer now."""


class Timeout(ApiError):
    """504: the deadline passed; a write may have happened."""


class TransportError(KubeprotoError):
    """Bytes did not make it there or back."""


class ConnectError(TransportError):
    """No connection came to be, so nothing was sent."""


class DeadlineExceeded(TransportError):
    """The time that was given for a request or for silence on a stream ran out."""


_KINDS: Final[tuple[type[ApiError], ...]] = (
    BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, Conflict, AlreadyExists,
    Gone, RequestEntityTooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, ServerTimeout,
    ServiceUnavailable, Timeout,
)  # fmt: skip
_BY_REASON: Final[dict[str, type[ApiError]]] = {**{kind.__name__: kind for kind in _KINDS}, "Expired": Gone}


def api_error(status: Status, *, request: str = "", retry_after: float | None = None) -> ApiError:
    """The error that a Status means: by its reason, else by its code, else plain `ApiError`."""
    kind = _BY_REASON.get(status.reason) or _by_code(status.code)
    return kind(status, request=request, retry_after=retry_after)


def _by_code(code: int) -> type[ApiError]:
    # A 500 without a reason is mostly the caller's fault (a bad resource version, a schema error in an
    # apply), so it stays a plain ApiError.
    return ApiError if code == 500 else _BY_REASON.get(reason_of(code), ApiError)
