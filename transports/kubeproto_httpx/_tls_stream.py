"""`TlsStream`: TLS for the blocking client, over bytes in memory.

Python's own TLS sockets read one record at a time, with two system calls and a turn through httpcore for
each, and servers write a record for each event. Here one read of the socket returns all of its records.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from time import monotonic
from typing import Any, Final, TypeVar

import httpcore

from ._patience import patience, read, write

T = TypeVar("T")

_READ: Final = 256 * 1024


class TlsStream(httpcore.NetworkStream):
    """TLS over another stream, which may be TLS itself: through an ``https`` proxy it is."""

    def __init__(
        self, inner: httpcore.NetworkStream, context: ssl.SSLContext, name: str | None, timeout: float | None
    ) -> None:
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        # Bounded as a whole: otherwise each of its reads would have that much time.
        whole = None if timeout is None else patience(None, monotonic() + timeout)
        try:
            self._through(self._tls.do_handshake, whole)
        except (httpcore.ReadTimeout, httpcore.WriteTimeout) as error:
            raise httpcore.ConnectTimeout(str(error)) from error
        except (ssl.SSLError, httpcore.NetworkError) as error:
            raise httpcore.ConnectError(str(error)) from error

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return self._through(lambda: self._tls.read(max_bytes), timeout)
        except ssl.SSLEOFError:
            return b""  # an end without TLS's closing alert: HTTP detects a cut
        except ssl.SSLError as error:
            raise httpcore.ReadError(str(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            self._through(lambda: self._tls.write(buffer), timeout)
        except ssl.SSLError as error:
            raise httpcore.WriteError(str(error)) from error

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._tls if info == "ssl_object" else self._inner.get_extra_info(info)

    def _through(self, work: Callable[[], T], timeout: float | None) -> T:
        """Call this, and read as often as it needs more."""
        while True:
            try:
                return work()
            except ssl.SSLWantReadError:
                pass
            finally:
                self._flush(timeout)  # the alert, if it failed
            if data := read(self._inner, _READ, timeout):
                self._incoming.write(data)
            else:
                self._incoming.write_eof()

    def _flush(self, timeout: float | None) -> None:
        if self._outgoing.pending:
            write(self._inner, self._outgoing.read(), timeout)
