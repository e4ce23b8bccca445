"""Reads the certificate that a server shows if it could not be verified; nothing is sent to the server."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Final

import anyio.to_thread

if TYPE_CHECKING:
    from kubeproto.config import Connection

    from ._certificates import CertificateFacts

_PATIENCE: Final = 5.0  # seconds for the connection and each of its reads


async def peek(connection: Connection) -> CertificateFacts | None:
    """Return the facts of the server's certificate; None if it cannot be read."""
    if not connection.secure or connection.proxy:
        return None
    return await anyio.to_thread.run_sync(_peek, connection)


def _peek(connection: Connection) -> CertificateFacts | None:
    try:
        from ._certificates import read_certificate

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with (
            socket.create_connection(connection.address, timeout=_PATIENCE) as plain,
            context.wrap_socket(plain, server_hostname=connection.tls_name) as secured,
        ):
            return read_certificate(secured.getpeercert(binary_form=True) or b"")
    except (OSError, ValueError, ModuleNotFoundError):
        return None
