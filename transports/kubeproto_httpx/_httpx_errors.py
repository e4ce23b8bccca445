"""httpx's errors as ours: who is to blame, and whether anything was sent.

httpx has one `RemoteProtocolError` both for malformed bytes and for a connection that ended too early. A
request that is sent again gets the same malformed bytes, but perhaps a better connection, so httpx's message
decides.
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

# A TLS 1.3 alert surfaces as a bare OSError: it arrives in the first read, which httpx does not translate.
HTTPX_ERRORS: Final = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError)

# The beginnings of httpcore's and h11's messages for a connection that ended too early.
_EARLY_END: Final = ("Server disconnected", "peer closed connection", "peer unexpectedly closed")

# The beginnings of h11's messages that quote a line of the response, which may contain a proxy's cookie.
_QUOTING: Final = ("illegal ", "Illegal ", "malformed data")


def translate_error(error: Exception, request: str, *, unsent: bool = False) -> KubeprotoError:
    """Return our error for one of `HTTPX_ERRORS`; its message names the `request`."""
    message = f"{request}: {_describe(error)}"
    match error:
        case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.ProxyError() | httpx.PoolTimeout():
            return ConnectError(message)
        case _ if unsent and is_connection_loss(error):
            return ConnectError(message)
        case httpx.TimeoutException():
            return DeadlineExceeded(message)
        case httpx.RemoteProtocolError() if not str(error).startswith(_EARLY_END):
            return RemoteProtocolError(message)
        case httpx.StreamError():
            return LocalProtocolError(f"{request}: a body can be read only once, inside its context")
        case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
            # h11 quotes the header that it refuses, which may be the header with the token.
            return LocalProtocolError(f"{request}: httpx refuses the target or a header as malformed")
        case _:
            return TransportError(message)


def is_connection_loss(error: object) -> bool:
    """Return whether the connection broke, or the peer closed it too early."""
    return isinstance(error, httpx.ReadError | httpx.WriteError) or (
        isinstance(error, httpx.RemoteProtocolError) and str(error).startswith(_EARLY_END)
    )


def _describe(error: BaseException) -> str:
    """Return the system's reason at the bottom: refused, unknown host, certificate has expired."""
    if isinstance(error, httpx.ProtocolError):
        return str(error).partition(":")[0] if str(error).startswith(_QUOTING) else str(error)
    match innermost := _innermost_cause(error):
        case ssl.SSLCertVerificationError(verify_message=message):
            return f"the certificate is not accepted: {message}"
        case OSError(strerror=str(message)):
            return message
        case _:
            return str(innermost) or str(error) or type(error).__name__


def _innermost_cause(error: BaseException) -> BaseException:
    # httpcore drops the cause of its errors by `from None`, but the system's error is still their context.
    httpcore_error = error.__cause__
    if httpcore_error is None:
        inner = error
    else:
        inner = httpcore_error.__cause__ or httpcore_error.__context__ or httpcore_error
    while (cause := inner.__cause__) is not None:
        # Of several failed addresses the first is reported.
        members: tuple[BaseException, ...] = getattr(cause, "exceptions", (cause,))
        inner = members[0]
    return inner
