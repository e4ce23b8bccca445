"""The certificate of a server that could not be verified: it is read without sending a request."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Final

import anyio.to_thread

if TYPE_CHECKING:
    from kubeproto.config import Connection

    from ._certificates import CertificateFields

_TIMEOUT: Final = 5.0  # seconds for the connection and each of its reads


async def read_server_certificate(connection: Connection) -> CertificateFields | None:
    """Return the fields of the server's certificate; None if it cannot be read."""
    if not connection.secure or connection.proxy:
        return None
    return await anyio.to_thread.run_sync(_read_unverified, connection)


def _read_unverified(connection: Connection) -> CertificateFields | None:
    try:
        from ._certificates import read_certificate

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with (
            socket.create_connection(connection.address, timeout=_TIMEOUT) as connected,
            context.wrap_socket(connected, server_hostname=connection.tls_name) as encrypted,
        ):
            return read_certificate(encrypted.getpeercert(binary_form=True) or b"")
    except (OSError, ValueError, ModuleNotFoundError):
        return None
