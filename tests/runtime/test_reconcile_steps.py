"""A run that ends in the step in which it begins, one that waits, and awaitables of other kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, await_change, requeue
from kubeproto_runtime import Context, Controller
from kubeproto_runtime.reconciling import Result
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


class Spec(kp.Fields):
    title: str = ""


class Book(kp.Object[Spec, None], group="example.com", version="v1"):
    """A book."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


class Awaited:
    """An awaitable that is not a coroutine, as a future is."""

    def __init__(self, wait: Callable[[], Awaitable[object]]) -> None:
        self._wait = wait

    def __await__(self) -> Generator[Any, Any, Action]:
        yield from self._wait().__await__()
        return await_change()


async def at_once() -> None:
    """Wait for nothing."""


def outcomes(backend: Backend, reconcile: Callable[[Book, Context[None]], Any], count: int) -> list[Result]:
    """What becomes of so many runs of this reconcile, of a single object."""

    async def main() -> list[Result]:
        cluster = sim.Cluster(crds=[Book])
        cluster.put(Book(metadata=kp.ObjectMeta(name="moby", namespace="default"), spec=Spec()))
        results: list[Result] = []
        async with simulated(cluster) as client:
            await _observe(client, reconcile, results, count)
        return results[:count]

    return run(main, backend=backend)


async def _observe(
    client: SimulatedClient, reconcile: Callable[..., Any], results: list[Result], count: int
) -> None:
    client.start(Controller(client, Book).run(reconcile, observe=results.append))
    await client.until(lambda: len(results) >= count)


@pytest.mark.parametrize("wait", [at_once, checkpoint])
def test_a_reconcile_may_return_any_awaitable(
    backend: Backend, wait: Callable[[], Awaitable[object]]
) -> None:
    begun: list[str] = []

    def reconcile(book: Book, ctx: Context[None]) -> Awaited:
        begun.append(book.metadata.name)
        return Awaited(wait)

    [result] = outcomes(backend, reconcile, 1)
    assert (begun, result.error) == (["moby"], None)


@pytest.mark.parametrize("waits", [False, True])
def test_what_a_reconcile_returns_is_done_whether_it_waited_or_not(backend: Backend, waits: bool) -> None:
    async def reconcile(book: Book, ctx: Context[None]) -> Action:
        if waits:
            await anyio.sleep(2)
            await anyio.sleep(3)
        return requeue(after=7)

    first, second = outcomes(backend, reconcile, 2)
    assert (first.after, second.reason) == (7, "requeue")
    assert first.seconds == pytest.approx(5 if waits else 0)


@pytest.mark.parametrize("waits", [False, True])
def test_an_error_is_retried_whether_the_run_had_waited_or_not(backend: Backend, waits: bool) -> None:
    async def reconcile(book: Book, ctx: Context[None]) -> None:
        if waits:
            await checkpoint()
        raise ValueError(f"attempt {ctx.attempt}")

    first, second = outcomes(backend, reconcile, 2)
    assert [str(first.error), str(second.error)] == ["attempt 1", "attempt 2"]


def test_a_function_that_raises_stop_iteration_has_failed_and_has_not_returned(backend: Backend) -> None:
    def reconcile(book: Book, ctx: Context[None]) -> Awaitable[None]:
        return at_once() if ctx.attempt > 9 else next(iter(()))

    first, second = outcomes(backend, reconcile, 2)
    assert isinstance(first.error, StopIteration)
    assert second.attempt == 2


@pytest.mark.parametrize("waits", [False, True])
def test_a_cancellation_out_of_what_a_run_asks_for_is_a_failure_of_the_run(waits: bool) -> None:
    async def reconcile(book: Book, ctx: Context[None]) -> None:
        if waits:
            await checkpoint()
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        gone.result()

    first, second = outcomes("asyncio", reconcile, 2)
    assert str(first.error) == "the reconcile awaited something that was cancelled"
    assert second.attempt == 2
