"""`ReloadingTLS`: TLS settings that are made again when the file of the CA has changed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec.structs import replace

from kubeproto.config import ConfigError, Connection

if TYPE_CHECKING:
    from collections.abc import Callable

C = TypeVar("C")


class ReloadingTLS(Generic[C]):
    """The settings that `make` returns for a connection, with the present content of the CA's file."""

    def __init__(
        self, connection: Connection, make: Callable[[Connection], C], read: Callable[[str], bytes]
    ) -> None:
        self._connection = connection
        self._made = make(connection)
        self._make = make
        self._read = read

    @property
    def settings(self) -> C:
        """Return the settings for the next handshake; the file of the CA is checked each time."""
        if self._connection.ca_file:
            # A file that is missing, half written or garbage changes nothing: the next handshake checks
            # again.
            with suppress(OSError, ConfigError):
                self._look()
        return self._made

    def _look(self) -> None:
        ca = self._read(self._connection.ca_file)
        if ca != self._connection.ca:
            connection = replace(self._connection, ca=ca)
            self._made = self._make(connection)
            self._connection = connection
