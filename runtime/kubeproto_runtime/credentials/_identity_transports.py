"""Which transport a request goes over: the one that shows the client certificate of its credentials.

When the certificate changes, a new transport replaces the old one. Responses of the old one continue, and
after the last of them it has to be closed.
"""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

X = TypeVar("X")


class IdentityTransport(Generic[X]):
    """One transport in use. `pair` is its client certificate, with the key."""

    def __init__(self, transport: X, pair: tuple[bytes, bytes]) -> None:
        self.transport = transport
        self.pair = pair
        self.users = 0


class IdentityTransports(Generic[X]):
    """The transports of one server: the newest, and old ones with open responses."""

    def __init__(self) -> None:
        self._newest: IdentityTransport[X] | None = None
        self._open: list[IdentityTransport[X]] = []
        self._lock = Lock()

    def take(self, pair: tuple[bytes, bytes]) -> IdentityTransport[X] | None:
        """Return the newest transport, if it shows this certificate.

        The caller gives it up with `release`.
        """
        with self._lock:
            line = self._newest
            if line is None or line.pair != pair:
                return None
            line.users += 1
            return line

    def add(self, line: IdentityTransport[X]) -> list[IdentityTransport[X]]:
        """Make this the newest transport, and take it. Return those to be closed."""
        with self._lock:
            old, self._newest = self._newest, line
            line.users += 1
            self._open.append(line)
            return self._forgotten(old)

    def release(self, line: IdentityTransport[X]) -> list[IdentityTransport[X]]:
        """Note that a response has ended. Return the transports to be closed."""
        with self._lock:
            line.users -= 1
            return self._forgotten(line)

    def clear(self) -> list[IdentityTransport[X]]:
        """Return all transports, which have to be closed, whatever responses they have."""
        with self._lock:
            lines, self._open, self._newest = self._open, [], None
            return lines

    def _forgotten(self, line: IdentityTransport[X] | None) -> list[IdentityTransport[X]]:
        if line is None or line is self._newest or line.users or line not in self._open:
            return []
        self._open.remove(line)
        return [line]
