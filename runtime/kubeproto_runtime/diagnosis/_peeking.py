"""Read the certificate of a server that could not be verified; no request is sent to it."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Final

import anyio.to_thread

if TYPE_CHECKING:
    from kubeproto.config import Connection

    from ._certificates import CertificateFields

_TIMEOUT: Final = 5.0  # seconds for the connection and each of its reads


async def peek(connection: Connection) -> CertificateFields | None:
    """Return the fields of the server's certificate; None if it cannot be read."""
    if not connection.secure or connection.proxy:
        return None
    return await anyio.to_thread.run_sync(_peek, connection)


def _peek(connection: Connection) -> CertificateFields | None:
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
