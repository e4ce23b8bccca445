"""The server's side of an HTTP/1.1 connection: whole requests from bytes, responses that our client reads."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeproto import LocalProtocolError
from kubeproto.wire import Head
from kubeproto_h11 import Exchange, RequestRefused, ServerConnection

THREE = (
    b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: h\r\nUser-Agent: kubectl\r\n\r\n"
    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n{...}"
    b"PATCH /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
)
WANTED = [
    ("GET", "/api/v1/pods?watch=1", b""), ("POST", "/api/v1/namespaces", b"{...}"), ("PATCH", "/x", b"abcde"),
]  # fmt: skip


@given(st.lists(st.integers(0, len(THREE))))
def test_requests_are_the_same_however_their_bytes_are_cut(cuts: list[int]) -> None:
    connection, found = ServerConnection(), list[Head]()
    bounds = sorted({0, len(THREE), *cuts})
    for start, end in pairwise(bounds):
        connection.feed(THREE[start:end])
        while (request := connection.next_request()) is not None:
            found.append(request)
            connection.respond(200, (), b"ok")
    assert [(one.method, one.target, one.body) for one in found] == WANTED
    assert ("User-Agent", "kubectl") in found[0].headers


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_are_refused_with_a_status(data: bytes) -> None:
    connection = ServerConnection()
    try:
        connection.feed(data)
        connection.next_request()
    except RequestRefused as error:
        refused = error
    else:
        return
    assert connection.refuse(refused).startswith(b"HTTP/1.1 %d " % refused.status)
    assert connection.closing


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "DELETE"])
@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (200, (("Content-Type", "application/json"),), b"{}"),
        (201, (("Content-Length", "3"),), b"abc"),
        (404, (), b""),
        (304, (("Etag", '"x"'),), b""),
        (200, (("Warning", '299 - "ü"'),), b"x" * 100_000),
    ],
)
def test_the_client_reads_what_the_server_writes(
    method: str, status: int, headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    server, client = ServerConnection(), Exchange(Head(method, "/x", (("Host", "h"),)))
    server.feed(client.outgoing)
    assert server.next_request() is not None
    read = client.feed(server.respond(status, headers, body))
    assert client.answer is not None
    assert client.answer.status == status
    assert set(headers) <= set(client.answer.headers)
    assert read == (b"" if method == "HEAD" else body)
    assert client.finished
    assert client.reusable
    assert not server.closing


def test_a_body_in_pieces_comes_chunk_by_chunk() -> None:
    server, client = ServerConnection(), Exchange(Head("GET", "/x", (("Host", "h"),)))
    server.feed(client.outgoing)
    server.next_request()
    assert client.feed(server.start(200, (("Transfer-Encoding", "chunked"),))) == b""
    assert client.feed(server.send(b"one\n")) == b"one\n"
    assert server.send(b"") == b""  # it would end the body
    assert client.feed(server.send(b"two\n")) == b"two\n"
    assert not client.finished
    client.feed(server.finish())
    assert client.reusable


def test_a_client_that_waits_for_permission_to_send_its_body_gets_it() -> None:
    server = ServerConnection()
    server.feed(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")
    assert server.next_request() is None
    assert server.outgoing.startswith(b"HTTP/1.1 100 ")
    assert server.outgoing == b""
    server.feed(b"x")
    assert server.next_request() is not None


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: h\r\nA: " + b"x" * 70_000, 431),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000, 413),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" + b"x" * 2000, 413),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
    ],
)
def test_what_is_too_long_or_no_request_is_refused(data: bytes, status: int) -> None:
    connection = ServerConnection(max_body=1000)
    connection.feed(data)
    with pytest.raises(RequestRefused) as refused:
        connection.next_request()
    assert refused.value.status == status
    assert connection.closing or connection.refuse(refused.value)


def test_a_refusal_shows_nothing_of_what_came() -> None:
    connection = ServerConnection()
    connection.feed(b"GET / HTTP/1.1\r\nHost: h\r\nAuthorization Bearer s3cret\r\n\r\n")
    with pytest.raises(RequestRefused) as refused:
        connection.next_request()
    assert "s3cret" not in str(refused.value)
    assert b"s3cret" not in connection.refuse(refused.value)


@pytest.mark.parametrize(
    ("head", "closing"),
    [
        (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", True),
        (b"GET / HTTP/1.0\r\n\r\n", True),
    ],
)
def test_a_connection_stays_unless_the_client_says_otherwise(head: bytes, closing: bool) -> None:
    connection = ServerConnection()
    connection.feed(head)
    connection.next_request()
    connection.respond(200, ())
    assert connection.closing is closing


def test_an_upgrade_leaves_the_rest_to_the_other_protocol() -> None:
    connection = ServerConnection()
    connection.feed(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00")
    assert connection.next_request() is not None
    assert connection.switch((("Upgrade", "websocket"),)).startswith(b"HTTP/1.1 101 ")
    assert connection.rest == b"\x81\x00"


def test_a_response_without_a_request_is_this_side_s_mistake() -> None:
    with pytest.raises(LocalProtocolError):
        ServerConnection().finish()


def test_a_client_that_closes_without_a_request_ends_the_connection() -> None:
    connection = ServerConnection()
    connection.feed(b"")
    assert connection.next_request() is None
    assert connection.closing
