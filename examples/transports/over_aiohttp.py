"""A transport over aiohttp, with its pool and its TLS."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from shelf import list_then_watch
from yarl import URL

import kubeproto as kp


class Response:
    """The head of a response, and its body as it arrives."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers = tuple((name.decode(), value.decode()) for name, value in response.raw_headers)
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.content.iter_any():
            yield chunk


class AiohttpTransport:
    """A `kubeproto.Transport` over a session, which must not decompress: the core reads gzip itself."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session, self._server = session, server

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[kp.IncomingResponse]:
        """Send a request and wait for the head of its response."""
        try:
            async with self._session.request(
                request.method,
                URL(self._server + request.target, encoded=True),
                headers=list(request.headers),
                data=request.body or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=timeout, sock_read=idle),
            ) as response:
                yield Response(response)
        except aiohttp.ClientConnectorError as error:
            raise kp.ConnectError(str(error)) from error
        except TimeoutError as error:
            raise kp.DeadlineExceeded(str(request)) from error
        except aiohttp.ClientError as error:
            raise kp.TransportError(str(error)) from error


async def main(server: str) -> None:
    """List and watch on this server."""
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        await list_then_watch(AiohttpTransport(session, server))


if __name__ == "__main__":
    asyncio.run(main(f"http://{sys.argv[1]}:{sys.argv[2]}"))
