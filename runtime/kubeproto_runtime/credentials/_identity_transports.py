"""Transports by the client certificate of their credentials.

When the certificate changes, a new transport replaces the old transport. Its open responses continue, and
after the last of them the caller closes the old transport.
"""

from __future__ import annotations

from threading import Lock
from typing import Generic, TypeVar

TransportT = TypeVar("TransportT")


class IdentityTransport(Generic[TransportT]):
    """A transport in use. `pair` is its client certificate and key."""

    def __init__(self, transport: TransportT, pair: tuple[bytes, bytes]) -> None:
        self.transport = transport
        self.pair = pair
        self.use_count = 0


class IdentityTransports(Generic[TransportT]):
    """The transports of a server: the newest, and older transports with open responses."""

    def __init__(self) -> None:
        self._newest: IdentityTransport[TransportT] | None = None
        self._open: list[IdentityTransport[TransportT]] = []
        self._lock = Lock()

    def acquire(self, pair: tuple[bytes, bytes]) -> IdentityTransport[TransportT] | None:
        """Return the newest transport if it has this certificate. The caller returns it with `release`."""
        with self._lock:
            entry = self._newest
            if entry is None or entry.pair != pair:
                return None
            entry.use_count += 1
            return entry

    def add(self, entry: IdentityTransport[TransportT]) -> list[IdentityTransport[TransportT]]:
        """Make this the newest transport, and acquire it. Return the transports to be closed."""
        with self._lock:
            old, self._newest = self._newest, entry
            entry.use_count += 1
            self._open.append(entry)
            return self._remove_unused(old)

    def release(self, entry: IdentityTransport[TransportT]) -> list[IdentityTransport[TransportT]]:
        """Record the end of a response. Return the transports to be closed."""
        with self._lock:
            entry.use_count -= 1
            return self._remove_unused(entry)

    def clear(self) -> list[IdentityTransport[TransportT]]:
        """Return all transports, to be closed, with or without open responses."""
        with self._lock:
            entries, self._open, self._newest = self._open, [], None
            return entries

    def _remove_unused(
        self, entry: IdentityTransport[TransportT] | None
    ) -> list[IdentityTransport[TransportT]]:
        if entry is None or entry is self._newest or entry.use_count or entry not in self._open:
            return []
        self._open.remove(entry)
        return [entry]
