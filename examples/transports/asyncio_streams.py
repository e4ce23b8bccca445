"""A transport on asyncio's streams only: one connection for each request, no TLS."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from shelf import list_then_watch

import kubeproto as kp
from kubeproto.wire import Body, open_body


class Response:
    """The head of a response, and its body as it arrives."""

    def __init__(self, method: str, head: bytes, reader: asyncio.StreamReader, idle: float | None) -> None:
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = tuple((name, value.strip()) for name, _, value in (x.partition(":") for x in lines))
        self._body: Body = open_body(method, self.status, self.headers)
        self._reader = reader
        self._idle = idle

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self._body.finished:
            async with asyncio.timeout(self._idle):
                data = await self._reader.read(65536)
            if chunk := self._body.feed(data):
                yield chunk
            if not data:
                self._body.close()


class StreamTransport:
    """A `kubeproto.Transport` to a single host and port."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[kp.IncomingResponse]:
        """Connect, write, read the head; iterating over the response reads the body."""
        headers = (("Host", f"{self._host}:{self._port}"), ("Content-Length", str(len(request.body))))
        lines = "".join(f"{name}: {value}\r\n" for name, value in (*headers, *request.headers))
        writer = None
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await asyncio.open_connection(self._host, self._port)
                if request.check is not None:
                    request.check()
                writer.write(
                    f"{request.method} {request.target} HTTP/1.1\r\n{lines}\r\n".encode() + request.body
                )
                async with asyncio.timeout(idle):
                    head = await reader.readuntil(b"\r\n\r\n")
                yield Response(request.method, head, reader, idle)
        except TimeoutError as error:
            raise kp.DeadlineExceeded(str(request)) from error
        except (OSError, EOFError) as error:
            raise (kp.TransportError if writer else kp.ConnectError)(str(error)) from error
        finally:
            if writer is not None:
                writer.close()


if __name__ == "__main__":
    asyncio.run(list_then_watch(StreamTransport(sys.argv[1], int(sys.argv[2]))))
