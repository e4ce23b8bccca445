"""Where a server is and how it is reached: the value that every transport is made from."""

from __future__ import annotations

from base64 import b64encode
from functools import cached_property
from typing import Final

from .._errors import InvalidRequest
from ..wire import Head, Headers
from ._errors import ConfigError
from ._hiding import Hiding
from ._urls import Url, is_name, read_proxy, read_server

_FORBIDDEN_IN_HEADERS: Final = frozenset("\r\n\0")


class Connection(Hiding, frozen=True, kw_only=True, dict=True):
    """One server, its TLS, its proxy, and what goes with each request. Wrong settings are a `ConfigError`.

    `server` may have a base path. Certificates and keys are PEM; an empty `ca` trusts what the system trusts.
    `ca_file` is where `ca` was read, so that a transport can check whether it has changed. `proxy` is the one
    for this server, and empty for a direct connection. `headers` go with every request, unless it has its own
    of that name. `compression` says if compressed responses may be requested. Two that are equal may share
    connections; when the client certificate changes, so does the value.
    """

    hides = frozenset(("client_key",))

    server: str
    ca: bytes = b""
    ca_file: str = ""
    client_certificate: bytes = b""
    client_key: bytes = b""
    tls_server_name: str = ""
    insecure: bool = False
    proxy: str = ""
    headers: Headers = ()
    compression: bool = True

    def __post_init__(self) -> None:
        _ = self._url, self._proxy_url
        if bool(self.client_certificate) != bool(self.client_key):
            missing = "key" if self.client_certificate else "certificate"
            raise ConfigError(f"the client {missing} is missing: certificate and key go together")
        if self.insecure and self.ca:
            raise ConfigError("a CA makes no sense where certificates are not checked; use one or the other")
        if self.ca_file and not self.ca:
            # Otherwise the system's CAs would be trusted instead, which nobody intended.
            raise ConfigError(f"there is no CA from {self.ca_file}: it is empty, or was not read")
        if self.tls_server_name and not is_name(self.tls_server_name):
            raise ConfigError(f"the tls-server-name {self.tls_server_name[:80]!r} is not the name of a host")
        for what in ("ca", "client_certificate", "client_key"):
            if getattr(self, what) and b"-----BEGIN " not in getattr(self, what):
                raise ConfigError(f"{what} is not PEM: it has no line -----BEGIN …-----")
        for name, value in self.headers:
            if not name or _FORBIDDEN_IN_HEADERS & {*name, *value}:
                raise ConfigError(f"the header {name!r} has no name, or a line end in it")

    @cached_property
    def _url(self) -> Url:
        return read_server(self.server)

    @cached_property
    def _proxy_url(self) -> Url | None:
        return read_proxy(self.proxy) if self.proxy else None

    @property
    def host(self) -> str:
        """The server's host as a resolver takes it: an IPv6 address without brackets."""
        return self._url.host

    @property
    def port(self) -> int:
        """The server's port."""
        return self._url.port

    @property
    def secure(self) -> bool:
        """True if TLS is spoken to the server."""
        return self._url.scheme == "https"

    @property
    def address(self) -> tuple[str, int]:
        """Where the socket connects to: the proxy's host and port if there is one, otherwise the server's."""
        url = self._proxy_url or self._url
        return url.host, url.port

    @property
    def tls_name(self) -> str:
        """The name that the server's certificate must have, and that SNI sends."""
        return self.tls_server_name or self._url.name

    @property
    def host_header(self) -> str:
        """The value of Host."""
        return self._url.host_header

    @property
    def authority(self) -> str:
        """``host:port`` with IPv6 in brackets: what CONNECT asks a proxy for."""
        return self._url.authority

    @property
    def proxy_url(self) -> Url | None:
        """The proxy in parts: scheme, host, port, and user and password, which SOCKS needs bare."""
        return self._proxy_url

    @property
    def tunnelled(self) -> bool:
        """True if the proxy is asked for a tunnel: by CONNECT, or by SOCKS.

        A plain ``http`` server is reached through an HTTP proxy without one: the proxy reads each request,
        `target` gives the whole URL then, and the `proxy_headers` go with every request.
        """
        url = self._proxy_url
        return url is not None and (self.secure or url.scheme.startswith("socks"))

    @property
    def forwarded(self) -> bool:
        """True if each request goes to the proxy itself, with the whole URL as its target."""
        return self._proxy_url is not None and not self.tunnelled

    @property
    def proxy_headers(self) -> Headers:
        """The headers for the proxy: with the CONNECT, or with each request where there is no tunnel."""
        url = self._proxy_url
        if url is None or not (url.user or url.password) or url.scheme.startswith("socks"):
            return ()
        secret = b64encode(f"{url.user}:{url.password}".encode()).decode()
        return (("Proxy-Authorization", f"Basic {secret}"),)

    def outgoing(self, head: Head) -> Head:
        """Return the request as it is sent: Host in front, the base path, the headers that it lacks."""
        own = {name.lower() for name, _ in head.headers}
        added = (*self.headers, *(self.proxy_headers if self.forwarded else ()))
        lacking = tuple(header for header in added if header[0].lower() not in own)
        host = () if "host" in own else (("Host", self.host_header),)
        return Head(
            head.method, self.target(head.target), (*host, *head.headers, *lacking), head.body, head.check
        )

    def target(self, target: str) -> str:
        """Return the target of the request line: the server's base path and this path and query."""
        if not target.startswith("/"):
            raise InvalidRequest(f"the target of a request must begin with a slash, not be {target[:80]!r}")
        return self.url(target) if self.forwarded else self._url.path + target

    def url(self, target: str) -> str:
        """Return the whole URL of a path and query on this server."""
        return f"{self._url.scheme}://{self.host_header}{self._url.path}{target}"
