"""`BodyLimits`: the maximum size of a response.

A server, or a proxy in front of it, may send without end, and a whole response is in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from kubeproto import ApiError, ResponseTooLarge
from kubeproto.wire import is_enough

if TYPE_CHECKING:
    from kubeproto import RawRequest


class BodyLimits(Struct, frozen=True, kw_only=True):
    """The maximum number of bytes of a response on the wire: `objects` if it succeeds, `errors` if not.

    A list of 100,000 pods without pages has about 200 MiB, and a Status has a few hundred bytes. A larger
    successful response raises `ResponseTooLarge`. A larger error raises the `ApiError` of its code, with an
    incomplete message and `ResponseTooLarge` as its cause. Streams are not limited, because they are never in
    memory as a whole.
    """

    objects: int = 256 * 1024 * 1024
    errors: int = 1024 * 1024


LIMITS: Final = BodyLimits()


class ResponseBody:
    """Collects the body of a response."""

    def __init__(self, request: RawRequest, status: int, limits: BodyLimits, now: float) -> None:
        self._request = request
        self._status = status
        self._refused = not 200 <= status < 300
        self._max_size = limits.errors if self._refused else limits.objects
        self._began = now
        self._chunks: list[bytes] = []
        self._size = 0
        self._truncation = ""

    def add(self, chunk: bytes, now: float) -> bool:
        """Add a chunk. Return True if no more is needed; raise `ResponseTooLarge` beyond the limit."""
        self._size += len(chunk)
        self._chunks.append(chunk)
        if self._refused:
            self._truncation = self._describe_truncation(now - self._began)
            return bool(self._truncation)
        if self._size > self._max_size:
            raise ResponseTooLarge(
                f"{self._request.label}: the response is longer than {self._max_size} bytes; list page by"
                " page, or pass limits=BodyLimits(objects=…) to the client"
            )
        return False

    def _describe_truncation(self, seconds: float) -> str:
        if self._size > self._max_size:
            return f"is longer than {self._max_size} bytes (limits=BodyLimits(errors=…) permits more)"
        if is_enough(self._status, 0, seconds):
            return f"was not complete after {seconds:.3g} s"
        return ""

    @property
    def truncation(self) -> str:
        """The reason why an error was not read completely; empty if it was."""
        if not self._truncation:
            return ""
        return f"{self._request.label}: the error response {self._truncation}; the rest was not read"

    def content(self) -> bytes:
        """Return the received bytes."""
        return b"".join(self._chunks)


def truncated_error(error: ApiError, truncation: str) -> ApiError:
    """Return a copy of the error with a note about the truncation, and with `ResponseTooLarge` as its cause.

    Its class does not change, because callers and retries depend on the status of the response.
    """
    note = truncation.partition(": ")[2]
    status = structs.replace(error.status, message=f"{error.status.message} ({note})".lstrip())
    truncated = type(error)(status, request=error.request, retry_after=error.retry_after)
    truncated.__cause__ = ResponseTooLarge(truncation)
    return truncated
