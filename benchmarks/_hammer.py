"""Load on an API server over a few raw sockets, so that no client library is measured."""

import json
import os
import re
import select
import selectors
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from benchmarks._measure import MissingRequirement

CONNECTIONS: Final = 8
_ROOT: Final = Path(__file__).resolve().parent.parent
_LENGTH: Final = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_EVENT: Final = b'{"type":"'
_PIECE: Final = 1 << 20
_LAST: Final = 5  # the end of a chunked body
_PATIENCE: Final = 60.0
_START: Final = 900.0  # seconds for a server to store 10,000 pods, each checked and defaulted


class Server:
    """The address and the process of a server; with an authority (PEM) connections use TLS."""

    def __init__(self, port: int, *, authorization: str = "", authority: str = "", process: int = 0) -> None:
        self.port = port
        self._authorization, self._authority, self._process = authorization, authority, process
        self._context = ssl.create_default_context(cadata=authority) if authority else None

    def options(self) -> dict[str, str | int]:
        """Return the constructor's arguments."""
        return {"port": self.port, "authorization": self._authorization, "authority": self._authority}

    def connect(self, buffer: int | None = None) -> socket.socket:
        """Open a connection whose receive buffer has this many bytes."""
        plain = socket.socket()
        plain.settimeout(_PATIENCE)
        if buffer:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plain.connect(("127.0.0.1", self.port))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._context.wrap_socket(plain, server_hostname="127.0.0.1") if self._context else plain

    def cpu(self) -> float:
        """Return the seconds of CPU that the process has taken until now."""
        fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return the resident memory of the process, in MiB."""
        pages = int(Path(f"/proc/{self._process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 2**20

    def request(self, method: str, target: str, body: bytes = b"") -> bytes:
        """Return the bytes of a request."""
        head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench/1.0\r\n"
        if self._authorization:
            head += f"Authorization: {self._authorization}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body


@contextmanager
def simulated(*options: str) -> Generator[Server]:
    """Start `kubeproto serve` in a process of its own."""
    command = [sys.executable, "-m", "kubeproto_cli", "serve", "--port", "0", *options]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or not select.select([process.stdout], [], [], _START)[0]:
                raise MissingRequirement(f"the server did not start within {_START:g} s")
            port = int(process.stdout.readline().split(";")[0].rpartition(":")[2])
            yield Server(port, process=process.pid)
        finally:
            process.kill()


@contextmanager
def real() -> Generator[Server]:
    """Start a Kubernetes control plane, if `make real` has built it; requests are its admin's, over TLS."""
    if (tests := str(_ROOT / "tests")) not in sys.path:
        sys.path.append(tests)
    building: Any = import_module("realserver._real_build")
    running: Any = import_module("realserver._real_server")
    if not building.program().exists():
        raise MissingRequirement("the real control plane is not built: make real builds it, where Go is")
    with tempfile.TemporaryDirectory() as folder, running.RealServer(Path(folder)) as server:
        server.start()
        connection = server.connection
        authorization = dict(connection.headers)["Authorization"]
        ca = connection.ca.decode()
        yield Server(server.port, authorization=authorization, authority=ca, process=server.process)


def hammer(server: Server, requests: Sequence[bytes], connections: int = CONNECTIONS) -> float:
    """Send all requests, one at a time on each connection, and return the duration in seconds."""
    sockets = [server.connect() for _ in range(connections)]
    waiting = iter(requests)
    started = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        busy = 0
        for client, request in zip(sockets, waiting, strict=False):
            client.sendall(request)
            selector.register(client, selectors.EVENT_READ, PartialResponse())
            busy += 1
        while busy:
            for key, _ in _ready(selector):
                client = _socket(key)
                if not key.data.feed(_received(client)):
                    continue
                if (following := next(waiting, None)) is None:
                    selector.unregister(client)
                    busy -= 1
                else:
                    selector.modify(client, selectors.EVENT_READ, PartialResponse())
                    client.sendall(following)
    took = time.perf_counter() - started
    for client in sockets:
        client.close()
    return took


class PartialResponse:
    """A response that arrives in pieces; only its head and its last bytes are inspected."""

    def __init__(self) -> None:
        self._head = b""
        self._size: int | None = None  # of the body, from the head
        self._received_bytes = 0
        self._end = b""

    def feed(self, data: bytes) -> bool:
        """Take a piece; return True when the response is complete."""
        if not data:
            raise ConnectionError("the server closed a connection under load")
        if not self._end:
            self._head += data
            head, end, data = self._head.partition(b"\r\n\r\n")
            if not end:
                return False
            if not head.startswith(b"HTTP/1.1 2"):
                raise ValueError(
                    f"a request was refused: the figure would mean nothing: {self._head[:300]!r}"
                )
            self._size = int(length[1]) if (length := _LENGTH.search(head)) else None
            self._end = end
        self._received_bytes += len(data)
        self._end = (self._end + data[-_LAST:])[-_LAST:]
        return self._end == b"0\r\n\r\n" if self._size is None else self._received_bytes >= self._size


def _ready(selector: selectors.BaseSelector) -> list[tuple[selectors.SelectorKey, int]]:
    if not (ready := selector.select(_PATIENCE)):
        raise TimeoutError(f"nothing came for {_PATIENCE:g} s")
    return ready


def _socket(key: selectors.SelectorKey) -> socket.socket:
    assert isinstance(key.fileobj, socket.socket)
    return key.fileobj


def _received(client: socket.socket) -> bytes:
    data = client.recv(_PIECE)
    # A selector does not see bytes that TLS has already decrypted.
    while isinstance(client, ssl.SSLSocket) and (pending := client.pending()):
        data += client.recv(pending)
    return data


def fan_out(server: Server, target: str, watchers: int, writes: Sequence[bytes]) -> float:
    """Open watches, write, read all events of every watch, and return the duration in seconds."""
    watches = open_watches(server, target, watchers)
    counts, ends = dict.fromkeys(watches, 0), dict.fromkeys(watches, b"")
    with selectors.DefaultSelector() as selector:
        for watch in watches:
            selector.register(watch, selectors.EVENT_READ)
        started = time.perf_counter()
        # The writer is a process of its own: this process reads.
        with subprocess.Popen(
            [sys.executable, "-m", "benchmarks._hammer"], cwd=_ROOT, stdin=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdin is not None
            writer.stdin.write(json.dumps([server.options(), [write.decode() for write in writes]]))
            writer.stdin.close()
            while min(counts.values()) < len(writes):
                for key, _ in _ready(selector):
                    watch = _socket(key)
                    data = ends[watch] + _received(watch)
                    counts[watch] += data.count(_EVENT)
                    ends[watch] = data[1 - len(_EVENT) :]  # an event may cross the end of a piece
        took = time.perf_counter() - started
    for watch in watches:
        watch.close()
    return took


def open_watches(
    server: Server, target: str, count: int, *, buffer: int | None = None
) -> list[socket.socket]:
    """Open watches, and read the beginning of each; a small `buffer` fills soon if nobody reads."""
    watches = list[socket.socket]()
    for _ in range(count):
        watch = server.connect(buffer)
        watch.sendall(server.request("GET", target))
        if not watch.recv(_PIECE).startswith(b"HTTP/1.1 200"):
            raise ValueError("a watch was refused")
        watches.append(watch)
    return watches


if __name__ == "__main__":
    options, requests = json.load(sys.stdin)
    hammer(Server(**options), [request.encode() for request in requests])
