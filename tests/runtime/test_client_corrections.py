"""Lost responses, dry runs, pages that fail, endless bodies and cancelled waiters, in both clients."""

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


async def done(outcome: Any) -> Any:
    """What a verb of either client returns."""
    return await outcome if isawaitable(outcome) else outcome


@pytest.fixture(params=["async", "blocking"])
def both(request: pytest.FixtureRequest) -> Any:
    """What makes a client of a cluster, of either sort."""

    @asynccontextmanager
    async def client(cluster: sim.Cluster, script: list[Any] | None = None) -> AsyncGenerator[Any]:
        faults = sim.Faults(cluster)
        faults.script = [] if script is None else script
        if request.param == "blocking":
            yield client_of(cluster, faults)
        else:
            async with simulated(cluster, faults=faults) as made:
                yield made

    return client


def pages_of(cluster: sim.Cluster) -> int:
    found = cluster.get(Book, "moby")
    assert found is not None
    pages: int = found["spec"]["pages"]
    return pages


def one_more(one: Book) -> None:
    one.spec.pages = (one.spec.pages or 0) + 1


# Responses that are lost


def test_an_update_is_not_made_twice_if_its_response_is_lost(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        async with both(cluster, [sim.LoseResponse(), sim.LoseResponse()]) as client:
            await done(client.api(Book).update("moby", one_more))
            await done(client.api(Book).update("moby", one_more))
        assert pages_of(cluster) == 2

    go(main)


def test_an_update_that_creates_is_not_made_twice_if_its_response_is_lost(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        async with both(cluster, [sim.LoseResponse()]) as client:
            made = await done(client.api(Book).update("moby", one_more, create=lambda: book(pages=0)))
            assert made.spec.pages == 1
        assert pages_of(cluster) == 1

    go(main)


def test_an_entry_that_was_created_finds_its_own_object_if_the_response_is_lost(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        async with both(cluster, [sim.LoseResponse()]) as client:
            entry = await done(client.api(Book).entry("moby"))
            entry.or_insert(lambda: book(pages=3))
            assert (await done(entry.commit())).spec.pages == 3
            assert entry.exists
            entry.obj.spec.pages = 4
            await done(entry.replace())
        assert pages_of(cluster) == 4

    go(main)


def test_the_same_value_of_another_writer_is_a_conflict_and_not_agreement(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        async with both(cluster) as client:
            mine = await done(client.api(Book).entry("moby"))
            theirs = await done(client.api(Book).entry("moby"))
            await done(theirs.modify(one_more).commit())
            with pytest.raises(kp.Conflict):
                await done(mine.modify(one_more).commit())

    go(main)


# Dry runs


def test_a_dry_run_leaves_the_entry_as_it_was(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        async with both(cluster) as client:
            entry = await done(client.api(Book).entry("moby"))
            entry.modify(one_more)
            assert (await done(entry.commit(dry_run=True))).spec.pages == 1
            assert entry.changed
            await done(entry.commit())
            assert pages_of(cluster) == 1
            other = await done(client.api(Book).entry("emma"))
            other.or_insert(lambda: book("emma"))
            await done(other.commit(dry_run=True))
            assert not other.exists
            await done(other.commit())
            assert cluster.get(Book, "emma") is not None

    go(main)


# Pages


async def following(iterator: Any) -> Any:
    """The next one of an iterator of either sort; None after the last."""
    return await anext(iterator, None) if hasattr(iterator, "__anext__") else next(iterator, None)


async def first_three(items: Any) -> list[str]:
    return [(await following(items)).metadata.name for _ in range(3)]


async def names_of(items: Any, into: list[str]) -> None:
    while (item := await following(items)) is not None:
        into.append(item.metadata.name)


def ten(cluster: sim.Cluster) -> list[str]:
    for number in range(10):
        cluster.put(book(f"b{number}"))
    return [f"b{number}" for number in range(10)]


def test_a_page_that_failed_is_asked_for_again_by_who_goes_on(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        all_of = ten(cluster)
        script = list[Any]()
        async with both(cluster, script) as client:
            items = client.api(Book).items(limit=3)
            names = await first_three(items)
            script += [sim.ExpireCredentials(), sim.ExpireCredentials()]
            for _ in range(2):
                with pytest.raises(kp.Unauthorized):
                    await names_of(items, names)
                assert names == all_of[:3]
            await names_of(items, names)
            assert names == all_of

    go(main)


def test_a_page_that_was_cancelled_is_asked_for_again_by_who_goes_on(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        all_of = ten(cluster)
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            items = client.api(Book).items(limit=3)
            names = await first_three(items)
            faults.script.append(sim.Delay(5.0))
            with anyio.move_on_after(1):
                await names_of(items, names)
            assert names == all_of[:3]
            await names_of(items, names)
            assert names == all_of

    go(main)


def test_a_list_survives_an_expiry_where_the_server_offers_no_token_too(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        all_of = ten(cluster)
        script = list[Any]()
        async with both(cluster, script) as client:
            pages = client.api(Book).pages(limit=3)
            page = await following(pages)
            assert pages.consistent
            script.append(sim.Expire("http-gone"))
            rest = await following(pages)
            assert [one.metadata.name for one in [*page, *rest]] == all_of
            assert not pages.consistent

    go(main)


# Bodies without end


class Endless:
    """A body that never ends; what was taken of it is counted."""

    def __init__(self, status: int) -> None:
        self.status = status
        self.headers: kp.Headers = (("Content-Type", "application/json"),)
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.taken += 1000
            yield b" " * 1000

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


class EndlessServer:
    """Answers everything without end."""

    def __init__(self, status: int) -> None:
        self.body = Endless(status)

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Endless]:
        yield self.body


class BlockingEndlessServer(EndlessServer):
    """The same for threads."""

    @contextmanager
    def send(  # type: ignore[override]
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> Generator[Endless]:
        yield self.body


def test_a_response_without_end_is_refused_by_name(go: Go) -> None:
    async def main() -> None:
        limits = BodyLimits(objects=300_000)
        server, blocking = EndlessServer(200), BlockingEndlessServer(200)
        with pytest.raises(kp.ResponseTooLarge, match=r"GET /.*books: .* 300000 bytes; .*BodyLimits"):
            await Client(server, limits=limits).api(Book).list()
        with pytest.raises(kp.ResponseTooLarge):
            BlockingClient(blocking, limits=limits).api(Book).list()
        assert server.body.taken == blocking.body.taken == 301_000

    go(main)


def test_an_error_response_without_end_is_the_error_of_its_code_and_says_that_it_was_cut(go: Go) -> None:
    async def main() -> None:
        limits = BodyLimits(errors=20_000)
        server, blocking = EndlessServer(403), BlockingEndlessServer(403)
        with pytest.raises(kp.Forbidden) as refused:
            await Client(server, limits=limits).api(Book).list()
        with pytest.raises(kp.Forbidden) as refused_too:
            BlockingClient(blocking, limits=limits).api(Book).list()
        assert server.body.taken == blocking.body.taken == 21_000
        assert str(refused.value) == str(refused_too.value)
        assert "longer than 20000 bytes" in str(refused.value)
        assert "limits=BodyLimits(errors=…)" in str(refused.value)
        assert isinstance(refused.value.__cause__, kp.ResponseTooLarge)
        assert str(refused.value.__cause__).startswith("GET /apis/example.com/v1/")

    go(main)


def test_an_error_response_of_just_the_limit_is_whole(go: Go) -> None:
    async def main() -> None:
        said = b'{"kind":"Status","status":"Failure","reason":"Forbidden","message":"no","code":403}'
        for limit, cut in ((len(said), False), (len(said) - 1, True)):
            cluster = library()
            async with simulated(cluster) as client:
                client.transport = Saying(403, said)
                client.limits = BodyLimits(errors=limit)
                with pytest.raises(kp.Forbidden) as refused:
                    await client.api(Book).list()
            assert ("limits=" in str(refused.value)) is cut

    go(main)


class Saying:
    """Answers everything with the same."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.headers: kp.Headers = (("Content-Type", "application/json"),)
        self.body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body

    @asynccontextmanager
    async def send(
        self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[Saying]:
        yield self


def test_the_limits_are_256_mib_for_objects_and_1_mib_for_errors() -> None:
    assert (BodyLimits().objects, BodyLimits().errors) == (256 * 2**20, 2**20)


# The rate


def test_waiters_that_are_cancelled_keep_no_place_in_the_rate(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        sent: list[float] = []
        async with simulated(cluster) as client:
            client.rate = Rate(every=1.0)
            begun = anyio.current_time()

            async def give_up() -> None:
                with anyio.move_on_after(5.5):
                    await client.call(client.requests(Book).get("moby"), timeout=1000)

            async def ask() -> None:
                await client.api(Book).get("moby")
                sent.append(anyio.current_time() - begun)

            async with anyio.create_task_group() as tasks:
                for _ in range(100):
                    tasks.start_soon(give_up)
                await anyio.sleep(6.5)
                tasks.start_soon(ask)
        assert 6.5 <= sent[0] <= 7.5

    go(main)


def test_the_rate_refuses_a_request_behind_others_that_come_first(go: Go) -> None:
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


def test_what_a_patch_says_is_what_differs(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0, authors=["a"]))
        async with both(cluster) as client:
            cluster.log.clear()
            await done(client.api(Book).update("moby", one_more))
        bodies = [json.loads(one.request.body) for one in cluster.log if one.request.method == "PATCH"]
        assert [body["spec"] for body in bodies] == [{"pages": 1}]

    go(main)


# Waiting


def test_a_wait_outlasts_a_server_that_refuses_connections(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with both(cluster, [sim.RefuseConnection() for _ in range(12)]) as client:
            found = await done(client.api(Book).wait_for("moby", is_there, timeout=600))
            assert found.metadata.name == "moby"

    go(main)


def is_there(one: Book) -> bool:
    return bool(one.metadata.uid)


class Locked:
    """A transport whose credentials fail a few times: a plugin that finds its provider down."""

    def __init__(self, inner: Any, times: int) -> None:
        self.inner = inner
        self.times = times

    def send(self, request: kp.RawRequest, **limits: Any) -> Any:
        if self.times:
            self.times -= 1
            raise CredentialsError("the plugin 'login' ended with 1")
        return self.inner.send(request, **limits)


def test_a_wait_outlasts_a_plugin_that_fails_for_a_while(go: Go, both: Any) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with both(cluster) as client:
            client.transport = Locked(client.transport, 3)
            found = await done(client.api(Book).wait_for("moby", is_there, timeout=3600))
            assert found.metadata.name == "moby"

    go(main)
