"""`Session`: TLS between bytes and bytes. It moves none: whoever holds it sends what is `outgoing`.

asyncio has its own, which keeps 256 KiB for each connection: for a thousand watches, a quarter of a gigabyte.
"""

from __future__ import annotations

import ssl
from typing import Final

_RECORD: Final = 16 * 1024  # bytes that TLS gives at once, at most


class Session:
    """One side of a TLS connection. Its errors are `ssl.SSLError`s."""

    def __init__(self, context: ssl.SSLContext, name: str) -> None:
        self.ended = False  # the other side said farewell
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)

    @property
    def outgoing(self) -> bytes:
        """What is to be sent now."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def shake_hands(self, data: bytes = b"") -> bool:
        """Take what came; True when both sides agree."""
        self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def decrypt(self, data: bytes) -> bytes:
        """Take what came; give what it says."""
        self._incoming.write(data)
        pieces: list[bytes] = []
        try:
            while piece := self._tls.read(_RECORD):
                pieces.append(piece)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.ended = True
        else:
            self.ended = True
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def encrypt(self, data: bytes) -> None:
        """Say this."""
        if data:
            self._tls.write(data)
