"""`Request` and `StreamRequest`: values that are sent, and that read the response."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from .._errors import RemoteProtocolError
from ..wire import Decoder, Headers, RawRequest, Safety, inflate, refusal, warnings

T = TypeVar("T")
E = TypeVar("E")
T_co = TypeVar("T_co", covariant=True)


class Reply(Struct, Generic[T], frozen=True):
    """A successful response. `warnings` are the server's, a sentence each."""

    value: T
    status: int = 200
    warnings: tuple[str, ...] = ()
    headers: Headers = ()

    @property
    def created(self) -> bool:
        """Whether the request created the object, which an apply or a replace may or may not do."""
        return self.status == 201


class ResponseParser(Protocol[T_co]):
    """How the body of a successful response is read: a value, so that requests compare equal."""

    def parse(self, status: int, headers: Headers, body: bytes) -> T_co:
        """Return the value of the response, or raise `RemoteProtocolError`."""
        ...


class Request(RawRequest, Generic[T], frozen=True, kw_only=True):
    """A request with one response. Send it by any means, then pass the response to `parse`.

    A write is `guarded` if it cannot take effect twice: by its resource version or uid, by the name of the
    created object, or because it is an apply. `safety` is for retry policies.
    """

    verb: str
    parser: ResponseParser[T]
    accepts: tuple[int, ...] = ()  # successful statuses besides 2xx, such as 304
    guarded: bool = False

    __repr__ = RawRequest.__repr__

    @property
    def safety(self) -> Safety:
        """Whether the request may be repeated."""
        if self.method == "GET":
            return Safety.READ
        return Safety.GUARDED if self.guarded else Safety.NOT_IDEMPOTENT

    def parse(self, status: int, headers: Headers, body: bytes) -> Reply[T]:
        """Return the value of a response, or raise its `ApiError`.

        A malformed response raises `RemoteProtocolError`.
        """
        successful = 200 <= status < 300 or status in self.accepts
        try:
            body = inflate(headers, body)
            if not successful:
                raise refusal(self, status, headers, body)
            value = self.parser.parse(status, headers, body)
        except RemoteProtocolError as error:
            if not successful:
                raise refusal(self, status, headers, b"") from error
            raise type(error)(f"{self.label}: the response is {status}, but {error}") from error
        return Reply(value, status, warnings(headers, self), headers)


class StreamOpener(Protocol[E]):
    """How the body of a streamed response is read: a value that makes decoders."""

    def open(self, request: RawRequest, status: int, headers: Headers) -> Decoder[E]:
        """Return a decoder for a response, which may be a refusal."""
        ...


class StreamRequest(RawRequest, Generic[E], frozen=True, kw_only=True):
    """A request whose response does not end by itself. Feed its bytes to the decoder that `open` returns."""

    verb: str
    opener: StreamOpener[E]

    __repr__ = RawRequest.__repr__

    def open(self, status: int, headers: Headers) -> Decoder[E]:
        """Return a decoder for the bytes of a response."""
        return self.opener.open(self, status, headers)
