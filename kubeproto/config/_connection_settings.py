"""`Connection`: the settings from which every transport is made."""

from __future__ import annotations

from base64 import b64encode
from functools import cached_property
from typing import Final

from .._errors import ConfigError, InvalidRequest
from ..wire import ConcealingStruct, Headers, RawRequest
from ._server_urls import Url, is_host_name, parse_proxy_url, parse_server_url

_FORBIDDEN_IN_HEADERS: Final = frozenset("\r\n\0")


class Connection(ConcealingStruct, frozen=True, kw_only=True, dict=True):
    """A server, its TLS settings, its proxy, and the headers of each request.

    `server` may have a base path. Certificates and keys are PEM; with an empty `ca` the system's CAs are
    trusted. `ca_file` is the source of `ca`, so that a transport can check whether it has changed. `proxy` is
    the proxy for this server, "" for a direct connection. A request's own headers take precedence over
    `headers`. `compression` allows compressed responses. Two equal values may share connections; the value
    changes with the client certificate.
    """

    secret_fields = frozenset(("client_key",))

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
            raise ConfigError(f"the client {missing} is missing: set both certificate and key")
        if self.insecure and self.ca:
            raise ConfigError("a CA has no effect on an insecure connection: set ca or insecure, not both")
        if self.ca_file and not self.ca:
            # Otherwise the system's CAs would be trusted instead, against the configuration.
            raise ConfigError(f"the CA from {self.ca_file} is missing: the file is empty, or was not read")
        if self.tls_server_name and not is_host_name(self.tls_server_name):
            raise ConfigError(f"the tls-server-name {self.tls_server_name[:80]!r} is not a host name")
        for field in ("ca", "client_certificate", "client_key"):
            if getattr(self, field) and b"-----BEGIN " not in getattr(self, field):
                raise ConfigError(f"{field} is not PEM: it has no line -----BEGIN …-----")
        for name, value in self.headers:
            if not name or _FORBIDDEN_IN_HEADERS & {*name, *value}:
                raise ConfigError(f"the header {name!r} has an empty name, or contains a line break")

    @cached_property
    def _url(self) -> Url:
        return parse_server_url(self.server)

    @cached_property
    def _proxy_url(self) -> Url | None:
        return parse_proxy_url(self.proxy) if self.proxy else None

    @property
    def host(self) -> str:
        """The server's host for a resolver: an IPv6 address has no brackets."""
        return self._url.host

    @property
    def port(self) -> int:
        """The server's port."""
        return self._url.port

    @property
    def secure(self) -> bool:
        """Whether the server uses TLS."""
        return self._url.scheme == "https"

    @property
    def address(self) -> tuple[str, int]:
        """The host and port of the socket: those of the proxy, or of the server without a proxy."""
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
        """``host:port`` with IPv6 in brackets, the target of CONNECT."""
        return self._url.authority

    @property
    def proxy_url(self) -> Url | None:
        """The proxy in parts, with the unescaped user and password that SOCKS needs."""
        return self._proxy_url

    @property
    def tunnelled(self) -> bool:
        """Whether the proxy opens a tunnel, by CONNECT or by SOCKS.

        An HTTP proxy opens no tunnel to a plain ``http`` server: the proxy reads each request, so `target`
        returns the complete URL, and every request has the `proxy_headers`.
        """
        url = self._proxy_url
        return url is not None and (self.secure or url.scheme.startswith("socks"))

    @property
    def forwarded(self) -> bool:
        """Whether each request is sent to the proxy itself, with the complete URL as its target."""
        return self._proxy_url is not None and not self.tunnelled

    @property
    def proxy_headers(self) -> Headers:
        """The headers for the proxy: those of CONNECT, or of each request without a tunnel."""
        url = self._proxy_url
        if url is None or not (url.user or url.password) or url.scheme.startswith("socks"):
            return ()
        secret = b64encode(f"{url.user}:{url.password}".encode()).decode()
        return (("Proxy-Authorization", f"Basic {secret}"),)

    def outgoing(self, request: RawRequest) -> RawRequest:
        """Return the request as it is sent: with Host, the base path and the missing headers."""
        present = {name.lower() for name, _ in request.headers}
        defaults = (*self.headers, *(self.proxy_headers if self.forwarded else ()))
        missing = tuple(header for header in defaults if header[0].lower() not in present)
        host = () if "host" in present else (("Host", self.host_header),)
        return RawRequest(
            request.method,
            self.target(request.target),
            (*host, *request.headers, *missing),
            request.body,
            request.check,
        )

    def target(self, target: str) -> str:
        """Return the target of the request line for a path and query on this server."""
        if not target.startswith("/"):
            raise InvalidRequest(f"the target of a request must begin with a slash, not be {target[:80]!r}")
        return self.url(target) if self.forwarded else self._url.path + target

    def url(self, target: str) -> str:
        """Return the complete URL of a path and query on this server."""
        return f"{self._url.scheme}://{self.host_header}{self._url.path}{target}"
