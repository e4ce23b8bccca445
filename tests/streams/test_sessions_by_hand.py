"""`Process` and `PortForwarding` over a fake WebSocket, stepped by hand without an event loop."""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, TypeVar

import pytest

from kubeproto import LocalProtocolError, RemoteProtocolError, TransportError
from kubeproto.streams import Exited, PortForwarding, Process, Stderr, Stdout

T = TypeVar("T")

SUCCESS = b'\3{"status":"Success"}'


class Cancelled(BaseException):
    """The exception that an event loop throws into a cancelled coroutine."""


@coroutine
def suspend() -> Generator[str, None, None]:
    yield "waiting"


class Signal:
    def __init__(self) -> None:
        self.raised = False

    def set(self) -> None:
        self.raised = True

    async def wait(self) -> None:
        while not self.raised:
            await suspend()


class FakeWebSocket:
    """A WebSocket with scripted messages of the server, which then closes, unless `stays_open`."""

    def __init__(
        self, *messages: bytes, protocol: str = "v5.channel.k8s.io", stays_open: bool = False
    ) -> None:
        self.protocol = protocol
        self.sent_messages: list[bytes] = []
        self.messages = deque(messages)
        self.stays_open = stays_open

    async def receive(self) -> bytes | None:
        await suspend()
        while self.stays_open and not self.messages:
            await suspend()
        return self.messages.popleft() if self.messages else None

    async def send(self, message: bytes) -> None:
        await suspend()
        self.sent_messages.append(message)


def run(task: Coroutine[Any, Any, T]) -> T:
    for _ in range(1000):
        try:
            task.send(None)
        except StopIteration as stop:
            result: T = stop.value
            return result
    raise AssertionError("the task waits forever")


def step(task: Coroutine[Any, Any, Any], steps: int = 5) -> None:
    for _ in range(steps):
        task.send(None)


async def all_events(process: Process) -> list[object]:
    return [event async for event in process]


def test_a_process_yields_its_output_and_its_exit() -> None:
    process = Process(FakeWebSocket(b"\1", b"\1out", b"\2err", b"\1more", SUCCESS))
    events = run(all_events(process))
    assert events[:-1] == [Stdout(b"out"), Stderr(b"err"), Stdout(b"more")]
    assert isinstance(events[-1], Exited)
    assert process.exited == events[-1]


def test_a_process_is_written_to() -> None:
    socket = FakeWebSocket()
    process = Process(socket)
    run(process.write(b"hello"))
    run(process.resize(80, 24))
    run(process.end_stdin())
    assert socket.sent_messages == [b"\0hello", b'\4{"Width":80,"Height":24}', b"\xff\0"]


def test_waiting_for_the_exit_skips_the_output() -> None:
    process = Process(FakeWebSocket(b"\1out", SUCCESS, stays_open=True))
    assert run(process.wait()).code == 0
    assert run(process.wait()).code == 0


def test_a_process_without_an_exit_status_is_an_error() -> None:
    process = Process(FakeWebSocket(b"\1out"))
    with pytest.raises(TransportError, match="without sending the command's exit status"):
        run(all_events(process))
    with pytest.raises(TransportError, match="without sending the command's exit status"):
        run(Process(FakeWebSocket(b"\1out")).wait())


def forwarding(socket: FakeWebSocket, *ports: int) -> PortForwarding:
    socket.protocol = "v4.channel.k8s.io"
    return PortForwarding(socket, ports, signal=Signal)


OPEN = (b"\0\x50\0", b"\1\x50\0", b"\2\x51\0", b"\3\x51\0")


def test_each_port_has_its_own_bytes() -> None:
    socket = FakeWebSocket(*OPEN, b"\2for 81", b"\0for 80", b"\2more")
    ports = forwarding(socket, 80, 81)
    assert run(ports[80].receive()) == b"for 80"
    assert run(ports[81].receive()) == b"for 81"
    assert run(ports[81].receive()) == b"more"
    assert run(ports[80].receive()) == b""
    assert run(ports[81].receive()) == b""
    run(ports[81].send(b"question"))
    assert socket.sent_messages == [b"\2question"]


def test_a_waiting_task_is_woken_by_the_task_that_reads() -> None:
    socket = FakeWebSocket(*OPEN, stays_open=True)
    ports = forwarding(socket, 80, 81)
    first, second = ports[80].receive(), ports[81].receive()
    step(first)
    step(second)
    socket.messages.append(b"\2for 81")
    step(first)  # reads the data of the other port, and continues
    assert run(second) == b"for 81"
    socket.messages.append(b"\0for 80")
    assert run(first) == b"for 80"


def test_when_the_reading_task_is_cancelled_another_task_reads() -> None:
    socket = FakeWebSocket(*OPEN, stays_open=True)
    ports = forwarding(socket, 80, 81)
    first, second = ports[80].receive(), ports[81].receive()
    step(first)
    step(second)
    with pytest.raises(Cancelled):
        first.throw(Cancelled())
    socket.messages.append(b"\2for 81")
    assert run(second) == b"for 81"


def test_a_port_with_a_full_buffer_blocks_the_others() -> None:
    chunk = b"\2" + b"x" * 32 * 1024
    socket = FakeWebSocket(*OPEN, *[chunk] * 40, b"\0for 80")
    ports = forwarding(socket, 80, 81)
    blocked = ports[80].receive()
    step(blocked, 100)
    assert len(socket.messages) == 8  # 32 chunks are a MiB, and the 33rd exceeds it
    assert len(run(ports[81].receive())) == 33 * 32 * 1024
    assert run(blocked) == b"for 80"


def test_data_before_an_error_of_a_port_is_received() -> None:
    ports = forwarding(
        FakeWebSocket(*OPEN, b"\0last data", b"\1connection\n refused", stays_open=True), 80, 81
    )
    assert run(ports[80].receive()) == b"last data"
    with pytest.raises(TransportError, match="the server cannot reach port 80: connection refused"):
        run(ports[80].receive())
    with pytest.raises(TransportError, match="the server cannot reach port 80"):
        run(ports[80].send(b"x"))
    run(ports[81].send(b"x"))


def test_a_port_that_was_not_requested_has_no_stream() -> None:
    with pytest.raises(LocalProtocolError, match="port 82 was not requested"):
        forwarding(FakeWebSocket(), 80)[82]


def test_an_invalid_message_fails_the_reading_task_alone() -> None:
    socket = FakeWebSocket(*OPEN, b"\7", stays_open=True)
    ports = forwarding(socket, 80, 81)
    with pytest.raises(RemoteProtocolError, match="without a channel"):
        run(ports[80].receive())
    socket.messages.append(b"\2for 81")
    assert run(ports[81].receive()) == b"for 81"
