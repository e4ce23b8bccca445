"""The error tree: one root, then who is to blame.

::

    KubeprotoError
    ├── LocalProtocolError      you: a bug on this side
    │   └── InvalidRequest      a request that must not be sent (also a ValueError)
    ├── RemoteProtocolError     the server, or a proxy before it: garbage, an endless line
    │   ├── InvalidObject       an object that does not fit its type
    │   └── ResponseTooLarge    a response longer than the client reads
    ├── ApiError                the server said no, in the regular way: it carries the Status
    │   ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405,
    │   │   NotAcceptable 406, RequestEntityTooLarge 413, UnsupportedMediaType 415, Invalid 422
    │   ├── Conflict 409, AlreadyExists 409, Gone 410 (both reasons: Expired and Gone)
    │   └── TooManyRequests 429, InternalError 500, ServerTimeout 500, ServiceUnavailable 503, Timeout 504
    └── TransportError          bytes did not make it
        ├── ConnectError        no connection was made: nothing was sent
        └── DeadlineExceeded    the time that was given ran out

What happens daily on a watch (a 410, a closed stream) is an event inside the machines, not an exception.
"""

from __future__ import annotations

from typing import Final

# How much of one error a log line or a terminal should show. A Status has some hundred characters, and Go's
# client quotes 2 KiB of what a proxy says.
MAX_MESSAGE: Final = 8 * 1024
MAX_QUOTE: Final = 2 * 1024
_BLANKS: Final = str.maketrans("\r\n\t", "   ")


def printable(text: str, limit: int = MAX_QUOTE) -> str:
    """Return a text from outside as a log may show it: on one line, escaped, cut at `limit`.

    A server, or the author of an object, could otherwise forge log lines and control the terminal.
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

    Its text is short enough for logs, and has no control characters but line ends: parts of it came from a
    server or a caller. `args` has it in full.
    """

    def __str__(self) -> str:
        said = super().__str__()
        return _escaped(said, MAX_MESSAGE, "\n\t", len(said))


class LocalProtocolError(KubeprotoError):
    """The caller did what the protocol does not allow: a bug in the calling program."""


class InvalidRequest(LocalProtocolError, ValueError):
    """A request that must not be sent; the message says which rule it breaks."""


class RemoteProtocolError(KubeprotoError):
    """The server sent what the protocol does not allow."""


class InvalidObject(RemoteProtocolError):
    """An object does not fit its type; the message names the object and the place."""


class ResponseTooLarge(RemoteProtocolError):
    """A response is longer than this side reads; the message names the option that permits more."""


class TransportError(KubeprotoError):
    """Bytes were lost on the way to or from the server."""


class ConnectError(TransportError):
    """No connection was made, so nothing was sent."""


class DeadlineExceeded(TransportError):
    """The time that was given for a request or for silence on a stream ran out."""
