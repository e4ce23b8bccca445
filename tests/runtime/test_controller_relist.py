"""A controller, and a snapshot that changed while nobody could see it."""

from __future__ import annotations

import logging

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

from kubeproto_runtime import Action, Context, Controller, await_change
from kubeproto_runtime.testing import simulated
from kubeproto_sim import Modes

__all__ = ["go"]


def test_w_29b_each_key_that_changed_in_a_gap_is_reconciled_with_its_newest_state(go: Go) -> None:
    seen: dict[str, str] = {}
    runs: list[str] = []

    async def reconcile(obj: Book, ctx: Context[None]) -> Action:
        await anyio.sleep(0.5)
        runs.append(ctx.key)
        seen[ctx.name] = obj.spec.title
        return await_change()

    async def main() -> None:
        cluster = library()
        for number in range(20):
            cluster.put(book(f"b{number}", title="old"))
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).run(reconcile))
            await client.until(lambda: len(seen) == 20)
            runs.clear()
            cluster.end_watches()
            for number in range(0, 20, 2):
                cluster.put(book(f"b{number}", title="new"))
            cluster.put(book("born", title="new"))
            cluster.remove(Book, "b1")
            cluster.compact()
            await client.until(lambda: seen.get("born"))
            # Others change while the runs of the relist are under way.
            cluster.put(book("b3", title="newer"))
            await client.until(lambda: seen["b3"] == "newer")
            await anyio.sleep(60)

    go(main)
    assert {name for name, title in seen.items() if title == "new"} == {
        "born",
        *(f"b{n}" for n in range(0, 20, 2)),
    }
    assert sorted(runs) == sorted(f"default/{name}" for name, title in seen.items() if title != "old")


def test_a_conflict_is_no_news_and_is_retried(go: Go, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubeproto.controller")
    runs: list[int] = []

    async def reconcile(obj: Book, ctx: Context[None]) -> Action:
        runs.append(ctx.attempt)
        if ctx.attempt == 1:
            obj.metadata.resource_version = "1"
            await ctx.client.api(Book, namespace=ctx.namespace).replace(obj)
        return await_change()

    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).run(reconcile))
            await client.until(lambda: len(runs) == 2)

    go(main)
    [told] = [record for record in caplog.records if "conflict" in record.getMessage()]
    assert (told.levelname, told.exc_info) == ("INFO", None)


def test_a_quiet_server_that_never_ends_a_streaming_list_is_listed_before_a_controller_gives_up(
    go: Go,
) -> None:
    seen: list[str] = []

    async def reconcile(obj: Book, ctx: Context[None]) -> Action:
        seen.append(ctx.name)
        return await_change()

    async def main() -> None:
        cluster = library()
        cluster.modes = Modes(end_mark="missing")
        cluster.put(book("moby", title="Moby-Dick"))
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).run(reconcile))
            await client.until(lambda: seen, within=70)

    go(main)
