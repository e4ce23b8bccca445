"""A request as a value: what goes out, and what the answer will mean."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from .._errors import RemoteProtocolError
from ..wire import Decoder, Head, Headers, Safety, inflate, refusal, warnings

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

    def read(self, status: int, headers: Headers, body: bytes) -> T_co:
        """The value of the answer, or `RemoteProtocolError`."""
        ...


class Request(Head, Generic[T], frozen=True, kw_only=True):
    """A request with one answer. Send it by any means, then hand the answer to `parse`.

    A write is `guarded` if it cannot change the world twice: by the resource version or uid that it carries,
    by the name of what it creates, or because it is an apply. `safety` is what a retry policy asks.
    """

    verb: str
    reading: Reading[T]
    accepts: tuple[int, ...] = ()  # statuses outside 2xx that are answers, such as 304
    guarded: bool = False

    __repr__ = Head.__repr__

    @property
    def safety(self) -> Safety:
        """What a second arrival of this request can do."""
        if self.method == "GET":
            return Safety.READ
        return Safety.GUARDED if self.guarded else Safety.ONCE

    def parse(self, status: int, headers: Headers, body: bytes) -> Reply[T]:
        """What the answer means, or the `ApiError` that it is; `RemoteProtocolError` if it makes no sense."""
        good = 200 <= status < 300 or status in self.accepts
        try:
            body = inflate(headers, body)
            if not good:
                raise refusal(self, status, headers, body)
            value = self.reading.read(status, headers, body)
        except RemoteProtocolError as error:
            if not good:
                raise refusal(self, status, headers, b"") from error
            raise type(error)(f"{self.about}: the answer is {status}, but {error}") from error
        return Reply(value, status, warnings(headers), headers)


class StreamOpener(Protocol[E]):
    """How the body of a streamed answer is read: a value that makes decoders."""

    def open(self, request: Head, status: int, headers: Headers) -> Decoder[E]:
        """A decoder for one answer, be it a refusal or not."""
        ...


class StreamRequest(Head, Generic[E], frozen=True, kw_only=True):
    """A request whose answer does not end by itself. Feed its bytes to what `open` gives."""

    verb: str
    opening: StreamOpener[E]

    __repr__ = Head.__repr__

    def open(self, status: int, headers: Headers) -> Decoder[E]:
        """A decoder for the bytes of one answer."""
        return self.opening.open(self, status, headers)
