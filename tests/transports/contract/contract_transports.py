"""The transports under contract: one entry each, and one way to run the same test on all of them.

A test's body is a coroutine over a `Transport`. On trio and asyncio it runs as usual. A blocking transport is
dressed as an async one that never waits, and the body runs to its end in one step.
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


# What makes of an opener of transports one of wrapped transports.
Wrapper = Callable[[Any], Any]


class Rig(NamedTuple):
    """A transport on the event loop that it is tried on; `module` and `name` say where it is found."""

    label: str
    loop: Literal["asyncio", "trio", "none"]
    module: str
    name: str
    needs: tuple[str, ...] = ()
    wrapper: Wrapper | None = None
    thorough: str = ""  # why it is tried in the gate alone

    def __str__(self) -> str:
        return self.label

    @property
    def waits(self) -> bool:
        """True if it is async, so that what it does can be cancelled."""
        return self.loop != "none"

    @property
    def upgrades(self) -> bool:
        """True if it has WebSockets."""
        return self.module != "kubeproto_httpx"

    @property
    def marks(self) -> tuple[pytest.MarkDecorator, ...]:
        """When it is not tried: where what it needs is missing, or where the other loop has shown enough."""
        needs = pytest.mark.needs(*self.needs)
        return (needs, pytest.mark.thorough(self.thorough)) if self.thorough else (needs,)

    def wrapped(self, wrapper: Wrapper) -> Rig:
        """The same transport inside of another one."""
        return self._replace(wrapper=wrapper)

    def run(self, connection: Connection, body: Body[T]) -> T:
        """Open the transport, run the body, close the transport; no task may be left behind."""
        make = opener(self)
        if self.loop == "none":
            with make(connection) as blocking:
                return _at_once(body(Dressed(blocking)))
        return anyio.run(_run, make, connection, body, backend=self.loop)


def opener(rig: Rig) -> Callable[[Connection], Any]:
    """What makes a transport of this kind."""
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


def rigs(*, waits: bool = False, upgrades: bool = False) -> list[Any]:
    """The table as pytest's parameters; only those that can be cancelled, or have WebSockets, if so told."""
    return [
        pytest.param(rig, id=rig.label.replace(", ", " ").replace(" ", "-"), marks=rig.marks)
        for rig in ALL_RIGS
        if rig.waits >= waits and rig.upgrades >= upgrades
    ]


class Answer(NamedTuple):
    """A whole answer, its body in the pieces in which it came."""

    status: int
    headers: Headers
    pieces: list[bytes]

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


async def fetch(
    transport: Transport, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
) -> Answer:
    """Send a request and read all of the answer."""
    async with transport.send(request, timeout=timeout, idle=idle) as incoming:
        return Answer(incoming.status, incoming.headers, [chunk async for chunk in incoming])


def open_to(server: Server, **settings: Any) -> Connection:
    """The plainest way to a server."""
    return Connection(server=server.url, **settings)


def fetched(
    rig: Rig,
    server: Server | Connection,
    request: RawRequest | None = None,
    *,
    timeout: float | None = None,
    idle: float | None = None,
) -> Answer:
    """The response to one request over a fresh transport."""

    async def body(transport: Transport) -> Answer:
        return await fetch(transport, request or get(), timeout=timeout, idle=idle)

    return rig.run(server if isinstance(server, Connection) else open_to(server), body)


def get(target: str = "/", **headers: str) -> RawRequest:
    return RawRequest("GET", target, tuple(headers.items()))


def post(body: bytes = b"{}", target: str = "/") -> RawRequest:
    return RawRequest("POST", target, (("Content-Type", "application/json"),), body)


async def until(happened: Callable[[], bool]) -> None:
    """Let the loop go round until this is so."""
    with anyio.fail_after(BOUND):
        while not happened():
            await anyio.lowlevel.checkpoint()


async def until_idle(server: Server) -> None:
    """Let time pass until every connection to this server is closed."""
    if current_loop() == "none":
        server.until_idle()
    else:
        await until(lambda: server.idle)
        # What the server did last has arrived; the loop has yet to see it.
        for _ in range(5):
            await anyio.lowlevel.checkpoint()


class Dressed:
    """A blocking transport as an async one."""

    def __init__(self, blocking: BlockingTransport) -> None:
        self.blocking = blocking

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[IncomingResponse]:
        with self.blocking.send(request, timeout=timeout, idle=idle) as incoming:
            yield _DressedIncoming(incoming)


class _DressedIncoming:
    def __init__(self, incoming: BlockingIncomingResponse) -> None:
        self.status = incoming.status
        self.headers = incoming.headers
        self._incoming = incoming

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._incoming:
            yield chunk


def _at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("the body of a test waits for something that a blocking transport cannot give")


async def _run(
    make: Callable[[Connection], AbstractAsyncContextManager[Transport]],
    connection: Connection,
    body: Callable[[Transport], Awaitable[T]],
) -> T:
    initial_tasks = living_tasks()
    # Nothing takes so long but a fault, and that should be told, not waited for.
    with anyio.fail_after(6 * BOUND):
        async with make(connection) as transport:
            result = await body(transport)
    # What was told to end may need a few rounds for it.
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
    assert living_tasks() <= initial_tasks, "a task is left"
    return result


def living_tasks() -> int:
    """How many tasks this event loop has, of its own and of others."""
    if current_loop() == "asyncio":
        return len(asyncio.all_tasks())
    import trio

    return trio.lowlevel.current_statistics().tasks_living


def current_loop() -> Literal["asyncio", "trio", "none"]:
    """Which event loop runs this."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        return "asyncio"
    trio = sys.modules.get("trio")
    return "trio" if trio is not None and trio.lowlevel.in_trio_run() else "none"
