"""The ports of a pod, from the side of the pod: what a handler reads and writes on a connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ...streams import PIECE, V4


class PortConnection:
    """One connection to a port of a pod. Its handler sets `on_data`, and responds with `send`.

    `on_drained` is called when all that was sent has gone out: for a handler that has much to send.
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
        """Send this to the client."""
        self._send(data.encode() if isinstance(data, str) else data)


PortHandler: TypeAlias = Callable[[PortConnection], object]


def echo(connection: PortConnection) -> None:
    """Send back what arrives."""
    connection.on_data = connection.send


class PortConversation:
    """The messages of one port-forward, both ways: two channels for each port, each opened by its number."""

    protocol = V4

    def __init__(
        self, pod: str, namespace: str, ports: Sequence[int], handlers: Mapping[int, PortHandler] | None
    ) -> None:
        self.wake: Callable[[], None] | None = None
        self.ended = False
        self._outgoing: deque[bytes] = deque()
        self._connections: dict[int, PortConnection] = {}
        for index, port in enumerate(ports):
            opening = port.to_bytes(2, "little")
            self._outgoing += [bytes((2 * index,)) + opening, bytes((2 * index + 1,)) + opening]
            handler = echo if handlers is None else handlers.get(port)
            if handler is None:
                why = f"failed to connect to localhost:{port} inside pod {pod}: connection refused\n"
                self._outgoing.append(bytes((2 * index + 1,)) + why.encode())
                continue
            connection = PortConnection(pod, namespace, port, self._sender(index))
            self._connections[index] = connection
            handler(connection)

    def take(self) -> bytes:
        """The next message; empty if there is none."""
        if not self._outgoing and not self.ended:
            for connection in list(self._connections.values()):
                if connection.on_drained is not None:
                    connection.on_drained()
        return self._outgoing.popleft() if self._outgoing else b""

    def feed(self, message: bytes) -> None:
        """Take a message of the client."""
        if len(message) < 2 or message[0] % 2:
            return  # nothing arrives on the channels of errors
        connection = self._connections.get(message[0] // 2)
        if connection is not None and connection.on_data is not None:
            connection.on_data(message[1:])

    def close(self) -> None:
        """The client has gone, or the pod."""
        if not self.ended:
            self.ended = True
            self._outgoing.clear()
            for connection in self._connections.values():
                if connection.on_close is not None:
                    connection.on_close()
            self._notify()

    def _sender(self, index: int) -> Callable[[bytes], None]:
        def send(data: bytes) -> None:
            if not self.ended:
                channel = bytes((2 * index,))
                self._outgoing.extend(channel + data[at : at + PIECE] for at in range(0, len(data), PIECE))
                self._notify()

        return send

    def _notify(self) -> None:
        if self.wake is not None:
            self.wake()
