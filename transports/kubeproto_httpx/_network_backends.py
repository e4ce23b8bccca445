"""Network backends for httpcore whose streams merge chunks, see `_chunk_merging`."""

from __future__ import annotations

import math
import ssl
from collections.abc import Iterable
from typing import Any, Final

import anyio
import httpcore
import httpx

from kubeproto_sockets import set_options

from ._blocking_deadlines import limit_reads, read_stream, write_stream
from ._blocking_tls import BlockingTlsStream
from ._chunk_merging import ChunkMerger

# httpcore reads 64 KiB at a time. A busy watch has more, and each read costs.
_MAX_READ: Final = 256 * 1024

_Options = Iterable[httpcore.SOCKET_OPTION] | None


def merge_chunks(transport: httpx.HTTPTransport | httpx.AsyncHTTPTransport) -> None:
    """Make all connections of a transport merge chunks.

    httpcore's pools accept a backend, which httpx cannot set. If either renames these two attributes,
    everything works as before, only slower; the contract suite notices that.
    """
    pool: Any = getattr(transport, "_pool", None)
    backend = getattr(pool, "_network_backend", None)
    if isinstance(backend, httpcore.AsyncNetworkBackend):
        pool._network_backend = _AsyncBackend(backend)
    elif isinstance(backend, httpcore.NetworkBackend):
        pool._network_backend = _BlockingBackend(backend)


def _set_socket_options(stream: Any, options: _Options) -> None:
    # Set here and not by httpcore, which fails when a kernel refuses an option.
    if options and (connection := stream.get_extra_info("socket")) is not None:
        set_options(connection, options)


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
        stream = await self._inner.connect_tcp(host, port, timeout, local_address)
        _set_socket_options(stream, socket_options)
        return AsyncStream(stream)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class AsyncStream(httpcore.AsyncNetworkStream):
    """A connection of the async client whose chunks are merged."""

    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner
        self._merger = ChunkMerger()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        deadline = math.inf
        while not self._merger.problem:
            data = await self._inner.read(max(max_bytes, _MAX_READ), timeout)
            if not data or (data := self._merger.receive(data)):
                return data
            # These bytes had no body, and a server may continue like this byte by byte.
            if timeout is not None:
                deadline = min(deadline, anyio.current_time() + timeout)
                timeout = deadline - anyio.current_time()
                if timeout <= 0:
                    raise httpcore.ReadTimeout("no data of the body arrived in time")
        raise httpcore.RemoteProtocolError(self._merger.problem)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self._merger.send(buffer)
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


class _BlockingBackend(httpcore.NetworkBackend):
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
        stream = self._inner.connect_tcp(host, port, timeout, local_address)
        _set_socket_options(stream, socket_options)
        return BlockingStream(stream)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class BlockingStream(httpcore.NetworkStream):
    """A connection of the blocking client whose chunks are merged."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._merger = ChunkMerger()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        common_timeout = limit_reads(timeout)  # for several reads: the first may bring no data of the body
        while not self._merger.problem:
            data = read_stream(self._inner, max(max_bytes, _MAX_READ), common_timeout)
            if not data or (data := self._merger.receive(data)):
                return data
        raise httpcore.RemoteProtocolError(self._merger.problem)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self._merger.send(buffer)
        write_stream(self._inner, buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        try:
            return BlockingStream(BlockingTlsStream(self._inner, ssl_context, server_hostname, timeout))
        except BaseException:
            self._inner.close()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
