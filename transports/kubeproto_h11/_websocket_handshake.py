"""The handshake of a WebSocket: the headers of the request, and whether the response accepts it."""

from __future__ import annotations

from base64 import b64encode

from kubeproto import RemoteProtocolError
from kubeproto.wire import Headers, UpgradeRequest, header

from ._exchange import ResponseHead


class WebSocketHandshake:
    """A request for a WebSocket, with a key that its server must prove to have read.

    `nonce` is 16 random bytes, so that no cache can respond.
    """

    def __init__(self, request: UpgradeRequest, nonce: bytes) -> None:
        self._request = request
        self._key = b64encode(nonce).decode()

    @property
    def request(self) -> UpgradeRequest:
        """The request with the headers of the handshake."""
        return self._request.with_headers(
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", self._key),
            ("Sec-WebSocket-Protocol", ", ".join(self._request.protocols)),
        )

    def accept(self, response: ResponseHead) -> str:
        """Return the subprotocol that a 101 selects; raise `RemoteProtocolError` if the 101 is invalid."""
        headers = response.headers
        if header(headers, "upgrade").lower() != "websocket":
            raise RemoteProtocolError("the server switches to a protocol other than WebSocket")
        if header(headers, "sec-websocket-accept") != _accept_token(self._key):
            raise RemoteProtocolError("the server accepts a WebSocket with a wrong Sec-WebSocket-Accept")
        if header(headers, "sec-websocket-extensions"):
            raise RemoteProtocolError("the server selects a WebSocket extension that was not offered")
        return self._request.accepted(headers)


def accept_upgrade(headers: Headers) -> Headers | None:
    """Return the headers of the 101 that accepts a request for a WebSocket; None if it is not such a request.

    No subprotocol is selected: the caller adds one.
    """
    request_headers = {name.lower(): value for name, value in headers}
    key = request_headers.get("sec-websocket-key", "")
    if (
        request_headers.get("upgrade", "").lower() != "websocket"
        or request_headers.get("sec-websocket-version") != "13"
        or not key
    ):
        return None
    return (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", _accept_token(key)))


def _accept_token(key: str) -> str:
    # Imported here because wsproto takes as long to import as h11, and few programs need it.
    from wsproto.utilities import generate_accept_token

    return generate_accept_token(key.encode()).decode()
