"""A request as a value: what goes out, and what the answer will mean."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from ..wire import Decoder, Head, Headers, refusal, warnings

T = TypeVar("T")
E = TypeVar("E")
T_co = TypeVar("T_co", covariant=True)


class Reply(Struct, Generic[T], frozen=True):
    """An answer that says yes. `warnings` are the server's, one sentence each."""

    value: T
    status: int = 200
    warnings: tuple[str, ...] = ()
    headers: Headers = ()

    @property
    def created(self) -> bool:
        """True if the request made the object, which an apply or a replace may or may not do."""
        return self.status == 201


class Reading(Protocol[T_co]):
    """How the body of a good answer is read: a value, so that requests compare equal."""

    def read(self, body: bytes, headers: Headers) -> T_co:
        """The value of the body, or `RemoteProtocolError`."""
        ...


class Request(Head, Generic[T], frozen=True, kw_only=True):
    """A request with one answer. Send it by any means, then hand the answer to `parse`."""

    verb: str
    reading: Reading[T]

    def parse(self, status: int, headers: Headers, body: bytes) -> Reply[T]:
        """What the answer means, or the `ApiError` that it is."""
        if not 200 <= status < 300:
            raise refusal(self, status, headers, body)
        return Reply(self.reading.read(body, headers), status, warnings(headers), headers)


class Opening(Protocol[E]):
    """How the body of a streamed answer is read: a value that makes decoders."""

    def open(self, status: int, headers: Headers) -> Decoder[E]:
        """A decoder for one answer; an answer outside 2xx is read as one failure, whatever its body."""
        ...


class StreamRequest(Head, Generic[E], frozen=True, kw_only=True):
    """A request whose answer does not end by itself. Feed its bytes to what `open` gives."""

    verb: str
    opening: Opening[E]

    def open(self, status: int, headers: Headers) -> Decoder[E]:
        """A decoder for the bytes of one answer."""
        return self.opening.open(status, headers)
