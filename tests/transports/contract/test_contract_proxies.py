"""Proxies: a tunnel is requested by CONNECT, and the refusal of a proxy means that the server received
nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from contract_certificates import Certificates, context
from contract_scripts import HELLO, proxying, responding, response_bytes, sending
from contract_server import Server
from contract_transports import Rig, connection_to, fetch, fetch_once, get, post

from kubeproto import ConnectError, DeadlineExceeded, Transport
from kubeproto.config import Connection

Serve = Callable[..., Server]


def through(proxy: Server, server: Server, trusted: Certificates, user: str = "") -> Connection:
    userinfo = f"{user}@" if user else ""
    return connection_to(server, ca=trusted.trusted, proxy=f"http://{userinfo}localhost:{proxy.port}")


def test_requests_go_through_a_tunnel(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server, proxy = serve(responding(response_bytes()), context(certificates.server)), serve(proxying())

    async def twice(transport: Transport) -> list[bytes]:
        return [(await fetch(transport, request)).body for request in (get(), post())]

    assert rig.run(through(proxy, server, certificates), twice) == [HELLO, HELLO]
    [proxy_request] = proxy.requests
    assert (proxy_request.method, proxy_request.target) == ("CONNECT", f"localhost:{server.port}")
    assert [request.method for request in server.requests] == ["GET", "POST"]
    assert server.requests[0].target == "/"


def test_a_tunnel_sends_the_credentials_of_the_proxy(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server = serve(responding(response_bytes()), context(certificates.server))
    proxy = serve(proxying("jane", "p@ss:word"))
    assert fetch_once(rig, through(proxy, server, certificates, "jane:p%40ss%3Aword")).body == HELLO
    assert server.requests[0].header("proxy-authorization") == ""


def test_the_servers_token_is_not_sent_to_the_proxy(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server, proxy = serve(responding(response_bytes()), context(certificates.server)), serve(proxying())
    fetch_once(rig, through(proxy, server, certificates), get(Authorization="Bearer hunter2"))
    assert proxy.requests[0].header("authorization") == ""
    assert server.requests[0].header("authorization") == "Bearer hunter2"


@pytest.mark.parametrize("user", ["", "jane:wrong"])
def test_the_refusal_of_a_proxy_is_a_connect_error(
    rig: Rig, serve: Serve, certificates: Certificates, user: str
) -> None:
    server = serve(responding(response_bytes()), context(certificates.server))
    proxy = serve(proxying("jane", "right"))
    with pytest.raises(ConnectError, match="407") as raised:
        fetch_once(rig, through(proxy, server, certificates, user))
    assert "wrong" not in str(raised.value)
    assert server.connections == 0


@pytest.mark.parametrize("then", ["close", "reset"])
def test_a_connection_closed_by_the_proxy_is_a_connect_error(
    rig: Rig, serve: Serve, certificates: Certificates, then: str
) -> None:
    server = serve(responding(response_bytes()), context(certificates.server))
    proxy = serve(sending(b"", then=then))
    with pytest.raises(ConnectError):
        fetch_once(rig, through(proxy, server, certificates))


def test_a_silent_proxy_times_out(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server, proxy = serve(responding(response_bytes()), context(certificates.server)), serve(sending(b""))
    with pytest.raises(DeadlineExceeded):
        fetch_once(rig, through(proxy, server, certificates), timeout=0.03)


def test_the_certificate_of_the_server_behind_a_tunnel_is_verified(
    rig: Rig, serve: Serve, certificates: Certificates
) -> None:
    server, proxy = serve(responding(response_bytes()), context(certificates.elsewhere)), serve(proxying())
    with pytest.raises(ConnectError, match="certificate"):
        fetch_once(rig, through(proxy, server, certificates))


def test_tls_server_name_applies_in_a_tunnel(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server, proxy = serve(responding(response_bytes()), context(certificates.elsewhere)), serve(proxying())
    connection = connection_to(
        server,
        ca=certificates.trusted,
        tls_server_name="kubernetes.default.svc",
        proxy=f"http://localhost:{proxy.port}",
    )
    assert fetch_once(rig, connection).body == HELLO


def test_a_proxy_gets_the_absolute_url_of_a_plain_server(rig: Rig, serve: Serve) -> None:
    proxy = serve(responding(response_bytes()))
    connection = Connection(
        server="http://kubernetes.invalid:8080/base", proxy=f"http://jane:secret@localhost:{proxy.port}"
    )
    assert fetch_once(rig, connection, get("/api?limit=1")).body == HELLO
    [request] = proxy.requests
    assert request.target == "http://kubernetes.invalid:8080/base/api?limit=1"
    assert request.header("host") == "kubernetes.invalid:8080"
    assert request.header("proxy-authorization").startswith("Basic ")
