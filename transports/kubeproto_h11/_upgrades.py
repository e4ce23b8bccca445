"""The handshake that turns a request into a WebSocket: the request, and whether the response accepts."""

from __future__ import annotations

from base64 import b64encode

from msgspec import Struct

from kubeproto import RemoteProtocolError
from kubeproto.wire import Headers, UpgradeRequest, header

from ._exchange import ResponseHead


class Upgrade(Struct, frozen=True):
    """A request for a WebSocket, with the key from which its server must compute the accept token."""

    request: UpgradeRequest
    key: str

    @property
    def asking(self) -> UpgradeRequest:
        """The request as it is sent."""
        return self.request.with_headers(
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", self.key),
            ("Sec-WebSocket-Protocol", ", ".join(self.request.protocols)),
        )

    def agreed(self, response: ResponseHead) -> str:
        """Return the protocol that a 101 accepts; `RemoteProtocolError` if it accepts none."""
        headers = response.headers
        if header(headers, "upgrade").lower() != "websocket":
            raise RemoteProtocolError("the server changes to something else than a WebSocket")
        if header(headers, "sec-websocket-accept") != _accepted(self.key):
            raise RemoteProtocolError("the server agrees to a WebSocket that was not asked for")
        if header(headers, "sec-websocket-extensions"):
            raise RemoteProtocolError("the server wants an extension that was not offered")
        return self.request.accepted(headers)


def accept_upgrade(headers: Headers) -> Headers | None:
    """Return the headers of the 101 that accepts a WebSocket, for a server; None if none was asked for.

    No subprotocol is chosen: the caller adds one.
    """
    asked = {name.lower(): value for name, value in headers}
    key = asked.get("sec-websocket-key", "")
    if (
        asked.get("upgrade", "").lower() != "websocket"
        or asked.get("sec-websocket-version") != "13"
        or not key
    ):
        return None
    return (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", _accepted(key)))


def upgrade(request: UpgradeRequest, nonce: bytes) -> Upgrade:
    """Return the handshake of a request. `nonce` is 16 random bytes, so that no cache can respond."""
    return Upgrade(request, b64encode(nonce).decode())


def _accepted(key: str) -> str:
    """Return the token by which a server proves that it supports WebSockets."""
    from wsproto.utilities import generate_accept_token  # takes long to import, and few programs need it

    return generate_accept_token(key.encode()).decode()
