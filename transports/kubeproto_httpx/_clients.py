"""httpx clients for a `Connection`: nothing from the environment, no extra headers, no cookies."""

from __future__ import annotations

import socket
import ssl
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, TypedDict

import httpx

from kubeproto.config import Connection

from ._network import merge_chunks
from ._tls import proxy_context, server_context

# Each watch holds a connection as long as it lives, and a program may have thousands; httpx's own limit of
# 100 would let the next one wait forever. Idle ones are dropped before balancers do it (often after 60 s).
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=50.0)

# Seconds, and how often. A peer that vanished is noticed after 30 + 4 x 15 s; Go first asks after 30.
_KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 30, "TCP_KEEPALIVE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}

# Headers that httpx adds. The core sets what it accepts in each request.
_UNASKED: Final = ("Accept", "Accept-Encoding", "Connection", "User-Agent")


class _Client(TypedDict):
    base_url: str
    headers: list[tuple[bytes, bytes]]
    cookies: CookieJar
    timeout: None
    trust_env: bool


class _Network(TypedDict):
    verify: ssl.SSLContext | bool
    proxy: httpx.Proxy | None
    limits: httpx.Limits
    socket_options: list[tuple[int, int, int]]
    trust_env: bool


def make_client(connection: Connection) -> httpx.Client:
    """A blocking client for this server."""
    transport = httpx.HTTPTransport(**_network(connection))
    merge_chunks(transport)
    client = httpx.Client(transport=transport, **_client(connection))
    _drop_headers_of_httpx(client.headers, connection)
    return client


def make_async_client(connection: Connection) -> httpx.AsyncClient:
    """An async client for this server."""
    transport = httpx.AsyncHTTPTransport(**_network(connection))
    merge_chunks(transport)
    client = httpx.AsyncClient(transport=transport, **_client(connection))
    _drop_headers_of_httpx(client.headers, connection)
    return client


def _client(connection: Connection) -> _Client:
    return _Client(
        base_url=connection.url("/"),
        headers=[(name.encode(), value.encode()) for name, value in connection.headers],
        # A balancer's cookie would tie all requests to one server; Go's client keeps none either.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        timeout=None,
        trust_env=False,
    )


def _network(connection: Connection) -> _Network:
    return _Network(
        # Without TLS there is nothing to verify, and httpx need not load the system's certificates.
        verify=server_context(connection) if connection.secure else False,
        proxy=_proxy(connection),
        limits=_LIMITS,
        socket_options=[
            (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
            (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
            *(
                (socket.IPPROTO_TCP, option, value)
                for name, value in _KEEP_ALIVE.items()
                if (option := getattr(socket, name, None)) is not None  # no system has all of them
            ),
        ],
        trust_env=False,
    )


def _proxy(connection: Connection) -> httpx.Proxy | None:
    url = connection.proxy_url
    if url is None:
        return None
    return httpx.Proxy(
        f"{url.scheme}://{url.authority}",
        auth=(url.user, url.password) if url.user or url.password else None,
        ssl_context=proxy_context(connection) if url.scheme == "https" else None,
    )


def _drop_headers_of_httpx(headers: httpx.Headers, connection: Connection) -> None:
    said = {name.lower() for name, _ in connection.headers}
    for name in _UNASKED:
        if name.lower() not in said:
            del headers[name]
