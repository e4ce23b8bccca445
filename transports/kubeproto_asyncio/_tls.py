"""The TLS settings of a `Connection` as `ssl.SSLContext`s, and their sessions.

It has a twin in the other transport: what they share does no I/O, and OpenSSL reads keys only from files.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NamedTuple

from kubeproto.config import ConfigError, Connection
from kubeproto_h11 import ReloadingTLS, Session


class Contexts(NamedTuple):
    """For the server and for its proxy; None where the connection is not encrypted."""

    server: ssl.SSLContext | None
    proxy: ssl.SSLContext | None


def trust(connection: Connection) -> ReloadingTLS[Contexts]:
    """Return the authorities that this connection trusts, and the certificate that it shows."""
    return ReloadingTLS(connection, _contexts, lambda path: Path(path).read_bytes())


def _contexts(connection: Connection) -> Contexts:
    return Contexts(_server_context(connection), _proxy_context(connection))


def _server_context(connection: Connection) -> ssl.SSLContext | None:
    if not connection.secure:
        return None
    context = _trusting(connection)
    if connection.client_certificate:
        _show(context, connection)
    return context


def _proxy_context(connection: Connection) -> ssl.SSLContext | None:
    # The proxy is trusted like the server, and gets no client certificate.
    proxy = connection.proxy_url
    return _trusting(connection) if proxy is not None and proxy.scheme == "https" else None


def session(context: ssl.SSLContext, name: str) -> Session:
    """A connection to the server of that name, before its handshake; a `ValueError` if it is not a name."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    return Session(tls, incoming, outgoing, more=ssl.SSLWantReadError, done=ssl.SSLZeroReturnError)


def _trusting(connection: Connection) -> ssl.SSLContext:
    # Not `ssl.create_default_context`: from Python 3.13 on it refuses a CA without a key identifier, and many
    # clusters have such a CA.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    # As in Go, a given certificate is trusted, whether it is a root or not.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif connection.ca:
        try:
            # Between the certificates there may be comments, in any alphabet.
            context.load_verify_locations(
                cadata=connection.ca.decode("ascii", "replace").replace("\ufffd", "?")
            )
        except ssl.SSLError as error:
            raise ConfigError(f"the CA cannot be read: {error}") from error
    else:
        context.load_default_certs()
    return context


def _show(context: ssl.SSLContext, connection: Connection) -> None:
    import tempfile  # it imports the compressors, which only a key needs

    # OpenSSL reads a key only from a file. The folder is readable only by this user, and removed at once.
    with tempfile.TemporaryDirectory(prefix="kubeproto-") as folder:
        path = Path(folder, "client.pem")
        path.touch(mode=0o600)
        path.write_bytes(connection.client_certificate.rstrip() + b"\n" + connection.client_key)
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=b"")
        except ssl.SSLError as error:
            raise ConfigError(f"the client certificate and its key cannot be used: {error}") from error
