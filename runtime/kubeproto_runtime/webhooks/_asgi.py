"""Webhooks as an ASGI application, for uvicorn, hypercorn or granian, alone or mounted below a path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

# The largest object that a server stores has 3 MiB; an update sends two.
MOST: Final = 16 << 20

Message = MutableMapping[str, Any]


class Responder(Protocol):
    """Answers requests."""

    async def respond(self, method: str, target: str, body: bytes) -> tuple[int, Any, bytes]:
        """Return status, headers and body."""
        ...


async def serve_asgi(
    webhooks: Responder,
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Answer one request, or the events of the server's life."""
    if scope["type"] == "lifespan":
        await _live(receive, send)
        return
    if scope["type"] != "http":
        raise ValueError(f"webhooks are called over HTTP, not over {scope['type']}")
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST:
            await _send(send, 413, (("Content-Type", "text/plain"),), b"the review is too long\n")
            return
    path: str = scope["path"]
    below: str = scope.get("root_path", "")  # servers differ in whether the path has it
    if below and path.startswith(below + "/"):
        path = path[len(below) :]
    await _send(send, *await webhooks.respond(scope["method"], path, bytes(body)))


async def _send(
    send: Callable[[Message], Awaitable[None]], status: int, headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers]
    encoded.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


async def _live(
    receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
