"""Lost responses, dry runs, failing pages, endless bodies and cancelled waits, in both clients."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from inspect import isawaitable
from typing import Any

import anyio
import pytest
from sync_rig import client_of
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import CredentialsError
from kubeproto.control import Rate
from kubeproto_runtime import BlockingClient, BodyLimits, Client
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


async def resolve(result: Any) -> Any:
    """Return the result of a verb of either client."""
    return await result if isawaitable(result) else result


@pytest.fixture(params=["async", "blocking"])
def make_client(request: pytest.FixtureRequest) -> Any:
    """Return a context manager that creates an asynchronous or a blocking client of a cluster."""

    @asynccontextmanager
    async def client(cluster: sim.Cluster, script: list[Any] | None = None) -> AsyncGenerator[Any]:
        faults = sim.Faults(cluster)
        faults.script = [] if script is None else script
        if request.param == "blocking":
            yield client_of(cluster, faults)
        else:
            async with simulated(cluster, faults=faults) as simulated_client:
                yield simulated_client

    return client


def pages_of(cluster: sim.Cluster) -> int:
    moby = cluster.get(Book, "moby")
    assert moby is not None
    pages: int = moby["spec"]["pages"]
    return pages


def add_page(obj: Book) -> None:
    obj.spec.pages = (obj.spec.pages or 0) + 1


# Lost responses


def test_an_update_is_not_made_twice_if_its_response_is_lost(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        async with make_client(cluster, [sim.LoseResponse(), sim.LoseResponse()]) as client:
            await resolve(client.api(Book).update("moby", add_page))
            await resolve(client.api(Book).update("moby", add_page))
        assert pages_of(cluster) == 2

    go(main)


def test_an_update_that_creates_is_not_made_twice_if_its_response_is_lost(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        async with make_client(cluster, [sim.LoseResponse()]) as client:
            created = await resolve(client.api(Book).update("moby", add_page, create=lambda: book(pages=0)))
            assert created.spec.pages == 1
        assert pages_of(cluster) == 1

    go(main)


def test_an_entry_recognizes_its_created_object_if_the_response_is_lost(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        async with make_client(cluster, [sim.LoseResponse()]) as client:
            entry = await resolve(client.api(Book).entry("moby"))
            entry.or_insert(lambda: book(pages=3))
            assert (await resolve(entry.commit())).spec.pages == 3
            assert entry.exists
            entry.obj.spec.pages = 4
            await resolve(entry.replace())
        assert pages_of(cluster) == 4

    go(main)


def test_the_same_value_of_another_writer_is_a_conflict(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        async with make_client(cluster) as client:
            entry = await resolve(client.api(Book).entry("moby"))
            other_entry = await resolve(client.api(Book).entry("moby"))
            await resolve(other_entry.modify(add_page).commit())
            with pytest.raises(kp.Conflict):
                await resolve(entry.modify(add_page).commit())

    go(main)


# Dry runs


def test_a_dry_run_leaves_the_entry_as_it_was(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        async with make_client(cluster) as client:
            entry = await resolve(client.api(Book).entry("moby"))
            entry.modify(add_page)
            assert (await resolve(entry.commit(dry_run=True))).spec.pages == 1
            assert entry.changed
            await resolve(entry.commit())
            assert pages_of(cluster) == 1
            other = await resolve(client.api(Book).entry("emma"))
            other.or_insert(lambda: book("emma"))
            await resolve(other.commit(dry_run=True))
            assert not other.exists
            await resolve(other.commit())
            assert cluster.get(Book, "emma") is not None

    go(main)


# Pages


async def next_of(iterator: Any) -> Any:
    """Return the next element of an iterator of either client; None after the last."""
    return await anext(iterator, None) if hasattr(iterator, "__anext__") else next(iterator, None)


async def first_three(items: Any) -> list[str]:
    return [(await next_of(items)).metadata.name for _ in range(3)]


async def append_names(items: Any, names: list[str]) -> None:
    while (item := await next_of(items)) is not None:
        names.append(item.metadata.name)


def put_ten_books(cluster: sim.Cluster) -> list[str]:
    for number in range(10):
        cluster.put(book(f"b{number}"))
    return [f"b{number}" for number in range(10)]


def test_a_failed_page_is_requested_again_by_the_next_call(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        all_names = put_ten_books(cluster)
        script = list[Any]()
        async with make_client(cluster, script) as client:
            items = client.api(Book).items(limit=3)
            names = await first_three(items)
            script += [sim.ExpireCredentials(), sim.ExpireCredentials()]
            for _ in range(2):
                with pytest.raises(kp.Unauthorized):
                    await append_names(items, names)
                assert names == all_names[:3]
            await append_names(items, names)
            assert names == all_names

    go(main)


def test_a_cancelled_page_is_requested_again_by_the_next_call(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        all_names = put_ten_books(cluster)
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            items = client.api(Book).items(limit=3)
            names = await first_three(items)
            faults.script.append(sim.Delay(5.0))
            with anyio.move_on_after(1):
                await append_names(items, names)
            assert names == all_names[:3]
            await append_names(items, names)
            assert names == all_names

    go(main)


def test_a_list_survives_an_expiry_without_a_new_token(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        all_names = put_ten_books(cluster)
        script = list[Any]()
        async with make_client(cluster, script) as client:
            pages = client.api(Book).pages(limit=3)
            page = await next_of(pages)
            assert pages.consistent
            script.append(sim.Expire("http-gone"))
            second_page = await next_of(pages)
            assert [item.metadata.name for item in [*page, *second_page]] == all_names
            assert not pages.consistent

    go(main)


# Endless bodies


class EndlessResponse:
    """A response whose body never ends. It counts the bytes that were read."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.headers: kp.Headers = (("Content-Type", "application/json"),)
        self.read_bytes = 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.read_bytes += 1000
            yield b" " * 1000

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk


class EndlessServer:
    """A transport to a server that responds with endless bodies."""

    def __init__(self, status: int) -> None:
        self.response = EndlessResponse(status)

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[EndlessResponse]:
        yield self.response


class BlockingEndlessServer(EndlessServer):
    """The same for threads."""

    @contextmanager
    def send(  # type: ignore[override]
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[EndlessResponse]:
        yield self.response


def test_an_endless_response_is_refused_with_the_name_of_the_request(go: Go) -> None:
    async def main() -> None:
        limits = BodyLimits(objects=300_000)
        server, blocking = EndlessServer(200), BlockingEndlessServer(200)
        with pytest.raises(kp.ResponseTooLarge, match=r"GET /.*books: .* 300000 bytes; .*BodyLimits"):
            await Client(server, limits=limits).api(Book).list()
        with pytest.raises(kp.ResponseTooLarge):
            BlockingClient(blocking, limits=limits).api(Book).list()
        assert server.response.read_bytes == blocking.response.read_bytes == 301_000

    go(main)


def test_an_endless_error_response_is_the_error_of_its_code_with_a_note(go: Go) -> None:
    async def main() -> None:
        limits = BodyLimits(errors=20_000)
        server, blocking = EndlessServer(403), BlockingEndlessServer(403)
        with pytest.raises(kp.Forbidden) as refused:
            await Client(server, limits=limits).api(Book).list()
        with pytest.raises(kp.Forbidden) as blocking_refused:
            BlockingClient(blocking, limits=limits).api(Book).list()
        assert server.response.read_bytes == blocking.response.read_bytes == 21_000
        assert str(refused.value) == str(blocking_refused.value)
        assert "longer than 20000 bytes" in str(refused.value)
        assert "limits=BodyLimits(errors=…)" in str(refused.value)
        assert isinstance(refused.value.__cause__, kp.ResponseTooLarge)
        assert str(refused.value.__cause__).startswith("GET /apis/example.com/v1/")

    go(main)


def test_an_error_response_of_exactly_the_limit_is_complete(go: Go) -> None:
    async def main() -> None:
        body = b'{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","code":403}'
        for limit, is_truncated in ((len(body), False), (len(body) - 1, True)):
            cluster = library()
            async with simulated(cluster) as client:
                client.transport = FixedServer(403, body)
                client.limits = BodyLimits(errors=limit)
                with pytest.raises(kp.Forbidden) as refused:
                    await client.api(Book).list()
            assert ("limits=" in str(refused.value)) is is_truncated

    go(main)


class FixedServer:
    """A transport to a server that always sends the same response."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: kp.Headers = (("Content-Type", "application/json"),)
        self.body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[FixedServer]:
        yield self


def test_the_limits_are_256_mib_for_objects_and_1_mib_for_errors() -> None:
    assert (BodyLimits().objects, BodyLimits().errors) == (256 * 2**20, 2**20)


# Rates


def test_cancelled_waits_do_not_use_up_the_rate(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        sent_at: list[float] = []
        async with simulated(cluster) as client:
            client.rate = Rate(every=1.0)
            start = anyio.current_time()

            async def cancel_get() -> None:
                with anyio.move_on_after(5.5):
                    await client.call(client.requests(Book).get("moby"), timeout=1000)

            async def get() -> None:
                await client.api(Book).get("moby")
                sent_at.append(anyio.current_time() - start)

            async with anyio.create_task_group() as tasks:
                for _ in range(100):
                    tasks.start_soon(cancel_get)
                await anyio.sleep(6.5)
                tasks.start_soon(get)
        assert 6.5 <= sent_at[0] <= 7.5

    go(main)


def test_the_rate_refuses_a_request_that_would_wait_too_long_behind_others(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            client.rate = Rate(every=1.0)
            for _ in range(10):
                tasks.start_soon(client.call, client.requests(Book).get("moby"))
            await anyio.sleep(0.1)
            request = client.requests(Book).get("moby")
            with pytest.raises(kp.DeadlineExceeded, match=r"next request in 9\.9 s"):
                await client.call(request, timeout=5)

    go(main)


def test_a_patch_contains_only_the_changed_fields(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0, authors=["a"]))
        async with make_client(cluster) as client:
            cluster.log.clear()
            await resolve(client.api(Book).update("moby", add_page))
        bodies = [json.loads(entry.request.body) for entry in cluster.log if entry.request.method == "PATCH"]
        assert [body["spec"] for body in bodies] == [{"pages": 1}]

    go(main)


# Waiting


def test_a_wait_outlasts_a_server_that_refuses_connections(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with make_client(cluster, [sim.RefuseConnection() for _ in range(12)]) as client:
            moby = await resolve(client.api(Book).wait_for("moby", has_uid, timeout=600))
            assert moby.metadata.name == "moby"

    go(main)


def has_uid(obj: Book) -> bool:
    return bool(obj.metadata.uid)


class FailingCredentials:
    """A transport whose credentials fail a few times, as with a plugin whose provider is down."""

    def __init__(self, transport: Any, failures: int) -> None:
        self.transport = transport
        self.failures = failures

    def send(self, request: kp.RawRequest, **limits: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise CredentialsError("the plugin 'login' ended with 1")
        return self.transport.send(request, **limits)


def test_a_wait_outlasts_a_plugin_that_fails_for_a_while(go: Go, make_client: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with make_client(cluster) as client:
            client.transport = FailingCredentials(client.transport, 3)
            moby = await resolve(client.api(Book).wait_for("moby", has_uid, timeout=3600))
            assert moby.metadata.name == "moby"

    go(main)
