"""Tunnels through a proxy to a server: CONNECT over HTTP, and SOCKS 5.

Send `outgoing`, then feed what arrives and send what `feed` returns, until it is `done`; the bytes after that
are the server's. A refusal by the proxy is a `ConnectError`, a malformed response a `RemoteProtocolError`.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final, Protocol

from kubeproto import ConnectError, LocalProtocolError, RemoteProtocolError
from kubeproto.config import Connection, Url
from kubeproto.wire import Head

from ._exchange import Exchange

# RFC 1928, chapter 6.
_REPLIES: Final = {
    1: "a failure of its own", 2: "its rules forbid it", 3: "the network is unreachable",
    4: "the host is unreachable", 5: "the connection was refused", 6: "too many hops",
    7: "it knows no CONNECT", 8: "it does not know this kind of address",
}  # fmt: skip
_ADDRESS_SIZES: Final = {1: 4, 4: 16}


class Tunnel(Protocol):
    """Turns a connection to a proxy into one to the server."""

    outgoing: bytes

    @property
    def done(self) -> bool:
        """True when the server is at the other end."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the proxy; return those to send next."""
        ...


def tunnel(connection: Connection) -> Tunnel:
    """Return the tunnel that this connection needs if it is `tunnelled`."""
    proxy = connection.proxy_url
    if proxy is None:
        raise LocalProtocolError("there is no proxy to open a tunnel through")
    if proxy.scheme.startswith("socks"):
        return SocksTunnel(connection.host, connection.port, proxy)
    return HttpTunnel(connection)


class HttpTunnel:
    """A tunnel by CONNECT."""

    def __init__(self, connection: Connection) -> None:
        authority = connection.authority
        head = Head("CONNECT", authority, (("Host", authority), *connection.proxy_headers))
        self._exchange = Exchange(head)
        self.outgoing = self._exchange.outgoing

    @property
    def done(self) -> bool:
        """True when the proxy has opened the tunnel."""
        return self._exchange.response is not None

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the proxy."""
        self._exchange.feed(data)
        response = self._exchange.response
        if response is not None and not 200 <= response.status < 300:
            asks = " and asks for a password" if response.status == 407 else ""
            raise ConnectError(f"the proxy refuses: it responds with {response.status}{asks}")
        if self._exchange.rest:
            # It can only be the proxy's, because a server sends nothing before TLS begins.
            raise RemoteProtocolError("the proxy sends more after it has opened the tunnel")
        return b""


class SocksTunnel:
    """A tunnel by SOCKS 5; the proxy looks the name up, so it may know names that this machine does not."""

    def __init__(self, host: str, port: int, proxy: Url) -> None:
        self.done = False
        self._request = b"\5\1\0" + _address(host) + port.to_bytes(2, "big")
        self._credentials = _credentials(proxy)
        self._kept = b""
        self._read = self._read_method
        self.outgoing = b"\5\2\0\2" if self._credentials else b"\5\1\0"

    def feed(self, data: bytes) -> bytes:
        """Take bytes from the proxy; return those to send next."""
        self._kept += data
        return self._read()

    def _read_method(self) -> bytes:
        if len(self._kept) < 2:
            return b""
        version, method, self._kept = self._kept[0], self._kept[1], self._kept[2:]
        if version != 5:
            raise RemoteProtocolError("the proxy does not speak SOCKS 5")
        if method == 0:
            self._read = self._read_reply
            return self._request
        if method == 2 and self._credentials:
            self._read = self._read_verdict
            return self._credentials
        raise ConnectError("the proxy refuses: it asks for a login of another kind")

    def _read_verdict(self) -> bytes:
        if len(self._kept) < 2:
            return b""
        verdict, self._kept = self._kept[1], self._kept[2:]
        if verdict != 0:
            raise ConnectError("the proxy refuses the user or the password")
        self._read = self._read_reply
        return self._request

    def _read_reply(self) -> bytes:
        kept = self._kept
        if len(kept) >= 2 and kept[1] != 0:
            raise ConnectError(f"the proxy refuses: {_REPLIES.get(kept[1], f'code {kept[1]}')}")
        if len(kept) < 5:
            return b""
        size = 1 + kept[4] if kept[3] == 3 else _ADDRESS_SIZES.get(kept[3], -1)
        if kept[0] != 5 or size < 0 or len(kept) > 6 + size:
            raise RemoteProtocolError("the proxy's response is not SOCKS 5")
        self.done = len(kept) == 6 + size
        return b""


def _address(host: str) -> bytes:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        name = host.encode()
        if len(name) > 255:
            raise LocalProtocolError("SOCKS takes a host of 255 bytes at most") from None
        return b"\3" + len(name).to_bytes(1, "big") + name
    return (b"\1" if address.version == 4 else b"\4") + address.packed


def _credentials(proxy: Url) -> bytes:
    if not proxy.user:
        return b""
    if not all(0 < len(part.encode()) < 256 for part in (proxy.user, proxy.password)):
        # Before they are in variables, which tracebacks may print.
        raise LocalProtocolError("SOCKS takes a user and a password of 1 to 255 bytes each")
    user, password = proxy.user.encode(), proxy.password.encode()
    return b"\1" + len(user).to_bytes(1, "big") + user + len(password).to_bytes(1, "big") + password
