"""A cache in threads over real sockets: what is called off leaves no thread and no connection behind."""

from __future__ import annotations

import queue
import random
import socket
import socketserver
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import httpx
import pytest
from sync_rig import Book

import kubeproto as kp
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


class HeldResponse:
    """A list, or a watch that is silent until it is aborted."""

    headers = (("Content-Type", "application/json"),)
    status = 200

    def __init__(self, *, is_watch: bool) -> None:
        self.is_watch = is_watch
        self.is_read, self.aborted = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        self.is_read.set()
        if not self.is_watch:
            yield LIST
        elif self.aborted.wait(WITHIN):
            raise kp.TransportError("the read was aborted")

    def abort(self) -> None:
        self.aborted.set()


class HoldingTransport:
    """Sends the first watch only when it is released."""

    def __init__(self) -> None:
        self.watches: list[HeldResponse] = []
        self.is_held, self.released, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.is_followed = threading.Event()

    @contextmanager
    def send(self, request: kp.RawRequest, **_: object) -> Generator[HeldResponse]:
        response = HeldResponse(is_watch="watch=" in request.target)
        if response.is_watch:
            self.watches.append(response)
            if len(self.watches) == 1:
                self.is_held.set()
                assert self.released.wait(WITHIN)
            else:
                self.is_followed.set()
        yield response
        if response.is_watch and response is self.watches[0]:
            self.ended.set()


def test_a_late_response_does_not_prevent_the_end_of_the_read_that_has_replaced_it() -> None:
    transport, threads = HoldingTransport(), list[threading.Thread]()

    def spawn(work: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=work))
        threads[-1].start()

    client = BlockingClient(transport)
    settings = resync.Settings(streaming=False)
    with BlockingReflector(client, client.requests(Book), settings=settings, spawn=spawn) as reflector:
        assert transport.is_held.wait(WITHIN)
        reflector.refresh()
        assert transport.is_followed.wait(WITHIN)
        assert transport.watches[1].is_read.wait(WITHIN)
        transport.released.set()
        assert transport.ended.wait(WITHIN)
        threads[0].join(WITHIN)
    is_aborted = transport.watches[1].aborted.is_set()
    transport.watches[1].abort()
    for thread in threads:
        thread.join(WITHIN)
    assert is_aborted


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
