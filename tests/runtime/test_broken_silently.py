"""What used to end without a word: a cache, a worker, a wait, while all else went on."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from virtual_time import Book, Go, book, go, library

import kubeproto_sim as sim
from kubeproto import DeadlineExceeded, KubeprotoError, LocalProtocolError
from kubeproto_runtime import Caches, Context, Controller, Operator, recording
from kubeproto_runtime.testing import run, simulated

__all__ = ["go"]


class Fixed(random.Random):
    """A source of randomness that always gives the same."""

    def __init__(self, moment: float) -> None:
        super().__init__(0)
        self._moment = moment

    def uniform(self, a: float, b: float) -> float:
        return max(a, self._moment)


def test_a_refresh_in_the_moment_in_which_a_wait_ends_does_not_end_the_cache(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            await anyio.sleep(5)
            moment = anyio.current_time() + 3
            client.random = Fixed(moment)

            async def refresh() -> None:
                await anyio.sleep_until(moment)
                books.refresh()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(refresh)
                await checkpoint()
                await checkpoint()
                cluster.end_watches()
            await anyio.sleep(5)
            cluster.put(book(title="Typee"))
            await anyio.sleep(60)
            assert not books.closed
            found = books.get("moby", "default")
            assert found is not None
            assert found.spec.title == "Typee"

    go(main)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_reconcile_that_awaits_what_was_cancelled_has_failed_and_is_retried(concurrency: int) -> None:
    runs: list[str] = []
    errors: list[Exception] = []

    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        runs.append(ctx.name)
        if runs.count("moby") == 1 and ctx.name == "moby":
            await _await_what_is_cancelled()

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            controller = Controller(client, Book, concurrency=concurrency)
            client.start(controller.run(reconcile, on_error=lambda error, _: errors.append(error)))
            await anyio.sleep(30)
            for name in ("typee", "omoo", "mardi"):
                cluster.put(book(name))
            await anyio.sleep(30)

    run(main, backend="asyncio")
    assert sorted(runs) == ["mardi", "moby", "moby", "omoo", "typee"]
    assert [type(error.__cause__) for error in errors] == [asyncio.CancelledError]


async def _await_what_is_cancelled() -> None:
    lost = asyncio.ensure_future(asyncio.sleep(60))
    asyncio.get_running_loop().call_later(1, lost.cancel)
    await lost


async def _keys() -> AsyncGenerator[str]:
    yield "default/moby"
    await _await_what_is_cancelled()


@pytest.mark.parametrize("which", ["part", "trigger"])
def test_a_part_or_a_trigger_that_awaits_what_was_cancelled_has_failed(which: str) -> None:
    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        pass

    async def main() -> None:
        async with simulated(library()) as client:
            if which == "part":
                going = Operator().run(_await_what_is_cancelled)
            else:
                going = Operator().run(Controller(client, Book).triggered_by(_keys()).run(reconcile))
            with anyio.fail_after(60), pytest.raises(RuntimeError, match="was cancelled") as caught:
                await going
            assert isinstance(caught.value.__cause__, asyncio.CancelledError)

    run(main, backend="asyncio")


def test_a_controller_that_is_cancelled_is_not_taken_for_one_that_has_failed(go: Go) -> None:
    errors: list[Exception] = []

    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        await anyio.sleep(60)

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            with anyio.move_on_after(5) as scope:
                await Controller(client, Book).run(reconcile, on_error=lambda error, _: errors.append(error))
            assert scope.cancelled_caught

    go(main)
    assert not errors


def test_one_who_waits_for_an_opaque_version_is_not_hurt_by_another_who_gave_up(go: Go) -> None:
    told: list[str] = []

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()

            async def wait(seconds: float) -> None:
                with pytest.raises(DeadlineExceeded):
                    await books.reached("opaque", timeout=seconds)
                told.append(f"after {seconds:g} s")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, 1.0)
                tasks.start_soon(wait, 5.0)
                await anyio.sleep(2)
                cluster.put(book(title="Typee"))

    go(main)
    assert told == ["after 1 s", "after 5 s"]


def test_after_a_restore_one_s_own_writes_are_waited_for_again(go: Go) -> None:
    async def main() -> None:
        cluster, restored = library(), library()
        for pages in range(50):
            cluster.put(book(pages=pages))
        restored.put(book(title="old"))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            async with simulated(restored) as other:
                client.transport = other.transport
                cluster.end_watches()
                books.refresh()
                await client.until(lambda: books.version == str(restored.version))
                restored.put(book(title="new"))
                await books.reached(str(restored.version), timeout=30)
                found = books.get("moby", "default")
                assert found is not None
                assert found.spec.title == "new"

    go(main)


def test_an_operator_that_is_stopped_before_its_first_step_ends_at_once(go: Go) -> None:
    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        pass

    async def main() -> None:
        for steps in range(6):
            cluster = library()
            silent = sim.Faults(cluster, script=[sim.HalfOpen()] * 9)
            async with simulated(cluster, faults=silent) as client:
                operator = Operator(grace=30)
                begun = anyio.current_time()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run, Controller(client, Book).run(reconcile))
                    for _ in range(steps):
                        await checkpoint()
                    operator.stop()
                assert anyio.current_time() == begun, f"stopped after {steps} steps"

    go(main)


class Refusal(Exception):
    """An error of a transport that nobody knows."""


class Odd:
    """A transport that raises something else than transports should."""

    def send(self, *_: Any, **__: Any) -> Any:
        raise Refusal("odd")


def test_who_waits_for_a_cache_that_has_failed_is_told_why(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            client.transport = Odd()
            caches = Caches(client)
            books = caches.cache(Book)
            with pytest.raises(Refusal):
                async with caches:
                    await anyio.sleep(60)
            with pytest.raises(LocalProtocolError) as caught:
                await books.wait_synced()
            assert isinstance(caught.value.__cause__, Refusal)

    go(main)


def test_a_cache_that_fails_before_it_has_synced_is_one_error(go: Go) -> None:
    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        pass

    async def main() -> None:
        async with simulated(library()) as client:
            client.transport = Odd()
            with pytest.raises(Refusal):
                await Controller(client, Book).run(reconcile)

    go(main)


def test_an_error_of_a_part_keeps_what_it_has_met(go: Go) -> None:
    async def part() -> None:
        try:
            raise KeyError("before")
        except KeyError:
            raise Refusal("then")  # noqa: B904 # what it has met is what this is about

    async def main() -> None:
        with pytest.raises(Refusal) as caught:
            await Operator().run(part)
        assert isinstance(caught.value.__context__, KeyError)
        assert not caught.value.__suppress_context__

    go(main)


@asynccontextmanager
async def opened(block: str) -> AsyncGenerator[None]:
    async with simulated(library()) as client:
        match block:
            case "caches":
                async with Caches(client) as caches:
                    caches.cache(Book)
                    yield
            case "recording":
                async with recording(client, controller="c", instance="i"):
                    yield
            case _:
                yield


@pytest.mark.parametrize("block", ["caches", "recording", "simulated"])
def test_an_error_in_a_block_leaves_it_as_it_came(block: str, go: Go) -> None:
    async def fail(error: Exception) -> None:
        async with opened(block):
            try:
                raise KeyError("before")
            except KeyError:
                raise error  # noqa: B904 # what it has met is what this is about

    async def main() -> None:
        error = KubeprotoError("mine")
        with pytest.raises(KubeprotoError) as caught:
            await fail(error)
        assert caught.value is error
        assert isinstance(error.__context__, KeyError)
        assert not error.__suppress_context__

    go(main)
