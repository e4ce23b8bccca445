"""kubectl's port-forward: SPDY in the messages of a WebSocket, however it is split, with any content."""

from __future__ import annotations

import struct
import zlib
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from nodes_rig import Rig

import kubeproto_sim as sim
from kubeproto import RawRequest

FIN: Final = 1
HEADERS: Final = (
    ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Sec-WebSocket-Protocol", "SPDY/3.1+portforward.k8s.io"),
)  # fmt: skip


def control(kind: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8003, kind, len(body)) + body


def data(stream: int, payload: bytes, flags: int = 0) -> bytes:
    return struct.pack(">II", stream, flags << 24 | len(payload)) + payload


class Forwarding:
    """The client's side of a port-forward to the pod of a rig."""

    def __init__(self, rig: Rig) -> None:
        answer = rig.cluster.respond(
            RawRequest("GET", "/api/v1/namespaces/default/pods/web/portforward", HEADERS)
        )
        assert answer.status == 101, answer
        self.body: Any = answer.body
        self._deflate = zlib.compressobj()

    def opening(self, stream: int, kind: str, request: str = "0", port: str = "80") -> bytes:
        """Return a frame that opens a stream."""
        texts = ("streamtype", kind, "port", port, "requestid", request)
        block = struct.pack(">I", 3) + b"".join(
            struct.pack(">I", len(text)) + text.encode() for text in texts
        )
        packed = self._deflate.compress(block) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return control(1, struct.pack(">IIH", stream, 0, 0) + packed)

    def connect(self, request: str = "0", first: int = 1, port: str = "80") -> bytes:
        """Return the frames that begin a connection."""
        return self.opening(first, "error", request, port) + self.opening(first + 2, "data", request, port)

    def received(self) -> list[tuple[int, bytes, bool]]:
        """Return the received data frames: their stream, their content, and whether it ends."""
        frames: list[tuple[int, bytes, bool]] = []
        while message := self.body.take():
            first, flags_and_length = struct.unpack(">II", message[:8])
            if not first >> 31:
                frames.append((first, message[8:], bool(flags_and_length >> 24 & FIN)))
        return frames


def greet(connection: sim.PortConnection) -> None:
    connection.on_data = lambda received: connection.send(b"hello " + received)


def greeting() -> Rig:
    rig = Rig(programs={"nginx": sim.Program(ports={80: greet})})
    rig.run()
    return rig


def test_a_connection_carries_data_both_ways_until_the_client_ends_it() -> None:
    forwarding = Forwarding(greeting())
    forwarding.body.feed(forwarding.connect() + data(3, b"you"))
    assert forwarding.received() == [(3, b"hello you", False)]
    forwarding.body.feed(data(3, b"", FIN))
    assert forwarding.received() == [(3, b"", True), (1, b"", True)]
    forwarding.body.feed(data(3, b"late"))
    assert forwarding.received() == []


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_the_frames_of_a_tunnel_may_be_split_anywhere(cuts: list[int]) -> None:
    forwarding = Forwarding(greeting())
    stream = forwarding.connect() + data(3, b"a") + forwarding.connect("1", 5) + data(7, b"b", FIN)
    position = 0
    for end in cuts:
        forwarding.body.feed(stream[position : position + end])
        position += end
    forwarding.body.feed(stream[position:])
    assert forwarding.received() == [
        (3, b"hello a", False), (7, b"hello b", False), (7, b"", True), (5, b"", True),
    ]  # fmt: skip


def test_a_port_without_a_handler_refuses_connections() -> None:
    forwarding = Forwarding(greeting())
    forwarding.body.feed(forwarding.connect(port="81"))
    message = b"failed to connect to localhost:81 inside pod web: connection refused\n"
    assert forwarding.received() == [(1, message, False), (3, b"", True), (1, b"", True)]


@pytest.mark.parametrize(
    "end", [control(3, struct.pack(">II", 3, 5)), data(3, b"", FIN)], ids=["reset", "end"]
)
def test_a_handler_is_notified_once_that_its_client_disconnected(end: bytes) -> None:
    closed: list[int] = []

    def note(connection: sim.PortConnection) -> None:
        connection.on_close = lambda: closed.append(connection.port)

    rig = Rig(programs={"nginx": sim.Program(ports={80: note})})
    rig.run()
    forwarding = Forwarding(rig)
    forwarding.body.feed(forwarding.connect() + end + end)
    forwarding.body.close()
    assert closed == [80]


def test_a_ping_is_returned_unchanged() -> None:
    forwarding = Forwarding(greeting())
    ping = control(6, struct.pack(">I", 1))
    forwarding.body.feed(ping)
    assert forwarding.body.take() == ping


def test_the_end_of_a_container_ends_its_connections() -> None:
    rig = greeting()
    forwarding = Forwarding(rig)
    forwarding.body.feed(forwarding.connect())
    rig.nodes.exit("web", 1)
    assert forwarding.body.ended


BAD: Final = {
    "another version": struct.pack(">HHI", 0x8002, 6, 4) + bytes(4),
    "a frame without end": struct.pack(">HHI", 0x8003, 1, 0xFFFFFF),
    "a stream without headers": control(1, bytes(6)),
    "headers that are not packed": control(1, bytes(30)),
    "headers that are cut": control(1, bytes(10) + zlib.compress(struct.pack(">I", 9))),
    "headers that swell": control(1, bytes(10) + zlib.compress(bytes(1 << 22))),
}


@pytest.mark.parametrize("name", BAD)
def test_bytes_that_are_not_spdy_end_the_connection(name: str) -> None:
    forwarding = Forwarding(greeting())
    forwarding.body.feed(BAD[name])
    assert forwarding.body.ended
    assert forwarding.received() == []


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_any_bytes_give_events_or_end_the_connection(messages: list[bytes]) -> None:
    forwarding = Forwarding(greeting())
    for message in messages:
        forwarding.body.feed(message)
