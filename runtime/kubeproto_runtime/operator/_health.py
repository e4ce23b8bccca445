"""A few pages over plain HTTP, for probes and for Prometheus."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from msgspec import Struct

from kubeproto import RemoteProtocolError
from kubeproto_h11 import Response, ServerConnection, serve_requests

from ..tasks._accepting import accept

if TYPE_CHECKING:
    from anyio.abc import SocketStream, TaskStatus

    from kubeproto import Head

_LONGEST: Final = 16384  # bytes of a head; what others grant
_PATIENCE: Final = 5.0  # seconds for one request and its response: a probe waits one

_log: Final = logging.getLogger("kubeproto.health")

_TEXT: Final = "text/plain; charset=utf-8"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"


class HealthPage(Struct, frozen=True):
    """A response."""

    status: int
    text: str
    content_type: str = _TEXT


class HealthPages(Struct, frozen=True):
    """The pages that `serve` shows: health, readiness, and the metrics.

    `well` and `ready` return lines of text, and whether all of them are good.
    """

    well: Callable[[], tuple[bool, str]]
    ready: Callable[[], tuple[bool, str]]
    metrics: Callable[[], str]

    def page(self, method: str, path: str) -> HealthPage:
        """Return the response to a request."""
        if method not in ("GET", "HEAD"):
            return HealthPage(405, "only GET and HEAD\n")
        match path.partition("?")[0]:
            case "/healthz" | "/livez":
                return _state(*self.well())
            case "/readyz":
                return _state(*self.ready())
            case "/metrics":
                return HealthPage(200, self.metrics(), _METRICS)
            case _:
                return HealthPage(404, "there are /healthz, /livez, /readyz and /metrics\n")


def respond(pages: HealthPages, request: Head) -> Response:
    """Respond to a request. Each connection has one: probes and scrapers send no more."""
    page = pages.page(request.method, request.target)
    headers = (("Content-Type", page.content_type), ("Connection", "close"))
    return Response(page.status, headers, page.text.encode())


async def serve(
    pages: HealthPages,
    host: str | None,
    port: int,
    *,
    task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the pages until cancelled; reports the port, once it listens."""

    async def handler(request: Head) -> Response:
        return respond(pages, request)

    async def handle(stream: SocketStream) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, RemoteProtocolError):
            async with stream:
                with anyio.move_on_after(_PATIENCE):
                    connection = ServerConnection(max_head=_LONGEST, max_body=_LONGEST)
                    await serve_requests(_Channel(stream), connection, handler)

    listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    async with listener, anyio.create_task_group() as tasks:
        task_status.started(listener.extra(anyio.abc.SocketAttribute.local_port))
        for one in listener.listeners:
            tasks.start_soon(accept, one, handle, "health", _log)


class _Channel:
    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        await self._stream.send(data)

    async def receive(self) -> bytes:
        try:
            return await self._stream.receive()
        except anyio.EndOfStream:
            return b""


def _state(good: bool, text: str) -> HealthPage:
    return HealthPage(200 if good else 503, text)
