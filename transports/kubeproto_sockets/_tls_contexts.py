"""The TLS settings of a `Connection` as `ssl.SSLContext`s."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from kubeproto.config import ConfigError, Connection


class TlsContexts:
    """The contexts for a server and its proxy, with the current content of the CA's file.

    A cluster's CA may be rotated while a program runs, and a service account's file changes with it.
    """

    def __init__(self, connection: Connection) -> None:
        self._load(connection)

    @property
    def server(self) -> ssl.SSLContext | None:
        """The context for the next handshake with the server; None without TLS."""
        self._reload()
        return self._server

    @property
    def proxy(self) -> ssl.SSLContext | None:
        """The context for the next handshake with the proxy; None without TLS."""
        self._reload()
        return self._proxy

    def _reload(self) -> None:
        connection = self._connection
        if connection.ca_file:
            # A file that is missing, incomplete or malformed changes nothing: the next handshake reads it
            # again.
            with suppress(OSError, ConfigError):
                ca = Path(connection.ca_file).read_bytes()
                if ca != connection.ca:
                    self._load(replace(connection, ca=ca))

    def _load(self, connection: Connection) -> None:
        server = _client_context(connection) if connection.secure else None
        if server is not None and connection.client_certificate:
            load_client_certificate(server, connection)
        # The proxy is trusted like the server, and gets no client certificate.
        proxy_url = connection.proxy_url
        secure_proxy = proxy_url is not None and proxy_url.scheme == "https"
        proxy = _client_context(connection) if secure_proxy else None
        self._connection, self._server, self._proxy = connection, server, proxy


def _client_context(connection: Connection) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    trust_authorities(context, connection)
    return context


def trust_authorities(context: ssl.SSLContext, connection: Connection) -> None:
    """Trust the CA of the connection, or the system's; raise `ConfigError` if it cannot be read."""
    # The context is not from `ssl.create_default_context`: since Python 3.13 that refuses a CA without a key
    # identifier, and many clusters have such a CA.
    # As in Go, a certificate of the CA's file is trusted even if it is not a root.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif connection.ca:
        # Comments between the certificates may contain any character, and OpenSSL takes only ASCII. They are
        # replaced, not removed: for an empty text it raises a ValueError.
        text = connection.ca.decode("ascii", "replace").replace("\ufffd", "?")
        try:
            context.load_verify_locations(cadata=text)
        except ssl.SSLError as error:
            raise ConfigError(f"the CA of {connection.server} cannot be read: {error}") from error
    else:
        context.load_default_certs()


def load_client_certificate(context: ssl.SSLContext, connection: Connection) -> None:
    """Present the client certificate of the connection; raise `ConfigError` if it or its key is invalid."""
    import tempfile  # it imports compression modules, and only a client certificate needs it

    # OpenSSL reads a key only from a file. The folder is readable only by this user, and removed at once.
    with tempfile.TemporaryDirectory(prefix="kubeproto-") as folder:
        path = Path(folder, "client.pem")
        path.touch(mode=0o600)
        path.write_bytes(connection.client_certificate.rstrip() + b"\n" + connection.client_key)
        try:
            # Without a password OpenSSL would ask for it on the terminal.
            context.load_cert_chain(path, password=b"")
        except ssl.SSLError as error:
            raise ConfigError(
                f"the client certificate for {connection.server} and its key cannot be used: {error}"
            ) from error
