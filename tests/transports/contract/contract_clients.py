"""`AnyClient`: one interface for the client for event loops and the client for threads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeVar

from contract_transports import AsyncAdapter, Rig

import kubeproto as kp
from kubeproto import Transport
from kubeproto.config import Connection
from kubeproto.requests import Reply, Request
from kubeproto_runtime import BlockingClient, BodyLimits, Client

T = TypeVar("T")


class Book(kp.Object[dict[str, Any], None], group="example.com", version="v1"):
    """A book."""


SMALL: Final = BodyLimits(objects=1 << 20)


class AnyClient:
    """A client for event loops, or a client for threads, whose methods never wait."""

    def __init__(self, transport: Transport, **settings: Any) -> None:
        self._threaded = isinstance(transport, AsyncAdapter)
        blocking: Any = transport.blocking if isinstance(transport, AsyncAdapter) else None
        self._client: Any = (
            BlockingClient(blocking, **settings) if self._threaded else Client(transport, **settings)
        )

    async def call(self, request: Request[T]) -> Reply[T]:
        called = self._client.call(request)
        reply: Reply[T] = called if self._threaded else await called
        return reply

    async def pages(self) -> AsyncIterator[list[str]]:
        pages_ = self._client.api(Book).pages()
        if self._threaded:
            for page in pages_:
                yield [book.metadata.name for book in page]
        else:
            async for page in pages_:
                yield [book.metadata.name for book in page]


def with_client(
    rig: Rig, connection: Connection, body: Callable[[AnyClient], Awaitable[T]], **settings: Any
) -> T:
    async def run(transport: Transport) -> T:
        return await body(AnyClient(transport, **settings))

    return rig.run(connection, run)


async def get_moby(client: AnyClient) -> Any:
    return await client.call(kp.Api(Book).get("moby"))
