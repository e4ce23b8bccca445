"""A transport on blocking sockets, in a thread for each watch: a connection for each request, no TLS."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from shelf import list_then_watch_blocking

import kubeproto as kp
from kubeproto.wire import Body, open_body


class Response:
    """The head of a response, and its body as it arrives."""

    def __init__(self, method: str, connection: socket.socket, idle: float | None) -> None:
        connection.settimeout(idle)
        with connection.makefile("rb", buffering=0) as file:
            lines = list(iter(lambda: file.readline().decode("latin-1").rstrip("\r\n"), ""))
        if not lines:
            raise ConnectionError("the server closed the connection and sent no response")
        self.status = int(lines[0].split()[1])
        self.headers = tuple(
            (name, value.strip()) for name, _, value in (x.partition(":") for x in lines[1:])
        )
        self._body: Body = open_body(method, self.status, self.headers)
        self._connection = connection

    def __iter__(self) -> Iterator[bytes]:
        while not self._body.finished:
            data = self._connection.recv(65536)
            if chunk := self._body.feed(data):
                yield chunk
            if not data:
                self._body.close()


class SocketTransport:
    """A `kubeproto.BlockingTransport` to a single host and port."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port

    @contextmanager
    def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[kp.BlockingIncomingResponse]:
        """Connect, write, read the head; iterating reads the body. A timeout limits each wait."""
        headers = (("Host", f"{self._host}:{self._port}"), ("Content-Length", str(len(request.body))))
        lines = "".join(f"{name}: {value}\r\n" for name, value in (*headers, *request.headers))
        connected = False
        try:
            with socket.create_connection((self._host, self._port), timeout) as connection:
                connected = True
                if request.check is not None:
                    request.check()
                connection.sendall(
                    f"{request.method} {request.target} HTTP/1.1\r\n{lines}\r\n".encode() + request.body
                )
                yield Response(request.method, connection, idle or timeout)
        except TimeoutError as error:
            raise kp.DeadlineExceeded(str(request)) from error
        except OSError as error:
            raise (kp.TransportError if connected else kp.ConnectError)(str(error)) from error


if __name__ == "__main__":
    transport = SocketTransport(sys.argv[1], int(sys.argv[2]))
    watcher = threading.Thread(target=list_then_watch_blocking, args=(transport,))
    watcher.start()
    watcher.join()
