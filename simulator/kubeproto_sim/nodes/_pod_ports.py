"""The ports of a pod, as their handlers see them: connections that carry bytes in both directions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from kubeproto.streams import MAX_DATA, V4


class PortConnection:
    """One connection to a port of a pod. Its handler sets `on_data`, and responds with `send`.

    `on_drained` is called when everything was transmitted, for a handler that sends much.
    """

    def __init__(self, pod: str, namespace: str, port: int, send: Callable[[bytes], None]) -> None:
        self.pod = pod
        self.namespace = namespace
        self.port = port
        self.on_data: Callable[[bytes], object] | None = None
        self.on_close: Callable[[], object] | None = None
        self.on_drained: Callable[[], object] | None = None
        self._send = send

    def send(self, data: str | bytes) -> None:
        """Send data to the client."""
        self._send(data.encode() if isinstance(data, str) else data)


PortHandler: TypeAlias = Callable[[PortConnection], object]


def echo(connection: PortConnection) -> None:
    """Send all received data back."""
    connection.on_data = connection.send


def refusal_message(pod: str, port: int) -> str:
    """Return a kubelet's message about a port without a listener."""
    return f"failed to connect to localhost:{port} inside pod {pod}: connection refused\n"


class PortMessages:
    """The messages to a client that is connected to ports, in any protocol."""

    def __init__(self) -> None:
        self.wake: Callable[[], None] | None = None
        self.ended = False
        self.connections: dict[int, PortConnection] = {}
        self._outgoing: deque[bytes] = deque()

    def take(self) -> bytes:
        """Return the next message; empty if there is none."""
        if not self._outgoing and not self.ended:
            for connection in list(self.connections.values()):
                if connection.on_drained is not None:
                    connection.on_drained()
        return self._outgoing.popleft() if self._outgoing else b""

    def close(self) -> None:
        """Close all connections: the client has disconnected, or the pod has ended."""
        if not self.ended:
            self.ended = True
            self._outgoing.clear()
            for connection in self.connections.values():
                if connection.on_close is not None:
                    connection.on_close()
            self._notify()

    def _send(self, *messages: bytes) -> None:
        if not self.ended:
            self._outgoing.extend(messages)
            self._notify()

    def _notify(self) -> None:
        if self.wake is not None:
            self.wake()


class PortConversation(PortMessages):
    """The messages of a port-forward in both directions: two channels for each port."""

    protocol = V4

    def __init__(
        self, pod: str, namespace: str, ports: Sequence[int], handlers: Mapping[int, PortHandler] | None
    ) -> None:
        super().__init__()
        for index, port in enumerate(ports):
            port_bytes = port.to_bytes(2, "little")
            self._send(bytes((2 * index,)) + port_bytes, bytes((2 * index + 1,)) + port_bytes)
            handler = echo if handlers is None else handlers.get(port)
            if handler is None:
                self._send(bytes((2 * index + 1,)) + refusal_message(pod, port).encode())
                continue
            connection = PortConnection(pod, namespace, port, partial(self._write, index))
            self.connections[index] = connection
            handler(connection)

    def feed(self, message: bytes) -> None:
        """Pass a message of the client to the handler of its port."""
        if len(message) < 2 or message[0] % 2:
            return  # clients send nothing on the channels of errors
        connection = self.connections.get(message[0] // 2)
        if connection is not None and connection.on_data is not None:
            connection.on_data(message[1:])

    def _write(self, index: int, data: bytes) -> None:
        channel = bytes((2 * index,))
        self._send(*(channel + data[start : start + MAX_DATA] for start in range(0, len(data), MAX_DATA)))
