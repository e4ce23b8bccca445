"""A few pages over plain HTTP, for probes and for Prometheus.

Probes and scrapers send a GET without a body and read to the end, one request a connection. For that, a
parser of HTTP would be a dependency without a use.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import anyio
from msgspec import Struct

if TYPE_CHECKING:
    from anyio.abc import SocketStream, TaskStatus

_LONGEST: Final = 16384  # bytes of a head; what others grant
_PATIENCE: Final = 5.0  # seconds for one request and its answer: a probe waits one

_TEXT: Final = "text/plain; charset=utf-8"
_METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    503: "Service Unavailable",
}


class Page(Struct, frozen=True):
    """What is answered."""

    status: int
    text: str
    content_type: str = _TEXT


class Pages(Struct, frozen=True):
    """What `serve` shows: who is well, who is ready, and the figures.

    `well` and `ready` give what there is to say in lines, and whether all of it is good.
    """

    well: Callable[[], tuple[bool, str]]
    ready: Callable[[], tuple[bool, str]]
    metrics: Callable[[], str]

    def page(self, method: str, path: str) -> Page:
        """The answer to a request."""
        if method not in ("GET", "HEAD"):
            return Page(405, "only GET and HEAD\n")
        match path.partition("?")[0]:
            case "/healthz" | "/livez":
                return _state(*self.well())
            case "/readyz":
                return _state(*self.ready())
            case "/metrics":
                return Page(200, self.metrics(), _METRICS)
            case _:
                return Page(404, "there are /healthz, /livez, /readyz and /metrics\n")


def answer(pages: Pages, head: bytes) -> bytes:
    """The bytes of the answer to a head, as far as that can be read."""
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    method, path = words[:2] if len(words) == 3 and words[2].startswith("HTTP/1.") else ("", "")
    page = pages.page(method, path) if method else Page(400, "this is no request\n")
    body = page.text.encode()
    lines = (
        f"HTTP/1.1 {page.status} {_REASONS[page.status]}",
        f"Content-Type: {page.content_type}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        "",
        "",
    )
    return "\r\n".join(lines).encode() + (b"" if method == "HEAD" else body)


async def serve(
    pages: Pages, host: str, port: int, *, task_status: TaskStatus[int] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Show the pages until cancelled; says at which port, once it listens."""

    async def handle(stream: SocketStream) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async with stream:
                with anyio.move_on_after(_PATIENCE):
                    head = await _read_head(stream)
                    if head is not None:
                        await stream.send(answer(pages, head))

    listener = await anyio.create_tcp_listener(local_host=host, local_port=port)
    async with listener:
        task_status.started(listener.extra(anyio.abc.SocketAttribute.local_port))
        await listener.serve(handle)


async def _read_head(stream: SocketStream) -> bytes | None:
    head = b""
    while b"\r\n\r\n" not in head:
        if len(head) > _LONGEST:
            return b""
        try:
            head += await stream.receive()
        except anyio.EndOfStream:
            return None
    return head


def _state(good: bool, text: str) -> Page:
    return Page(200 if good else 503, text)
