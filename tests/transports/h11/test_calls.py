"""`RequestDriver` over scripted streams: no socket, no event loop, no clock."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final, TypeVar

import pytest

from kubeproto import (
    ConnectError,
    DeadlineExceeded,
    InvalidRequest,
    LocalProtocolError,
    RawRequest,
    RemoteProtocolError,
    TransportError,
)
from kubeproto.config import Connection
from kubeproto_h11 import ConnectionPool, H11Response, RequestDriver
from kubeproto_h11.pool import Limits

T = TypeVar("T")

RESPONSE: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
GET: Final = RawRequest("GET", "/api/v1/pods?watch=1")
POST: Final = RawRequest("POST", "/api/v1/pods", (), b"{}")


class Cancelled(BaseException):
    """The exception that an event loop throws into a cancelled coroutine."""


@coroutine
def pause() -> Generator[str, None, None]:
    """Wait, where a real stream would wait for its socket, or a real signal for its event."""
    yield "waiting"


class Signal:
    def __init__(self) -> None:
        self.raised = False

    def set(self) -> None:
        self.raised = True

    async def wait(self) -> None:
        while not self.raised:
            await pause()


class ScriptedStream:
    """A stream with scripted results of `receive`: bytes, an error, None for silence."""

    def __init__(self, *results: bytes | Exception | None) -> None:
        self.used = False
        self.stale = False
        self.closed = 0
        self.sent_bytes = b""
        self.sends_all = True
        self.deadlines: list[float] = []
        self._results = deque(results)

    async def receive(self, deadline: float) -> bytes | None:
        self.deadlines.append(deadline)
        await pause()
        result = self._results.popleft()
        if isinstance(result, Exception):
            raise result
        return result

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        self.sent_bytes += data
        await listen()
        return self.sends_all

    async def send(self, data: bytes) -> None:
        await pause()
        self.sent_bytes += data

    def close(self) -> None:
        self.closed += 1

    @property
    def requests(self) -> int:
        return self.sent_bytes.count(b" HTTP/1.1\r\n")


class Network:
    """The streams of a server, in the order in which they are opened, and a driver over them."""

    def __init__(self, *streams: ScriptedStream | Exception, limits: Limits | None = None) -> None:
        self.now = 0.0
        self.opened: list[ScriptedStream] = []
        self._streams = deque(streams)
        clock = self.clock
        self.pool = ConnectionPool(self._open, limits or Limits(), clock=clock, signal=Signal)
        self.driver = RequestDriver(Connection(server="http://h"), self.pool, clock=clock)

    def clock(self) -> float:
        return self.now

    async def _open(self) -> ScriptedStream:
        await pause()
        stream = self._streams.popleft()
        if isinstance(stream, Exception):
            raise stream
        self.opened.append(stream)
        return stream

    async def fetch(self, request: RawRequest = GET, /, **limits: float) -> bytes:
        response = await self.driver.send(request, **limits)
        try:
            return b"".join([chunk async for chunk in response])
        finally:
            self.driver.close_response(response)


def run(coro: Coroutine[Any, Any, T]) -> T:
    while True:
        try:
            coro.send(None)
        except StopIteration as stop:
            result: T = stop.value
            return result


def steps(coro: Coroutine[Any, Any, Any], count: int) -> None:
    for _ in range(count):
        coro.send(None)


def cancel(coro: Coroutine[Any, Any, Any]) -> None:
    with pytest.raises(Cancelled):
        coro.throw(Cancelled())


def test_a_connection_is_reused() -> None:
    network = Network(ScriptedStream(RESPONSE, RESPONSE, RESPONSE))
    assert [run(network.fetch()) for _ in range(3)] == [b"hello"] * 3
    [stream] = network.opened
    assert (stream.requests, stream.closed) == (3, 0)


def test_a_connection_that_is_stale_before_a_byte_is_sent_is_replaced_for_every_method() -> None:
    network = Network(ScriptedStream(RESPONSE), ScriptedStream(RESPONSE), ScriptedStream(RESPONSE))
    for request in (GET, POST, POST):
        if network.opened:
            network.opened[-1].stale = True
        assert run(network.fetch(request)) == b"hello"
    assert [(stream.requests, stream.closed) for stream in network.opened] == [(1, 1), (1, 1), (1, 0)]


@pytest.mark.parametrize("stale_result", [b"", TransportError("reset")])
def test_a_get_on_a_stale_connection_is_sent_again(stale_result: bytes | Exception) -> None:
    network = Network(ScriptedStream(RESPONSE, stale_result), ScriptedStream(RESPONSE))
    assert [run(network.fetch()), run(network.fetch())] == [b"hello", b"hello"]
    assert [(stream.requests, stream.closed) for stream in network.opened] == [(2, 1), (1, 0)]


def test_a_get_is_not_sent_a_third_time() -> None:
    network = Network(ScriptedStream(RESPONSE, b""), ScriptedStream(b""), ScriptedStream(RESPONSE))
    run(network.fetch())
    with pytest.raises(TransportError, match="GET /api/v1/pods: the server closed the connection"):
        run(network.fetch())
    assert [stream.closed for stream in network.opened] == [1, 1]


def test_the_second_attempt_uses_a_new_connection_even_if_others_are_idle() -> None:
    network = Network(ScriptedStream(RESPONSE, b""), ScriptedStream(RESPONSE, b""), ScriptedStream(RESPONSE))
    first, second = network.driver.send(GET), network.driver.send(GET)
    for response in (run(first), run(second)):
        run(read_all(response))
        network.driver.close_response(response)
    assert run(network.fetch()) == b"hello"
    assert [stream.requests for stream in network.opened] == [1, 2, 1]


async def read_all(response: H11Response[ScriptedStream]) -> list[bytes]:
    return [chunk async for chunk in response]


@pytest.mark.parametrize(
    ("raw_request", "result"),
    [
        (POST, b""),
        (POST, TransportError("reset")),
        (GET, b"HTTP/1.1 200"),
        (GET, b"nonsense\r\n\r\n"),
        (GET, None),
    ],
    ids=["POST, closed", "POST, reset", "GET, response started", "GET, nonsense", "GET, too late"],
)
def test_a_request_that_a_server_may_have_started_is_sent_only_once(
    raw_request: RawRequest, result: bytes | Exception | None
) -> None:
    network = Network(ScriptedStream(RESPONSE, result, b""), ScriptedStream(RESPONSE))
    run(network.fetch())
    with pytest.raises((TransportError, RemoteProtocolError)):
        run(network.fetch(raw_request))
    assert [(stream.requests, stream.closed) for stream in network.opened] == [(2, 1)]


def test_a_failure_of_a_new_connection_is_not_retried() -> None:
    network = Network(ScriptedStream(b""), ScriptedStream(RESPONSE))
    with pytest.raises(TransportError):
        run(network.fetch())
    assert len(network.opened) == 1


def test_a_connection_that_could_not_be_opened_makes_room_for_the_next() -> None:
    network = Network(ConnectError("refused"), ScriptedStream(RESPONSE), limits=Limits(max_connections=1))
    with pytest.raises(ConnectError, match="GET /api/v1/pods: refused"):
        run(network.fetch())
    assert run(network.fetch()) == b"hello"


def test_a_response_that_is_not_read_to_its_end_closes_its_connection() -> None:
    network = Network(ScriptedStream(RESPONSE[:-2], RESPONSE[-2:]))
    response = run(network.driver.send(GET))
    assert run(response.__anext__()) == b"hel"
    network.driver.close_response(response)
    assert [stream.closed for stream in network.opened] == [1]


def test_a_response_before_the_request_was_sent_closes_its_connection() -> None:
    stream = ScriptedStream(RESPONSE)
    stream.sends_all = False
    network = Network(stream)
    assert run(network.fetch(POST)) == b"hello"
    assert stream.closed == 1


def test_a_body_cannot_be_read_outside_its_context() -> None:
    network = Network(ScriptedStream(RESPONSE))
    response = run(network.driver.send(GET))
    network.driver.close_response(response)
    network.driver.close_response(response)
    with pytest.raises(LocalProtocolError, match="inside the context"):
        run(response.__anext__())


def test_a_response_shows_its_request_without_the_query() -> None:
    network = Network(ScriptedStream(RESPONSE))
    assert repr(run(network.driver.send(GET))) == "<GET /api/v1/pods: 200>"


def test_each_wait_is_limited_by_the_idle_time_and_by_the_deadline() -> None:
    stream = ScriptedStream(RESPONSE[:10], RESPONSE[10:-2], RESPONSE[-2:])
    network = Network(stream)
    network.now = 100.0
    assert run(network.fetch(deadline=130.0, idle=20.0)) == b"hello"
    assert stream.deadlines == [120.0, 120.0, 120.0]
    network = Network(stream := ScriptedStream(RESPONSE[:10], RESPONSE[10:-2], RESPONSE[-2:]))
    network.now = 100.0
    run(network.fetch(POST, deadline=130.0, idle=20.0))
    # The server is silent while it reads a body. Once the head of its response has begun, it must complete
    # that in time.
    assert stream.deadlines == [130.0, 120.0, 120.0]
    network = Network(stream := ScriptedStream(RESPONSE[:-2], RESPONSE[-2:]))
    network.now = 100.0
    run(network.fetch(deadline=110.0, idle=20.0))
    assert stream.deadlines == [110.0, 110.0]
    network = Network(stream := ScriptedStream(RESPONSE[:-2], RESPONSE[-2:]))
    run(network.fetch())
    assert stream.deadlines == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("results", "limits", "match"),
    [
        ((), {"deadline": 5.0}, "within the timeout"),
        ((), {"idle": 20.0}, "no complete head arrived for 20 s"),
        ((RESPONSE[:-2],), {"deadline": 5.0}, "within the timeout"),
        ((RESPONSE[:-2],), {"idle": 20.0}, "silent for 20 s"),
        ((RESPONSE[:-2],), {"deadline": 5.0, "idle": 20.0}, "within the timeout"),
        ((RESPONSE[:-2],), {"deadline": 25.0, "idle": 20.0}, "silent for 20 s"),
    ],
)
def test_too_long_a_silence_ends_the_exchange(
    results: tuple[bytes, ...], limits: dict[str, float], match: str
) -> None:
    network = Network(ScriptedStream(*results, None))
    with pytest.raises(DeadlineExceeded, match=match):
        run(network.fetch(**limits))
    assert [stream.closed for stream in network.opened] == [1]


def test_a_request_that_cannot_be_sent_opens_no_connection() -> None:
    network = Network(ScriptedStream(RESPONSE))
    with pytest.raises(InvalidRequest):
        run(network.fetch(RawRequest("GET", "no slash")))
    with pytest.raises(LocalProtocolError, match="cannot carry"):
        run(network.fetch(RawRequest("GET", "/", (("X", "\n"),))))
    assert network.opened == []


@pytest.mark.parametrize("point", [1, 2, 3])
def test_cancellation_anywhere_leaks_no_connection(point: int) -> None:
    # 1: while it connects, 2: while it waits for the head, 3: while it reads the body
    network = Network(
        ScriptedStream(RESPONSE[:-2], RESPONSE[-2:]),
        ScriptedStream(RESPONSE),
        limits=Limits(max_connections=1),
    )
    coro = network.fetch()
    steps(coro, point)
    cancel(coro)
    assert [stream.closed for stream in network.opened] == [1] * (point > 1)
    assert run(network.fetch()) == b"hello"


def test_after_the_cancellation_of_a_waiting_request_the_next_is_served() -> None:
    network = Network(ScriptedStream(RESPONSE, RESPONSE), limits=Limits(max_connections=1))
    first = run(network.driver.send(GET))
    waiting, next_request = network.fetch(), network.fetch()
    steps(waiting, 1)
    steps(next_request, 1)
    cancel(waiting)
    run(read_all(first))
    network.driver.close_response(first)
    assert run(next_request) == b"hello"
    assert len(network.opened) == 1


@pytest.mark.parametrize("reusable", [True, False])
def test_a_connection_assigned_to_a_request_that_is_cancelled_goes_to_the_next(reusable: bool) -> None:
    network = Network(
        ScriptedStream(RESPONSE[:-2], RESPONSE[-2:], RESPONSE),
        ScriptedStream(RESPONSE),
        limits=Limits(max_connections=1),
    )
    first = run(network.driver.send(GET))
    waiting, next_request = network.fetch(), network.fetch()
    steps(waiting, 1)
    steps(next_request, 1)
    if reusable:
        run(read_all(first))
    network.driver.close_response(first)  # assigned to `waiting`, which has not run since
    cancel(waiting)
    assert run(next_request) == b"hello"
    assert len(network.opened) == (1 if reusable else 2)


def test_closing_refuses_waiting_and_later_requests_and_closes_busy_connections() -> None:
    network = Network(ScriptedStream(RESPONSE), limits=Limits(max_connections=1))
    first = run(network.driver.send(GET))
    waiting = network.fetch()
    steps(waiting, 1)
    network.pool.close()
    for request in (waiting, network.fetch()):
        with pytest.raises(TransportError, match="transport is closed"):
            run(request)
    network.driver.close_response(first)
    network.pool.close()
    assert [stream.closed >= 1 for stream in network.opened] == [True]


def test_a_connection_that_is_opened_while_the_transport_closes_is_closed() -> None:
    network = Network(ScriptedStream(RESPONSE))
    coro = network.fetch()
    steps(coro, 1)
    network.pool.close()
    with pytest.raises(TransportError, match="transport was closed"):
        run(coro)
    assert [stream.closed for stream in network.opened] == [1]


def test_expired_connections_are_closed() -> None:
    network = Network(ScriptedStream(RESPONSE), ScriptedStream(RESPONSE))
    run(network.fetch())
    network.now = 45.0
    run(network.fetch())
    assert [stream.closed for stream in network.opened] == [1, 0]
