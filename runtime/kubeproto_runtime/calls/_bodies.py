"""`BodyLimits`: how much of a response a client reads before it refuses the rest.

A server, or whatever answers in its place, may send without end, and a whole response is kept in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kubeproto import ResponseTooLarge
from kubeproto.wire import is_enough

if TYPE_CHECKING:
    from kubeproto import Head


class BodyLimits(Struct, frozen=True, kw_only=True):
    """The most bytes of one response as they come over the wire, of one that succeeds and of one that fails.

    The largest list that a server of 100,000 pods returns in one piece has some 200 MiB, and a Status has
    some hundred bytes. More `objects` are `ResponseTooLarge`; of `errors` the rest is not read, and the
    beginning becomes the `ApiError`. What is streamed is not limited: it is never held as a whole.
    """

    objects: int = 256 * 1024 * 1024
    errors: int = 1024 * 1024


LIMITS: Final = BodyLimits()


class Collected:
    """The body of one response, as far as it has come."""

    def __init__(self, head: Head, status: int, limits: BodyLimits, now: float) -> None:
        self._head = head
        self._status = status
        self._refused = not 200 <= status < 300
        self._most = limits.errors if self._refused else limits.objects
        self._begun = now
        self._pieces: list[bytes] = []
        self._size = 0

    def take(self, piece: bytes, now: float) -> bool:
        """Take the next piece; True if no more is wanted, `ResponseTooLarge` if it is too much."""
        self._size += len(piece)
        self._pieces.append(piece)
        if self._refused:
            return self._size >= self._most or is_enough(self._status, 0, now - self._begun)
        if self._size > self._most:
            raise ResponseTooLarge(
                f"{self._head.method} {self._head.target.partition('?')[0]}: the response is longer than"
                f" {self._most} bytes; list page by page, or give the client limits=BodyLimits(objects=…)"
            )
        return False

    def whole(self) -> bytes:
        """All that has come."""
        return b"".join(self._pieces)
