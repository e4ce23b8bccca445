"""`Process` and `Forwarding` over a socket of paper, stepped by hand: no event loop, no time."""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

import pytest

from kubeproto import LocalProtocolError, RemoteProtocolError, TransportError
from kubeproto.streams import Exited, Forwarding, Process, Stderr, Stdout

T = TypeVar("T")

SUCCESS = b'\3{"status":"Success"}'


class Cancelled(BaseException):
    """What an event loop throws into a coroutine that it calls off."""


@coroutine
def stand_still() -> Generator[str, None, None]:
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
    """A WebSocket whose server says what stands here; at the end it closes, unless it stays."""

    def __init__(self, *says: bytes, protocol: str = "v5.channel.k8s.io", stays: bool = False) -> None:
        self.protocol = protocol
        self.sent: list[bytes] = []
        self.says = deque(says)
        self.stays = stays

    async def receive(self) -> bytes | None:
        await stand_still()
        while self.stays and not self.says:
            await stand_still()
        return self.says.popleft() if self.says else None

    async def send(self, message: bytes) -> None:
        await stand_still()
        self.sent.append(message)


def run(running: Coroutine[Any, Any, T]) -> T:
    for _ in range(1000):
        try:
            running.send(None)
        except StopIteration as done:
            result: T = done.value
            return result
    raise AssertionError("it waits forever")


def waits(running: Coroutine[Any, Any, Any], steps: int = 5) -> None:
    for _ in range(steps):
        running.send(None)


async def everything(process: Process) -> list[object]:
    return [event async for event in process]


def test_a_process_gives_what_it_writes_and_how_it_ended() -> None:
    process = Process(Paper(b"\1", b"\1out", b"\2err", b"\1more", SUCCESS))
    events = run(everything(process))
    assert events[:-1] == [Stdout(b"out"), Stderr(b"err"), Stdout(b"more")]
    assert isinstance(events[-1], Exited)
    assert process.exited == events[-1]


def test_a_process_is_written_to() -> None:
    paper = Paper()
    process = Process(paper)
    run(process.write(b"hello"))
    run(process.resize(80, 24))
    run(process.end_stdin())
    assert paper.sent == [b"\0hello", b'\4{"Width":80,"Height":24}', b"\xff\0"]


def test_who_waits_for_the_end_gets_it_and_passes_over_the_rest() -> None:
    process = Process(Paper(b"\1out", SUCCESS, stays=True))
    assert run(process.wait()).code == 0
    assert run(process.wait()).code == 0


def test_a_process_that_is_cut_off_did_not_end_well() -> None:
    process = Process(Paper(b"\1out"))
    with pytest.raises(TransportError, match="without reporting how"):
        run(everything(process))
    with pytest.raises(TransportError, match="without reporting how"):
        run(Process(Paper(b"\1out")).wait())


def forwarding(paper: Paper, *ports: int) -> Forwarding:
    paper.protocol = "v4.channel.k8s.io"
    return Forwarding(paper, ports, signal=Signal)


OPEN = (b"\0\x50\0", b"\1\x50\0", b"\2\x51\0", b"\3\x51\0")


def test_each_port_has_its_own_bytes() -> None:
    paper = Paper(*OPEN, b"\2for 81", b"\0for 80", b"\2more")
    ports = forwarding(paper, 80, 81)
    assert run(ports[80].receive()) == b"for 80"
    assert run(ports[81].receive()) == b"for 81"
    assert run(ports[81].receive()) == b"more"
    assert run(ports[80].receive()) == b""
    assert run(ports[81].receive()) == b""
    run(ports[81].send(b"question"))
    assert paper.sent == [b"\2question"]


def test_who_waits_for_one_port_is_woken_by_who_reads_for_another() -> None:
    paper = Paper(*OPEN, stays=True)
    ports = forwarding(paper, 80, 81)
    first, second = ports[80].receive(), ports[81].receive()
    waits(first)
    waits(second)
    paper.says.append(b"\2for 81")
    waits(first)  # it reads what is for the other, and reads on
    assert run(second) == b"for 81"
    paper.says.append(b"\0for 80")
    assert run(first) == b"for 80"


def test_when_the_reader_is_called_off_another_reads_on() -> None:
    paper = Paper(*OPEN, stays=True)
    ports = forwarding(paper, 80, 81)
    first, second = ports[80].receive(), ports[81].receive()
    waits(first)
    waits(second)
    with pytest.raises(Cancelled):
        first.throw(Cancelled())
    paper.says.append(b"\2for 81")
    assert run(second) == b"for 81"


def test_a_port_that_nobody_reads_holds_up_the_others_when_it_has_enough() -> None:
    piece = b"\2" + b"x" * 32 * 1024
    paper = Paper(*OPEN, *[piece] * 40, b"\0for 80")
    ports = forwarding(paper, 80, 81)
    held_up = ports[80].receive()
    waits(held_up, 100)
    assert len(paper.says) == 8  # 32 of them are a MiB, and one more is above it
    assert len(run(ports[81].receive())) == 33 * 32 * 1024
    assert run(held_up) == b"for 80"


def test_what_came_before_a_port_was_lost_is_still_read() -> None:
    ports = forwarding(Paper(*OPEN, b"\0last words", b"\1connection\n refused", stays=True), 80, 81)
    assert run(ports[80].receive()) == b"last words"
    with pytest.raises(TransportError, match="port 80 is out of reach: connection refused"):
        run(ports[80].receive())
    with pytest.raises(TransportError, match="port 80 is out of reach"):
        run(ports[80].send(b"x"))
    run(ports[81].send(b"x"))


def test_a_port_that_was_not_asked_for_has_no_stream() -> None:
    with pytest.raises(LocalProtocolError, match="port 82 was not asked for"):
        forwarding(Paper(), 80)[82]


def test_nonsense_reaches_who_reads_it_and_the_next_one_reads_on() -> None:
    paper = Paper(*OPEN, b"\7", stays=True)
    ports = forwarding(paper, 80, 81)
    with pytest.raises(RemoteProtocolError, match="names no channel"):
        run(ports[80].receive())
    paper.says.append(b"\2for 81")
    assert run(ports[81].receive()) == b"for 81"
