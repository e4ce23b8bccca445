"""The transports under contract: an entry for each, and a function that runs the same test on all of them.

The body of a test is a coroutine over a `Transport`. On trio and asyncio it runs as usual. A blocking
transport is wrapped in an async adapter that never waits, and the body runs to its end in a single step.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, Literal, NamedTuple, TypeVar

import anyio.lowlevel
import pytest
from contract_server import BOUND, Server

from kubeproto import (
    BlockingIncomingResponse,
    BlockingTransport,
    Headers,
    IncomingResponse,
    RawRequest,
    Transport,
)
from kubeproto.config import Connection

T = TypeVar("T")

Body = Callable[[Transport], Coroutine[Any, Any, T]]


# Wraps the factory of a transport.
Wrapper = Callable[[Any], Any]


class Rig(NamedTuple):
    """A transport and the event loop that runs it. `module` and `name` locate its class."""

    label: str
    loop: Literal["asyncio", "trio", "none"]
    module: str
    name: str
    needs: tuple[str, ...] = ()
    wrapper: Wrapper | None = None
    thorough: str = ""  # the reason why only the gate runs it

    def __str__(self) -> str:
        return self.label

    @property
    def is_async(self) -> bool:
        """True for an async transport, whose operations can be cancelled."""
        return self.loop != "none"

    @property
    def has_websockets(self) -> bool:
        """True if it has WebSockets."""
        return self.module != "kubeproto_httpx"

    @property
    def pytest_marks(self) -> tuple[pytest.MarkDecorator, ...]:
        """The marks that skip the transport: a requirement is missing, or the other loop is enough outside of
        the gate.
        """
        needs = pytest.mark.needs(*self.needs)
        return (needs, pytest.mark.thorough(self.thorough)) if self.thorough else (needs,)

    def with_wrapper(self, wrapper: Wrapper) -> Rig:
        """Return the same transport inside a wrapper."""
        return self._replace(wrapper=wrapper)

    def run(self, connection: Connection, body: Body[T]) -> T:
        """Open the transport, run the body, close the transport, and check that no task remains."""
        factory = transport_factory(self)
        if self.loop == "none":
            with factory(connection) as blocking:
                return _run_without_waiting(body(AsyncAdapter(blocking)))
        return anyio.run(_run, factory, connection, body, backend=self.loop)


def transport_factory(rig: Rig) -> Callable[[Connection], Any]:
    """Return the factory of this transport."""
    factory: Callable[[Connection], Any] = getattr(importlib.import_module(rig.module), rig.name)
    return factory if rig.wrapper is None else rig.wrapper(factory)


ALL_RIGS: Final = (
    Rig("trio", "trio", "kubeproto_trio", "TrioTransport", ("trio", "h11")),
    Rig("asyncio", "asyncio", "kubeproto_asyncio", "AsyncioTransport", ("h11",)),
    Rig("httpx on asyncio", "asyncio", "kubeproto_httpx", "HttpxTransport", ("httpx",)),
    Rig(
        "httpx on trio",
        "trio",
        "kubeproto_httpx",
        "HttpxTransport",
        ("httpx", "trio"),
        thorough="the same on the other loop",
    ),
    Rig("httpx, blocking", "none", "kubeproto_httpx", "BlockingHttpxTransport", ("httpx",)),
)


def rigs(*, is_async: bool = False, has_websockets: bool = False) -> list[Any]:
    """Return the table as pytest's parameters, optionally only async transports or transports with
    WebSockets.
    """
    return [
        pytest.param(rig, id=rig.label.replace(", ", " ").replace(" ", "-"), marks=rig.pytest_marks)
        for rig in ALL_RIGS
        if rig.is_async >= is_async and rig.has_websockets >= has_websockets
    ]


class ReceivedResponse(NamedTuple):
    """A complete response, with its body in the pieces in which it arrived."""

    status: int
    headers: Headers
    pieces: list[bytes]

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


async def fetch(
    transport: Transport, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
) -> ReceivedResponse:
    """Send a request and read the complete response."""
    async with transport.send(request, timeout=timeout, idle=idle) as incoming:
        return ReceivedResponse(incoming.status, incoming.headers, [chunk async for chunk in incoming])


def connection_to(server: Server, **settings: Any) -> Connection:
    """Return the connection settings for a server."""
    return Connection(server=server.url, **settings)


def fetch_once(
    rig: Rig,
    server: Server | Connection,
    request: RawRequest | None = None,
    *,
    timeout: float | None = None,
    idle: float | None = None,
) -> ReceivedResponse:
    """Send a request over a new transport and return the response."""

    async def body(transport: Transport) -> ReceivedResponse:
        return await fetch(transport, request or get(), timeout=timeout, idle=idle)

    return rig.run(server if isinstance(server, Connection) else connection_to(server), body)


def get(target: str = "/", **headers: str) -> RawRequest:
    return RawRequest("GET", target, tuple(headers.items()))


def post(body: bytes = b"{}", target: str = "/") -> RawRequest:
    return RawRequest("POST", target, (("Content-Type", "application/json"),), body)


async def until(condition: Callable[[], bool]) -> None:
    """Yield to the loop until the condition is true."""
    with anyio.fail_after(BOUND):
        while not condition():
            await anyio.lowlevel.checkpoint()


async def wait_until_idle(server: Server) -> None:
    """Wait until every connection to this server is closed."""
    if current_loop() == "none":
        server.wait_until_idle()
    else:
        await until(lambda: server.idle)
        # The server's last bytes have arrived; the loop has yet to process them.
        for _ in range(5):
            await anyio.lowlevel.checkpoint()


class AsyncAdapter:
    """A blocking transport behind the interface of an async transport."""

    def __init__(self, blocking: BlockingTransport) -> None:
        self.blocking = blocking

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[IncomingResponse]:
        with self.blocking.send(request, timeout=timeout, idle=idle) as incoming:
            yield _AsyncIncoming(incoming)


class _AsyncIncoming:
    def __init__(self, incoming: BlockingIncomingResponse) -> None:
        self.status = incoming.status
        self.headers = incoming.headers
        self._incoming = incoming

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._incoming:
            yield chunk


def _run_without_waiting(coroutine: Coroutine[Any, Any, T]) -> T:
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("the body of a test waits for something that a blocking transport does not support")


async def _run(
    factory: Callable[[Connection], AbstractAsyncContextManager[Transport]],
    connection: Connection,
    body: Callable[[Transport], Awaitable[T]],
) -> T:
    initial_tasks = living_tasks()
    # Only a defect takes so long. Fail instead of waiting for it.
    with anyio.fail_after(6 * BOUND):
        async with factory(connection) as transport:
            result = await body(transport)
    # Cancelled tasks may need a few rounds to end.
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    assert living_tasks() <= initial_tasks, "a task is still running"
    return result


def living_tasks() -> int:
    """Return the number of tasks of this event loop, including its own."""
    if current_loop() == "asyncio":
        return len(asyncio.all_tasks())
    import trio

    return trio.lowlevel.current_statistics().tasks_living


def current_loop() -> Literal["asyncio", "trio", "none"]:
    """Return the name of the running event loop."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        return "asyncio"
    trio = sys.modules.get("trio")
    return "trio" if trio is not None and trio.lowlevel.in_trio_run() else "none"
