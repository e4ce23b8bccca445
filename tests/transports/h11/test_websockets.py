"""WebSockets without I/O: the handshake, the frames, and the driver over scripted streams."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from itertools import pairwise
from types import coroutine
from typing import Any, Final, TypeVar

import pytest
from hypothesis import given, strategies as st
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage

import kubeproto as kp
from kubeproto import (
    ApiError,
    DeadlineExceeded,
    Forbidden,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from kubeproto.config import Connection as Settings
from kubeproto_h11 import (
    CloseReason,
    ConnectionPool,
    RequestDriver,
    ResponseHead,
    WebSocketFraming,
    WebSocketStream,
)
from kubeproto_h11._websocket_handshake import WebSocketHandshake
from kubeproto_h11.pool import Limits

T = TypeVar("T")

PODS: Final = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"), namespace="w")
EXEC: Final = PODS.exec("web", ["sh"], stdin=True)

# The example of RFC 6455, chapter 1.3.
NONCE: Final = b"the sample nonce"
KEY, ACCEPT_TOKEN = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

ACCEPT_HEADERS: Final = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Accept": ACCEPT_TOKEN,
    "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
}


def switching_protocols(**changes: str | None) -> ResponseHead:
    headers = ACCEPT_HEADERS | {name.replace("_", "-"): value for name, value in changes.items()}
    return ResponseHead(101, tuple((name, value) for name, value in headers.items() if value is not None))


def encode(response: ResponseHead, body: bytes = b"") -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in response.headers)
    return f"HTTP/1.1 {response.status} X\r\n{lines}\r\n".encode() + body


def test_the_handshake_offers_the_protocols_in_order_of_preference() -> None:
    request = WebSocketHandshake(EXEC, NONCE).request
    assert request.target == EXEC.target
    assert request.headers[-5:] == (
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", KEY),
        ("Sec-WebSocket-Protocol", "v5.channel.k8s.io, v4.channel.k8s.io"),
    )


def test_a_server_accepts_by_a_token_of_the_key_and_a_protocol() -> None:
    assert WebSocketHandshake(EXEC, NONCE).accept(switching_protocols()) == "v5.channel.k8s.io"
    chosen = switching_protocols(Upgrade="WebSocket", Sec_WebSocket_Protocol="v4.channel.k8s.io")
    assert WebSocketHandshake(EXEC, NONCE).accept(chosen) == "v4.channel.k8s.io"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"Upgrade": "SPDY/3.1"}, "a protocol other than"),
        ({"Upgrade": None}, "a protocol other than"),
        ({"Sec_WebSocket_Accept": None}, "wrong Sec-WebSocket-Accept"),
        ({"Sec_WebSocket_Accept": KEY}, "wrong Sec-WebSocket-Accept"),
        ({"Sec_WebSocket_Extensions": "permessage-deflate"}, "extension"),
        ({"Sec_WebSocket_Protocol": None}, "not one of"),
        ({"Sec_WebSocket_Protocol": "v6.channel.k8s.io"}, "not one of"),
    ],
)
def test_an_invalid_101_is_an_error(changes: dict[str, str | None], match: str) -> None:
    with pytest.raises(RemoteProtocolError, match=match):
        WebSocketHandshake(EXEC, NONCE).accept(switching_protocols(**changes))


class Server:
    """The peer of a `WebSocketFraming`."""

    def __init__(self) -> None:
        self.wsproto = Connection(ConnectionType.SERVER)

    def encode(self, *events: Event) -> bytes:
        return b"".join(self.wsproto.send(event) for event in events)

    def decode(self, data: bytes) -> list[Event]:
        self.wsproto.receive_data(data)
        return list(self.wsproto.events())


@given(messages=st.lists(st.binary(min_size=1, max_size=300), min_size=1), data=st.data())
def test_messages_are_the_same_however_their_bytes_are_split(
    messages: list[bytes], data: st.DataObject
) -> None:
    stream = Server().encode(*[BytesMessage(data=message) for message in messages])
    splits = data.draw(st.sets(st.integers(0, len(stream))))
    framing = WebSocketFraming(stream[: min(splits, default=0)])
    boundaries = [min(splits, default=0), *sorted(splits), len(stream)]
    received = [message for a, b in pairwise(boundaries) for message in framing.feed(stream[a:b])]
    assert received + framing.feed(b"") == messages


@given(messages=st.lists(st.binary(min_size=1, max_size=70_000)))
def test_the_server_receives_the_messages_that_are_sent(messages: list[bytes]) -> None:
    framing = WebSocketFraming()
    events = Server().decode(b"".join(framing.send(message) for message in messages))
    assert [bytes(event.data) for event in events if isinstance(event, BytesMessage)] == messages


@given(noise=st.binary(max_size=200))
def test_any_bytes_give_messages_or_a_remote_protocol_error(noise: bytes) -> None:
    framing = WebSocketFraming()
    with suppress(RemoteProtocolError):
        framing.feed(noise)
    framing.close()


def test_fragments_are_joined_and_a_ping_between_them_is_answered() -> None:
    server, framing = Server(), WebSocketFraming()
    first = server.encode(BytesMessage(data=b"\1hel", message_finished=False), Ping(payload=b"there?"))
    assert framing.feed(first) == []
    assert server.decode(framing.outgoing) == [Pong(payload=b"there?")]
    assert framing.feed(server.encode(BytesMessage(data=b"lo"))) == [b"\1hello"]
    assert framing.outgoing == b""


def test_a_text_message_is_returned_as_bytes() -> None:
    assert WebSocketFraming().feed(Server().encode(TextMessage(data="1é"))) == ["1é".encode()]


def test_the_limit_of_a_message_is_for_each_message() -> None:
    server, client = WebSocketFraming(server=True), WebSocketFraming(max_message=10)
    for _ in range(3):
        assert client.feed(server.send(b"abcdef")) == [b"abcdef"]


def test_a_message_that_is_too_large_is_an_error_before_it_is_complete() -> None:
    framing = WebSocketFraming(max_message=1000)
    assert framing.feed(Server().encode(BytesMessage(data=b"x" * 1000))) == [b"x" * 1000]
    with pytest.raises(RemoteProtocolError, match="longer than 1000 bytes"):
        framing.feed(b"\x82\x7f" + (1 << 40).to_bytes(8, "big") + b"x" * 1001)


@pytest.mark.parametrize(
    "noise", [b"\x83\0", b"\xf2\0", b"\x82\x81abcdx", b"\x80\x01x", b"HTTP/1.1 200 OK\r\n"]
)
def test_a_violation_of_the_protocol_is_an_error_and_closes_the_websocket(noise: bytes) -> None:
    server, framing = Server(), WebSocketFraming()
    with pytest.raises(RemoteProtocolError, match="violates the WebSocket protocol"):
        framing.feed(noise)
    [reply] = server.decode(framing.outgoing)
    assert isinstance(reply, CloseConnection)
    assert not framing.open
    framing.close()


def test_a_close_frame_is_reported_and_later_data_is_ignored() -> None:
    server, framing = Server(), WebSocketFraming()
    data = server.encode(BytesMessage(data=b"last"), CloseConnection(code=1000, reason="done"))
    assert framing.feed(data + b"\x82\x01x") == [b"last"]
    assert framing.close_reason == CloseReason(1000, "done")
    assert [type(event) for event in server.decode(framing.outgoing)] == [CloseConnection]
    assert framing.feed(b"more") == []
    assert framing.close() == b""
    with pytest.raises(LocalProtocolError, match="closed"):
        framing.send(b"x")
    with pytest.raises(LocalProtocolError, match="closed"):
        framing.ping()


def test_after_our_close_frame_the_server_may_send_messages_until_its_own() -> None:
    server, framing = Server(), WebSocketFraming()
    assert [type(event) for event in server.decode(framing.close())] == [CloseConnection]
    assert framing.close() == b""
    later_data = b"\x82\x04late" + server.encode(CloseConnection(code=1000))
    assert framing.feed(b"\x89\0" + later_data) == [b"late"]
    assert (framing.outgoing, framing.close_reason) == (b"", CloseReason(1000))


@pytest.mark.parametrize(("code", "normal"), [(1000, True), (1005, True), (1001, False), (1011, False)])
def test_a_close_without_an_error_is_normal(code: int, normal: bool) -> None:
    assert CloseReason(code).normal is normal


# The driver.


class Cancelled(BaseException):
    """The exception that an event loop throws into a cancelled coroutine."""


@coroutine
def pause() -> Generator[str, None, None]:
    yield "waiting"


class Signal:
    def set(self) -> None: ...

    async def wait(self) -> None: ...


class ScriptedStream:
    """A stream with scripted results of `receive`: bytes, an error, None for silence until the deadline."""

    def __init__(self, network: Network, *results: bytes | Exception | None) -> None:
        self.used = False
        self.stale = False
        self.closed = 0
        self.sent_bytes: list[bytes] = []
        self.send_error: Exception | None = None
        self._network = network
        self._results = deque(results)

    async def receive(self, deadline: float) -> bytes | None:
        await pause()
        result = self._results.popleft()
        if isinstance(result, Exception):
            raise result
        if result is None:
            assert deadline < math.inf
            self._network.now = deadline
        return result

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        await self.send(data)
        await listen()
        return True

    async def send(self, data: bytes) -> None:
        await pause()
        if self.send_error is not None:
            raise self.send_error
        self.sent_bytes.append(data)

    def close(self) -> None:
        self.closed += 1


class Network:
    """A server whose connections are scripted streams."""

    def __init__(self, *results: bytes | Exception | None) -> None:
        self.now = 100.0
        self.opened: list[ScriptedStream] = []
        self._results = results
        self.pool = ConnectionPool(self._open, Limits(), clock=self.clock, signal=Signal)
        self.driver = RequestDriver(Settings(server="http://h"), self.pool, clock=self.clock)

    def clock(self) -> float:
        return self.now

    @property
    def stream(self) -> ScriptedStream:
        return self.opened[-1]

    async def _open(self) -> ScriptedStream:
        self.opened.append(ScriptedStream(self, *self._results))
        return self.stream

    def upgrade(self, **limits: float) -> WebSocketStream[ScriptedStream]:
        return run(self.driver.upgrade(EXEC, NONCE, **limits))


def run(coro: Coroutine[Any, Any, T]) -> T:
    while True:
        try:
            coro.send(None)
        except StopIteration as stop:
            result: T = stop.value
            return result


ACCEPTED: Final = encode(switching_protocols())
NAME: Final = "GET /api/v1/namespaces/w/pods/web/exec"


def test_messages_that_arrive_with_the_head_of_an_upgrade_are_received() -> None:
    server = Server()
    hello = server.encode(BytesMessage(data=b"\1hello"), Ping())
    network = Network(
        ACCEPTED + hello, server.encode(BytesMessage(data=b"\1more"), CloseConnection(code=1000))
    )
    socket = network.upgrade()
    assert repr(socket) == f"<{NAME}: v5.channel.k8s.io>"
    assert [run(socket.receive()) for _ in range(3)] == [b"\1hello", b"\1more", None]
    events = server.decode(b"".join(network.stream.sent_bytes[1:]))
    assert [type(event) for event in events] == [Pong, CloseConnection]
    run(socket.close())
    network.driver.close_websocket(socket)
    assert network.stream.closed == 1


def test_a_websocket_is_never_opened_on_a_used_connection() -> None:
    network = Network(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    network.driver.close_response(run(network.driver.send(kp.RawRequest("GET", "/"))))
    message = "^GET /api/v1/namespaces/w/pods/web/exec: the response is 200, not 101$"
    with pytest.raises(RemoteProtocolError, match=message):
        network.upgrade()
    assert len(network.opened) == 2


def test_a_connection_that_is_lost_in_the_handshake_is_not_retried() -> None:
    network = Network(TransportError("lost"))
    with pytest.raises(TransportError, match=f"{NAME}: lost"):
        network.upgrade()
    assert [stream.closed for stream in network.opened] == [1]


STATUS: Final = (
    b'{"kind":"Status","status":"Failure","message":"pods \\"web\\" is forbidden: ",'
    b'"reason":"Forbidden","code":403}'
)


def test_a_refusal_is_the_error_of_its_status() -> None:
    head = ResponseHead(403, (("Content-Type", "application/json"), ("Content-Length", str(len(STATUS)))))
    network = Network(encode(head, STATUS[:20]), STATUS[20:])
    with pytest.raises(Forbidden, match='pods "web" is forbidden'):
        network.upgrade()
    assert network.stream.closed == 1


def test_of_an_endless_refusal_only_the_beginning_is_read() -> None:
    network = Network(encode(ResponseHead(500, ())), *[b"x" * (1 << 18)] * 4)
    with pytest.raises(ApiError):
        network.upgrade()
    assert network.stream.closed == 1


def test_a_websocket_is_opened_only_by_upgrade() -> None:
    with pytest.raises(LocalProtocolError, match="call `upgrade`"):
        run(Network().driver.send(EXEC))


@pytest.mark.parametrize(
    ("result", "error", "match"),
    [
        (b"", TransportError, "without a close frame"),
        (TransportError("the connection broke: reset"), TransportError, "broke: reset"),
        (b"\x83\0", RemoteProtocolError, "violates the WebSocket protocol"),
        (Server().encode(CloseConnection(code=1011, reason="oops")), TransportError, r"code 1011 \(oops\)"),
        (Server().encode(CloseConnection(code=1001, reason="\x1b[2J")), TransportError, "code 1001$"),
    ],
)
def test_a_failure_names_the_request_and_closes_the_connection(
    result: bytes | Exception, error: type[Exception], match: str
) -> None:
    network = Network(ACCEPTED, result)
    socket = network.upgrade()
    with pytest.raises(error, match=f"^{NAME}: .*{match}") as raised:
        run(socket.receive())
    assert str(raised.value).count(NAME) == 1
    assert network.stream.closed == 1


def test_a_silent_server_is_pinged_and_times_out() -> None:
    network = Network(ACCEPTED, None, None, None)
    socket = network.upgrade(idle=61.0)
    with pytest.raises(DeadlineExceeded, match="silent for 61 s"):
        run(socket.receive())
    assert network.now == 161.0
    assert [type(event) for data in network.stream.sent_bytes[1:] for event in Server().decode(data)] == [
        Ping,
        Ping,
    ]


def test_a_server_that_answers_pings_is_not_silent() -> None:
    server = Server()
    pong = server.encode(Pong())
    network = Network(ACCEPTED, *[None, pong] * 10, server.encode(BytesMessage(data=b"\1at last")))
    assert run(network.upgrade(idle=40.0).receive()) == b"\1at last"
    assert network.now == 300.0


def test_without_a_limit_the_pings_continue() -> None:
    server = Server()
    network = Network(ACCEPTED, *[None] * 100, server.encode(BytesMessage(data=b"\1at last")))
    assert run(network.upgrade().receive()) == b"\1at last"
    assert network.now == 3100.0


def test_only_one_task_at_a_time_can_receive() -> None:
    socket = Network(ACCEPTED, b"").upgrade()
    first = socket.receive()
    first.send(None)
    with pytest.raises(LocalProtocolError, match="one task at a time"):
        run(socket.receive())
    with pytest.raises(Cancelled):
        first.throw(Cancelled())
    with pytest.raises(TransportError):
        run(socket.receive())


def test_cancellation_while_sending_closes_the_connection() -> None:
    network = Network(ACCEPTED)
    sending = network.upgrade().send(b"\0x")
    sending.send(None)
    with pytest.raises(Cancelled):
        sending.throw(Cancelled())
    assert network.stream.closed == 1


def test_a_failure_to_send_names_the_request() -> None:
    network = Network(ACCEPTED)
    socket = network.upgrade()
    network.stream.send_error = TransportError("the connection broke: pipe")
    with pytest.raises(TransportError, match=f"^{NAME}: the connection broke: pipe"):
        run(socket.send(b"\0x"))


def test_closing_waits_for_the_server_for_a_second() -> None:
    server = Server()
    close_frame = server.encode(BytesMessage(data=b"\1late"), CloseConnection(code=1000))
    network = Network(ACCEPTED, close_frame)
    run(network.upgrade().close())
    assert network.now == 100.0
    network = Network(ACCEPTED, None)
    run(network.upgrade().close())
    assert network.now == 101.0


@pytest.mark.parametrize("result", [b"", TransportError("reset"), b"\x83\0"])
def test_closing_never_fails(result: bytes | Exception) -> None:
    run(Network(ACCEPTED, result).upgrade().close())
