"""The TLS contexts of a `Connection` for httpx."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kubeproto.config import ConfigError, Connection
from kubeproto_sockets import MAX_RECORD, load_client_certificate, trust_authorities


class _GreedySSLObject(ssl.SSLObject):
    """Reads all records that have arrived, up to the size of the read. A server writes a record per event."""

    _failure: Exception | None = None

    def read(self, *args: Any, **settings: Any) -> Any:
        if settings or len(args) != 1:  # a read into a buffer, which httpcore, anyio and trio never do
            return super().read(*args, **settings)
        if self._failure is not None:
            raise self._failure
        plaintexts: list[bytes] = []
        remaining: int = args[0]
        try:
            while remaining > 0 and (plaintext := super().read(min(remaining, MAX_RECORD))):
                plaintexts.append(plaintext)
                remaining -= len(plaintext)
        except ssl.SSLWantReadError:
            if not plaintexts:
                raise
        except ssl.SSLError as error:
            if not plaintexts:
                raise
            self._failure = error  # raised by the next call, after the bytes that preceded it
        return b"".join(plaintexts)


class _NamedContext(ssl.SSLContext):
    """Checks the server's certificate against the connection's `tls_name`, through a tunnel as well.

    httpx has an extension for this, `sni_hostname`, which its tunnels ignore. The file of a CA is read before
    each handshake; if it has changed, a new context replaces this one, which httpx holds for good.
    """

    tls_name: str
    connection: Connection
    replacement: _NamedContext | None = None

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        context = self._current_context()
        if context is not self:
            return context.wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        return super().wrap_bio(incoming, outgoing, server_side, self.tls_name, session)

    def wrap_socket(self, *args: Any, **settings: Any) -> ssl.SSLSocket:
        context = self._current_context()
        if context is not self:
            return context.wrap_socket(*args, **settings)
        return super().wrap_socket(*args, **settings | {"server_hostname": self.tls_name})

    def _current_context(self) -> _NamedContext:
        context = self.replacement or self
        # A file that is missing, incomplete or malformed changes nothing: the next handshake reads it again.
        with suppress(OSError, ConfigError):
            if path := context.connection.ca_file:
                ca = Path(path).read_bytes()
                if ca != context.connection.ca:
                    self.replacement = context = server_context(replace(context.connection, ca=ca))
        return context


def server_context(connection: Connection) -> _NamedContext:
    """Return the context for a server; raise `ConfigError` if a certificate cannot be read."""
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslobject_class = _GreedySSLObject
    context.tls_name, context.connection = connection.tls_name, connection
    trust_authorities(context, connection)
    if connection.client_certificate:
        load_client_certificate(context, connection)
    return context


def proxy_context(connection: Connection) -> ssl.SSLContext:
    """Return the context for an ``https`` proxy: trusted like the server, without a client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trust_authorities(context, connection)
    return context
