"""httpx clients for a `Connection`: nothing from the environment, no extra headers, no cookies."""

from __future__ import annotations

import socket
import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, TypedDict

import httpx

from kubeproto.config import Connection
from kubeproto_sockets import keep_alive_options

from ._httpx_tls import proxy_context, server_context
from ._network_backends import merge_chunks

# A watch occupies a connection as long as it lives, and a program may have thousands; with httpx's own limit
# of 100 the next one would wait forever. Idle connections are closed before load balancers do it (often after
# 60 s).
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=50.0)

# Headers that httpx adds. The core sets the accepted formats in each request.
_HTTPX_HEADERS: Final = ("Accept", "Accept-Encoding", "Connection", "User-Agent")


class _ClientOptions(TypedDict):
    base_url: str
    headers: list[tuple[bytes, bytes]]
    cookies: CookieJar
    timeout: None
    trust_env: bool


class _TransportOptions(TypedDict):
    verify: ssl.SSLContext | bool
    proxy: httpx.Proxy | None
    limits: httpx.Limits
    socket_options: list[tuple[int, int, int]]
    trust_env: bool


def make_client(connection: Connection) -> httpx.Client:
    """Return a blocking client for this server."""
    transport = httpx.HTTPTransport(**_transport_options(connection))
    merge_chunks(transport)
    client = httpx.Client(transport=transport, **_client_options(connection))
    _remove_httpx_headers(client.headers, connection)
    return client


def make_async_client(connection: Connection) -> httpx.AsyncClient:
    """Return an async client for this server."""
    transport = httpx.AsyncHTTPTransport(**_transport_options(connection))
    merge_chunks(transport)
    client = httpx.AsyncClient(transport=transport, **_client_options(connection))
    _remove_httpx_headers(client.headers, connection)
    return client


def _client_options(connection: Connection) -> _ClientOptions:
    return _ClientOptions(
        base_url=connection.url("/"),
        headers=[(name.encode(), value.encode()) for name, value in connection.headers],
        # A load balancer's cookie would tie all requests to one server; Go's client stores none either.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        timeout=None,
        trust_env=False,
    )


def _transport_options(connection: Connection) -> _TransportOptions:
    return _TransportOptions(
        # Without TLS there is nothing to verify, and httpx need not load the system's certificates.
        verify=server_context(connection) if connection.secure else False,
        proxy=_make_proxy(connection),
        limits=_LIMITS,
        socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), *keep_alive_options()],
        trust_env=False,
    )


def _make_proxy(connection: Connection) -> httpx.Proxy | None:
    url = connection.proxy_url
    if url is None:
        return None
    return httpx.Proxy(
        f"{url.scheme}://{url.authority}",
        auth=(url.user, url.password) if url.user or url.password else None,
        ssl_context=proxy_context(connection) if url.scheme == "https" else None,
    )


def _remove_httpx_headers(headers: httpx.Headers, connection: Connection) -> None:
    names = {name.lower() for name, _ in connection.headers}
    for name in _HTTPX_HEADERS:
        if name.lower() not in names:
            del headers[name]
