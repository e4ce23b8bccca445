"""httpx's errors as ours: who is to blame, and whether anything was sent.

httpx has one `RemoteProtocolError` for garbage and for a connection that ended too early. Garbage would come
again with the request, a lost connection need not, so they are distinguished here by httpx's message.
"""

from __future__ import annotations

import ssl
from typing import Final

import httpx

from kubeproto import (
    ConnectError,
    DeadlineExceeded,
    KubeprotoError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)

# OSError is for an alert of TLS 1.3, which arrives in the first read, where httpx does not translate it.
FOREIGN: Final = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)

# The beginnings of httpcore's and h11's sentences for an end that came too early.
_CUT_SHORT: Final = ("Server disconnected", "peer closed connection", "peer unexpectedly closed")

# h11's messages that quote a line of the response, where a proxy may have put a cookie.
_QUOTING: Final = ("illegal ", "Illegal ", "malformed data")


def translated(error: Exception, request: str, *, unsent: bool = False) -> KubeprotoError:
    """Return our error for one of `FOREIGN`; its message names the `request`."""
    said = f"{request}: {_reason(error)}"
    match error:
        case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.ProxyError() | httpx.PoolTimeout():
            return ConnectError(said)
        case _ if unsent and lost(error):
            return ConnectError(said)
        case httpx.TimeoutException():
            return DeadlineExceeded(said)
        case httpx.RemoteProtocolError() if not str(error).startswith(_CUT_SHORT):
            return RemoteProtocolError(said)
        case httpx.StreamError():
            return LocalProtocolError(f"{request}: a body can be read once, inside its context")
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
            # h11 quotes the header that it refuses, and that may be the one with the token.
            return LocalProtocolError(f"{request}: httpx refuses the target or a header as malformed")
        case _:
            return TransportError(said)


def lost(error: object) -> bool:
    """True if a connection was lost: broken, or closed by the other side too early."""
    return isinstance(error, httpx.ReadError | httpx.WriteError) or (
        isinstance(error, httpx.RemoteProtocolError) and str(error).startswith(_CUT_SHORT)
    )


def _reason(error: BaseException) -> str:
    """Return the system's reason at the bottom: refused, unknown host, certificate has expired."""
    if isinstance(error, httpx.ProtocolError):
        return str(error).partition(":")[0] if str(error).startswith(_QUOTING) else str(error)
    match innermost := _innermost(error):
        case ssl.SSLCertVerificationError(verify_message=message):
            return f"the certificate is not accepted: {message}"
        case OSError(strerror=str(words)):
            return words
        case _:
            return str(innermost) or str(error) or type(error).__name__


def _innermost(error: BaseException) -> BaseException:
    # httpcore drops the cause of its errors, `from None`, but the system's own error is their context.
    twin = error.__cause__
    inner = error if twin is None else twin.__cause__ or twin.__context__ or twin
    while (cause := inner.__cause__) is not None:
        # Several addresses, several failures: one of them will do.
        members: tuple[BaseException, ...] = getattr(cause, "exceptions", (cause,))
        inner = members[0]
    return inner
