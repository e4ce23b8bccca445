"""Tunnels through a proxy to a server: CONNECT over HTTP, and SOCKS 5.

Send `outgoing`, then feed the received bytes and send those that `feed` returns, until the tunnel is `open`;
the bytes after that are the server's. A refusal by the proxy is a `ConnectError`, a malformed response a
`RemoteProtocolError`. `open_tunnel` does this on a `ByteStream`.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, Protocol

from kubeproto import ConnectError, LocalProtocolError, RemoteProtocolError, TransportError
from kubeproto.config import Connection, Url
from kubeproto.wire import ConcealedBytes, RawRequest

from ._byte_streams import ByteStream
from ._exchange import Exchange

# RFC 1928, chapter 6.
_REPLIES: Final = {
    1: "it failed", 2: "its rules forbid the connection", 3: "the network is unreachable",
    4: "the host is unreachable", 5: "the connection was refused", 6: "the time to live expired",
    7: "it does not support CONNECT", 8: "it does not support this type of address",
}  # fmt: skip
_ADDRESS_SIZES: Final = {1: 4, 4: 16}


async def open_tunnel(stream: ByteStream, connection: Connection, deadline: float) -> None:
    """Turn a connection to a proxy into a connection to the server."""
    tunnel = make_tunnel(connection)
    outgoing: bytes = ConcealedBytes(tunnel.outgoing)

    async def listen() -> None:
        nonlocal outgoing
        outgoing = b""
        while not outgoing and not tunnel.open:
            received = await stream.receive(deadline)
            if received is None:
                raise TransportError("the proxy did not respond in time")
            if not received:
                raise TransportError("the proxy closed the connection before the tunnel was open")
            outgoing = ConcealedBytes(tunnel.feed(received))

    while outgoing:
        await stream.send_and_listen(outgoing, listen)


class Tunnel(Protocol):
    """Turns a connection to a proxy into a connection to the server."""

    outgoing: bytes

    @property
    def open(self) -> bool:
        """True when the server is at the other end."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the proxy; return those to send next."""
        ...


def make_tunnel(connection: Connection) -> Tunnel:
    """Return the tunnel for a connection that is `tunnelled`."""
    proxy = connection.proxy_url
    if proxy is None:
        raise LocalProtocolError("a tunnel needs a proxy: the connection has no proxy_url")
    if proxy.scheme.startswith("socks"):
        return _SocksTunnel(connection.host, connection.port, proxy)
    return _HttpTunnel(connection)


class _HttpTunnel:
    """A tunnel by CONNECT."""

    def __init__(self, connection: Connection) -> None:
        authority = connection.authority
        request = RawRequest("CONNECT", authority, (("Host", authority), *connection.proxy_headers))
        self._exchange = Exchange(request)
        self.outgoing = self._exchange.outgoing

    @property
    def open(self) -> bool:
        return self._exchange.response is not None

    def feed(self, data: bytes) -> bytes:
        self._exchange.feed(data)
        response = self._exchange.response
        if response is not None and not 200 <= response.status < 300:
            password = " and requires a password" if response.status == 407 else ""
            raise ConnectError(
                f"the proxy refuses the connection: it responds with {response.status}{password}"
            )
        if self._exchange.trailing_data:
            # Only the proxy can have sent it, because a server sends nothing before TLS begins.
            raise RemoteProtocolError("the proxy sends data after it has opened the tunnel")
        return b""


class _SocksTunnel:
    """A tunnel by SOCKS 5. The proxy resolves the name, so it may know names that this machine does not."""

    def __init__(self, host: str, port: int, proxy: Url) -> None:
        self.open = False
        self._request = b"\5\1\0" + _encode_address(host) + port.to_bytes(2, "big")
        self._credentials = _encode_credentials(proxy)
        self._buffer = b""
        self._read = self._read_method
        self.outgoing = b"\5\2\0\2" if self._credentials else b"\5\1\0"

    def feed(self, data: bytes) -> bytes:
        self._buffer += data
        return self._read()

    def _read_method(self) -> bytes:
        if len(self._buffer) < 2:
            return b""
        version, method, self._buffer = self._buffer[0], self._buffer[1], self._buffer[2:]
        if version != 5:
            raise RemoteProtocolError("the proxy does not speak SOCKS 5")
        if method == 0:
            self._read = self._read_reply
            return self._request
        if method == 2 and self._credentials:
            self._read = self._read_login_status
            return self._credentials
        raise ConnectError("the proxy refuses the connection: it requires another kind of login")

    def _read_login_status(self) -> bytes:
        if len(self._buffer) < 2:
            return b""
        status, self._buffer = self._buffer[1], self._buffer[2:]
        if status != 0:
            raise ConnectError("the proxy refuses the user or the password")
        self._read = self._read_reply
        return self._request

    def _read_reply(self) -> bytes:
        reply = self._buffer
        if len(reply) >= 2 and reply[1] != 0:
            raise ConnectError(
                f"the proxy refuses the connection: {_REPLIES.get(reply[1], f'code {reply[1]}')}"
            )
        if len(reply) < 5:
            return b""
        size = 1 + reply[4] if reply[3] == 3 else _ADDRESS_SIZES.get(reply[3], -1)
        if reply[0] != 5 or size < 0 or len(reply) > 6 + size:
            raise RemoteProtocolError("the proxy's response is not SOCKS 5")
        self.open = len(reply) == 6 + size
        return b""


def _encode_address(host: str) -> bytes:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        name = host.encode()
        if len(name) > 255:
            raise LocalProtocolError("SOCKS allows at most 255 bytes for the name of a host") from None
        return b"\3" + len(name).to_bytes(1, "big") + name
    return (b"\1" if address.version == 4 else b"\4") + address.packed


def _encode_credentials(proxy: Url) -> bytes:
    if not proxy.user:
        return b""
    if not all(0 < len(part.encode()) < 256 for part in (proxy.user, proxy.password)):
        # Raised before they are in local variables, which tracebacks may print.
        raise LocalProtocolError("SOCKS requires a user and a password of 1 to 255 bytes each")
    user, password = proxy.user.encode(), proxy.password.encode()
    return b"\1" + len(user).to_bytes(1, "big") + user + len(password).to_bytes(1, "big") + password
