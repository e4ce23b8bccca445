"""TLS from bytes to bytes, possibly nested, with the buffers of OpenSSL.

trio's own TLS stream returns one record at a time, with an iteration of the event loop for each, and servers
write a record for each event; here one read of the socket returns all of its records. asyncio's keeps 256 KiB
for each connection: for a thousand watches, a quarter of a gigabyte.
"""

from __future__ import annotations

import ssl
from typing import Final

MAX_RECORD: Final = 16 * 1024  # bytes; the maximum that OpenSSL decrypts in a single call


class TlsSession:
    """One TLS connection to the server `name`; raise `ValueError` if that is not a name."""

    def __init__(self, context: ssl.SSLContext, name: str) -> None:
        self.closed = False
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)

    @property
    def outgoing(self) -> bytes:
        """The bytes to send now, returned once."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def shake_hands(self, data: bytes = b"") -> bool:
        """Take received bytes; return True when the handshake is complete."""
        self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def decrypt(self, data: bytes) -> bytes:
        """Return the plaintext of received bytes."""
        self._incoming.write(data)
        plaintexts: list[bytes] = []
        try:
            while plaintext := self._tls.read(MAX_RECORD):
                plaintexts.append(plaintext)
            self.closed = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.closed = True
        return plaintexts[0] if len(plaintexts) == 1 else b"".join(plaintexts)

    def encrypt(self, data: bytes) -> bytes:
        """Return the encrypted bytes of a plaintext."""
        self._tls.write(data)
        return self.outgoing


class TlsStack:
    """The TLS sessions of a connection, outermost first: the proxy's, if any, then the server's."""

    def __init__(self) -> None:
        self._sessions: tuple[TlsSession, ...] = ()
        self._unsent: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._sessions)

    def add(self, session: TlsSession) -> None:
        """Add a session inside the others."""
        self._sessions = (*self._sessions, session)

    @property
    def closed(self) -> bool:
        """True when the peer has ended one of the sessions."""
        return any(session.closed for session in self._sessions)

    @property
    def outgoing(self) -> bytes:
        """The handshake and alert records to send as they are; reading it clears the buffer."""
        unsent, self._unsent = self._unsent, []
        return b"".join(unsent)

    def decrypt(self, data: bytes) -> bytes:
        """Return the plaintext of received bytes, decrypted by all sessions."""
        for depth, session in enumerate(self._sessions):
            data = session.decrypt(data) if data else b""
            if reply := session.outgoing:
                self._unsent.append(self._encrypt(reply, depth))
        return data

    def encrypt(self, data: bytes) -> bytes:
        """Return a plaintext encrypted by all sessions."""
        return self._encrypt(data, len(self._sessions)) if data else b""

    def _encrypt(self, data: bytes, depth: int) -> bytes:
        for session in reversed(self._sessions[:depth]):
            data = session.encrypt(data)
        return data
