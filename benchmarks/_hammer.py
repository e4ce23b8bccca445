"""A load on an API server over a few raw sockets, so that no client library is measured."""

import json
import re
import select
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from benchmarks._measure import Absent

CONNECTIONS: Final = 8
_ROOT: Final = Path(__file__).resolve().parent.parent
_LENGTH: Final = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_PATIENCE: Final = 60.0
_START: Final = 300.0  # seconds for a server to load 10,000 pods, each checked and defaulted as it is stored


class Server:
    """Where a server is, and how to speak to it."""

    def __init__(self, port: int, *, token: str = "", context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self.context = context
        self._authorization = f"Authorization: Bearer {token}\r\n" if token else ""

    def connect(self) -> socket.socket:
        """A connection of its own."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self.context.wrap_socket(plain, server_hostname="localhost") if self.context else plain

    def request(self, method: str, target: str, body: bytes = b"") -> bytes:
        """The bytes of a request."""
        head = (
            f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench/1.0\r\n{self._authorization}"
        )
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n".encode() + body


@contextmanager
def simulated(*options: str) -> Generator[Server]:
    """A `kubeproto serve` in a process of its own."""
    command = [sys.executable, "-m", "kubeproto_serve", "serve", "--port", "0", *options]
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or not select.select([process.stdout], [], [], _START)[0]:
                raise Absent(f"the server did not start within {_START:g} s")
            yield Server(int(process.stdout.readline().split(";")[0].rpartition(":")[2]))
        finally:
            process.kill()


def hammer(server: Server, requests: Sequence[bytes], connections: int = CONNECTIONS) -> float:
    """Make all requests, one at a time on each connection; the seconds that it took."""
    sockets = [server.connect() for _ in range(connections)]
    waiting = iter(requests)
    begun = time.perf_counter()
    busy: dict[socket.socket, bytes] = {}
    for one, request in zip(sockets, waiting, strict=False):
        one.sendall(request)
        busy[one] = b""
    while busy:
        for one in select.select(list(busy), [], [], _PATIENCE)[0]:
            busy[one] += one.recv(65536)
            if not _whole(busy[one]):
                continue
            if (following := next(waiting, None)) is None:
                del busy[one]
            else:
                busy[one] = b""
                one.sendall(following)
    took = time.perf_counter() - begun
    for one in sockets:
        one.close()
    return took


def _whole(said: bytes) -> bool:
    head, end, body = said.partition(b"\r\n\r\n")
    if not end:
        if not said:
            raise ConnectionError("the server closed a connection under load")
        return False
    if not head.startswith(b"HTTP/1.1 2"):
        raise ValueError(f"a request was refused: the figure would mean nothing: {said[:300]!r}")
    if found := _LENGTH.search(head):
        return len(body) >= int(found[1])
    return body.endswith(b"0\r\n\r\n")


def fan_out(server: Server, target: str, watchers: int, writes: Sequence[bytes]) -> float:
    """Open watches, write, and read until every watch has seen all of it; the seconds that it took."""
    watches = [server.connect() for _ in range(watchers)]
    for one in watches:
        one.sendall(server.request("GET", target))
        if not one.recv(65536).startswith(b"HTTP/1.1 200"):
            raise ValueError("a watch was refused")
    seen = dict.fromkeys(watches, 0)
    begun = time.perf_counter()
    with suppress(StopIteration):
        # Written from a process of its own: this one reads.
        payload = json.dumps([server.port, [write.decode() for write in writes]])
        with subprocess.Popen(
            [sys.executable, "-m", "benchmarks._hammer"], cwd=_ROOT, stdin=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdin is not None
            writer.stdin.write(payload)
            writer.stdin.close()
            while min(seen.values()) < len(writes):
                for one in select.select(watches, [], [], _PATIENCE)[0]:
                    seen[one] += one.recv(1 << 20).count(b'{"type":"')
    took = time.perf_counter() - begun
    for one in watches:
        one.close()
    return took


if __name__ == "__main__":
    port, requests = json.load(sys.stdin)
    hammer(Server(port), [request.encode() for request in requests])
