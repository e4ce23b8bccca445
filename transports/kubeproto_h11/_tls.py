"""The TLS settings of a `Connection` as `ssl.SSLContext`s, and their sessions: what both doors do alike.

It is the one module here that looks at files: OpenSSL takes a key from nowhere else, and CAs rotate.
"""

from __future__ import annotations

import ssl
import tempfile
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from kubeproto.config import ConfigError, Connection

from ._sessions import Session


class Trust:
    """Whom a transport trusts, and what it shows them. A CA in a file is looked at before each handshake."""

    def __init__(self, connection: Connection) -> None:
        self._use(connection)

    @property
    def server(self) -> ssl.SSLContext | None:
        """For the server; None where it is spoken to in plain text."""
        self._look()
        return self._server

    @property
    def proxy(self) -> ssl.SSLContext | None:
        """For an ``https`` proxy, which is trusted as the server is, and shown nothing."""
        self._look()
        return self._proxy

    def _look(self) -> None:
        if not self._connection.ca_file:
            return
        # A file that is gone, half written or garbage changes nothing: the next handshake looks again.
        with suppress(OSError, ConfigError):
            ca = Path(self._connection.ca_file).read_bytes()
            if ca != self._connection.ca:
                self._use(replace(self._connection, ca=ca))

    def _use(self, connection: Connection) -> None:
        made = _server_context(connection), _proxy_context(connection)
        self._connection, (self._server, self._proxy) = connection, made


def _server_context(connection: Connection) -> ssl.SSLContext | None:
    if not connection.secure:
        return None
    context = _trusting(connection)
    if connection.client_certificate:
        _show(context, connection)
    return context


def _proxy_context(connection: Connection) -> ssl.SSLContext | None:
    proxy = connection.proxy_url
    return _trusting(connection) if proxy is not None and proxy.scheme == "https" else None


def session(context: ssl.SSLContext, name: str) -> Session:
    """A connection to the server of that name, before its handshake; a `ValueError` if it is no name."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    return Session(tls, incoming, outgoing, more=ssl.SSLWantReadError, done=ssl.SSLZeroReturnError)


def _trusting(connection: Connection) -> ssl.SSLContext:
    # Not `ssl.create_default_context`: from Python 3.13 on it refuses a CA without a key identifier, and
    # many clusters have such a one.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    # As in Go, what is given is trusted, be it a root or issued by one.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif connection.ca:
        try:
            # Between the certificates stand comments, in any alphabet.
            context.load_verify_locations(
                cadata=connection.ca.decode("ascii", "replace").replace("\ufffd", "?")
            )
        except ssl.SSLError as error:
            raise ConfigError(f"the CA cannot be read: {error}") from error
    else:
        context.load_default_certs()
    return context


def _show(context: ssl.SSLContext, connection: Connection) -> None:
    # OpenSSL takes a key from a file alone. The folder is this user's only, and gone at once.
    with tempfile.TemporaryDirectory(prefix="kubeproto-") as folder:
        path = Path(folder, "client.pem")
        path.touch(mode=0o600)
        path.write_bytes(connection.client_certificate.rstrip() + b"\n" + connection.client_key)
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=b"")
        except ssl.SSLError as error:
            raise ConfigError(f"the client certificate and its key cannot be used: {error}") from error
