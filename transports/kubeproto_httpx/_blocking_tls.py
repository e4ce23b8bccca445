"""`BlockingTlsStream`: TLS for the blocking client, over bytes in memory.

Python's own TLS sockets read one record at a time, with two system calls and a pass through httpcore for
each, and servers write a record for each event. Here one read of the socket returns all of its records.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, TypeVar

import httpcore

from ._blocking_deadlines import limit_timeout, read_stream, write_stream

T = TypeVar("T")

_MAX_READ: Final = 256 * 1024


class BlockingTlsStream(httpcore.NetworkStream):
    """TLS over another stream, which may be TLS itself: through an ``https`` proxy it is."""

    def __init__(
        self, inner: httpcore.NetworkStream, context: ssl.SSLContext, name: str | None, timeout: float | None
    ) -> None:
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        # A deadline for the handshake; a plain timeout would restart with each of its reads.
        handshake_timeout = None if timeout is None else limit_timeout(None, monotonic() + timeout)
        try:
            self._perform(self._tls.do_handshake, handshake_timeout)
        except (httpcore.ReadTimeout, httpcore.WriteTimeout) as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except (ssl.SSLError, httpcore.NetworkError) as error:
            raise httpcore.ConnectError(str(error)) from error

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return self._perform(lambda: self._tls.read(max_bytes), timeout)
        except ssl.SSLEOFError:
            return b""  # an end without TLS's closing alert: HTTP detects a truncated response
        except ssl.SSLError as error:
            raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            self._perform(lambda: self._tls.write(buffer), timeout)
        except ssl.SSLError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._tls if info == "ssl_object" else self._inner.get_extra_info(info)

    def _perform(self, operation: Callable[[], T], timeout: float | None) -> T:
        """Call `operation`, and read from the socket whenever it needs more bytes."""
        while True:
            try:
                return operation()
            except ssl.SSLWantReadError:
                pass
            finally:
                self._flush(timeout)  # after a failure this sends the TLS alert
            if data := read_stream(self._inner, _MAX_READ, timeout):
                self._incoming.write(data)
            else:
                self._incoming.write_eof()

    def _flush(self, timeout: float | None) -> None:
        if self._outgoing.pending:
            write_stream(self._inner, self._outgoing.read(), timeout)
