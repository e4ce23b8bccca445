"""`BodyLimits`: how much of a response a client reads before it refuses the rest.

A server, or a proxy that responds in its place, may send without end, and a whole response is kept in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from kubeproto import ApiError, ResponseTooLarge
from kubeproto.wire import is_enough

if TYPE_CHECKING:
    from kubeproto import Head


class BodyLimits(Struct, frozen=True, kw_only=True):
    """The most bytes of one response as they come over the wire, of one that succeeds and of one that fails.

    The largest list that a server of 100,000 pods returns in one piece has some 200 MiB, and a Status has
    some hundred bytes. More `objects` are `ResponseTooLarge`. More `errors` are the `ApiError` of the code,
    which says that it was cut and has the `ResponseTooLarge` as its cause. What is streamed is not limited:
    it is never held as a whole.
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
        self._why_cut = ""

    def take(self, piece: bytes, now: float) -> bool:
        """Take the next piece; return True if no more is wanted, or raise `ResponseTooLarge`."""
        self._size += len(piece)
        self._pieces.append(piece)
        if self._refused:
            return self._is_cut(now - self._begun)
        if self._size > self._most:
            raise ResponseTooLarge(
                f"{self._request}: the response is longer than {self._most} bytes; list page by page, or give"
                " the client limits=BodyLimits(objects=…)"
            )
        return False

    def _is_cut(self, seconds: float) -> bool:
        if self._size > self._most:
            self._why_cut = f"is longer than {self._most} bytes (limits=BodyLimits(errors=…) permits more)"
        elif is_enough(self._status, 0, seconds):
            self._why_cut = f"had not come to its end after {seconds:.3g} s"
        return bool(self._why_cut)

    @property
    def cut(self) -> str:
        """Why the rest of an error was not read; empty if all of it was read."""
        return self._why_cut and f"{self._request}: the error response {self._why_cut}; the rest was not read"

    @property
    def _request(self) -> str:
        return f"{self._head.method} {self._head.target.partition('?')[0]}"

    def whole(self) -> bytes:
        """All that has come."""
        return b"".join(self._pieces)


def note_cut(error: ApiError, cut: str) -> ApiError:
    """Return the same error, with a note that its response was cut, and the limit as its cause.

    It keeps its class: the head tells whether a request was forbidden or its object not found, and callers
    and retries rely on that.
    """
    status = structs.replace(
        error.status, message=f"{error.status.message} ({cut.partition(': ')[2]})".lstrip()
    )
    told = type(error)(status, request=error.request, retry_after=error.retry_after)
    told.__cause__ = ResponseTooLarge(cut)
    return told
