"""exec, attach and port-forward over WebSockets, on each transport that has them."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import anyio
import anyio.lowlevel
import pytest
from contract_cancelling import cancelled_at
from contract_certificates import Certificates, context
from contract_scripts import proxying, response_bytes, sending
from contract_server import BOUND, Gate, Server
from contract_transports import Rig, connection_to, rigs, until, wait_until_idle
from contract_websockets import SUCCESS, THREE, V4, V5, WebSocketPeer, cat, echo, talking
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, Pong, TextMessage

import kubeproto as kp
from kubeproto import (
    BadRequest,
    DeadlineExceeded,
    Forbidden,
    LocalProtocolError,
    NotFound,
    Transport,
    TransportError,
)
from kubeproto.config import Connection
from kubeproto.streams import Exited, PortForwarding, Process, Stderr, Stdout
from kubeproto.wire import Upgrader, UpgradeRequest, WebSocket

T = TypeVar("T")
Serve = Callable[..., Server]

SHORT: Final = 0.02
MANY: Final = 400
PIECE: Final = 32 * 1024

PODS: Final = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"), namespace="w")
EXEC: Final = PODS.exec("web", ["cat"], stdin=True)
FORWARD: Final = PODS.port_forward("web", [8080, 53])

RECORDINGS: Final = Path(__file__).parents[2] / "recordings"


@pytest.fixture(params=rigs(has_websockets=True))
def rig(request: pytest.FixtureRequest) -> Rig:
    """Each transport that has WebSockets."""
    parameter: object = request.param
    assert isinstance(parameter, Rig)
    return parameter


def upgraded(
    rig: Rig,
    server: Server | Connection,
    talk: Callable[[WebSocket], Awaitable[T]],
    request: UpgradeRequest = EXEC,
    **times: float,
) -> T:
    """Run a conversation over a new transport, and return its result."""

    async def body(transport: Transport) -> T:
        async with cast("Upgrader", transport).upgrade(request, **times) as socket:
            return await talk(socket)

    return rig.run(server if isinstance(server, Connection) else connection_to(server), body)


async def use_cat(socket: WebSocket) -> list[object]:
    """Exchange messages with `cat`, and return its output."""
    process = Process(socket)
    await process.write(b"meow")
    assert await anext(process) == Stdout(b"meow")
    await process.end_stdin()
    return [event async for event in process]


async def listen(socket: WebSocket) -> list[object]:
    return [event async for event in Process(socket)]


def assert_success(events: list[object]) -> bool:
    return len(events) == 1 and isinstance(events[0], Exited) and events[0].code == 0


def test_sv_24_a_command_reads_stdin_writes_stdout_and_ends_with_its_stdin(rig: Rig, serve: Serve) -> None:
    server = serve(talking(cat))
    assert assert_success(upgraded(rig, server, use_cat))
    [request] = server.requests
    assert (
        request.target == "/api/v1/namespaces/w/pods/web/exec?command=cat&stdin=true&stdout=true&stderr=true"
    )
    assert request.header("sec-websocket-protocol") == "v5.channel.k8s.io, v4.channel.k8s.io"


def test_a_websocket_that_arrives_byte_by_byte_works(rig: Rig, serve: Serve) -> None:
    assert assert_success(upgraded(rig, serve(talking(cat, drips=True)), use_cat))


def test_a_websocket_works_over_tls(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server = serve(talking(cat), context(certificates.server))
    assert assert_success(upgraded(rig, connection_to(server, ca=certificates.trusted), use_cat))


def test_a_websocket_works_over_tls_byte_by_byte(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server = serve(talking(cat, drips=True), context(certificates.server))
    assert assert_success(upgraded(rig, connection_to(server, ca=certificates.trusted), use_cat))


def test_a_websocket_works_through_a_tunnel(rig: Rig, serve: Serve, certificates: Certificates) -> None:
    server, proxy = serve(talking(cat), context(certificates.server)), serve(proxying())
    connection = connection_to(server, ca=certificates.trusted, proxy=f"http://localhost:{proxy.port}")
    assert assert_success(upgraded(rig, connection, use_cat))
    assert [request.method for request in proxy.requests] == ["CONNECT"]


def test_sv_24_an_exit_code_is_a_value(rig: Rig, serve: Serve) -> None:
    async def fail(websocket: WebSocketPeer) -> None:
        await websocket.send_messages(b"\1", b"\2", b"\1out", b"\2err", THREE)
        await websocket.close()

    events = upgraded(rig, serve(talking(fail)), listen)
    assert events[:-1] == [Stdout(b"out"), Stderr(b"err")]
    assert isinstance(events[-1], Exited)
    assert events[-1].code == 3


def test_an_older_server_selects_v4_and_stdin_cannot_be_closed(rig: Rig, serve: Serve) -> None:
    async def talk(socket: WebSocket) -> str:
        process = Process(socket)
        with pytest.raises(LocalProtocolError, match="cannot end stdin"):
            await process.end_stdin()
        await process.write(b"meow")
        assert await anext(process) == Stdout(b"meow")
        return socket.protocol

    assert upgraded(rig, serve(talking(cat, V4)), talk) == V4


def test_a_recorded_failure_has_the_message_of_the_server(rig: Rig, serve: Serve) -> None:
    recording = json.loads((RECORDINGS / "exec-v5-kubelet-unreachable.json").read_text())
    frames = recording["response"]["frames"]

    async def replay(websocket: WebSocketPeer) -> None:
        for frame in frames:
            payload = base64.b64decode(frame["payload"]["base64"])
            size = (
                len(payload).to_bytes(1, "big")
                if len(payload) < 126
                else b"~" + len(payload).to_bytes(2, "big")
            )
            await websocket.peer.send(bytes((0x80 | frame["opcode"],)) + size + payload)
        await websocket.peer.wait_closed()

    [result] = upgraded(rig, serve(talking(replay)), listen)
    assert isinstance(result, Exited)
    assert (result.code, result.status.reason, result.status.code) == (None, "InternalError", 500)
    assert "connection refused" in result.status.message


def refusal(name: str) -> bytes:
    response: Any = json.loads((RECORDINGS / name).read_text())["response"]
    headers = [(key, value) for key, value in response["headers"] if key != "Content-Length"]
    return response_bytes(response["body"].encode(), *headers, status=f"{response['status']} X")


REFUSALS: Final = {
    "403": (refusal("exec-needs-create-403.json"), Forbidden, 'pods "pq" is forbidden'),
    "400": (refusal("exec-unscheduled-pod-400.json"), BadRequest, "does not have a host"),
    "404": (response_bytes(b"404 page not found", status="404 Not Found"), NotFound, "404 page not found"),
}


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_is_the_error_of_its_status(rig: Rig, serve: Serve, code: str) -> None:
    body, kind, words = REFUSALS[code]
    with pytest.raises(kind, match=words) as raised:
        upgraded(rig, serve(sending(body)), listen)
    assert raised.value.request == "GET /api/v1/namespaces/w/pods/web/exec"


def test_ports_are_independent_streams(rig: Rig, serve: Serve) -> None:
    async def talk(socket: WebSocket) -> list[bytes]:
        ports = PortForwarding(socket, [8080, 53], signal=anyio.Event)
        received: dict[int, bytes] = {}

        async def converse(port: int, data: bytes) -> None:
            heard = b""
            for start in range(0, len(data), 1000):
                await ports[port].send(data[start : start + 1000])
                while len(heard) < min(start + 1000, len(data)):
                    heard += await ports[port].receive()
            received[port] = heard

        async with anyio.create_task_group() as group:
            group.start_soon(converse, 8080, b"web" * 3000)
            group.start_soon(converse, 53, b"dns" * 3000)
        return [received[8080], received[53]]

    server = serve(talking(echo, V4))
    assert upgraded(rig, server, talk, FORWARD) == [b"web" * 3000, b"dns" * 3000]
    assert server.requests[0].target.endswith("/portforward?ports=8080&ports=53")


def test_an_unreachable_port_does_not_affect_another(rig: Rig, serve: Serve) -> None:
    async def serve_half(websocket: WebSocketPeer) -> None:
        await websocket.send_messages(
            b"\0\x90\x1f", b"\1\x90\x1f", b"\1nobody listens", b"\2\x35\0", b"\3\x35\0", b"\2dns"
        )
        await websocket.close()

    async def talk(socket: WebSocket) -> bytes:
        ports = PortForwarding(socket, [8080, 53], signal=anyio.Event)
        with pytest.raises(TransportError, match="the server cannot reach port 8080: nobody listens"):
            await ports[8080].receive()
        return await ports[53].receive() + await ports[53].receive()

    assert upgraded(rig, serve(talking(serve_half, V4)), talk, FORWARD) == b"dns"


def test_pings_text_and_fragments_are_handled(rig: Rig, serve: Serve) -> None:
    async def send_unusual_frames(websocket: WebSocketPeer) -> None:
        await websocket.send(
            Ping(payload=b"there?"),
            BytesMessage(data=b"\1frag", message_finished=False),
            BytesMessage(data=b"ments"),
            TextMessage(data="\1text"),
        )
        async for event in websocket.events():
            assert event == Pong(payload=b"there?")
            await websocket.send_messages(SUCCESS)
            await websocket.close()
            return

    events = upgraded(rig, serve(talking(send_unusual_frames)), listen)
    assert events[:-1] == [Stdout(b"fragments"), Stdout(b"text")]


def test_leaving_the_context_closes_the_websocket_normally(rig: Rig, serve: Serve) -> None:
    heard: list[Event] = []

    async def wait(websocket: WebSocketPeer) -> None:
        heard.extend([event async for event in websocket.events()])

    async def leave(socket: WebSocket) -> None:
        assert socket.protocol == V5

    server = serve(talking(wait))
    upgraded(rig, server, leave)
    server.wait_until_idle()
    assert [event.code for event in heard if isinstance(event, CloseConnection)] == [1000]


@pytest.mark.parametrize("then", ["close", "reset", "farewell", "bad farewell", "nonsense"])
def test_an_end_without_a_close_frame_is_an_error(rig: Rig, serve: Serve, then: str) -> None:
    async def go(websocket: WebSocketPeer) -> None:
        await websocket.send_messages(b"\1out")
        match then:
            case "close":
                await websocket.peer.close()
            case "reset":
                await websocket.peer.reset()
            case "farewell":
                await websocket.close()
            case "bad farewell":
                await websocket.close(1011, "oops")
            case _:
                await websocket.peer.send(b"HTTP/1.1 500 Oops\r\n\r\n")
                await websocket.peer.wait_closed()

    with pytest.raises((TransportError, kp.RemoteProtocolError)) as raised:
        upgraded(rig, serve(talking(go)), listen)
    words = {
        "farewell": "without sending the command's exit status",
        "bad farewell": r"1011 (oops)",
        "nonsense": "violates the WebSocket protocol",
    }
    assert words.get(then, "GET /api/v1/namespaces/w/pods/web/exec") in str(raised.value)


def test_a_websocket_whose_server_does_not_respond_times_out(rig: Rig, serve: Serve) -> None:
    with pytest.raises(DeadlineExceeded):
        upgraded(rig, serve(sending(b"")), listen, timeout=SHORT)


def test_a_server_that_answers_no_ping_times_out(rig: Rig, serve: Serve) -> None:
    async def stay_silent(websocket: WebSocketPeer) -> None:
        await websocket.peer.wait_closed()

    with pytest.raises(DeadlineExceeded, match="silent"):
        upgraded(rig, serve(talking(stay_silent)), listen, idle=SHORT)


async def wait_until_unchanged(count: Callable[[], int]) -> None:
    """Yield to the loop until the count has not changed for many rounds."""
    previous, rounds = -1, 0
    with anyio.fail_after(BOUND):
        while rounds < 300:
            previous, rounds = (previous, rounds + 1) if count() == previous > 0 else (count(), 0)
            await anyio.lowlevel.checkpoint()


def test_a_slow_reader_slows_the_command_down_and_loses_nothing(rig: Rig, serve: Serve) -> None:
    total, sent_count = 1000, 0

    async def send_forever(websocket: WebSocketPeer) -> None:
        nonlocal sent_count
        for _ in range(total):
            await websocket.send_messages(b"\1" + b"x" * PIECE)
            sent_count += 1
        await websocket.send_messages(SUCCESS)
        await websocket.close()

    async def read_slowly(socket: WebSocket) -> int:
        await wait_until_unchanged(lambda: sent_count)
        assert sent_count < total
        return sum([len(event.data) async for event in Process(socket) if isinstance(event, Stdout)])

    assert upgraded(rig, serve(talking(send_forever)), read_slowly) == total * PIECE


def test_a_slow_command_slows_its_writer_down_and_loses_nothing(rig: Rig, serve: Serve, gate: Gate) -> None:
    total, written = 1000, 0

    async def read_slowly(websocket: WebSocketPeer) -> None:
        heard = 0
        websocket.peer.transport.pause_reading()
        await gate.wait()
        websocket.peer.transport.resume_reading()
        async for message in websocket.messages():
            if message == b"\xff\0":
                await websocket.send_messages(b"\1%d" % heard, SUCCESS)
                await websocket.close()
                return
            heard += len(message) - 1

    async def send_forever(socket: WebSocket) -> list[object]:
        process = Process(socket)
        received: list[object] = []

        async def write() -> None:
            nonlocal written
            for _ in range(total):
                await process.write(b"x" * PIECE)
                written += 1
            await process.end_stdin()

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await until(lambda: gate.reached)
            await wait_until_unchanged(lambda: written)
            assert written < total
            gate.open()
            received.extend([event async for event in process])
        return received

    events = upgraded(rig, serve(talking(read_slowly)), send_forever)
    assert events[0] == Stdout(b"%d" % (total * PIECE))


def test_a_blocked_writer_fails_when_the_server_closes(rig: Rig, serve: Serve, gate: Gate) -> None:
    written = 0

    async def leave(websocket: WebSocketPeer) -> None:
        websocket.peer.transport.pause_reading()
        await gate.wait()
        await websocket.peer.reset()

    async def send_forever(socket: WebSocket) -> None:
        process = Process(socket)

        async def write_on() -> None:
            nonlocal written
            while True:
                await process.write(b"x" * PIECE)
                written += 1

        async def write() -> None:
            with pytest.raises(TransportError, match="pods/web/exec"):
                await write_on()

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await until(lambda: gate.reached)
            await wait_until_unchanged(lambda: written)
            gate.open()

    upgraded(rig, serve(talking(leave)), send_forever)


@pytest.mark.parametrize("way", ["plain", "tls", "tunnel"])
def test_a_websocket_is_cancelled_at_every_wait(
    rig: Rig, serve: Serve, certificates: Certificates, way: str
) -> None:
    if way == "plain":
        server = serve(talking(cat))
        connection = connection_to(server)
    else:
        server = serve(talking(cat), context(certificates.server))
        proxy = f"http://localhost:{serve(proxying()).port}" if way == "tunnel" else ""
        connection = connection_to(server, ca=certificates.trusted, proxy=proxy)

    number = 0

    async def once(transport: Transport) -> bool:
        async def work() -> None:
            async with cast("Upgrader", transport).upgrade(EXEC, timeout=60.0, idle=60.0) as socket:
                await use_cat(socket)

        reached = await cancelled_at(number, work)
        await wait_until_idle(server)  # it was closed, while the transport is open
        return reached

    while rig.run(connection, once):
        number += 1
        assert number < MANY, "the talk never got through"
    assert number > 5


def test_an_error_of_the_caller_propagates_and_closes_the_connection(rig: Rig, serve: Serve) -> None:
    async def stumble(_: WebSocket) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        upgraded(rig, serve(talking(cat)), stumble)


def test_closing_the_transport_ends_a_websocket(rig: Rig, serve: Serve) -> None:
    async def body(transport: Any) -> None:
        async with transport.upgrade(EXEC) as socket:
            await transport.aclose()
            with pytest.raises(TransportError):
                await listen(socket)

    rig.run(connection_to(serve(talking(cat))), body)


def test_an_upgrade_has_the_credentials_of_the_connection(rig: Rig, serve: Serve) -> None:
    server = serve(talking(cat))
    request = EXEC.with_headers(("Authorization", "Bearer hunter2"))
    assert assert_success(upgraded(rig, server, use_cat, request))
    assert server.requests[0].header("authorization") == "Bearer hunter2"


def test_a_command_is_not_started_twice(rig: Rig, serve: Serve) -> None:
    server = serve(sending(b"", then="close"))
    with pytest.raises(TransportError):
        upgraded(rig, server, listen)
    assert len(server.requests) == 1
