"""TLS as a `Connection` asks for it."""

from __future__ import annotations

import ssl
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from kubeproto.config import ConfigError, Connection

_RECORD: Final = 16 * 1024  # bytes that TLS gives at once, at most


class _Greedy(ssl.SSLObject):
    """Reads all records that have arrived, as far as there is room. A server writes one for each event."""

    _failure: Exception | None = None

    def read(self, *args: Any, **settings: Any) -> Any:
        if settings or len(args) != 1:  # into a buffer, which neither httpcore nor anyio nor trio does
            return super().read(*args, **settings)
        if self._failure is not None:
            raise self._failure
        pieces: list[bytes] = []
        room: int = args[0]
        try:
            while room > 0 and (piece := super().read(min(room, _RECORD))):
                pieces.append(piece)
                room -= len(piece)
        except ssl.SSLWantReadError:
            if not pieces:
                raise
        except ssl.SSLError as error:
            if not pieces:
                raise
            self._failure = error  # for the next call: first the bytes before it
        return b"".join(pieces)


class _NamedContext(ssl.SSLContext):
    """Checks the server's certificate against a given name, through a tunnel as well.

    httpx has an extension for this, `sni_hostname`, which its tunnels ignore. The file of a CA is checked
    before each handshake; when it has changed, a new context is made, and replaces this one.
    """

    tls_name: str
    connection: Connection
    newer: _NamedContext | None = None

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        context = self._newest()
        if context is not self:
            return context.wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        return super().wrap_bio(incoming, outgoing, server_side, self.tls_name, session)

    def wrap_socket(self, *args: Any, **settings: Any) -> ssl.SSLSocket:
        context = self._newest()
        if context is not self:
            return context.wrap_socket(*args, **settings)
        return super().wrap_socket(*args, **settings | {"server_hostname": self.tls_name})

    def _newest(self) -> _NamedContext:
        context = self.newer or self
        # A file that is missing, half written or garbage changes nothing: the next handshake checks again.
        with suppress(OSError, ConfigError):
            if path := context.connection.ca_file:
                ca = Path(path).read_bytes()
                if ca != context.connection.ca:
                    self.newer = context = server_context(replace(context.connection, ca=ca))
        return context


def server_context(connection: Connection) -> _NamedContext:
    """Return the TLS settings for this server; `ConfigError` for what cannot be read."""
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslobject_class = _Greedy
    context.tls_name, context.connection = connection.tls_name, connection
    _trust(context, connection)
    if connection.client_certificate:
        _load_client(context, connection)
    return context


def proxy_context(connection: Connection) -> ssl.SSLContext:
    """Return those for an ``https`` proxy: it is trusted like the server, and gets no client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _trust(context, connection)
    return context


def _trust(context: ssl.SSLContext, connection: Connection) -> None:
    # Not `ssl.create_default_context`: from Python 3.13 on it refuses a CA without a key identifier, and
    # many clusters have such a one.
    # As in Go, a given certificate is trusted, whether it is a root or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif connection.ca:
        try:
            # Between the certificates there may be comments, in any alphabet.
            context.load_verify_locations(cadata=connection.ca.decode("ascii", "ignore"))
        except ssl.SSLError as error:
            raise ConfigError(f"the CA cannot be read: {error}") from error
    else:
        context.load_default_certs()


def _load_client(context: ssl.SSLContext, connection: Connection) -> None:
    # The ssl module reads them only from files. The folder is readable only by this user, and removed at
    # once.
    with tempfile.TemporaryDirectory(prefix="kubeproto-") as folder:
        path = Path(folder, "client.pem")
        path.touch(mode=0o600)
        path.write_bytes(connection.client_certificate.rstrip() + b"\n" + connection.client_key)
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=b"")
        except ssl.SSLError as error:
            raise ConfigError(f"the client certificate and its key cannot be used: {error}") from error
