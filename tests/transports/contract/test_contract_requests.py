"""A transport sends exactly the bytes of the request, and adds nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest
from contract_scripts import responding, response_bytes
from contract_server import ReceivedRequest, Server
from contract_transports import Rig, connection_to, fetch, fetch_once, get, post

from kubeproto import Headers, LocalProtocolError, RawRequest, Transport
from kubeproto.config import Connection

Serve = Callable[..., Server]

# Headers that every HTTP client adds.
PLUMBING: Final = frozenset(("host", "content-length", "connection"))


def received_request(rig: Rig, serve: Serve, raw_request: RawRequest, **settings: object) -> ReceivedRequest:
    """Return the request as the server received it."""
    server = serve(responding(response_bytes()))
    fetch_once(rig, connection_to(server, **settings), raw_request)
    [request] = server.requests
    return request


def client_headers(request: ReceivedRequest) -> Headers:
    return tuple(header for header in request.headers if header[0].lower() not in PLUMBING)


@pytest.mark.parametrize(
    "target",
    [
        "/api/v1/pods?labelSelector=a%3Db%2Cc%21%3Dd&limit=500",
        "/api/v1/namespaces/x/pods/y/exec?command=sh&command=-c&command=echo%20%241",
        "/apis?",
        "/api/v1/nodes/a%2Fb/proxy//metrics/x:y@z;a=b,c",
    ],
)
def test_the_target_is_sent_unchanged(rig: Rig, serve: Serve, target: str) -> None:
    assert received_request(rig, serve, get(target)).target == target


def test_the_base_path_of_a_server_comes_first(rig: Rig, serve: Serve) -> None:
    server = serve(responding(response_bytes()))
    connection = Connection(server=f"{server.url}/k8s/clusters/c-1/")
    fetch_once(rig, connection, get("/api/v1/pods?limit=1"))
    assert server.requests[0].target == "/k8s/clusters/c-1/api/v1/pods?limit=1"


def test_headers_are_sent_in_order_without_additions(rig: Rig, serve: Serve) -> None:
    headers = (
        ("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
        ("Impersonate-User", "jürgen"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
    )
    assert client_headers(received_request(rig, serve, RawRequest("GET", "/", headers))) == headers


def test_headers_of_the_connection_are_added_unless_the_request_has_them(rig: Rig, serve: Serve) -> None:
    request = RawRequest("GET", "/", (("user-agent", "test/2"),))
    settings: Headers = (("User-Agent", "test/1"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    headers = client_headers(received_request(rig, serve, request, headers=settings))
    assert sorted(headers) == [
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("user-agent", "test/2"),
    ]


def test_without_compression_only_identity_is_accepted(rig: Rig, serve: Serve) -> None:
    request = RawRequest("GET", "/", (("Accept-Encoding", "gzip"),))
    assert client_headers(received_request(rig, serve, request, compression=False)) == (
        ("Accept-Encoding", "identity"),
    )


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_a_body_is_sent_with_its_length(rig: Rig, serve: Serve, method: str) -> None:
    body = b'{"kind":"X"}\0' * 100_000
    assert received_request(rig, serve, RawRequest(method, "/", (), body)).body == body


def test_an_empty_post_declares_its_length(rig: Rig, serve: Serve) -> None:
    assert received_request(rig, serve, post(b"")).header("content-length") == "0"


def test_host_names_the_server(rig: Rig, serve: Serve) -> None:
    server = serve(responding(response_bytes()))
    fetch_once(rig, server)
    assert server.requests[0].header("host") == f"localhost:{server.port}"


def test_a_cookie_is_not_sent_back(rig: Rig, serve: Serve) -> None:
    server = serve(responding(response_bytes(b"", ("Set-Cookie", "lb=1; Path=/"))))

    async def twice(transport: Transport) -> None:
        await fetch(transport, get())
        await fetch(transport, get())

    rig.run(connection_to(server), twice)
    assert [request.header("cookie") for request in server.requests] == ["", ""]


def test_a_redirect_is_a_response(rig: Rig, serve: Serve) -> None:
    moved = response_bytes(b"", ("Location", "/elsewhere"), status="301 Moved Permanently")
    server = serve(responding(moved))
    assert fetch_once(rig, server).status == 301
    assert len(server.requests) == 1


def test_proxies_of_the_environment_are_ignored(
    rig: Rig, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The variables of the environment were evaluated when the connection settings were made.
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert fetch_once(rig, serve(responding(response_bytes()))).status == 200


@pytest.mark.parametrize(
    "raw_request",
    [
        RawRequest("GET", "/", (("Authorization", "Bearer hunter2\r\nX-Evil: 1"),)),
        RawRequest("GET", "/", (("Author ization", "Bearer hunter2"),)),
        RawRequest("GET", "/?token=hunter2 HTTP/1.1\r\nX-Evil: 1"),
        RawRequest("GE T", "/?token=hunter2"),
    ],
    ids=["value", "name", "target", "method"],
)
def test_an_invalid_request_is_refused_without_being_quoted(
    rig: Rig, serve: Serve, raw_request: RawRequest
) -> None:
    server = serve(responding(response_bytes()))
    with pytest.raises(LocalProtocolError) as raised:
        fetch_once(rig, server, raw_request)
    assert server.requests == []
    error: BaseException | None = raised.value
    while error is not None:
        assert "hunter2" not in f"{error} {error!r}"
        error = error.__cause__ or error.__context__
