"""The server's side of an HTTP/1.1 connection: complete requests from bytes, responses that our client
reads.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import h11
import pytest
from hypothesis import example, given, strategies as st

from kubeproto import LocalProtocolError
from kubeproto.wire import RawRequest
from kubeproto_h11 import Exchange, RequestRefused, ServerConnection

THREE = (
    b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: h\r\nUser-Agent: kubectl\r\n\r\n"
    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n{...}"
    b"PATCH /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
)
EXPECTED = [
    ("GET", "/api/v1/pods?watch=1", b""), ("POST", "/api/v1/namespaces", b"{...}"), ("PATCH", "/x", b"abcde"),
]  # fmt: skip


@given(st.lists(st.integers(0, len(THREE))))
def test_requests_are_the_same_however_their_bytes_are_split(cuts: list[int]) -> None:
    connection, requests = ServerConnection(), list[RawRequest]()
    bounds = sorted({0, len(THREE), *cuts})
    for start, end in pairwise(bounds):
        connection.feed(THREE[start:end])
        while (request := connection.next_request()) is not None:
            requests.append(request)
            connection.respond(200, (), b"ok")
    assert [(request.method, request.target, request.body) for request in requests] == EXPECTED
    assert ("User-Agent", "kubectl") in requests[0].headers


# Lines that a request may contain: some as clients write them, others that two readers could interpret
# differently.
LINES = (
    b"Host: h", b"host:h", b"HOST:  two words  ", b"Host:", b"Accept: */*", b"A: \t x \t", b"A:\x01",
    b"A:\x0b", b"A: \xc3\xbc", b"A: \xff", b"A : x", b"A", b": x", b" folded", b"\tfolded", b"A: x\ry",
    b"A: x\ny", b"A:\x00", b"Content-Length: 3", b"Content-Length: 0", b"Content-Length: 03",
    b"content-length:3, 3", b"Content-Length:", b"Content-Length: -1", b"Content-Length: +3",
    b"Content-Length: 1_0", b"Content-Length: " + b"9" * 30, b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip", b"Connection: close", b"Connection: keep-alive", b"Connection: x, Close",
    b"Expect: 100-continue", b"Upgrade: websocket", b"", b"GET / HTTP/1.1",
)  # fmt: skip
FIRST = (
    b"GET / HTTP/1.1", b"POST /a?b=c HTTP/1.1", b"HEAD / HTTP/1.1", b"GET  / HTTP/1.1", b"get / HTTP/1.1",
    b"", b"GET / HTTP/1.0", b"GET / HTTP/2.0", b"GET /\xff HTTP/1.1", b"GET / HTTP/1.1 ",
    b"FETCH * HTTP/1.1",
)  # fmt: skip
ENDS = (b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r\r\n")


def read_by_h11(data: bytes) -> tuple[list[RawRequest], int | None]:
    """Return the requests that h11 reads in these bytes, and the status of its refusal."""
    connection, requests = h11.Connection(h11.SERVER), list[RawRequest]()
    try:
        connection.receive_data(data)
        while True:
            body, request = b"", connection.next_event()
            if not isinstance(request, h11.Request):
                return requests, None
            while isinstance(event := connection.next_event(), h11.Data):
                body += event.data
            if not isinstance(event, h11.EndOfMessage):
                return requests, None
            headers = request.headers.raw_items()
            target = request.target.decode("latin-1")
            decoded = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
            requests.append(RawRequest(request.method.decode(), target, decoded, body))
            connection.send(h11.Response(status_code=200, headers=[("Content-Length", "0")]))
            connection.send(h11.EndOfMessage())
            names = {name.lower() for name, _ in headers}
            if {b"content-length", b"transfer-encoding"} <= names:
                return requests, None  # RFC 9112, section 6.1, which h11 leaves to its user
            if h11.DONE not in (connection.our_state, connection.their_state):
                return requests, None
            connection.start_next_cycle()
    except h11.RemoteProtocolError as error:
        return requests, error.error_status_hint


def read_by_us(data: bytes) -> tuple[list[RawRequest], int | None]:
    connection, requests = ServerConnection(), list[RawRequest]()
    try:
        connection.feed(data)
        while (request := connection.next_request()) is not None:
            headers = tuple((name, _latin(value)) for name, value in request.headers)
            requests.append(RawRequest(request.method, request.target, headers, request.body))
            connection.respond(200, ())
    except RequestRefused as refused:
        return requests, refused.status
    return requests, None


def _latin(value: str) -> str:
    return value.encode("latin-1" if "\xff" in value else "utf-8").decode("latin-1")


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    lines = draw(st.lists(st.sampled_from(LINES), max_size=5))
    host = [b"Host: h"] if draw(st.booleans()) else []
    head = draw(st.sampled_from(ENDS)).join([draw(st.sampled_from(FIRST)), *host, *lines, b"", b""])
    return head + draw(st.sampled_from((b"", b"abc", b"3\r\nabc\r\n0\r\n\r\n")))


@given(st.lists(requests(), min_size=1, max_size=3).map(b"".join))
@example(THREE)
@example(b"GET / HTTP/1.1\r\nAccept: */*\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
@example(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd")
@example(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
@example(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + THREE)
def test_requests_are_read_as_h11_reads_them(data: bytes) -> None:
    assert read_by_us(data) == read_by_h11(data)


def test_a_request_with_two_lengths_of_its_body_closes_the_connection() -> None:
    connection = ServerConnection()
    connection.feed(
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
    )
    request = connection.next_request()
    assert request is not None
    assert request.body == b"abc"
    assert b"Connection: close" in connection.respond(200, ())
    assert connection.next_request() is None
    assert connection.closing


@pytest.mark.parametrize("header", [b"", b"Connection: keep-alive\r\n"])
@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"http://h:80/api/v1/pods?watch=1", "/api/v1/pods?watch=1"),
        (b"HTTPS://h", "/"),
        (b"http://h?a=b", "/?a=b"),
        (b"/http://h/x", "/http://h/x"),
    ],
)
def test_the_target_may_be_a_complete_url(target: bytes, path: str, header: bytes) -> None:
    connection = ServerConnection()
    connection.feed(b"GET %b HTTP/1.1\r\nHost: h\r\n%b\r\n" % (target, header))
    request = connection.next_request()
    assert request is not None
    assert request.target == path


@pytest.mark.parametrize("chunk_size", [1, 100, 10_000])
@pytest.mark.parametrize("header", [b"", b"Connection: keep-alive\r\n"])
def test_the_limit_of_a_head_does_not_depend_on_its_chunks(chunk_size: int, header: bytes) -> None:
    data = b"GET / HTTP/1.1\r\nHost: h\r\n%bA: %b\r\n\r\n" % (header, b"x" * 2000)
    connection = ServerConnection(max_head=1000)

    def feed_chunks() -> None:
        for start in range(0, len(data), chunk_size):
            connection.feed(data[start : start + chunk_size])
            connection.next_request()

    with pytest.raises(RequestRefused) as error_info:
        feed_chunks()
    assert error_info.value.status == 431


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
def test_the_client_reads_the_responses_of_the_server(
    method: str, status: int, headers: tuple[tuple[str, str], ...], body: bytes
) -> None:
    server, client = ServerConnection(), Exchange(RawRequest(method, "/x", (("Host", "h"),)))
    server.feed(client.outgoing)
    assert server.next_request() is not None
    read = client.feed(server.respond(status, headers, body))
    assert client.response is not None
    assert client.response.status == status
    assert set(headers) <= set(client.response.headers)
    assert read == (b"" if method == "HEAD" else body)
    assert client.finished
    assert client.reusable
    assert not server.closing


def test_a_streamed_body_is_sent_in_chunks() -> None:
    server, client = ServerConnection(), Exchange(RawRequest("GET", "/x", (("Host", "h"),)))
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
def test_malformed_and_too_long_requests_are_refused(data: bytes, status: int) -> None:
    connection = ServerConnection(max_body=1000)
    connection.feed(data)
    with pytest.raises(RequestRefused) as refused:
        connection.next_request()
    assert refused.value.status == status
    assert connection.closing or connection.refuse(refused.value)


def test_the_limit_of_a_body_is_for_each_request() -> None:
    chunked = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n"
    connection = ServerConnection(max_body=10)
    connection.feed(chunked * 3)
    for _ in range(3):
        request = connection.next_request()
        assert request is not None
        assert request.body == b"abcdef"
        connection.respond(200, ())


def test_a_refusal_is_not_sent_inside_of_a_response() -> None:
    connection = ServerConnection()
    connection.feed(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert connection.next_request() is not None
    connection.start(200, ())
    assert connection.refuse(RequestRefused(400, "malformed")) == b""


def test_a_refusal_does_not_quote_the_request() -> None:
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
def test_a_connection_stays_open_unless_the_client_closes_it(head: bytes, closing: bool) -> None:
    connection = ServerConnection()
    connection.feed(head)
    connection.next_request()
    connection.respond(200, ())
    assert connection.closing is closing


def test_after_an_upgrade_later_bytes_belong_to_the_other_protocol() -> None:
    connection = ServerConnection()
    connection.feed(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00")
    assert connection.next_request() is not None
    assert connection.switch((("Upgrade", "websocket"),)).startswith(b"HTTP/1.1 101 ")
    assert connection.trailing_data == b"\x81\x00"


def connection_with_request() -> ServerConnection:
    connection = ServerConnection()
    connection.feed(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert connection.next_request() is not None
    return connection


MISTAKES: dict[str, Callable[[ServerConnection], bytes]] = {
    "finish": lambda connection: connection.finish(),
    "send": lambda connection: connection.send(b"x"),
    "start": lambda connection: connection.start(200, ()),
    "respond": lambda connection: connection.respond(200, ()),
    "switch": lambda connection: connection.switch(()),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_response_without_a_request_is_a_local_protocol_error(name: str) -> None:
    with pytest.raises(LocalProtocolError):
        MISTAKES[name](ServerConnection())


def test_a_second_response_to_a_request_is_a_local_protocol_error() -> None:
    connection = connection_with_request()
    connection.start(200, ())
    with pytest.raises(LocalProtocolError, match="has been started"):
        connection.start(200, ())


@pytest.mark.parametrize("body", [b"ab", b"abcd"])
def test_a_body_of_another_length_than_declared_is_a_local_protocol_error(body: bytes) -> None:
    with pytest.raises(LocalProtocolError):
        connection_with_request().respond(200, (("Content-Length", "3"),), body)


@pytest.mark.parametrize("value", ["x\r\nSet-Cookie: y", "x\ny", "x\ry", "x\0"])
def test_a_header_cannot_contain_another(value: str) -> None:
    with pytest.raises(LocalProtocolError, match="line break"):
        connection_with_request().respond(200, (("Warning", value),))


def test_a_client_of_http_1_0_gets_a_body_that_ends_with_the_connection() -> None:
    connection = ServerConnection()
    connection.feed(b"GET / HTTP/1.0\r\n\r\n")
    connection.next_request()
    head = connection.start(200, (("Transfer-Encoding", "chunked"),))
    assert b"Transfer-Encoding" not in head
    assert b"\r\nConnection: close\r\n" in head
    assert connection.send(b"piece") + connection.finish() == b"piece"
    assert connection.closing


def test_a_client_that_closes_without_a_request_ends_the_connection() -> None:
    connection = ServerConnection()
    connection.feed(b"")
    assert connection.next_request() is None
    assert connection.closing
