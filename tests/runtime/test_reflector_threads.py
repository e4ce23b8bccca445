"""A cache in threads over real sockets: what is called off leaves no thread and no connection behind."""

from __future__ import annotations

import queue
import random
import socket
import socketserver
import threading
from collections.abc import Generator

import httpx
import pytest
from sync_rig import Book

from kubeproto.watching import resync
from kubeproto_httpx import BlockingHttpxTransport
from kubeproto_runtime import BlockingClient, WaitTimeout
from kubeproto_runtime.blocking import BlockingReflector

LIST = (
    b'{"kind": "BookList", "apiVersion": "example.io/v1", "metadata": {"resourceVersion": "5"}, "items": []}'
)
WITHIN = 20.0


class Watched(socketserver.ThreadingTCPServer):
    """Lists nothing, and holds every watch open until the client closes it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.opened = queue.Queue[str]()
        self.closed = queue.Queue[str]()


class Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        server = self.server
        assert isinstance(server, Watched)
        while line := self.rfile.readline():
            while self.rfile.readline() not in (b"\r\n", b""):
                pass
            if b"watch=" not in line:
                head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                self.wfile.write(head % len(LIST) + LIST)
                continue
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            server.opened.put("watch")
            while self.rfile.read(1):
                pass
            server.closed.put("watch")


@pytest.fixture
def server() -> Generator[Watched]:
    with Watched() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_a_read_that_is_called_off_ends_at_once_with_its_thread_and_connection(server: Watched) -> None:
    threads: list[threading.Thread] = []

    def spawn(work: object) -> None:
        assert callable(work)
        threads.append(threading.Thread(target=work))
        threads[-1].start()

    host, port = server.server_address[:2]
    with (
        httpx.Client(base_url=f"http://{host!s}:{port}") as over,
        BlockingHttpxTransport(over) as transport,
    ):
        client = BlockingClient(transport)
        settings = resync.Settings(streaming=False)
        reflector = BlockingReflector(client, client.requests(Book), settings=settings, spawn=spawn)
        with reflector:
            for _ in range(5):
                server.opened.get(timeout=WITHIN)
                reflector.refresh()
                server.closed.get(timeout=WITHIN)
            server.opened.get(timeout=WITHIN)
        server.closed.get(timeout=WITHIN)
        for thread in threads:
            thread.join(WITHIN)
        assert not any(thread.is_alive() for thread in threads)


def test_a_wait_outlasts_a_server_that_is_not_there_yet() -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]  # nobody listens: connections are refused
        now, pauses = 0.0, list[float]()

        def sleep(seconds: float) -> None:
            nonlocal now
            now += seconds
            pauses.append(seconds)

        with (
            httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as over,
            BlockingHttpxTransport(over) as transport,
        ):
            client = BlockingClient(transport, clock=lambda: now, sleep=sleep, rng=random.Random(1))
            with pytest.raises(WaitTimeout):
                client.api(Book).wait_for("moby", lambda _: True, timeout=60)
    # Before, four attempts and four seconds were the end of it.
    assert now >= 60
    assert len(pauses) > 4
