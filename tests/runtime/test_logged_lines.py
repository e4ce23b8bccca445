"""What a controller logs of runs that fail again and again."""

from __future__ import annotations

import logging

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

from kubeproto_runtime import Action, Context, Controller, await_change
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
