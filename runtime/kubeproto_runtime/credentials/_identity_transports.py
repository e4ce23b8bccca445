"""Transports by the client certificate of their credentials.

When the certificate changes, a new transport replaces the old transport, whose responses continue. After the
last of them the caller closes it.
"""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

X = TypeVar("X")


class IdentityTransport(Generic[X]):
    """A transport in use. `pair` is its client certificate, with the key."""

    def __init__(self, transport: X, pair: tuple[bytes, bytes]) -> None:
        self.transport = transport
        self.pair = pair
        self.users = 0


class IdentityTransports(Generic[X]):
    """The transports of a server: the newest, and older transports with open responses."""

    def __init__(self) -> None:
        self._newest: IdentityTransport[X] | None = None
        self._open: list[IdentityTransport[X]] = []
        self._lock = Lock()

    def take(self, pair: tuple[bytes, bytes]) -> IdentityTransport[X] | None:
        """Return the newest transport, if it shows this certificate.

        The caller returns it with `release`.
        """
        with self._lock:
            line = self._newest
            if line is None or line.pair != pair:
                return None
            line.users += 1
            return line

    def add(self, line: IdentityTransport[X]) -> list[IdentityTransport[X]]:
        """Make this the newest transport, and take it. Return the transports to be closed."""
        with self._lock:
            old, self._newest = self._newest, line
            line.users += 1
            self._open.append(line)
            return self._forget(old)

    def release(self, line: IdentityTransport[X]) -> list[IdentityTransport[X]]:
        """Record the end of a response. Return the transports to be closed."""
        with self._lock:
            line.users -= 1
            return self._forget(line)

    def clear(self) -> list[IdentityTransport[X]]:
        """Return all transports, to be closed, with or without open responses."""
        with self._lock:
            lines, self._open, self._newest = self._open, [], None
            return lines

    def _forget(self, line: IdentityTransport[X] | None) -> list[IdentityTransport[X]]:
        if line is None or line is self._newest or line.users or line not in self._open:
            return []
        self._open.remove(line)
        return [line]
