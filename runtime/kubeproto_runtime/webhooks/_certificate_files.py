"""`CertificateFiles`: a certificate that another program renews, read again when its files change.

cert-manager and the kubelet replace the files of a mounted Secret by renaming a link, so both change at once;
others write one after the other. A pair that cannot be used, because the key belongs to another certificate
or half a file was read, is read again at the next connection, and until then the last valid certificate is
shown.
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
    """Provides the certificate that a server shows."""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context for the next connection."""
        ...

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Keep it current until cancelled; started once there is a certificate."""
        ...

    async def renew(self) -> None:
        """Do what only the leader does, until cancelled or done."""
        ...


class CertificateFiles:
    """A certificate with its chain and its key, as PEM, in two files.

    ::

        CertificateFiles("/tls/tls.crt", "/tls/tls.key")
    """

    def __init__(self, certificate: str | Path, key: str | Path) -> None:
        self._paths = os.fspath(certificate), os.fspath(key)
        self._seen: tuple[object, ...] = ()
        self._context: ssl.SSLContext | None = None
        self.reads = 0  # how often the files were read
        self.failed_reads = 0  # of these, how many of them failed

    def __repr__(self) -> str:
        return f"CertificateFiles{self._paths}"

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Load a certificate that can be used; the files are checked at each connection."""
        self.context()
        task_status.started()

    async def renew(self) -> None:
        """Do nothing: another program writes the files."""

    @property
    def folder(self) -> str:
        """Where the certificate is: where a Secret with it is to be mounted."""
        return os.path.dirname(self._paths[0])

    def context(self) -> ssl.SSLContext:
        """Return the newest certificate that can be used; an error if there has never been one."""
        try:
            seen = tuple(_stamp(path) for path in self._paths)
            if self._context is None or seen != self._seen:
                self.reads += 1
                self._context = server_context(*self._paths)
                if self._seen:
                    _log.info("the certificate of the webhooks was read again: %s", self._paths[0])
                self._seen = seen
        except OSError as error:  # an ssl.SSLError is one, too
            self.failed_reads += 1
            if self._context is None:
                raise
            _log.warning("the last certificate is kept, because %s cannot be used: %s", self._paths[0], error)
        return self._context


def server_context(certificate: str, key: str | None = None) -> ssl.SSLContext:
    """Return the context of a server that shows the certificate in these files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    context.load_cert_chain(certificate, key)
    return context


def _stamp(path: str) -> tuple[int, int, int]:
    """Return a value that changes whenever a file is written or replaced."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns, found.st_size
