"""Webhooks as an ASGI application for uvicorn, hypercorn or granian, which may be mounted below a path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

# API servers store objects of up to 3 MiB, and the review of an update contains two objects.
MAX_REVIEW: Final = 16 << 20

Message = MutableMapping[str, Any]


class Responder(Protocol):
    """The interface of `Webhooks` and `WebhookApplication`."""

    async def respond(self, method: str, target: str, body: bytes) -> tuple[int, Any, bytes]:
        """Return status, headers and body of the response to a request."""
        ...


async def serve_asgi(
    webhooks: Responder,
    scope: Message,
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    """Respond to a request, or to the lifespan events of the server."""
    if scope["type"] == "lifespan":
        await _handle_lifespan(receive, send)
        return
    if scope["type"] != "http":
        raise ValueError(f"webhooks are called over HTTP, not over {scope['type']}")
    body = bytearray()
    more_body = True
    while more_body:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message.get("body", b"")
        more_body = message.get("more_body", False)
        if len(body) > MAX_REVIEW:
            await _send(send, 413, (("Content-Type", "text/plain"),), b"the review is too long\n")
            return
    path: str = scope["path"]
    root: str = scope.get("root_path", "")  # only some ASGI servers include it in the path
    if root and path.startswith(root + "/"):
        path = path[len(root) :]
    await _send(send, *await webhooks.respond(scope["method"], path, bytes(body)))


async def _send(
    send: Callable[[Message], Awaitable[None]], status: int, headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers]
    encoded.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


async def _handle_lifespan(
    receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    while (message := await receive())["type"] != "lifespan.shutdown":
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})
