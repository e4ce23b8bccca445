"""A server that does what a script says: bytes, waits and cuts, over real sockets on the loopback.

It runs on an event loop in a thread of its own, so that any client can be retriedst it, a blocking one
too. A script is an async function of one connection. It waits for events, never for time; the bounds here
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

# Nothing takes so long but a fault, on a machine that is busy with other tests too.
BOUND: Final = 30.0

RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: close at once, and say so by a RST


class Asked(NamedTuple):
    """A request as it came, and the number of the connection that it came on."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: int

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")


class Gate:
    """A place in a script where it waits until the test lets it go on."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._reached = threading.Event()
        self._opened = asyncio.Event()

    async def wait(self) -> None:
        """For the script: stop here."""
        self._reached.set()
        await self._opened.wait()

    def open(self) -> None:
        """For the test: let the script go on."""
        self._loop.call_soon_threadsafe(self._opened.set)

    @property
    def reached(self) -> bool:
        """For the test: whether the script has come here."""
        return self._reached.is_set()

    def until_reached(self) -> None:
        """For the test: block until the script has come here."""
        assert self._reached.wait(BOUND), "the script never came to its gate"


class Peer:
    """One connection, as the script sees it."""

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
        found = self.writer.transport
        assert isinstance(found, asyncio.Transport)
        return found

    async def head(self) -> Asked:
        """The next request without its body; `IncompleteReadError` when the client has closed."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, target, _ = lines[0].split(" ")
        headers = tuple((name, value.strip()) for name, _, value in (x.partition(":") for x in lines[1:-2]))
        asked = Asked(method, target, headers, b"", self.number)
        self._server.asked.append(asked)
        return asked

    async def request(self) -> Asked:
        """The next request, whole."""
        asked = await self.head()
        if length := asked.header("content-length"):
            asked = asked._replace(body=await self.reader.readexactly(int(length)))
            self._server.asked[-1] = asked
        assert not asked.header("transfer-encoding")
        return asked

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def drip(self, data: bytes) -> None:
        """Byte by byte, so that the reader can take each alone."""
        for at in range(len(data)):
            await self.send(data[at : at + 1])
            await asyncio.sleep(0)

    async def reset(self) -> None:
        """Break the connection."""
        await asyncio.sleep(0)
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        await abort(self.writer)

    async def close(self) -> None:
        """Close the connection normally; what was sent arrives."""
        self.writer.close()
        await self.writer.wait_closed()

    async def until_closed(self) -> None:
        """Wait until the client closes."""
        while await self.reader.read(1 << 16):
            pass


Script = Callable[[Peer], Awaitable[None]]


class Server:
    """A listening port. Each connection is numbered from 0 and runs the script until the client leaves."""

    def __init__(self, loop: ServerLoop, script: Script, context: ssl.SSLContext | None) -> None:
        self.asked: list[Asked] = []
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
        """How many connections the client has not closed, nor the script."""
        return len(self._tasks)

    @property
    def idle(self) -> bool:
        """Whether every connection is closed, and the client's kernel has heard of it."""
        return not self._tasks and not has_connection(self.port)

    def until_idle(self) -> None:
        """Block until every connection is closed; an error if the client keeps one."""
        self._loop.run(self._until_idle())

    def stop(self) -> None:
        """Close all. What went wrong in a script is raised here."""
        self._loop.run(self._stop())
        if self._failures:
            raise self._failures[0]

    async def _listen(self, context: ssl.SSLContext | None) -> asyncio.Server:
        return await asyncio.start_server(
            self._serve,
            "127.0.0.1",
            0,
            ssl=context,
            # As Go does, the farewell of TLS is said and not waited for.
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
                await peer.until_closed()
        except (OSError, EOFError):
            pass  # the client left, as it may at any time
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
    """Close a socket at once, and wait for it: asyncio does so in a later round of its loop."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


class ServerLoop:
    """The thread in which all servers of a test run live."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="servers")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this over there, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(BOUND + 10)

    def serve(self, script: Script, context: ssl.SSLContext | None = None) -> Server:
        return Server(self, script, context)

    def gate(self) -> Gate:
        return Gate(self._loop)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
