"""The parts of a request that both transports share: build it, trace it, decide whether to replay it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import httpx

from kubeproto import Headers, LocalProtocolError, RawRequest
from kubeproto.wire import UpgradeRequest

from ._httpx_errors import is_connection_loss

# A replay is for a stale pooled connection, and only these methods are safe to repeat.
_REPLAYABLE: Final = frozenset(("GET", "HEAD"))

Timeouts = dict[str, float | None]


class RequestTrace:
    """A record of httpcore's trace events: whether it opened a connection and sent the request."""

    def __init__(self, request: RawRequest) -> None:
        self._check = request.check
        self.stream: Any = None  # httpcore's stream over the connection that was opened
        self._opened = False
        self._sent = False

    def record(self, name: str, info: Mapping[str, Any]) -> None:
        """Record a trace event."""
        if ".connect_" in name:
            self._opened = True
            self.stream = info.get("return_value", self.stream)
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
        """True if the request was sent on a connection that had been opened before."""
        return self._sent and not self._opened


def may_replay(request: RawRequest, trace: RequestTrace, outcome: object) -> bool:
    """Return whether a stale pooled connection failed, and the request may be sent again."""
    return request.method in _REPLAYABLE and trace.reused and is_connection_loss(outcome)


def build_request(
    client: httpx.Client | httpx.AsyncClient,
    request: RawRequest,
    timeouts: Timeouts,
    trace: object,
    *,
    compression: bool,
) -> httpx.Request:
    """Return the request for httpx, byte for byte; or raise `LocalProtocolError`."""
    if isinstance(request, UpgradeRequest):
        raise websocket_unsupported_error(request)
    extensions: dict[str, Any] = {"timeout": timeouts, "trace": trace}
    with suppress(httpx.InvalidURL, UnicodeError):
        httpx_request = client.build_request(
            request.method,
            request.target,
            headers=[
                (name.encode(), _header_value(name, value, compression).encode())
                for name, value in request.headers
            ],
            content=request.body or None,
            extensions=extensions,
        )
        # httpx normalizes paths (`/a/../b`) and escapes some characters; the result is another request.
        if httpx_request.url.raw_path.endswith(request.target.encode()):
            return httpx_request
    raise LocalProtocolError(
        f"{request_name(request)}: httpx would change the target; escape its special characters"
    )


def websocket_unsupported_error(request: RawRequest) -> LocalProtocolError:
    """Return the error for a request that opens a WebSocket."""
    return LocalProtocolError(
        f"{request_name(request)}: httpx does not support WebSockets; use kubeproto_trio or kubeproto_asyncio"
    )


def decode_headers(response: httpx.Response) -> Headers:
    """Return the headers of a response, with their original case."""
    return tuple((_decode(name), _decode(value)) for name, value in response.headers.raw)


def request_name(request: RawRequest) -> str:
    """Return the method and the path, for errors; without the query, which may contain secrets."""
    return f"{request.method} {request.target.partition('?')[0]}"


def _header_value(name: str, value: str, compression: bool) -> str:
    return "identity" if not compression and name.lower() == "accept-encoding" else value


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
