"""What a controller logs of runs that fail again and again."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from random import Random
from typing import Any

import anyio
import pytest
from sync_rig import Book as PlainBook, book as plain_book
from virtual_time import Book, Go, book, go, library

import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto_runtime import Action, BlockingClient, Caches, Client, Context, Controller, await_change
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def test_the_same_failure_is_logged_at_most_once_a_second(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubeproto.controller")
    times: list[float] = []

    async def fail_first(_: Book, ctx: Context[None]) -> Action:
        if ctx.attempt == 1:
            times.append(anyio.current_time())
            raise LookupError("there is no shelf")
        return await_change()

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).run(fail_first))
            for pages in range(150):
                await anyio.sleep(0.02)
                cluster.put(book(pages=pages))

    caplog.clear()
    times.clear()
    go(main)
    lines = [record for record in caplog.records if "attempt 1 failed" in record.getMessage()]
    assert len(times) > 100
    assert 3 <= len(lines) <= 4  # in three seconds


def test_different_failures_are_all_logged(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubeproto.controller")

    async def fail(_: Book, ctx: Context[None]) -> Action:
        raise LookupError(f"there is no shelf {ctx.attempt % 2}")

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        cluster.put(book("emma"))
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).run(fail))
            await anyio.sleep(0.04)

    caplog.clear()
    go(main)
    lines = [record.getMessage() for record in caplog.records if "failed" in record.getMessage()]
    assert len(lines) == len(set(lines)) >= 6


# A list that fails in two ways by turns: the first fallback of an expired version is sent at once.

BY_TURNS: list[Any] = [sim.Fail(), sim.Expire("http-expired"), sim.Fail(), sim.Expire("http-expired")] * 3


async def _cache(client: Client) -> None:
    async with Caches(client) as caches:
        await caches.cache(Book).wait_synced()


async def _follow(client: Client) -> None:
    async with client.api(Book).follow() as events:
        async for _ in events:
            return


class _Times(logging.Handler):
    """When which line was logged, in virtual time."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(logging.WARNING)
        self.now = now
        self.lines: list[tuple[str, float]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.getMessage(), self.now()))

    def check(self) -> None:
        """No line came again within a second, and each way to fail was logged at first."""
        latest: dict[str, float] = {}
        for line, at in self.lines:
            assert at - latest.get(line, at - 1.0) >= 1.0, (line, at)
            latest[line] = at
        assert {"500", "410"} <= {code for line in latest for code in ("500", "410") if code in line}


@contextmanager
def times(name: str, now: Callable[[], float]) -> Generator[_Times]:
    log, handler = logging.getLogger(name), _Times(now)
    log.addHandler(handler)
    try:
        yield handler
    finally:
        log.removeHandler(handler)


@pytest.mark.parametrize(("name", "use"), [("kubeproto.cache", _cache), ("kubeproto.watch", _follow)])
def test_failures_by_turns_are_logged_at_most_once_a_second_each(
    go: Go, name: str, use: Callable[[Client], Awaitable[None]]
) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        faults = sim.Faults(cluster, script=BY_TURNS)
        with times(name, anyio.current_time) as handler:
            async with simulated(cluster, faults=faults) as client:
                await use(client)
        assert not faults.script
        handler.check()

    go(main)


def test_a_blocking_watch_logs_failures_by_turns_at_most_once_a_second_each() -> None:
    cluster = sim.Cluster(crds=[PlainBook])
    cluster.put(plain_book("moby"))
    faults = sim.Faults(cluster, script=BY_TURNS)
    client = BlockingClient(
        faults.blocking_transport(), clock=lambda: cluster.now, sleep=cluster.advance, rng=Random(0)
    )
    with times("kubeproto.watch", lambda: cluster.now) as handler, client.api(PlainBook).follow() as events:
        next(iter(events))
    assert not faults.script
    handler.check()


def test_an_elector_that_leads_again_at_once_does_not_log_the_same_line(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto.leading")

    async def main() -> None:
        async with simulated(library()) as client:
            elector = LeaderElector(client, name="books", identity="me")
            client.start(elector.run(anyio.sleep_forever))
            await anyio.sleep(5)
            client.cluster.edit(Lease, "books", lambda lease: lease.update(spec={"holderIdentity": ""}))
            await anyio.sleep(5)
            assert elector.is_leader

    caplog.clear()
    go(main)
    lines = [line for record in caplog.records if "> leads" in (line := record.getMessage())]
    assert len(lines) == 2
    assert lines[0].endswith(" leads")
    assert " leads again, after 0.000 s" in lines[1]
    [lost] = [line for record in caplog.records if "does not lead" in (line := record.getMessage())]
    assert re.search(r" led for \d+\.\d{3} s and does not lead any more", lost)
