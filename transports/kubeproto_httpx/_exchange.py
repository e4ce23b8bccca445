"""What both transports share that does not wait: make the request, keep the time, classify a failure."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import httpx

from kubeproto import Head, Headers, LocalProtocolError
from kubeproto.wire import UpgradeRequest

from ._errors import lost

# Where no packet comes back at all, the kernel would try for two minutes. Go's client takes 30 s too.
CONNECT_TIMEOUT: Final = 30.0

# A replay is for a pooled connection that was stale, and harmless only for these.
_REPLAYED: Final = frozenset(("GET", "HEAD"))

Timeouts = dict[str, float | None]


class Trace:
    """What httpcore reports about an attempt: whether it opened a connection and sent the request."""

    def __init__(self, head: Head) -> None:
        self._check = head.check
        self.socket: Any = None  # httpcore's stream over the connection that was opened
        self._opened = False
        self._sent = False

    def note(self, name: str, info: Mapping[str, Any]) -> None:
        """Take one of httpcore's trace events."""
        if ".connect_" in name:
            self._opened = True
            self.socket = info.get("return_value", self.socket)
        elif name.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT":
            # The CONNECT to a proxy is not the request.
            if self._check is not None:
                self._check()
            self._sent = True

    @property
    def unsent(self) -> bool:
        """True if a connection was to be opened, and the request was not sent on it."""
        return self._opened and not self._sent

    @property
    def reused(self) -> bool:
        """True if the request was sent, and no connection was opened for it."""
        return self._sent and not self._opened


def replayable(head: Head, trace: Trace, outcome: object) -> bool:
    """True if this is a stale pooled connection that failed, and the request may be sent again."""
    return head.method in _REPLAYED and trace.reused and lost(outcome)


def build(
    client: httpx.Client | httpx.AsyncClient,
    head: Head,
    timeouts: Timeouts,
    trace: object,
    *,
    compression: bool,
) -> httpx.Request:
    """Return the request for httpx, byte for byte as in `head`; or `LocalProtocolError`."""
    if isinstance(head, UpgradeRequest):
        raise no_websocket(head)
    extensions: dict[str, Any] = {"timeout": timeouts, "trace": trace}
    with suppress(httpx.InvalidURL, UnicodeError):
        request = client.build_request(
            head.method,
            head.target,
            headers=[
                (name.encode(), _sent_value(name, value, compression).encode())
                for name, value in head.headers
            ],
            content=head.body or None,
            extensions=extensions,
        )
        # httpx tidies up paths (`/a/../b`) and escapes what it finds odd; then it is another request.
        if request.url.raw_path.endswith(head.target.encode()):
            return request
    raise LocalProtocolError(f"{named(head)}: httpx would change the target; escape what is odd in it")


def no_websocket(head: Head) -> LocalProtocolError:
    """Return the error for a request for a WebSocket."""
    return LocalProtocolError(
        f"{named(head)}: httpx speaks no WebSockets; use kubeproto_trio or kubeproto_asyncio for this"
    )


def received(response: httpx.Response) -> Headers:
    """The headers as they came."""
    return tuple((_text(name), _text(value)) for name, value in response.headers.raw)


def named(head: Head) -> str:
    """A request in an error: never the query, which may hold what is private."""
    return f"{head.method} {head.target.partition('?')[0]}"


def _sent_value(name: str, value: str, compression: bool) -> str:
    return "identity" if not compression and name.lower() == "accept-encoding" else value


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
