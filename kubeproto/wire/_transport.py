"""The interface between this core and the code that moves bytes: requests, responses, and transports.

A transport sends a `RawRequest` and returns the status, the headers and the received bytes of the body: never
inflated, never split again. It decides nothing. A new transport needs only `IncomingResponse` and
`Transport`, or their blocking forms; a transport with WebSockets is an `Upgrader` as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, TypeVar

from msgspec.structs import replace

from ._concealed_values import ConcealingStruct, conceal_headers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

E = TypeVar("E")

Headers: TypeAlias = tuple[tuple[str, str], ...]


class RawRequest(ConcealingStruct, frozen=True):
    """A request. `target` is the path and query; names of headers keep their spelling.

    A transport calls `check` directly before it sends the first byte. It raises if the request must not be
    sent any more, however long the credentials or the connection took.
    """

    method: str
    target: str
    headers: Headers = ()
    body: bytes = b""
    check: Callable[[], None] | None = None

    @property
    def label(self) -> str:
        """The method and path for error messages; never the query, which may be private."""
        return f"{self.method} {self.target.partition('?')[0]}"

    def with_headers(self, *headers: tuple[str, str]) -> Self:
        """Return the same request with more headers: credentials, a user agent."""
        return replace(self, headers=(*self.headers, *headers))

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [
            ("method", self.method),
            ("target", self.target),
            ("headers", conceal_headers(self.headers)),
            ("body", f"{len(self.body)} bytes"),
        ]


class IncomingResponse(Protocol):
    """A response whose body is still arriving: iterate over its bytes, once."""

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    @property
    def headers(self) -> Headers:
        """The received headers."""
        ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...


class Transport(Protocol):
    """Carries requests on some async I/O. Leaving the context releases or closes the connection.

    `timeout` bounds the whole exchange; `idle` the wait for each piece of the body, and for the whole head
    unless the request has a body to send, in seconds. Either ends in `DeadlineExceeded`. A lost connection is
    a `TransportError`; a response that is not HTTP is a `RemoteProtocolError`.
    """

    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AbstractAsyncContextManager[IncomingResponse]:
        """Send a request and wait for the head of its response."""
        ...


class Signal(Protocol):
    """The common part of `trio.Event`, `asyncio.Event` and `anyio.Event`."""

    def set(self) -> object:
        """Wake the waiting tasks."""
        ...

    async def wait(self) -> object:
        """Wait until it is set."""
        ...


class BlockingIncomingResponse(Protocol):
    """The blocking form of `IncomingResponse`.

    If it has an `abort()`, another thread can end its read, which then fails or returns; a cache that is
    stopped need not wait for the server then.
    """

    @property
    def status(self) -> int:
        """The HTTP status code."""
        ...

    @property
    def headers(self) -> Headers:
        """The received headers."""
        ...

    def __iter__(self) -> Iterator[bytes]: ...


class BlockingTransport(Protocol):
    """The blocking form of `Transport`."""

    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AbstractContextManager[BlockingIncomingResponse]:
        """Send a request and wait for the head of its response."""
        ...


class Decoder(Protocol[E]):
    """Decodes the chunks of a streamed response into lists of events; chunk boundaries never matter."""

    def feed(self, chunk: bytes) -> list[E]:
        """Take the next bytes; return the complete events."""
        ...

    def finish(self) -> list[E]:
        """Handle the end of the stream; return the last events."""
        ...
