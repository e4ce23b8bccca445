"""WebSockets without I/O: the handshake, the frames, and the driver over lines of paper."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import suppress
from itertools import pairwise
from types import coroutine
from typing import Any, Final, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    Calling,
    CloseReason,
    ConnectionPool,
    Framing,
    ResponseHead,
    WebSocketStream,
    upgrade,
)
from kubeproto_h11.pool import Limits

T = TypeVar("T")

PODS: Final = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"), namespace="w")
EXEC: Final = PODS.exec("web", ["sh"], stdin=True)

# The example of RFC 6455, chapter 1.3.
NONCE: Final = b"the sample nonce"
KEY, TURNED = "dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

AGREED: Final = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Accept": TURNED,
    "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
}


def agreeing(**changes: str | None) -> ResponseHead:
    headers = AGREED | {name.replace("_", "-"): value for name, value in changes.items()}
    return ResponseHead(101, tuple((name, value) for name, value in headers.items() if value is not None))


def on_the_wire(answer: ResponseHead, body: bytes = b"") -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
    return f"HTTP/1.1 {answer.status} X\r\n{lines}\r\n".encode() + body


def test_the_handshake_asks_for_the_protocols_the_best_first() -> None:
    asking = upgrade(EXEC, NONCE).asking
    assert asking.target == EXEC.target
    assert asking.headers[-5:] == (
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", KEY),
        ("Sec-WebSocket-Protocol", "v5.channel.k8s.io, v4.channel.k8s.io"),
    )


def test_a_server_agrees_by_turning_the_key_and_choosing_a_protocol() -> None:
    assert upgrade(EXEC, NONCE).agreed(agreeing()) == "v5.channel.k8s.io"
    chosen = agreeing(Upgrade="WebSocket", Sec_WebSocket_Protocol="v4.channel.k8s.io")
    assert upgrade(EXEC, NONCE).agreed(chosen) == "v4.channel.k8s.io"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"Upgrade": "SPDY/3.1"}, "something else"),
        ({"Upgrade": None}, "something else"),
        ({"Sec_WebSocket_Accept": None}, "not asked for"),
        ({"Sec_WebSocket_Accept": KEY}, "not asked for"),
        ({"Sec_WebSocket_Extensions": "permessage-deflate"}, "extension"),
        ({"Sec_WebSocket_Protocol": None}, "not one of"),
        ({"Sec_WebSocket_Protocol": "v6.channel.k8s.io"}, "not one of"),
    ],
)
def test_a_server_that_agrees_to_something_else_is_an_error(
    changes: dict[str, str | None], match: str
) -> None:
    with pytest.raises(RemoteProtocolError, match=match):
        upgrade(EXEC, NONCE).agreed(agreeing(**changes))


class Server:
    """The other side of a `Framing`."""

    def __init__(self) -> None:
        self.wsproto = Connection(ConnectionType.SERVER)

    def says(self, *events: Event) -> bytes:
        return b"".join(self.wsproto.send(event) for event in events)

    def hears(self, data: bytes) -> list[Event]:
        self.wsproto.receive_data(data)
        return list(self.wsproto.events())


@given(messages=st.lists(st.binary(min_size=1, max_size=300), min_size=1), data=st.data())
def test_how_the_bytes_are_cut_makes_no_difference(messages: list[bytes], data: st.DataObject) -> None:
    stream = Server().says(*[BytesMessage(data=message) for message in messages])
    cuts = data.draw(st.sets(st.integers(0, len(stream))))
    framing = Framing(stream[: min(cuts, default=0)])
    places = [min(cuts, default=0), *sorted(cuts), len(stream)]
    found = [message for a, b in pairwise(places) for message in framing.feed(stream[a:b])]
    assert found + framing.feed(b"") == messages


@given(messages=st.lists(st.binary(min_size=1, max_size=70_000)))
def test_what_is_sent_is_what_the_server_hears(messages: list[bytes]) -> None:
    framing = Framing()
    heard = Server().hears(b"".join(framing.send(message) for message in messages))
    assert [bytes(event.data) for event in heard if isinstance(event, BytesMessage)] == messages


@given(noise=st.binary(max_size=200))
def test_any_bytes_give_messages_or_an_error_of_ours(noise: bytes) -> None:
    framing = Framing()
    with suppress(RemoteProtocolError):
        framing.feed(noise)
    framing.close()


def test_a_message_in_fragments_is_one_message_and_a_ping_between_them_is_answered() -> None:
    server, framing = Server(), Framing()
    first = server.says(BytesMessage(data=b"\1hel", message_finished=False), Ping(payload=b"there?"))
    assert framing.feed(first) == []
    assert server.hears(framing.outgoing) == [Pong(payload=b"there?")]
    assert framing.feed(server.says(BytesMessage(data=b"lo"))) == [b"\1hello"]
    assert framing.outgoing == b""


def test_a_text_counts_as_its_bytes() -> None:
    assert Framing().feed(Server().says(TextMessage(data="1é"))) == ["1é".encode()]


def test_a_message_that_is_too_large_is_an_error_before_it_is_there() -> None:
    framing = Framing(max_message=1000)
    assert framing.feed(Server().says(BytesMessage(data=b"x" * 1000))) == [b"x" * 1000]
    with pytest.raises(RemoteProtocolError, match="after 1000 bytes"):
        framing.feed(b"\x82\x7f" + (1 << 40).to_bytes(8, "big") + b"x" * 1001)


@pytest.mark.parametrize(
    "noise", [b"\x83\0", b"\xf2\0", b"\x82\x81abcdx", b"\x80\x01x", b"HTTP/1.1 200 OK\r\n"]
)
def test_what_is_not_a_websocket_is_an_error_and_the_server_is_told(noise: bytes) -> None:
    server, framing = Server(), Framing()
    with pytest.raises(RemoteProtocolError, match="not a WebSocket"):
        framing.feed(noise)
    [told] = server.hears(framing.outgoing)
    assert isinstance(told, CloseConnection)
    assert not framing.open
    framing.close()


def test_a_farewell_is_returned_and_what_follows_counts_for_nothing() -> None:
    server, framing = Server(), Framing()
    data = server.says(BytesMessage(data=b"last"), CloseConnection(code=1000, reason="done"))
    assert framing.feed(data + b"\x82\x01x") == [b"last"]
    assert framing.farewell == CloseReason(1000, "done")
    assert [type(event) for event in server.hears(framing.outgoing)] == [CloseConnection]
    assert framing.feed(b"more") == []
    assert framing.close() == b""
    with pytest.raises(LocalProtocolError, match="closed"):
        framing.send(b"x")
    with pytest.raises(LocalProtocolError, match="closed"):
        framing.ping()


def test_after_our_farewell_the_server_may_finish_its_sentence() -> None:
    server, framing = Server(), Framing()
    assert [type(event) for event in server.hears(framing.close())] == [CloseConnection]
    assert framing.close() == b""
    late = b"\x82\x04late" + server.says(CloseConnection(code=1000))
    assert framing.feed(b"\x89\0" + late) == [b"late"]
    assert (framing.outgoing, framing.farewell) == (b"", CloseReason(1000))


@pytest.mark.parametrize(("code", "good"), [(1000, True), (1005, True), (1001, False), (1011, False)])
def test_a_farewell_is_good_if_all_was_said(code: int, good: bool) -> None:
    assert CloseReason(code).good is good


# The driver.


class Cancelled(BaseException):
    """What an event loop throws into a coroutine that it calls off."""


@coroutine
def stand_still() -> Generator[str, None, None]:
    yield "waiting"


class Signal:
    def set(self) -> None: ...

    async def wait(self) -> None: ...


class Paper:
    """A line whose server says what stands here: bytes, an error, None for silence until then."""

    def __init__(self, network: Network, *says: bytes | Exception | None) -> None:
        self.used = False
        self.stale = False
        self.closed = 0
        self.sent: list[bytes] = []
        self.deaf: Exception | None = None
        self._network = network
        self._says = deque(says)

    async def receive(self, by: float) -> bytes | None:
        await stand_still()
        said = self._says.popleft()
        if isinstance(said, Exception):
            raise said
        if said is None:
            assert by < math.inf
            self._network.now = by
        return said

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        await self.send(data)
        await listen()
        return True

    async def send(self, data: bytes) -> None:
        await stand_still()
        if self.deaf is not None:
            raise self.deaf
        self.sent.append(data)

    def close(self) -> None:
        self.closed += 1


class Network:
    """One server, whose connections are lines of paper."""

    def __init__(self, *says: bytes | Exception | None) -> None:
        self.now = 100.0
        self.dialled: list[Paper] = []
        self._says = says
        self.lending = ConnectionPool(self._dial, Limits(), clock=self.clock, signal=Signal)
        self.calling = Calling(Settings(server="http://h"), self.lending, clock=self.clock)

    def clock(self) -> float:
        return self.now

    @property
    def line(self) -> Paper:
        return self.dialled[-1]

    async def _dial(self) -> Paper:
        self.dialled.append(Paper(self, *self._says))
        return self.line

    def upgrade(self, **times: float) -> WebSocketStream[Paper]:
        return run(self.calling.upgrade(upgrade(EXEC, NONCE), **times))


def run(running: Coroutine[Any, Any, T]) -> T:
    while True:
        try:
            running.send(None)
        except StopIteration as done:
            result: T = done.value
            return result


YES: Final = on_the_wire(agreeing())
NAME: Final = "GET /api/v1/namespaces/w/pods/web/exec"


def test_an_upgrade_is_a_websocket_even_if_its_first_words_came_with_the_head() -> None:
    server = Server()
    hello = server.says(BytesMessage(data=b"\1hello"), Ping())
    network = Network(YES + hello, server.says(BytesMessage(data=b"\1more"), CloseConnection(code=1000)))
    socket = network.upgrade()
    assert repr(socket) == f"<{NAME}: v5.channel.k8s.io>"
    assert [run(socket.receive()) for _ in range(3)] == [b"\1hello", b"\1more", None]
    heard = server.hears(b"".join(network.line.sent[1:]))
    assert [type(event) for event in heard] == [Pong, CloseConnection]
    run(socket.close())
    network.calling.hang_up(socket)
    assert network.line.closed == 1


def test_a_websocket_is_never_begun_on_a_connection_that_was_used() -> None:
    network = Network(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    network.calling.end(run(network.calling.begin(kp.Head("GET", "/"))))
    refused = "^GET /api/v1/namespaces/w/pods/web/exec: the response is 200, not 101$"
    with pytest.raises(RemoteProtocolError, match=refused):
        network.upgrade()
    assert len(network.dialled) == 2


def test_a_connection_that_is_lost_in_the_handshake_is_not_retried() -> None:
    network = Network(TransportError("lost"))
    with pytest.raises(TransportError, match=f"{NAME}: lost"):
        network.upgrade()
    assert [line.closed for line in network.dialled] == [1]


STATUS: Final = (
    b'{"kind":"Status","status":"Failure","message":"pods \\"web\\" is forbidden: ",'
    b'"reason":"Forbidden","code":403}'
)


def test_a_refusal_is_the_error_of_its_status() -> None:
    head = ResponseHead(403, (("Content-Type", "application/json"), ("Content-Length", str(len(STATUS)))))
    network = Network(on_the_wire(head, STATUS[:20]), STATUS[20:])
    with pytest.raises(Forbidden, match='pods "web" is forbidden'):
        network.upgrade()
    assert network.line.closed == 1


def test_of_a_refusal_that_never_ends_a_sensible_part_is_read() -> None:
    network = Network(on_the_wire(ResponseHead(500, ())), *[b"x" * (1 << 18)] * 4)
    with pytest.raises(ApiError):
        network.upgrade()
    assert network.line.closed == 1


def test_a_websocket_goes_by_upgrade_and_by_nothing_else() -> None:
    with pytest.raises(LocalProtocolError, match="call `upgrade`"):
        run(Network().calling.begin(EXEC))


@pytest.mark.parametrize(
    ("says", "kind", "match"),
    [
        (b"", TransportError, "hung up"),
        (TransportError("the connection broke: reset"), TransportError, "broke: reset"),
        (b"\x83\0", RemoteProtocolError, "not a WebSocket"),
        (Server().says(CloseConnection(code=1011, reason="oops")), TransportError, r"code 1011 \(oops\)"),
        (Server().says(CloseConnection(code=1001, reason="\x1b[2J")), TransportError, "code 1001$"),
    ],
)
def test_what_breaks_is_told_with_the_name_of_the_request_and_closes_the_line(
    says: bytes | Exception, kind: type[Exception], match: str
) -> None:
    network = Network(YES, says)
    socket = network.upgrade()
    with pytest.raises(kind, match=f"^{NAME}: .*{match}") as raised:
        run(socket.receive())
    assert str(raised.value).count(NAME) == 1
    assert network.line.closed == 1


def test_a_silent_server_is_pinged_and_left_when_it_stays_silent() -> None:
    network = Network(YES, None, None, None)
    socket = network.upgrade(idle=61.0)
    with pytest.raises(DeadlineExceeded, match="silent for 61 s"):
        run(socket.receive())
    assert network.now == 161.0
    assert [type(event) for data in network.line.sent[1:] for event in Server().hears(data)] == [Ping, Ping]


def test_a_server_that_answers_pings_is_not_silent() -> None:
    server = Server()
    pong = server.says(Pong())
    network = Network(YES, *[None, pong] * 10, server.says(BytesMessage(data=b"\1at last")))
    assert run(network.upgrade(idle=40.0).receive()) == b"\1at last"
    assert network.now == 300.0


def test_without_a_bound_the_pings_go_on() -> None:
    server = Server()
    network = Network(YES, *[None] * 100, server.says(BytesMessage(data=b"\1at last")))
    assert run(network.upgrade().receive()) == b"\1at last"
    assert network.now == 3100.0


def test_one_task_at_a_time_receives() -> None:
    socket = Network(YES, b"").upgrade()
    first = socket.receive()
    first.send(None)
    with pytest.raises(LocalProtocolError, match="one task at a time"):
        run(socket.receive())
    with pytest.raises(Cancelled):
        first.throw(Cancelled())
    with pytest.raises(TransportError):
        run(socket.receive())


def test_who_is_cancelled_while_sending_has_closed_the_line() -> None:
    network = Network(YES)
    sending = network.upgrade().send(b"\0x")
    sending.send(None)
    with pytest.raises(Cancelled):
        sending.throw(Cancelled())
    assert network.line.closed == 1


def test_what_cannot_be_sent_is_told_with_the_name_of_the_request() -> None:
    network = Network(YES)
    socket = network.upgrade()
    network.line.deaf = TransportError("the connection broke: pipe")
    with pytest.raises(TransportError, match=f"^{NAME}: the connection broke: pipe"):
        run(socket.send(b"\0x"))


def test_closing_waits_for_the_server_but_not_for_long() -> None:
    server = Server()
    farewell = server.says(BytesMessage(data=b"\1late"), CloseConnection(code=1000))
    network = Network(YES, farewell)
    run(network.upgrade().close())
    assert network.now == 100.0
    network = Network(YES, None)
    run(network.upgrade().close())
    assert network.now == 101.0


@pytest.mark.parametrize("says", [b"", TransportError("reset"), b"\x83\0"])
def test_closing_never_fails(says: bytes | Exception) -> None:
    run(Network(YES, says).upgrade().close())
