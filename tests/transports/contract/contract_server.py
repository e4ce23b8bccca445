"""A server that runs a script: bytes, waits and broken connections, over real sockets on the loopback.

It runs on an event loop in its own thread, so that any client can use it, also a blocking client. A script is
an async function with a connection as its argument. It waits for events, never for time; the timeouts here
only end a test that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, NamedTuple, TypeVar

from contract_sockets import has_connection

T = TypeVar("T")

# Seconds; only a defect takes so long, even on a machine that is busy with other tests.
BOUND: Final = 30.0

RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: close at once, with a RST


class ReceivedRequest(NamedTuple):
    """A request, and the number of its connection."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: int

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


class Gate:
    """A point in a script where it waits for the test."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._reached = threading.Event()
        self._opened = asyncio.Event()

    async def wait(self) -> None:
        """For the script: wait until the test opens the gate."""
        self._reached.set()
        await self._opened.wait()

    def open(self) -> None:
        """For the test: continue the script."""
        self._loop.call_soon_threadsafe(self._opened.set)

    @property
    def reached(self) -> bool:
        """For the test: return whether the script waits here."""
        return self._reached.is_set()

    def wait_until_reached(self) -> None:
        """For the test: block until the script waits here."""
        assert self._reached.wait(BOUND), "the script did not reach its gate"


class Peer:
    """A connection, for the script."""

    def __init__(
        self, server: Server, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.number = number
        self.reader = reader
        self.writer = writer
        self._server = server

    @property
    def transport(self) -> asyncio.Transport:
        """The connection under the streams, to stop reading from it."""
        transport = self.writer.transport
        assert isinstance(transport, asyncio.Transport)
        return transport

    async def head(self) -> ReceivedRequest:
        """Return the next request without its body. Raise `IncompleteReadError` if the client has closed."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = tuple((name, value.strip()) for name, _, value in (x.partition(":") for x in lines[1:-2]))
        request = ReceivedRequest(method, target, headers, b"", self.number)
        self._server.requests.append(request)
        return request

    async def request(self) -> ReceivedRequest:
        """Return the next complete request."""
        request = await self.head()
        if length := request.header("content-length"):
            request = request._replace(body=await self.reader.readexactly(int(length)))
            self._server.requests[-1] = request
        assert not request.header("transfer-encoding")
        return request

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def drip(self, data: bytes) -> None:
        """Send byte by byte, so that the client can read each alone."""
        for index in range(len(data)):
            await self.send(data[index : index + 1])
            await asyncio.sleep(0)

    async def reset(self) -> None:
        """Break the connection."""
        await asyncio.sleep(0)
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        await abort(self.writer)

    async def close(self) -> None:
        """Close the connection normally; the sent bytes arrive."""
        self.writer.close()
        await self.writer.wait_closed()

    async def wait_closed(self) -> None:
        """Wait until the client closes."""
        while await self.reader.read(1 << 16):
            pass


Script = Callable[[Peer], Awaitable[None]]


class Server:
    """A listening port. Each connection is numbered from 0 and runs the script until the client closes it."""

    def __init__(self, loop: ServerLoop, script: Script, context: ssl.SSLContext | None) -> None:
        self.requests: list[ReceivedRequest] = []
        self.connections = 0
        self._loop = loop
        self._script = script
        self._secure = context is not None
        self._failures: list[BaseException] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._listener = loop.run(self._listen(context))
        self.port: int = self._listener.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        return f"{'https' if self._secure else 'http'}://localhost:{self.port}"

    @property
    def open_connections(self) -> int:
        """The number of connections that neither the client nor the script has closed."""
        return len(self._tasks)

    @property
    def idle(self) -> bool:
        """True if every connection is closed, also in the client's kernel."""
        return not self._tasks and not has_connection(self.port)

    def wait_until_idle(self) -> None:
        """Block until every connection is closed. Fail if the client keeps a connection."""
        self._loop.run(self._until_idle())

    def stop(self) -> None:
        """Close all connections, and raise the first error of a script."""
        self._loop.run(self._stop())
        if self._failures:
            raise self._failures[0]

    async def _listen(self, context: ssl.SSLContext | None) -> asyncio.Server:
        return await asyncio.start_server(
            self._serve,
            "127.0.0.1",
            0,
            ssl=context,
            # As in Go, the closing alert of TLS is sent, and the server does not wait for the client's.
            ssl_shutdown_timeout=0.01 if context else None,
            limit=1 << 22,
            backlog=2048,
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        peer = Peer(self, self.connections, reader, writer)
        self.connections += 1
        try:
            await self._script(peer)
            if not writer.is_closing():
                await peer.wait_closed()
        except (OSError, EOFError):
            pass  # the client may close at any time
        except asyncio.CancelledError:
            pass  # the server is stopped
        except BaseException as error:
            self._failures.append(error)
        finally:
            await abort(writer)
            self._tasks.discard(task)

    async def _until_idle(self) -> None:
        if self._tasks:
            _, pending = await asyncio.wait(self._tasks, timeout=BOUND)
            assert not pending, f"the client has left {len(pending)} connections open"
        async with asyncio.timeout(BOUND):
            while not self.idle:
                await asyncio.sleep(0)

    async def _stop(self) -> None:
        self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await asyncio.sleep(0)  # the aborted transports close their sockets now


async def abort(writer: asyncio.StreamWriter) -> None:
    """Abort a socket and wait until it is closed: asyncio closes it in a later pass of its loop."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


class ServerLoop:
    """The thread in which all servers of a test run."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="servers")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the thread of the servers, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(BOUND + 10)

    def serve(self, script: Script, context: ssl.SSLContext | None = None) -> Server:
        return Server(self, script, context)

    def gate(self) -> Gate:
        return Gate(self._loop)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
