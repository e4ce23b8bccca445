"""Failures that could end a cache, a worker or a wait without an error."""

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
    """A source of randomness that always returns the same time."""

    def __init__(self, time: float) -> None:
        super().__init__(0)
        self._time = time

    def uniform(self, a: float, b: float) -> float:
        return max(a, self._time)


def test_a_refresh_at_the_end_of_a_wait_does_not_end_the_cache(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()
            await anyio.sleep(5)
            refresh_time = anyio.current_time() + 3
            client.random = Fixed(refresh_time)

            async def refresh() -> None:
                await anyio.sleep_until(refresh_time)
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
            moby = books.get("moby", "default")
            assert moby is not None
            assert moby.spec.title == "Typee"

    go(main)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_a_reconcile_that_awaits_a_cancelled_future_fails_and_is_retried(concurrency: int) -> None:
    runs: list[str] = []
    errors: list[Exception] = []

    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        runs.append(ctx.name)
        if runs.count("moby") == 1 and ctx.name == "moby":
            await _await_cancelled_future()

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


async def _await_cancelled_future() -> None:
    future = asyncio.ensure_future(asyncio.sleep(60))
    asyncio.get_running_loop().call_later(1, future.cancel)
    await future


async def _keys() -> AsyncGenerator[str]:
    yield "default/moby"
    await _await_cancelled_future()


@pytest.mark.parametrize("component", ["part", "trigger"])
def test_a_part_or_a_trigger_that_awaits_a_cancelled_future_fails(component: str) -> None:
    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        pass

    async def main() -> None:
        async with simulated(library()) as client:
            if component == "part":
                run_operator = Operator().run(_await_cancelled_future)
            else:
                run_operator = Operator().run(Controller(client, Book).triggered_by(_keys()).run(reconcile))
            with anyio.fail_after(60), pytest.raises(RuntimeError, match="was cancelled") as caught:
                await run_operator
            assert isinstance(caught.value.__cause__, asyncio.CancelledError)

    run(main, backend="asyncio")


def test_a_cancelled_controller_is_not_a_failed_controller(go: Go) -> None:
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


def test_a_wait_for_an_opaque_version_is_not_affected_by_another_wait_that_timed_out(go: Go) -> None:
    timeouts: list[str] = []

    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()

            async def wait(seconds: float) -> None:
                with pytest.raises(DeadlineExceeded):
                    await books.reached("opaque", timeout=seconds)
                timeouts.append(f"after {seconds:g} s")

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait, 1.0)
                tasks.start_soon(wait, 5.0)
                await anyio.sleep(2)
                cluster.put(book(title="Typee"))

    go(main)
    assert timeouts == ["after 1 s", "after 5 s"]


def test_after_a_restore_the_cache_waits_for_own_writes_again(go: Go) -> None:
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
                moby = books.get("moby", "default")
                assert moby is not None
                assert moby.spec.title == "new"

    go(main)


def test_an_operator_that_is_stopped_before_its_first_step_ends_immediately(go: Go) -> None:
    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        pass

    async def main() -> None:
        for steps in range(6):
            cluster = library()
            silent = sim.Faults(cluster, script=[sim.HalfOpen()] * 9)
            async with simulated(cluster, faults=silent) as client:
                operator = Operator(grace=30)
                start = anyio.current_time()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run, Controller(client, Book).run(reconcile))
                    for _ in range(steps):
                        await checkpoint()
                    operator.stop()
                assert anyio.current_time() == start, f"stopped after {steps} steps"

    go(main)


class UnknownError(Exception):
    """An error that transports should not raise."""


class InvalidTransport:
    """A transport that raises an error that transports should not raise."""

    def send(self, *_: Any, **__: Any) -> Any:
        raise UnknownError("odd")


def test_waiting_for_a_failed_cache_raises_its_error(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            client.transport = InvalidTransport()
            caches = Caches(client)
            books = caches.cache(Book)
            with pytest.raises(UnknownError):
                async with caches:
                    await anyio.sleep(60)
            with pytest.raises(LocalProtocolError) as caught:
                await books.wait_synced()
            assert isinstance(caught.value.__cause__, UnknownError)

    go(main)


def test_a_cache_that_fails_before_it_has_synced_raises_a_single_error(go: Go) -> None:
    async def reconcile(obj: Book, ctx: Context[None]) -> None:
        pass

    async def main() -> None:
        async with simulated(library()) as client:
            client.transport = InvalidTransport()
            with pytest.raises(UnknownError):
                await Controller(client, Book).run(reconcile)

    go(main)


def test_an_error_of_a_part_keeps_its_context(go: Go) -> None:
    async def part() -> None:
        try:
            raise KeyError("before")
        except KeyError:
            raise UnknownError("then")  # noqa: B904 # the test checks __context__

    async def main() -> None:
        with pytest.raises(UnknownError) as caught:
            await Operator().run(part)
        assert isinstance(caught.value.__context__, KeyError)
        assert not caught.value.__suppress_context__

    go(main)


@asynccontextmanager
async def open_block(block: str) -> AsyncGenerator[None]:
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
def test_an_error_in_a_block_is_raised_unchanged(block: str, go: Go) -> None:
    async def fail(error: Exception) -> None:
        async with open_block(block):
            try:
                raise KeyError("before")
            except KeyError:
                raise error  # noqa: B904 # the test checks __context__

    async def main() -> None:
        error = KubeprotoError("mine")
        with pytest.raises(KubeprotoError) as caught:
            await fail(error)
        assert caught.value is error
        assert isinstance(error.__context__, KeyError)
        assert not error.__suppress_context__

    go(main)
