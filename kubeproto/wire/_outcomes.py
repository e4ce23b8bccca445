"""The single classifier of failures, for retries and for the resync machine.

A server reports the same failure in many ways (a 410 has four forms, "too large" three spellings, a 429 often
no Status), and the same code has different meanings (a 500 without a reason is usually the caller's fault).
That knowledge is here and nowhere else; its users decide only how to react::

    Expired       the version or token is too old: list again
    TooLarge      the server has not reached that version yet
    Throttled     too many requests, refused before anything was done
    ServerFailed  a temporary failure: 5xx. With code 504 a write may have been done
    Unreadable    an object in the storage cannot be read: list again to see the others
    Refused       401, 403, 404: not for these credentials, or it does not exist
    Conflicted    409: the object has changed, or another manager owns a field
    Unsupported   the server is too old for a streaming list
    Rejected      the request itself is wrong and would fail again
    Unreachable   no connection: nothing was sent
    Broken        the connection was lost: the request may have been carried out
    TimedOut      the deadline of this client passed
    Garbled       the response breaks the protocol

`reason` is a line for a log, `code` the HTTP code (0 without a response), `retry_after` the seconds that
the server asks to wait.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct

from .._api_errors import ApiError
from .._errors import ConnectError, DeadlineExceeded, RemoteProtocolError, TransportError
from .._reasons import code_of
from ..objects import Status
from ._responses import retry_after


class _Outcome(Struct, frozen=True, gc=False):
    reason: str
    code: int = 0
    retry_after: float | None = None


class Expired(_Outcome, frozen=True, gc=False):
    """The version or token is too old. `token`, if the server offers one, continues inconsistently."""

    token: str = ""


class TooLarge(_Outcome, frozen=True, gc=False):
    """The requested version is ahead of the server."""


class Throttled(_Outcome, frozen=True, gc=False):
    """The server is busy, or a disruption budget forbids an eviction; nothing was done."""


class ServerFailed(_Outcome, frozen=True, gc=False):
    """The server, or a server behind it, failed for now. After a 504 the request may have been carried
    out."""


class Unreadable(_Outcome, frozen=True, gc=False):
    """The server cannot read an object in its own storage; a new list shows the others."""


class Refused(_Outcome, frozen=True, gc=False):
    """401, 403 or 404: patience may help, haste does not."""


class Conflicted(_Outcome, frozen=True, gc=False):
    """409: read the object again and decide again."""


class Unsupported(_Outcome, frozen=True, gc=False):
    """The server lacks streaming lists: list, then watch."""


class Rejected(_Outcome, frozen=True, gc=False):
    """The request itself is wrong, by its code or because a 500 carries no reason."""


class Unreachable(_Outcome, frozen=True, gc=False):
    """The connection was not established: nothing was sent."""


class Broken(_Outcome, frozen=True, gc=False):
    """The connection was lost; the request may have been carried out."""


class TimedOut(_Outcome, frozen=True, gc=False):
    """The deadline of this client passed; the request may have been carried out."""


class Garbled(_Outcome, frozen=True, gc=False):
    """The response breaks the protocol."""


Outcome: TypeAlias = (
    Expired
    | TooLarge
    | Throttled
    | ServerFailed
    | Unreadable
    | Refused
    | Conflicted
    | Unsupported
    | Rejected
    | Unreachable
    | Broken
    | TimedOut
    | Garbled
)

Failure: TypeAlias = Status | ApiError | TransportError | RemoteProtocolError

_TOO_LARGE: Final = "Too large resource version"

# A log line has space for about this much; the error itself keeps the rest.
_MAX_LOG_LINE: Final = 300


def classify(failure: Failure) -> Outcome:
    """Classify a refusal, the Status of an ERROR event, a lost connection or a garbled response."""
    match failure:
        case ApiError():
            delay = retry_after((), failure.status) if failure.retry_after is None else failure.retry_after
            return _classify_status(failure.status, _to_single_line(str(failure)), delay)
        case Status():
            return _classify_status(
                failure, _to_single_line(str(ApiError(failure))), retry_after((), failure)
            )
        case ConnectError():
            return Unreachable(_describe(failure))
        case DeadlineExceeded():
            return TimedOut(_describe(failure))
        case TransportError():
            return Broken(_describe(failure))
        case RemoteProtocolError():
            return Garbled(_describe(failure))


def _classify_status(status: Status, line: str, delay: float | None) -> Outcome:
    code = status.code or code_of(status.reason)
    if status.gone:
        return Expired(line, 410, delay, status.metadata.continue_)
    return _outcome_class(status, code, delay)(line, code, delay)


def _outcome_class(
    status: Status, code: int, delay: float | None
) -> type[TooLarge | Throttled | ServerFailed | Unreadable | Refused | Conflicted | Unsupported | Rejected]:
    if _is_too_large(status, code):
        return TooLarge
    match code:
        case 429:
            return Throttled
        case 401 | 403 | 404:
            return Refused
        case 409 if status.reason != "AlreadyExists":
            return Conflicted
        case 400 | 422 if _is_unsupported(status):
            return Unsupported
        case 500 if status.reason == "StorageReadError":
            return Unreadable
        case 500 if not status.reason and delay is None:
            return Rejected
        case 408:  # from a proxy that gave up waiting: the server has not seen the request
            return ServerFailed
        case _:
            # An ERROR event with an unknown Status is the server's failure too.
            return Rejected if 300 <= code < 500 else ServerFailed


def _is_too_large(status: Status, code: int) -> bool:
    # The cause's reason since 1.18.6, before that the cause's message, before 1.17 the message alone.
    if status.has_cause("ResourceVersionTooLarge"):
        return True
    if code != 504:
        return False
    return _TOO_LARGE in status.message or any(cause.message == _TOO_LARGE for cause in status.details.causes)


def _is_unsupported(status: Status) -> bool:
    # With the gate off a server forbids the field by name; an older one stumbles over the match beside it.
    # A cause at another field means that the request was built wrongly, which is the caller's mistake.
    causes = status.details.causes
    if not causes:
        return "sendInitialEvents" in status.message
    return any(
        cause.field == "sendInitialEvents" or "forbidden for watch" in cause.message for cause in causes
    )


def _describe(error: Exception) -> str:
    try:
        text = str(error)
    except Exception:  # an error of a third party may have a broken __str__
        text = ""
    return _to_single_line(text or type(error).__name__)


def _to_single_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LOG_LINE else line[:_MAX_LOG_LINE] + "…"
