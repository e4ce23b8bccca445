"""The pages that probes and Prometheus read: what they say, and over a real socket."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import election as elections
from kubeproto_runtime import Context, Controller, Operator
from kubeproto_runtime.operator._health import HealthPages, respond, serve
from kubeproto_runtime.tasks._listener import accept
from kubeproto_runtime.testing import BACKENDS, Backend, run, simulated


class Book(kp.KubeObject, group="example.technosophos.com", version="v1", plural="books"):
    """A book."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


PAGES = HealthPages(lambda: (True, "well\n"), lambda: (False, "not yet\n"), lambda: "a 1\n")


@pytest.mark.parametrize(
    ("method", "target", "status", "body"),
    [
        ("GET", "/healthz", 200, "well\n"),
        ("GET", "/livez", 200, "well\n"),
        ("GET", "/readyz?verbose", 503, "not yet\n"),
        ("GET", "/metrics", 200, "a 1\n"),
        ("GET", "/readyz/webhooks", 404, "there are /healthz, /livez, /readyz and /metrics\n"),
        ("GET", "/", 404, "there are /healthz, /livez, /readyz and /metrics\n"),
        ("POST", "/metrics", 405, "only GET and HEAD\n"),
    ],
)
def test_each_page_is_answered_in_one_piece(method: str, target: str, status: int, body: str) -> None:
    response = respond(PAGES, kp.RawRequest(method, target))
    assert (response.status, response.body.decode()) == (status, body)
    assert ("Connection", "close") in response.headers


@pytest.mark.parametrize(("served", "status"), [(True, 200), (False, 503)])
def test_webhooks_have_a_page_of_their_own_where_there_are_some(served: bool, status: int) -> None:
    pages = HealthPages(PAGES.healthy, PAGES.ready, PAGES.metrics, webhooks=lambda: (served, "webhooks\n"))
    response = respond(pages, kp.RawRequest("GET", "/readyz/webhooks"))
    assert (response.status, response.body) == (status, b"webhooks\n")
    assert respond(pages, kp.RawRequest("GET", "/readyz")).status == 503


def test_prometheus_is_told_the_format() -> None:
    response = respond(PAGES, kp.RawRequest("GET", "/metrics"))
    assert ("Content-Type", "text/plain; version=0.0.4; charset=utf-8") in response.headers


async def ask(port: int, *pieces: bytes) -> bytes:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        for piece in pieces:
            await stream.send(piece)
        said = b""
        try:
            while True:
                said += await stream.receive()
        except anyio.EndOfStream:
            return said


def test_a_probe_reads_a_page_over_a_socket_in_pieces_or_at_once(backend: Backend) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            port: int = await tasks.start(serve, PAGES, "127.0.0.1", 0)
            with anyio.fail_after(20):
                whole = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
                assert (await ask(port, whole)).endswith(b"\r\n\r\nwell\n")
                assert (await ask(port, whole[:7], whole[7:-1], whole[-1:])).endswith(b"\r\n\r\nwell\n")
                assert b" 400 " in await ask(port, b"\x16\x03\x01\r\n\r\n")
                assert b" 431 " in await ask(port, b"GET / HTTP/1.1\r\nA: " + b"x" * 20_000)
                said = await ask(port, b"HEAD /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
                assert said.startswith(b"HTTP/1.1 200 OK\r\n")
                assert said.endswith(b"\r\n\r\n")
                async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                    await stream.send(b"GET")  # and gone
                assert b" 200 " in await ask(port, whole)
            tasks.cancel_scope.cancel()

    anyio.run(main, backend=backend)


def test_a_client_that_sends_nothing_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            port: int = await tasks.start(serve, PAGES, "127.0.0.1", 0)
            async with await anyio.connect_tcp("127.0.0.1", port) as stream:
                assert b" 200 " in await ask(port, b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
                loop = asyncio.get_running_loop()
                time = loop.time
                monkeypatch.setattr(loop, "time", lambda: time() + 5)
                with anyio.fail_after(1), pytest.raises(anyio.EndOfStream):
                    await stream.receive()
            tasks.cancel_scope.cancel()

    anyio.run(main)


class Standing:
    """An election that stands as it is told."""

    name = "books"
    holds = True

    def __init__(self) -> None:
        self.leadership_status = elections.LeadershipStatus(False, "other", True)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        await work()


async def nothing(book: Book, ctx: Context[None]) -> None:
    pass


def test_an_operator_is_ready_when_its_caches_have_synced_leader_or_not(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        faults = sim.Faults(cluster, script=[sim.Delay(10.0)])
        async with simulated(cluster, faults=faults) as client:
            election = Standing()
            operator = Operator(election=election)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(client, Book).run(nothing))
                await anyio.sleep(1)
                ready, text = operator.ready()
                assert not ready
                assert "[-] cache of books.example.technosophos.com/v1: " in text
                assert "[-] controller book: waits for its caches\n" in text
                await anyio.sleep(20)
                assert operator.ready() == (
                    True,
                    "[+] cache of books.example.technosophos.com/v1: in sync\n[+] controller book: ready\n",
                )
                assert operator.healthy()[1].endswith("[+] election books: follows other\n")
                election.leadership_status = elections.LeadershipStatus(True, "me", True)
                assert operator.healthy()[1].endswith("[+] election books: leads\n")
                assert 'leader_election_master_status{name="books"} 1\n' in operator.metrics()
                election.leadership_status = elections.LeadershipStatus(True, "me", False)
                assert not operator.healthy()[0]
                operator.stop()

    run(main, backend=backend)


def test_an_operator_is_ill_when_a_run_does_not_end_that_was_cut_off(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        async with simulated(cluster) as client:
            await client.api(Book).create(Book(metadata=kp.ObjectMeta(name="a")))

            async def stubborn(book: Book, ctx: Context[None]) -> None:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(100)

            operator = Operator()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(client, Book, timeout=1).run(stubborn))
                await anyio.sleep(30)
                assert operator.healthy() == (True, "[+] controller book: works\n")
                await anyio.sleep(50)
                says = "[-] controller book: default/a does not end, although it was cancelled\n"
                assert operator.healthy() == (False, says)
                operator.stop()

    run(main, backend=backend)


def test_an_operator_shows_its_pages_on_a_port(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        async with simulated(cluster) as client:
            operator = Operator(port=0, host="127.0.0.1")
            with anyio.fail_after(20):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run, Controller(client, Book).run(nothing))
                    while not operator.port:
                        await anyio.sleep(0.01)
                    while not operator.ready()[0]:
                        await anyio.sleep(0.01)
                    said = await ask(operator.port, b"GET /readyz HTTP/1.0\r\n\r\n")
                    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
                    assert b"controller_runtime_" in await ask(
                        operator.port, b"GET /metrics HTTP/1.0\r\n\r\n"
                    )
                    operator.stop()

    anyio.run(main, backend=backend)


class Refusing:
    """A listener that finds no file descriptor left at first; then two connections come."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.attempts: list[float] = []

    async def serve(self, handler: Callable[[str], Coroutine[Any, Any, None]], task_group: TaskGroup) -> None:
        self.attempts.append(anyio.current_time())
        if self.errors:
            raise self.errors.pop(0)
        for connection in ("first", "second"):
            task_group.start_soon(handler, connection)
        await anyio.sleep_forever()


def test_a_health_port_outlives_a_lack_of_file_descriptors_and_pages_that_fail(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        handled: list[str] = []

        async def handle(connection: Any) -> None:
            handled.append(connection)
            if connection == "first":
                raise ZeroDivisionError("a page failed")

        refusing: Any = Refusing(OSError(errno.EMFILE, "Too many open files"), anyio.BrokenResourceError())
        begun = anyio.current_time()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(accept, refusing, handle, "health", logging.getLogger("kubeproto.health"))
            await anyio.sleep(60)
            tasks.cancel_scope.cancel()
        assert [at - begun for at in refusing.attempts] == [0.0, 1.0, 2.0]
        assert sorted(handled) == ["first", "second"]

    run(main, backend=backend)
    assert caplog.text.count("cannot accept connections") == 2
    assert "a request to the health port failed" in caplog.text
