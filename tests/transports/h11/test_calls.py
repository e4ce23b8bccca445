"""The driver of both transports, driven by hand over lines of paper: no socket, no event loop, no clock."""

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
    Head,
    InvalidRequest,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from kubeproto.config import Connection
from kubeproto_h11 import Calling, ConnectionPool, IncomingResponse
from kubeproto_h11.pool import Limits

T = TypeVar("T")

ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
GET: Final = Head("GET", "/api/v1/pods?watch=1")
POST: Final = Head("POST", "/api/v1/pods", (), b"{}")


class Cancelled(BaseException):
    """What an event loop throws into a coroutine that it calls off."""


@coroutine
def stand_still() -> Generator[str, None, None]:
    """Where a real line would wait for its socket, or a real signal for its event."""
    yield "waiting"


class Signal:
    def __init__(self) -> None:
        self.raised = False

    def set(self) -> None:
        self.raised = True

    async def wait(self) -> None:
        while not self.raised:
            await stand_still()


class Paper:
    """A line whose server says what stands here: bytes, an error, None for silence."""

    def __init__(self, *says: bytes | Exception | None) -> None:
        self.used = False
        self.stale = False
        self.closed = 0
        self.sent = b""
        self.takes_all = True
        self.waits: list[float] = []
        self._says = deque(says)

    async def receive(self, by: float) -> bytes | None:
        self.waits.append(by)
        await stand_still()
        said = self._says.popleft()
        if isinstance(said, Exception):
            raise said
        return said

    async def send_and_listen(self, data: bytes, listen: Callable[[], Awaitable[None]]) -> bool:
        self.sent += data
        await listen()
        return self.takes_all

    async def send(self, data: bytes) -> None:
        await stand_still()
        self.sent += data

    def close(self) -> None:
        self.closed += 1

    @property
    def requests(self) -> int:
        return self.sent.count(b" HTTP/1.1\r\n")


class Network:
    """A server's lines, in the order in which they are dialled, and a transport's driver over them."""

    def __init__(self, *lines: Paper | Exception, limits: Limits | None = None) -> None:
        self.now = 0.0
        self.dialled: list[Paper] = []
        self._lines = deque(lines)
        clock = self.clock
        self.lending = ConnectionPool(self._dial, limits or Limits(), clock=clock, signal=Signal)
        self.calling = Calling(Connection(server="http://h"), self.lending, clock=clock)

    def clock(self) -> float:
        return self.now

    async def _dial(self) -> Paper:
        await stand_still()
        line = self._lines.popleft()
        if isinstance(line, Exception):
            raise line
        self.dialled.append(line)
        return line

    async def fetch(self, head: Head = GET, /, **times: float) -> bytes:
        incoming = await self.calling.begin(head, **times)
        try:
            return b"".join([piece async for piece in incoming])
        finally:
            self.calling.end(incoming)


def run(running: Coroutine[Any, Any, T]) -> T:
    while True:
        try:
            running.send(None)
        except StopIteration as done:
            result: T = done.value
            return result


def steps(running: Coroutine[Any, Any, Any], count: int) -> None:
    for _ in range(count):
        running.send(None)


def cancel(running: Coroutine[Any, Any, Any]) -> None:
    with pytest.raises(Cancelled):
        running.throw(Cancelled())


def test_a_line_is_kept_and_used_again() -> None:
    network = Network(Paper(ANSWER, ANSWER, ANSWER))
    assert [run(network.fetch()) for _ in range(3)] == [b"hello"] * 3
    [line] = network.dialled
    assert (line.requests, line.closed) == (3, 0)


def test_a_line_that_is_stale_before_anything_is_written_is_replaced_for_every_method() -> None:
    network = Network(Paper(ANSWER), Paper(ANSWER), Paper(ANSWER))
    for head in (GET, POST, POST):
        if network.dialled:
            network.dialled[-1].stale = True
        assert run(network.fetch(head)) == b"hello"
    assert [(line.requests, line.closed) for line in network.dialled] == [(1, 1), (1, 1), (1, 0)]


@pytest.mark.parametrize("end", [b"", TransportError("reset")])
def test_a_get_on_a_line_that_turns_out_to_be_stale_goes_out_once_more(end: bytes | Exception) -> None:
    network = Network(Paper(ANSWER, end), Paper(ANSWER))
    assert [run(network.fetch()), run(network.fetch())] == [b"hello", b"hello"]
    assert [(line.requests, line.closed) for line in network.dialled] == [(2, 1), (1, 0)]


def test_a_get_goes_out_no_third_time() -> None:
    network = Network(Paper(ANSWER, b""), Paper(b""), Paper(ANSWER))
    run(network.fetch())
    with pytest.raises(TransportError, match="GET /api/v1/pods: the server closed the connection"):
        run(network.fetch())
    assert [line.closed for line in network.dialled] == [1, 1]


def test_the_second_time_is_on_a_new_line_though_others_are_kept() -> None:
    network = Network(Paper(ANSWER, b""), Paper(ANSWER, b""), Paper(ANSWER))
    first, second = network.calling.begin(GET), network.calling.begin(GET)
    for incoming in (run(first), run(second)):
        run(anext_all(incoming))
        network.calling.end(incoming)
    assert run(network.fetch()) == b"hello"
    assert [line.requests for line in network.dialled] == [1, 2, 1]


async def anext_all(incoming: IncomingResponse[Paper]) -> list[bytes]:
    return [piece async for piece in incoming]


@pytest.mark.parametrize(
    ("head", "says"),
    [
        (POST, b""),
        (POST, TransportError("reset")),
        (GET, b"HTTP/1.1 200"),
        (GET, b"nonsense\r\n\r\n"),
        (GET, None),
    ],
    ids=["POST, closed", "POST, reset", "GET, touched", "GET, nonsense", "GET, too late"],
)
def test_what_a_server_may_have_begun_goes_out_once(head: Head, says: bytes | Exception | None) -> None:
    network = Network(Paper(ANSWER, says, b""), Paper(ANSWER))
    run(network.fetch())
    with pytest.raises((TransportError, RemoteProtocolError)):
        run(network.fetch(head))
    assert [(line.requests, line.closed) for line in network.dialled] == [(2, 1)]


def test_a_first_use_that_fails_is_not_a_stale_line() -> None:
    network = Network(Paper(b""), Paper(ANSWER))
    with pytest.raises(TransportError):
        run(network.fetch())
    assert len(network.dialled) == 1


def test_a_line_that_could_not_be_dialled_leaves_its_place_to_the_next() -> None:
    network = Network(ConnectError("refused"), Paper(ANSWER), limits=Limits(connections=1))
    with pytest.raises(ConnectError, match="GET /api/v1/pods: refused"):
        run(network.fetch())
    assert run(network.fetch()) == b"hello"


def test_a_response_that_is_left_half_read_costs_its_line() -> None:
    network = Network(Paper(ANSWER[:-2], ANSWER[-2:]))
    incoming = run(network.calling.begin(GET))
    assert run(incoming.__anext__()) == b"hel"
    network.calling.end(incoming)
    assert [line.closed for line in network.dialled] == [1]


def test_a_response_that_came_before_its_request_was_sent_costs_its_line() -> None:
    line = Paper(ANSWER)
    line.takes_all = False
    network = Network(line)
    assert run(network.fetch(POST)) == b"hello"
    assert line.closed == 1


def test_a_body_is_not_read_after_its_context_was_left() -> None:
    network = Network(Paper(ANSWER))
    incoming = run(network.calling.begin(GET))
    network.calling.end(incoming)
    network.calling.end(incoming)
    with pytest.raises(LocalProtocolError, match="inside its context"):
        run(incoming.__anext__())


def test_a_response_shows_its_request_without_the_query() -> None:
    network = Network(Paper(ANSWER))
    assert repr(run(network.calling.begin(GET))) == "<GET /api/v1/pods: 200>"


def test_each_wait_is_bounded_by_the_silence_that_is_allowed_and_by_the_deadline() -> None:
    line = Paper(ANSWER[:10], ANSWER[10:-2], ANSWER[-2:])
    network = Network(line)
    network.now = 100.0
    assert run(network.fetch(deadline=130.0, idle=20.0)) == b"hello"
    assert line.waits == [120.0, 120.0, 120.0]
    network = Network(line := Paper(ANSWER[:10], ANSWER[10:-2], ANSWER[-2:]))
    network.now = 100.0
    run(network.fetch(POST, deadline=130.0, idle=20.0))
    # The server says nothing as long as a body comes in; once it has begun, the head is to come in time.
    assert line.waits == [130.0, 120.0, 120.0]
    network = Network(line := Paper(ANSWER[:-2], ANSWER[-2:]))
    network.now = 100.0
    run(network.fetch(deadline=110.0, idle=20.0))
    assert line.waits == [110.0, 110.0]
    network = Network(line := Paper(ANSWER[:-2], ANSWER[-2:]))
    run(network.fetch())
    assert line.waits == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("said", "times", "match"),
    [
        ((), {"deadline": 5.0}, "time given ran out"),
        ((), {"idle": 20.0}, "no whole head came for 20 s"),
        ((ANSWER[:-2],), {"deadline": 5.0}, "time given ran out"),
        ((ANSWER[:-2],), {"idle": 20.0}, "silent for 20 s"),
        ((ANSWER[:-2],), {"deadline": 5.0, "idle": 20.0}, "time given ran out"),
        ((ANSWER[:-2],), {"deadline": 25.0, "idle": 20.0}, "silent for 20 s"),
    ],
)
def test_a_silence_that_is_too_long_ends_the_exchange(
    said: tuple[bytes, ...], times: dict[str, float], match: str
) -> None:
    network = Network(Paper(*said, None))
    with pytest.raises(DeadlineExceeded, match=match):
        run(network.fetch(**times))
    assert [line.closed for line in network.dialled] == [1]


def test_a_request_that_must_not_be_sent_costs_no_line() -> None:
    network = Network(Paper(ANSWER))
    with pytest.raises(InvalidRequest):
        run(network.fetch(Head("GET", "no slash")))
    with pytest.raises(LocalProtocolError, match="cannot carry"):
        run(network.fetch(Head("GET", "/", (("X", "\n"),))))
    assert network.dialled == []


@pytest.mark.parametrize("point", [1, 2, 3])
def test_cancellation_anywhere_loses_no_place(point: int) -> None:
    # 1: while it dials, 2: while it waits for the head, 3: while it reads the body
    network = Network(Paper(ANSWER[:-2], ANSWER[-2:]), Paper(ANSWER), limits=Limits(connections=1))
    running = network.fetch()
    steps(running, point)
    cancel(running)
    assert [line.closed for line in network.dialled] == [1] * (point > 1)
    assert run(network.fetch()) == b"hello"


def test_cancellation_of_one_that_waits_lets_the_next_through() -> None:
    network = Network(Paper(ANSWER, ANSWER), limits=Limits(connections=1))
    first = run(network.calling.begin(GET))
    waiting, patient = network.fetch(), network.fetch()
    steps(waiting, 1)
    steps(patient, 1)
    cancel(waiting)
    run(anext_all(first))
    network.calling.end(first)
    assert run(patient) == b"hello"
    assert len(network.dialled) == 1


@pytest.mark.parametrize("reusable", [True, False])
def test_what_is_given_to_one_that_is_cancelled_in_that_moment_goes_to_the_next(reusable: bool) -> None:
    network = Network(Paper(ANSWER[:-2], ANSWER[-2:], ANSWER), Paper(ANSWER), limits=Limits(connections=1))
    first = run(network.calling.begin(GET))
    waiting, patient = network.fetch(), network.fetch()
    steps(waiting, 1)
    steps(patient, 1)
    if reusable:
        run(anext_all(first))
    network.calling.end(first)  # the place is now that of `waiting`, which has not run since
    cancel(waiting)
    assert run(patient) == b"hello"
    assert len(network.dialled) == (1 if reusable else 2)


def test_closing_refuses_who_waits_and_who_comes_and_closes_what_is_in_use() -> None:
    network = Network(Paper(ANSWER), limits=Limits(connections=1))
    first = run(network.calling.begin(GET))
    waiting = network.fetch()
    steps(waiting, 1)
    network.lending.close()
    for refused in (waiting, network.fetch()):
        with pytest.raises(TransportError, match="transport is closed"):
            run(refused)
    network.calling.end(first)
    network.lending.close()
    assert [line.closed >= 1 for line in network.dialled] == [True]


def test_a_line_that_is_dialled_while_the_transport_closes_is_closed() -> None:
    network = Network(Paper(ANSWER))
    running = network.fetch()
    steps(running, 1)
    network.lending.close()
    with pytest.raises(TransportError, match="transport is closed"):
        run(running)
    assert [line.closed for line in network.dialled] == [1]


def test_idle_lines_are_closed_when_their_time_is_over() -> None:
    network = Network(Paper(ANSWER), Paper(ANSWER))
    run(network.fetch())
    network.now = 45.0
    run(network.fetch())
    assert [line.closed for line in network.dialled] == [1, 0]
