"""TLS from bytes to bytes, perhaps within another TLS. It does no I/O, and a transport provides OpenSSL.

trio's own stream returns one record at a time, with a pass of the event loop for each, and servers write a
record for each event; here a read of the socket returns all of its records. asyncio's keeps 256 KiB for each
connection: for a thousand watches, a quarter of a gigabyte.
"""

from __future__ import annotations

from typing import Final, Protocol

_RECORD: Final = 16 * 1024  # bytes that TLS gives at once, at most


class Buffer(Protocol):
    """What `ssl.MemoryBIO` can do."""

    @property
    def pending(self) -> int:
        """How many bytes are in it."""
        ...

    def read(self) -> bytes:
        """Take them out."""
        ...

    def write(self, data: bytes, /) -> int:
        """Put some in."""
        ...


class Tls(Protocol):
    """What `ssl.SSLObject` can do."""

    def do_handshake(self) -> None:
        """Take the next step of the handshake."""
        ...

    def read(self, size: int, /) -> bytes:
        """Return decrypted bytes."""
        ...

    def write(self, data: bytes, /) -> int:
        """Encrypt these bytes."""
        ...


class Session:
    """One TLS connection, with the errors that mean that it needs `more` bytes, or has ended (`done`)."""

    def __init__(
        self, tls: Tls, incoming: Buffer, outgoing: Buffer, *, more: type[Exception], done: type[Exception]
    ) -> None:
        self.ended = False
        self._tls = tls
        self._incoming = incoming
        self._outgoing = outgoing
        self._more = more
        self._done = done

    @property
    def outgoing(self) -> bytes:
        """Bytes to send now."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def shake_hands(self, data: bytes = b"") -> bool:
        """Take received bytes; return True when the handshake is complete."""
        self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except self._more:
            return False
        return True

    def decrypt(self, data: bytes) -> bytes:
        """Take received bytes; return them decrypted."""
        self._incoming.write(data)
        pieces: list[bytes] = []
        try:
            while piece := self._tls.read(_RECORD):
                pieces.append(piece)
            self.ended = True
        except self._more:
            pass
        except self._done:
            self.ended = True
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def encrypt(self, data: bytes) -> bytes:
        """Take bytes to send; return them encrypted."""
        self._tls.write(data)
        return self.outgoing


class Sessions:
    """The TLS sessions of a connection, the outermost first: to a proxy perhaps, and to the server."""

    def __init__(self) -> None:
        self._stack: tuple[Session, ...] = ()
        self._unsent: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._stack)

    def add(self, session: Session) -> None:
        """Add a session, inside the others."""
        self._stack = (*self._stack, session)

    @property
    def ended(self) -> bool:
        """True when one of them was ended by the other side."""
        return any(session.ended for session in self._stack)

    @property
    def outgoing(self) -> bytes:
        """Bytes of TLS itself, to be sent as they are."""
        unsent, self._unsent = self._unsent, []
        return b"".join(unsent)

    def decrypt(self, data: bytes) -> bytes:
        """Return received bytes, decrypted by all sessions."""
        for depth, session in enumerate(self._stack):
            data = session.decrypt(data) if data else b""
            if own := session.outgoing:
                self._unsent.append(self._wrapped(own, depth))
        return data

    def encrypt(self, data: bytes) -> bytes:
        """Return bytes to send, encrypted by all sessions."""
        return self._wrapped(data, len(self._stack)) if data else b""

    def _wrapped(self, data: bytes, depth: int) -> bytes:
        for session in reversed(self._stack[:depth]):
            data = session.encrypt(data)
        return data
