"""Between httpcore and the sockets: passes their bytes on in larger pieces, see `_merging`."""

from __future__ import annotations

import math
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import anyio
import httpcore
import httpx

from ._merging import Merging
from ._patience import bounded, read, write
from ._tls_stream import TlsStream

# httpcore asks for 64 KiB at a time. A busy watch has more, and each piece costs.
_READ: Final = 256 * 1024

_Options = Iterable[httpcore.SOCKET_OPTION] | None


def merge_chunks(transport: httpx.HTTPTransport | httpx.AsyncHTTPTransport) -> None:
    """Have all connections of a transport merge chunks.

    httpcore's pools accept a backend, which httpx cannot set. If either renames these two attributes,
    everything works as before, only slower; the contract suite notices that.
    """
    pool: Any = getattr(transport, "_pool", None)
    backend = getattr(pool, "_network_backend", None)
    if isinstance(backend, httpcore.AsyncNetworkBackend):
        pool._network_backend = _AsyncBackend(backend)
    elif isinstance(backend, httpcore.NetworkBackend):
        pool._network_backend = _Backend(backend)


def _set_options(connected: Any, options: _Options) -> None:
    """Set the options that the kernel accepts: in sandboxes it refuses some, and httpcore would fail."""
    for option in options or ():
        with suppress(OSError):
            connected.setsockopt(*option)


class _AsyncBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, inner: httpcore.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _Options = None,
    ) -> httpcore.AsyncNetworkStream:
        found = await self._inner.connect_tcp(host, port, timeout, local_address)
        _set_options(found.get_extra_info("socket"), socket_options)
        return AsyncStream(found)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class AsyncStream(httpcore.AsyncNetworkStream):
    """A connection whose chunks are merged."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._merging = Merging()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        until = math.inf
        while not self._merging.problem:
            data = await self._inner.read(max(max_bytes, _READ), timeout)
            if not data or (data := self._merging.came(data)):
                return data
            # Nothing of that was body, and it may continue so byte by byte.
            if timeout is not None:
                until = min(until, anyio.current_time() + timeout)
                timeout = until - anyio.current_time()
                if timeout <= 0:
                    raise httpcore.ReadTimeout("no piece of the body came in time")
        raise httpcore.RemoteProtocolError(self._merging.problem)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self._merging.sent(buffer)
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return AsyncStream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: _Options = None,
    ) -> httpcore.NetworkStream:
        found = self._inner.connect_tcp(host, port, timeout, local_address)
        _set_options(found.get_extra_info("socket"), socket_options)
        return BlockingStream(found)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class BlockingStream(httpcore.NetworkStream):
    """The same for the blocking client."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._merging = Merging()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        limit = bounded(timeout)  # for all reads together: the bytes may not complete a piece
        while not self._merging.problem:
            data = read(self._inner, max(max_bytes, _READ), limit)
            if not data or (data := self._merging.came(data)):
                return data
        raise httpcore.RemoteProtocolError(self._merging.problem)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self._merging.sent(buffer)
        write(self._inner, buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        try:
            return BlockingStream(TlsStream(self._inner, ssl_context, server_hostname, timeout))
        except BaseException:
            self._inner.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
