"""The next run of a key sees what the last one wrote: its own object, what it owns, what it deleted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto import IncomingResponse, RawRequest
from kubeproto.control import Action, await_change, owner_reference, requeue
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Context, Controller, Operator
from kubeproto_runtime.reconciling import Result
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


class Count(kp.Fields):
    seen: int = 0


class Book(kp.Object[Count, Count], group="example.com", version="v1"):
    """A book whose status counts how often it was looked at."""


class Lagging:
    """A transport whose watches bring everything late, as those of a busy server do."""

    def __init__(self, inner: Any, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds

    @asynccontextmanager
    async def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> AsyncGenerator[IncomingResponse]:
        async with self._inner.send(request, timeout=timeout, idle=idle) as incoming:
            yield Late(incoming, self._seconds) if "watch=" in request.target else incoming


class Late:
    def __init__(self, incoming: Any, seconds: float) -> None:
        self.status, self.headers = incoming.status, incoming.headers
        self._pieces, self._seconds = aiter(incoming), seconds

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        piece: bytes = await anext(self._pieces)
        await anyio.sleep(self._seconds)
        return piece


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def lagging(
    backend: Backend, seconds: float, body: Callable[[SimulatedClient, SimulatedClient], Awaitable[None]]
) -> None:
    """Run a body with a client for the test and one for the controller, whose watches lag."""

    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        async with simulated(cluster) as user, simulated(cluster) as client:
            client.transport = Lagging(client.transport, seconds)
            await body(user, client)

    run(main, backend=backend)


def book(name: str) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=Count())


class Log:
    def __init__(self) -> None:
        self.results: list[Result] = []

    def __call__(self, result: Result) -> None:
        self.results.append(result)

    @property
    def conflicts(self) -> int:
        return sum(isinstance(result.error, kp.Conflict) for result in self.results)


async def count(subject: Book, ctx: Context[None]) -> Action:
    """Write the status of the object as it was seen, twice: a run that sees an old one is refused."""
    seen = 0 if subject.status is None else subject.status.seen
    if seen == 2:
        return await_change()
    subject.status = Count(seen=seen + 1)
    await ctx.api(Book).status.replace(subject)
    return requeue(after=0.001)


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.4])
def test_of_170_runs_that_follow_their_own_writes_none_meets_a_conflict(
    backend: Backend, seconds: float
) -> None:
    async def body(user: SimulatedClient, client: SimulatedClient) -> None:
        log = Log()
        for number in range(85):
            await user.api(Book).create(book(f"{number:03}"))
        client.start(Controller(client, Book).run(count, observe=log))
        cluster = user.cluster
        await user.until(lambda: all(one.get("status") == {"seen": 2} for one in cluster.objects(Book)))
        await anyio.sleep(5)
        assert (len(log.results) >= 170, log.conflicts) == (True, 0)

    lagging(backend, seconds, body)


def test_what_a_run_creates_is_seen_by_the_next_run(backend: Backend) -> None:
    async def body(user: SimulatedClient, client: SimulatedClient) -> None:
        seen: list[bool] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            seen.append(ctx.cache(ConfigMap).get("made") is not None)
            if len(seen) == 1:
                owner = owner_reference(subject)
                made = ConfigMap(metadata=kp.ObjectMeta(name="made", owner_references=[owner]))
                await client.api(ConfigMap).create(made)  # a client that the run has closed over
            if len(seen) == 2:
                await ctx.api(ConfigMap).delete("made")
            return requeue(after=0.001) if len(seen) < 3 else await_change()

        await user.api(Book).create(book("moby"))
        operator = Operator()
        client.start(operator.run(Controller(client, Book).owns(ConfigMap).run(reconcile)))
        await user.until(lambda: len(seen) >= 3)
        assert seen[:3] == [False, True, False]
        # Each wait ended because the cache had caught up, and not because it had lasted a second.
        text = operator.metrics()
        assert 'kubeproto_own_writes_waits_total{controller="book"} 2' in text
        assert 'kubeproto_own_writes_timeouts_total{controller="book"} 0' in text
        operator.stop()

    lagging(backend, 0.1, body)


def test_a_cache_that_lags_for_longer_costs_a_second_and_shows_in_the_metrics(backend: Backend) -> None:
    async def body(user: SimulatedClient, client: SimulatedClient) -> None:
        times: list[float] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            times.append(anyio.current_time())
            if len(times) > 2:
                return await_change()
            await ctx.api(Book).merge_patch(ctx.name, {"spec": {"seen": len(times)}})
            return requeue(after=0.001)

        await user.api(Book).create(book("moby"))
        operator = Operator()
        client.start(operator.run(Controller(client, Book).run(reconcile)))
        await user.until(lambda: len(times) >= 3)
        assert [round(later - before, 2) for before, later in pairwise(times)] == [1, 1]
        text = operator.metrics()
        assert 'kubeproto_own_writes_waits_total{controller="book"} 2' in text
        assert 'kubeproto_own_writes_timeouts_total{controller="book"} 2' in text
        assert 'kubeproto_own_writes_wait_seconds_total{controller="book"} 2.0' in text
        operator.stop()

    lagging(backend, 10, body)


UNSEEN = ("another namespace", "other labels", "no change", "a dry run", "another kind", "another client")


@pytest.mark.parametrize("what", UNSEEN)
def test_nothing_is_waited_for_that_the_caches_will_not_show(backend: Backend, what: str) -> None:
    async def body(user: SimulatedClient, client: SimulatedClient) -> None:
        times: list[float] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            times.append(anyio.current_time())
            maps = ctx.api(ConfigMap)
            match what if len(times) == 1 else "":
                case "another namespace":
                    other = client.api(ConfigMap, namespace="other")
                    await other.create(ConfigMap(metadata=kp.ObjectMeta(name="a")))
                case "other labels":
                    await maps.create(ConfigMap(metadata=kp.ObjectMeta(name="a", labels={"app": "other"})))
                case "no change":
                    await ctx.api(Book).merge_patch(ctx.name, {"spec": {"seen": 0}})
                case "a dry run":
                    await ctx.api(Book).merge_patch(ctx.name, {"spec": {"seen": 7}}, dry_run=True)
                case "another client":  # it may be one of another server
                    await user.api(Book).merge_patch(ctx.name, {"spec": {"seen": 7}})
                case "another kind":
                    await client.api(Namespace).create(Namespace(metadata=kp.ObjectMeta(name="n")))
                case _:
                    pass
            return requeue(after=0.001) if len(times) == 1 else await_change()

        await user.api(Namespace).create(Namespace(metadata=kp.ObjectMeta(name="other")))
        await user.api(Book).create(book("moby"))
        controller = Controller(
            client, Book, namespace="default", when=lambda change: change.key.endswith("y")
        )
        client.start(controller.owns(ConfigMap, label_selector="app=books").run(reconcile))
        await user.until(lambda: len(times) >= 2)
        assert times[1] - times[0] < 0.1

    lagging(backend, 10, body)


class Namespace(kp.KubeObject, version="v1", namespaced=False):
    """A namespace."""


def test_a_controller_that_stops_waits_for_no_write(backend: Backend) -> None:
    async def body(user: SimulatedClient, client: SimulatedClient) -> None:
        times: list[float] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            times.append(anyio.current_time())
            await ctx.api(Book).merge_patch(ctx.name, {"spec": {"seen": len(times)}})
            return requeue(after=0.001)

        await user.api(Book).create(book("moby"))
        operator = Operator()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book).run(reconcile))
            await user.until(lambda: bool(times), every=0.01)
            await anyio.sleep(0.1)
            operator.stop()
        assert anyio.current_time() - times[0] < 0.5
        assert len(times) == 1

    lagging(backend, 10, body)


def test_a_conflict_is_counted_as_one_and_not_as_an_error(backend: Backend) -> None:
    async def body(user: SimulatedClient, client: SimulatedClient) -> None:
        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            if ctx.attempt == 1:
                await user.api(Book).merge_patch(ctx.name, {"spec": {"seen": 5}})
                subject.status = Count(seen=1)
                await ctx.api(Book).status.replace(subject)
            return await_change()

        await user.api(Book).create(book("moby"))
        operator = Operator()
        client.start(
            operator.run(Controller(client, Book, when=lambda change: change.type == "ADDED").run(reconcile))
        )
        await anyio.sleep(30)
        total = 'controller_runtime_reconcile_total{controller="book",result='
        text = operator.metrics()
        assert f'{total}"conflict"}} 1\n' in text
        assert f'{total}"error"}} 0\n' in text
        assert 'controller_runtime_reconcile_errors_total{controller="book"} 0\n' in text
        operator.stop()

    lagging(backend, 0, body)
