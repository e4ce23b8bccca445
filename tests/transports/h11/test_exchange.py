"""A request and its response: the bytes sent, the meaning of each response, the reuse of the connection."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given, strategies as st

from kubeproto import (
    InvalidRequest,
    KubeprotoError,
    LocalProtocolError,
    RawRequest,
    RemoteProtocolError,
    TransportError,
)
from kubeproto.config import Connection
from kubeproto.wire import Headers
from kubeproto_h11 import Exchange, ResponseHead, request_name
from kubeproto_h11._exchange import MAX_HEAD, prepare_request

SECRET: Final = "hunter2"


def get(
    target: str = "/api", *headers: tuple[str, str], method: str = "GET", body: bytes = b""
) -> RawRequest:
    return RawRequest(method, target, (("Host", "h"), *headers), body)


OK: Final = b"HTTP/1.1 200 OK\r\n"
CHUNKED: Final = b"Transfer-Encoding: chunked\r\n\r\n"

# method, received bytes, status, body, whether the connection is reusable
RESPONSES: Final[dict[str, tuple[str, bytes, int, bytes, bool]]] = {
    "a declared length": ("GET", OK + b"Content-Length: 5\r\n\r\nhello", 200, b"hello", True),
    "no body": ("GET", OK + b"Content-Length: 0\r\n\r\n", 200, b"", True),
    "chunks": ("GET", OK + CHUNKED + b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", 200, b"hello!", True),
    "204": ("DELETE", b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "304 with the length of the body that it does not send": (
        "GET",
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        304,
        b"",
        True,
    ),
    "HEAD": ("HEAD", OK + b"Content-Length: 5\r\n\r\n", 200, b"", True),
    "100 first": (
        "POST",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 0\r\n\r\n",
        200,
        b"",
        True,
    ),
    "early hints first": (
        "GET",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3 + OK + b"Content-Length: 1\r\n\r\n!",
        200,
        b"!",
        True,
    ),
    "as many early hints first as are allowed": (
        "GET",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 8 + OK + b"Content-Length: 1\r\n\r\n!",
        200,
        b"!",
        True,
    ),
    "the server will close": (
        "GET",
        OK + b"Connection: close\r\nContent-Length: 1\r\n\r\n!",
        200,
        b"!",
        False,
    ),
    "the server will close, among other options": (
        "GET",
        OK + b"Connection: x, Close\r\nContent-Length: 1\r\n\r\n!",
        200,
        b"!",
        False,
    ),
    "HTTP/1.0": ("GET", b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n!", 200, b"!", False),
    "data after the response": ("GET", OK + b"Content-Length: 1\r\n\r\n!!", 200, b"!", False),
    "bare newlines in the head": ("GET", b"HTTP/1.1 200 OK\nContent-Length: 1\n\n!", 200, b"!", True),
    "no phrase after the status": ("GET", b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\n!", 200, b"!", True),
    "an error": ("GET", b"HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\n!", 500, b"!", True),
}


def feed_all(exchange: Exchange, chunks: list[bytes]) -> bytes:
    return b"".join(exchange.feed(chunk) for chunk in chunks)


@pytest.mark.parametrize(("method", "data", "status", "body", "reusable"), RESPONSES.values(), ids=RESPONSES)
@pytest.mark.parametrize("step", [1, 2, 7, 1000])
def test_a_response_means_the_same_however_it_is_split(
    method: str, data: bytes, status: int, body: bytes, reusable: bool, step: int
) -> None:
    exchange = Exchange(get(method=method))
    assert feed_all(exchange, [data[start : start + step] for start in range(0, len(data), step)]) == body
    assert exchange.response is not None
    assert (exchange.response.status, exchange.finished, exchange.reusable) == (status, True, reusable)
    exchange.close()
    assert not exchange.reusable


def test_a_body_without_a_length_lasts_until_the_connection_ends() -> None:
    exchange = Exchange(get())
    assert exchange.feed(OK + b"\r\nhel") + exchange.feed(b"lo") == b"hello"
    assert (exchange.finished, exchange.reusable) == (False, False)
    exchange.close()
    assert (exchange.finished, exchange.reusable) == (True, False)


def test_a_connection_is_not_reusable_before_its_response_has_ended() -> None:
    exchange = Exchange(get())
    assert exchange.feed(OK + CHUNKED + b"5\r\nhello\r\n") == b"hello"
    assert not exchange.reusable
    exchange.feed(b"0\r\n\r\n")
    assert exchange.reusable


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "sent no response"),
        (b"HTTP/1.1 2", "before the head"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "before the head"),
        (OK + b"Content-Length: 5\r\n\r\nhel", "2 bytes before the end"),
        (OK + CHUNKED + b"5\r\nhello\r\n", "before the last chunk"),
    ],
)
def test_an_incomplete_response_is_an_error(data: bytes, message: str) -> None:
    exchange = Exchange(get())
    exchange.feed(data)
    assert exchange.response_started == bool(data)
    with pytest.raises(TransportError, match=message):
        exchange.close()


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-hunter2\r\n\r\n",
        b"\x16\x03\x01hunter2",
        b"HTTP/1.1 999999 hunter2\r\n\r\n",
        OK + b"hunter2\r\n\r\n",
        OK + b"Set-Cookie : hunter2\r\n\r\n",
        OK + b"A: \0hunter2\r\n\r\n",
        OK + b"Content-Length: hunter2\r\n\r\n",
        OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        OK + b"Transfer-Encoding: hunter2\r\n\r\n",
        OK + CHUNKED + b"hunter2\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\nhunter2",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9,
        OK + b"A: " + b"x" * MAX_HEAD,
        b"\r\n\r\n" + OK,
    ],
)
def test_malformed_bytes_are_an_error_that_does_not_quote_them(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError) as raised:
        Exchange(get()).feed(data)
    assert SECRET not in repr(raised.value)
    assert raised.value.__context__ is None or SECRET not in repr(raised.value.__context__)


@given(st.binary(max_size=80), st.lists(st.integers(0, 80), max_size=4))
def test_any_bytes_are_a_response_or_a_kubeproto_error(data: bytes, boundaries: list[int]) -> None:
    exchange = Exchange(get())
    edges = [0, *sorted(boundaries), len(data)]
    try:
        for start, stop in pairwise(edges):
            exchange.feed(data[start:stop])
        exchange.close()
    except (RemoteProtocolError, TransportError):
        return
    assert exchange.finished


def test_headers_are_decoded_from_utf_8_or_latin_1_and_keep_their_case() -> None:
    exchange = Exchange(get())
    exchange.feed(OK + "X-One: a\r\nx-two: ü\r\n".encode() + b"X-three: \xfc\r\nContent-Length: 0\r\n\r\n")
    headers: Headers = (("X-One", "a"), ("x-two", "ü"), ("X-three", "ü"), ("Content-Length", "0"))
    assert exchange.response == ResponseHead(200, headers)


def test_an_upgrade_ends_the_exchange_and_later_bytes_belong_to_the_next_protocol() -> None:
    exchange = Exchange(get("/exec", ("Connection", "Upgrade"), ("Upgrade", "websocket")))
    assert (
        exchange.feed(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05hello") == b""
    )
    assert exchange.response is not None
    assert exchange.response.status == 101
    assert (exchange.finished, exchange.trailing_data, exchange.reusable) == (True, b"\x81\x05hello", False)


def test_a_refused_upgrade_is_a_response_like_any_other() -> None:
    exchange = Exchange(get("/exec", ("Connection", "Upgrade"), ("Upgrade", "websocket")))
    assert exchange.feed(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno") == b"no"
    assert exchange.reusable


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("GET", b"", None),
        ("DELETE", b"", None),
        ("DELETE", b"{}", b"2"),
        ("POST", b"", b"0"),
        ("PUT", b"{}", b"2"),
    ],
)
def test_a_request_declares_its_length_if_it_could_have_a_body(
    method: str, body: bytes, length: bytes | None
) -> None:
    head, _, sent_body = Exchange(get(method=method, body=body)).outgoing.partition(b"\r\n\r\n")
    assert sent_body == body
    assert (b"Content-Length: %b" % length in head) if length else (b"Content-Length" not in head)


@pytest.mark.parametrize(
    "raw_request",
    [
        get("/", ("Authorization", f"Bearer {SECRET}\r\nX: y")),
        get("/", ("Authorization", f"Bearer {SECRET}\0")),
        get("/", (f"X-{SECRET}\n", "y")),
        get("/", (f"X-ü-{SECRET}", "y")),
        get(f"/ HTTP/1.1\r\n{SECRET}"),
        get(f"/ü?{SECRET}"),
        get(method=f"GET {SECRET}"),
        get("/", ("X", f"{SECRET}\udc80")),
    ],
)
def test_a_request_with_line_breaks_is_refused_without_being_quoted(raw_request: RawRequest) -> None:
    with pytest.raises(LocalProtocolError) as raised:
        Exchange(raw_request)
    assert SECRET not in repr(raised.value)
    assert raised.value.__context__ is None


# A request to a certain server.


def encode_request(connection: Connection, request: RawRequest) -> RawRequest:
    return prepare_request(request, connection)


def test_the_server_s_base_path_and_headers_go_with_each_request() -> None:
    connection = Connection(server="https://h:6443/k8s/", headers=(("User-Agent", "u"), ("Accept", "x")))
    request = prepare_request(RawRequest("GET", "/api?a=b", (("accept", "y"),)), connection)
    assert request.target == "/k8s/api?a=b"
    assert request.headers == (("Host", "h:6443"), ("accept", "y"), ("User-Agent", "u"))


def test_the_caller_cannot_set_headers_of_the_connection() -> None:
    odd = (
        ("Host", "evil"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "close"),
    )
    assert prepare_request(RawRequest("GET", "/", odd), Connection(server="http://h")).headers == (
        ("Host", "h"),
    )


def test_an_upgrade_keeps_its_connection_header() -> None:
    upgrade = (("Connection", "Upgrade"), ("Upgrade", "websocket"))
    assert prepare_request(RawRequest("GET", "/", upgrade), Connection(server="http://h")).headers == (
        ("Host", "h"),
        *upgrade,
    )


def test_without_compression_only_identity_is_requested() -> None:
    request = RawRequest("GET", "/", (("Accept-Encoding", "gzip"),))
    requested_headers = [
        dict(prepare_request(request, Connection(server="http://h", compression=c)).headers)
        for c in (True, False)
    ]
    assert [headers["Accept-Encoding"] for headers in requested_headers] == ["gzip", "identity"]


def test_a_proxy_that_forwards_gets_the_whole_url_and_its_password() -> None:
    connection = Connection(server="http://h:8001", proxy=f"http://u:{SECRET}@p:3128")
    request = prepare_request(RawRequest("GET", "/api"), connection)
    assert request.target == "http://h:8001/api"
    assert dict(request.headers)["Proxy-Authorization"].startswith("Basic ")
    assert SECRET not in repr(request)


def test_a_proxy_that_tunnels_does_not_receive_the_request() -> None:
    connection = Connection(server="https://h:6443", proxy="http://u:p@p:3128")
    assert prepare_request(RawRequest("GET", "/api"), connection).headers == (("Host", "h:6443"),)


def test_a_target_must_be_a_path() -> None:
    with pytest.raises(InvalidRequest, match="slash"):
        prepare_request(RawRequest("GET", "api"), Connection(server="http://h"))


def test_an_error_names_a_request_without_its_query() -> None:
    assert request_name(RawRequest("GET", "/api?token=x")) == "GET /api"
    assert issubclass(RemoteProtocolError, KubeprotoError)
