"""The health port: pages over plain HTTP for probes, Prometheus and people."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

import anyio
from msgspec import Struct
from msgspec.json import encode as encode_json

from kubeproto import RemoteProtocolError
from kubeproto_h11 import Response, ServerConnection, serve_requests

from ..tasks._listener import accept
from ._debug_page import debug_page

if TYPE_CHECKING:
    from anyio.abc import SocketStream, TaskStatus

    from kubeproto import RawRequest

    from ._debug_state import DebugState

_MAX_HEAD: Final = 16384  # bytes; other servers allow as many
_TIMEOUT: Final = 5.0  # seconds for one request and its response: a probe waits for one second

_log: Final = logging.getLogger("kubeproto.health")

_TEXT: Final = "text/plain; charset=utf-8"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_HTML: Final = "text/html; charset=utf-8"
_JSON: Final = "application/json"
# The page contains all of its parts: it loads no other file and runs no script, and no page may frame it.
_HTML_HEADERS: Final = (
    ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    ("X-Content-Type-Options", "nosniff"),
    ("Cache-Control", "no-store"),
)
_NOT_ON_LOOPBACK: Final = (
    "the debug page is shown only on this machine: use kubectl port-forward, or Operator(debug=True)\n"
)


class HealthPage(Struct, frozen=True):
    """The response of the health port to a request."""

    status: int
    text: str
    content_type: str = _TEXT


class HealthPages(Struct, frozen=True):
    """The pages of `serve`: health, readiness, metrics and the debug page.

    `healthy`, `ready` and `webhooks` return whether all parts work, and lines of text. The debug page, of the
    state that `debug` returns, is shown only on loopback, unless `debug_everywhere` is True.
    """

    healthy: Callable[[], tuple[bool, str]]
    ready: Callable[[], tuple[bool, str]]
    metrics: Callable[[], str]
    webhooks: Callable[[], tuple[bool, str]] | None = None
    debug: Callable[[], DebugState] | None = None
    debug_everywhere: bool = False

    def page(self, method: str, path: str, *, on_loopback: bool = False) -> HealthPage:
        """Return the page for a request; `on_loopback` is True if it comes from this machine."""
        if method not in ("GET", "HEAD"):
            return HealthPage(405, "only GET and HEAD\n")
        path = path.partition("?")[0]
        if path in ("/debug", "/debug.json") and self.debug is not None:
            if not (on_loopback or self.debug_everywhere):
                return HealthPage(403, _NOT_ON_LOOPBACK)
            state = self.debug()
            if path == "/debug.json":
                return HealthPage(200, encode_json(state).decode(), _JSON)
            return HealthPage(200, debug_page(state), _HTML)
        match path:
            case "/healthz" | "/livez":
                return _status_page(*self.healthy())
            case "/readyz":
                return _status_page(*self.ready())
            case "/readyz/webhooks" if self.webhooks is not None:
                return _status_page(*self.webhooks())
            case "/metrics":
                return HealthPage(200, self.metrics(), _METRICS)
            case _:
                return HealthPage(404, "there are /healthz, /livez, /readyz and /metrics\n")


def respond(pages: HealthPages, request: RawRequest, peer: str = "") -> Response:
    """Return the response to a request of `peer`. It closes the connection: probes send a single request."""
    on_loopback = _is_loopback(peer) and _is_for_localhost(request)
    page = pages.page(request.method, request.target, on_loopback=on_loopback)
    html_headers = _HTML_HEADERS if page.content_type == _HTML else ()
    headers = (("Content-Type", page.content_type), ("Connection", "close"), *html_headers)
    return Response(page.status, headers, page.text.encode())


async def serve(
    pages: HealthPages,
    host: str | None,
    port: int,
    *,
    task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Serve the pages until cancelled. Report the port when it listens."""

    async def handle(stream: SocketStream) -> None:
        async def handler(request: RawRequest) -> Response:
            return respond(pages, request, peer)

        address = stream.extra(anyio.abc.SocketAttribute.remote_address, "")
        peer = str(address[0]) if isinstance(address, tuple) else ""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, RemoteProtocolError):
            async with stream:
                with anyio.move_on_after(_TIMEOUT):
                    connection = ServerConnection(max_head=_MAX_HEAD, max_body=_MAX_HEAD)
                    await serve_requests(_Channel(stream), connection, handler)

    listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    async with listener, anyio.create_task_group() as tasks:
        task_status.started(listener.extra(anyio.abc.SocketAttribute.local_port))
        for socket in listener.listeners:
            tasks.start_soon(accept, socket, handle, "health", _log)


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


def _is_loopback(peer: str) -> bool:
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _is_for_localhost(request: RawRequest) -> bool:
    """Return whether the Host header names this machine.

    This check prevents DNS rebinding: the name of an attacker's page resolves to 127.0.0.1, and the browser
    sends that name as the host.
    """
    host = next((value for name, value in request.headers if name.lower() == "host"), "")
    hostname = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    return hostname == "localhost" or _is_loopback(hostname.strip("[]"))


def _status_page(good: bool, text: str) -> HealthPage:
    return HealthPage(200 if good else 503, text)
