"""`CertificateFiles`: a certificate that another program renews, reloaded when its files change.

The kubelet replaces the files of a mounted Secret by renaming a link, so both files change atomically. Other
programs write the files separately. If a file is incomplete, or the key belongs to another certificate, the
files are read again at the next connection. Until then the last valid certificate is served.
"""

from __future__ import annotations

import logging
import os
import ssl
from typing import TYPE_CHECKING, Final, Protocol

import anyio

if TYPE_CHECKING:
    from pathlib import Path

    from anyio.abc import TaskStatus

_log: Final = logging.getLogger("kubeproto.webhooks")


class CertificateSource(Protocol):
    """Provides the certificate of a server."""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context for the next connection."""
        ...

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Keep the certificate current until cancelled. Report the start once there is a certificate."""
        ...

    async def renew(self) -> None:
        """Renew the certificate until cancelled. Only the leader calls this."""
        ...


class CertificateFiles:
    """A certificate with its chain and its key, as PEM, in two files.

    ::

        CertificateFiles("/tls/tls.crt", "/tls/tls.key")
    """

    def __init__(self, certificate: str | Path, key: str | Path) -> None:
        self._paths = os.fspath(certificate), os.fspath(key)
        self._stamps: tuple[object, ...] = ()
        self._context: ssl.SSLContext | None = None
        self.reads = 0
        self.failed_reads = 0  # included in `reads`

    def __repr__(self) -> str:
        return f"CertificateFiles{self._paths}"

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Load the certificate; each connection checks whether the files have changed."""
        self.context()
        task_status.started()

    async def renew(self) -> None:
        """Do nothing: another program writes the files."""

    @property
    def folder(self) -> str:
        """The folder of the certificate, where its Secret must be mounted."""
        return os.path.dirname(self._paths[0])

    def context(self) -> ssl.SSLContext:
        """Return a context with the last valid certificate. Raise OSError if no certificate was valid yet."""
        try:
            stamps = tuple(_file_stamp(path) for path in self._paths)
            if self._context is None or stamps != self._stamps:
                self.reads += 1
                self._context = server_context(*self._paths)
                if self._stamps:
                    _log.info("the certificate of the webhooks was reloaded: %s", self._paths[0])
                self._stamps = stamps
        except OSError as error:  # ssl.SSLError included
            self.failed_reads += 1
            if self._context is None:
                raise
            _log.warning(
                "%s cannot be used, so the previous certificate is served: %s", self._paths[0], error
            )
        return self._context


def server_context(certificate: str, key: str | None = None) -> ssl.SSLContext:
    """Return the TLS context of a server with the certificate in these files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key)
    return context


def _file_stamp(path: str) -> tuple[int, int, int]:
    """Return a value that changes whenever a file is written or replaced."""
    status = os.stat(path)
    return status.st_ino, status.st_mtime_ns, status.st_size
