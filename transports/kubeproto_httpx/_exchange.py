"""What both transports do alike without waiting: make the request, watch the time, judge a failure."""

from __future__ import annotations

from typing import Any, Final

import httpx

from kubeproto import Head, Headers, LocalProtocolError
from kubeproto.requests import UpgradeRequest

# Where no packet comes back at all, the kernel would try for two minutes. Go's client takes 30 s too.
CONNECT_TIMEOUT: Final = 30.0

# A replay is for a pooled connection that was stale, and harmless for these alone.
_REPLAYED: Final = frozenset(("GET", "HEAD"))

Timeouts = dict[str, float | None]


class Trace:
    """What httpx tells of one attempt: whether it went over a connection that another had used before."""

    def __init__(self) -> None:
        self._opened = False
        self._sent = False

    def note(self, name: str) -> None:
        """Take the name of one of httpcore's trace events."""
        self._opened = self._opened or ".connect_" in name
        self._sent = self._sent or name.endswith(".send_request_headers.started")

    @property
    def reused(self) -> bool:
        """True if the request went out, and no connection was opened for it."""
        return self._sent and not self._opened


def replayable(head: Head, trace: Trace) -> bool:
    """True if this may be sent again after a pooled connection turned out to be stale."""
    return head.method in _REPLAYED and trace.reused


def build(
    client: httpx.Client | httpx.AsyncClient,
    head: Head,
    timeouts: Timeouts,
    trace: object,
    *,
    compression: bool,
) -> httpx.Request:
    """The request as httpx sends it, byte for byte what `head` says; `LocalProtocolError` if it would not."""
    if isinstance(head, UpgradeRequest):
        raise LocalProtocolError(
            f"{named(head)}: httpx speaks no WebSockets; use kubeproto_trio or kubeproto_asyncio for this"
        )
    extensions: dict[str, Any] = {"timeout": timeouts, "trace": trace}
    request = client.build_request(
        head.method,
        head.target,
        headers=[(name.encode(), _said(name, value, compression).encode()) for name, value in head.headers],
        content=head.body or None,
        extensions=extensions,
    )
    # httpx tidies up paths (`/a/../b`) and escapes what it finds odd; then it would be another request.
    if not request.url.raw_path.endswith(head.target.encode()):
        raise LocalProtocolError(f"{named(head)}: httpx would change the target; escape what is odd in it")
    return request


def received(response: httpx.Response) -> Headers:
    """The headers as they came."""
    return tuple((_text(name), _text(value)) for name, value in response.headers.raw)


def named(head: Head) -> str:
    """A request in an error: never the query, which may hold what is private."""
    return f"{head.method} {head.target.partition('?')[0]}"


def _said(name: str, value: str, compression: bool) -> str:
    return "identity" if not compression and name.lower() == "accept-encoding" else value


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
