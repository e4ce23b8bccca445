"""The error tree: one root, then who is to blame.

::

    KubeprotoError
    ├── LocalProtocolError      a bug on this side
    │   └── InvalidRequest      a request that must not be sent (also a ValueError)
    ├── RemoteProtocolError     the server, or a proxy before it: garbage, an endless line
    │   ├── InvalidObject       an object that does not fit its type
    │   └── ResponseTooLarge    a response longer than the client reads
    ├── ApiError                a regular refusal of the server, with its Status
    │   ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405,
    │   │   NotAcceptable 406, RequestEntityTooLarge 413, UnsupportedMediaType 415, Invalid 422
    │   ├── Conflict 409, AlreadyExists 409, Gone 410 (both reasons: Expired and Gone)
    │   └── TooManyRequests 429, InternalError 500, ServerTimeout 500, ServiceUnavailable 503, Timeout 504
    ├── TransportError          bytes were not delivered
    │   ├── ConnectError        no connection was made: nothing was sent
    │   └── DeadlineExceeded    a timeout of this client passed
    ├── ConfigError             invalid settings (also a ValueError)
    └── CredentialsError        no credentials for a request

Daily events of a watch (a 410, a closed stream) are values inside the machines, not exceptions.
"""

from __future__ import annotations

from typing import Final

# The limits for an error in a log line or on a terminal. A Status has some hundred characters, and Go's
# client quotes 2 KiB of a proxy's page.
MAX_MESSAGE: Final = 8 * 1024
MAX_QUOTE: Final = 2 * 1024
_BLANKS: Final = str.maketrans("\r\n\t", "   ")


def printable(text: str, limit: int = MAX_QUOTE) -> str:
    """Return a foreign text in a form for logs: on a single line, escaped, truncated at `limit`.

    A server, or the author of an object, could otherwise forge log lines and control the terminal.
    """
    # Messages of several lines are common and stay readable on a single line.
    return _escape(text[: limit + 1].translate(_BLANKS), limit, "", len(text))


def _escape(text: str, limit: int, allowed: str, size: int) -> str:
    escaped = text[:limit]
    if not escaped.isprintable():
        escaped = "".join(
            character
            if character.isprintable() or character in allowed
            else character.encode("unicode_escape").decode()
            for character in escaped
        )
    return escaped if size <= limit else f"{escaped}… ({size} characters)"


class KubeprotoError(Exception):
    """The root of every error that this project raises on purpose.

    Its text is short enough for logs, and has no control characters but line ends: parts of it came from a
    server or a caller. `args` has it in full.
    """

    def __str__(self) -> str:
        message = super().__str__()
        return _escape(message, MAX_MESSAGE, "\n\t", len(message))


class LocalProtocolError(KubeprotoError):
    """The caller broke the protocol: a bug in the calling program."""


class InvalidRequest(LocalProtocolError, ValueError):
    """A request that must not be sent; the message names the broken rule."""


class RemoteProtocolError(KubeprotoError):
    """The server broke the protocol."""


class InvalidObject(RemoteProtocolError):
    """An object does not fit its type; the message names the object and the field."""


class ResponseTooLarge(RemoteProtocolError):
    """A response is longer than the limit of this client; the message names the option that raises it."""


class TransportError(KubeprotoError):
    """Bytes were lost on the way to or from the server."""


class ConnectError(TransportError):
    """No connection was made, so nothing was sent."""


class DeadlineExceeded(TransportError):
    """The timeout of a request, or of a silent stream, passed."""


class ConfigError(KubeprotoError, ValueError):
    """Invalid settings of a client; the message names the source and the problem, and no secret."""


class CredentialsError(KubeprotoError):
    """The credentials of a request could not be obtained; the message has the reason, and no secret."""
