"""Mistakes of a program are named with their remedy, and what it does is told in the log."""

from __future__ import annotations

import gc
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, await_change, requeue
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.kinds.events_v1 import Event
from kubeproto_runtime import Caches, Context, Controller, Operator, Terminal, recording
from kubeproto_runtime.operator import LeaderElector
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


class Spec(kp.Fields):
    title: str = ""


class Book(kp.Object[Spec, None], group="example.com", version="v1"):
    """A book."""


class Shelf(kp.Object[Spec, None], group="example.com", version="v1", plural="shelves", namespaced=False):
    """A shelf, which is in no namespace."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def on(
    backend: Backend,
    body: Callable[[SimulatedClient], Awaitable[None]],
    faults: Callable[[sim.Cluster], sim.Faults] | None = None,
) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book, Shelf])
        for namespace in ("prod", "default"):
            cluster.put(Book(metadata=kp.ObjectMeta(name="moby", namespace=namespace), spec=Spec()))
        async with simulated(cluster, faults=None if faults is None else faults(cluster)) as client:
            await body(client)

    run(main, backend=backend)


def messages(caplog: pytest.LogCaptureFixture, *names: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith(names)]


async def nothing(subject: Any, ctx: Context[Any]) -> Action:
    return await_change()


def test_a_misspelt_option_is_refused_with_the_right_one(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        wrong: Any = {"namespaces": ["default"], "concurency": 1}
        with pytest.raises(TypeError, match="no option 'namespaces': did you mean 'namespace'"):
            Controller(client, Book, **wrong)
        other: Any = {"retries": 3}
        with pytest.raises(TypeError, match=r"no option 'retries': the options are namespace, .* and state"):
            Controller(client, Book, **other)

    on(backend, body)


def test_page_size_watch_timeout_and_transform_reach_the_cache(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        targets: list[str] = []
        titles: list[str] = []
        send = client.transport.send

        def sending(request: kp.RawRequest, **limits: Any) -> Any:
            targets.append(request.target)
            return send(request, **limits)

        client.transport.send = sending  # type: ignore[method-assign]

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            titles.append(subject.spec.title)
            return await_change()

        controller = Controller(
            client, Book, page_size=7, watch_timeout=1000,
            transform=lambda raw: raw.replace(b'"title":""', b'"title":"made"'),
        )  # fmt: skip
        client.start(controller.run(reconcile))
        await client.until(lambda: len(titles) == 2)
        assert titles == ["made", "made"]
        seconds = [part for target in targets for part in target.split("&") if "timeoutSeconds=" in part]
        assert all(int(part.rpartition("=")[2]) >= 1000 for part in seconds)
        assert seconds

    on(backend, body)


def test_a_cache_that_cannot_be_read_yet_says_what_to_do(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        caches = Caches(client)
        books = caches.cache(Book)
        for read in (
            lambda: books.get("moby", "prod"), lambda: list(books), lambda: len(books), lambda: books.keys(),
            lambda: "prod/moby" in books, lambda: books.entry("prod/moby"), lambda: list(books.view()),
            lambda: books.view().entry("prod/moby"), lambda: list(books.within("prod")),
        ):  # fmt: skip
            with pytest.raises(kp.LocalProtocolError, match="before its Caches are entered: use `async with"):
                read()
        async with caches:
            await anyio.lowlevel.checkpoint()
            with pytest.raises(kp.LocalProtocolError, match=r"has not synced, because .*wait_synced"):
                books.get("moby", "prod")
            await books.wait_synced()
            assert books.get("moby", "prod") is not None
            with pytest.raises(kp.LocalProtocolError, match=r"use get\('moby', namespace\)"):
                books.get("moby")

    on(backend, body)


def test_what_a_run_is_given_is_bound_to_the_namespace_of_its_object(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        seen: dict[str, Any] = {}

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            await ctx.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="label")))
            books = ctx.cache(Book)
            mine = books.get("moby")
            other = books.get("moby", "default")
            seen[ctx.namespace] = (
                [mine and mine.metadata.namespace, other and other.metadata.namespace],
                books.keys(), len(books), "default/moby" in books, len(ctx.cache(Book, namespace=kp.ALL)),
            )  # fmt: skip
            return await_change()

        client.start(Controller(client, Book).owns(ConfigMap).run(reconcile))
        await client.until(lambda: len(seen) == 2)
        assert seen["prod"] == (["prod", "default"], ["prod/moby"], 1, False, 2)
        cluster = client.cluster
        assert cluster.get(ConfigMap, "label", "prod") is not None
        assert cluster.get(ConfigMap, "label", "default") is not None

    on(backend, body)


def test_an_object_without_a_namespace_says_nothing_of_where_others_are(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        seen: list[str] = []

        async def reconcile(subject: Shelf, ctx: Context[None]) -> Action:
            with pytest.raises(kp.LocalProtocolError, match=r"use ctx.api\(ConfigMap, namespace=...\)"):
                ctx.api(ConfigMap)
            with pytest.raises(kp.LocalProtocolError, match=r"add .owns\(ConfigMap\) or .watches"):
                ctx.cache(ConfigMap)
            await ctx.api(Shelf).merge_patch(ctx.name, {"spec": {"title": "oak"}})
            await ctx.api(ConfigMap, namespace="prod").create(ConfigMap(metadata=kp.ObjectMeta(name="a")))
            seen.append(ctx.name)
            return await_change()

        await client.api(Shelf).create(Shelf(metadata=kp.ObjectMeta(name="oak"), spec=Spec()))
        added = Controller(client, Shelf, when=lambda change: change.type == "ADDED")
        client.start(added.run(reconcile))
        await client.until(lambda: bool(seen))

    on(backend, body)


def forget(made: object) -> None:
    del made
    gc.collect()


def test_a_controller_that_is_never_run_is_warned_of(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        with pytest.warns(RuntimeWarning, match="controller book was never run: await what run"):
            forget(Controller(client, Book).run(nothing))

    on(backend, body)


def test_parts_may_be_added_before_the_operator_runs(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        seen: list[str] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            seen.append(ctx.key)
            return await_change()

        operator = Operator()
        operator.add(Controller(client, Book).run(reconcile))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run)
            await client.until(lambda: len(seen) == 2)
            operator.stop()

    on(backend, body)


def test_a_reconcile_that_is_not_a_coroutine_function_fails_once_with_a_sentence(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        def plain(subject: Any, ctx: Any) -> None: ...

        wrong: Any = plain
        client.start(Controller(client, Book, namespace="prod").run(wrong))
        await anyio.sleep(60)

    on(backend, body)
    [told] = [record for record in caplog.records if record.levelname == "ERROR"]
    assert (
        "the reconcile returned None instead of a coroutine: define it with `async def`" in told.getMessage()
    )


def test_an_event_may_be_about_the_reference_of_a_context(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        async with recording(client, controller="shop", instance="shop-1") as events:

            async def reconcile(subject: Book, ctx: Context[None]) -> Action:
                events.record(ctx.ref, "Sold", "it is gone")
                return await_change()

            client.start(Controller(client, Book, namespace="prod").run(reconcile))
            cluster = client.cluster
            [event] = await client.until(lambda: cluster.objects(Event))
            assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("Book", "moby")
            assert event["metadata"]["namespace"] == "prod"

    on(backend, body)


def test_on_error_reaches_the_object(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        seen: list[Any] = []

        async def fail(subject: Book, ctx: Context[None]) -> Action:
            raise ValueError("no")

        def on_error(error: Exception, ctx: Context[None]) -> Action:
            seen.append((ctx.object.metadata.name, isinstance(ctx.object, Book), "moby" in repr(ctx.entry)))
            return requeue(after=3600)

        client.start(Controller(client, Book, namespace="prod").run(fail, on_error=on_error))
        await client.until(lambda: bool(seen))
        assert seen == [("moby", True, False)]

    on(backend, body)


def test_a_failure_that_repeats_shows_its_traceback_once(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        async def fail(subject: Book, ctx: Context[None]) -> Action:
            raise ValueError("no" if ctx.attempt != 3 else "never")

        client.start(Controller(client, Book, namespace="prod").run(fail))
        await client.until(lambda: len([1 for r in caplog.records if r.levelname == "ERROR"]) >= 5)

    on(backend, body)
    told = [record for record in caplog.records if record.levelname == "ERROR"][:5]
    assert [record.exc_info is not None for record in told] == [True, False, True, True, False]
    assert [record.getMessage().partition(" failed")[0][-1] for record in told] == ["1", "2", "3", "4", "5"]


def test_a_new_object_of_the_name_shows_the_traceback_of_its_first_failure(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        async def fail(subject: Book, ctx: Context[None]) -> Action:
            raise Terminal("no")

        def failures() -> int:
            return sum(record.levelname == "ERROR" for record in caplog.records)

        operator = Operator()
        client.start(operator.run(Controller(client, Book, namespace="prod").run(fail)))
        await client.until(lambda: failures() == 1)
        client.cluster.remove(Book, "moby", "prod")
        await anyio.sleep(2)  # the same line is not logged twice within a second
        assert operator.debug().controllers[0].failing == ()
        client.cluster.put(Book(metadata=kp.ObjectMeta(name="moby", namespace="prod"), spec=Spec()))
        await client.until(lambda: failures() == 2)

    on(backend, body)
    told = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [record.exc_info is not None for record in told] == [True, True]


def test_an_operator_tells_its_life(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def body(client: SimulatedClient) -> None:
        operator = Operator(election=LeaderElector(client, name="books", identity="me"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book, namespace="prod").run(nothing))
            await anyio.sleep(5)
            operator.stop()

    on(backend, body)
    told = messages(caplog, "kubeproto.operator", "kubeproto.controller", "kubeproto.leading")
    text = "\n".join(told)
    for part in (
        "runs controllers of books.example.com/v1 in namespace prod",
        "waiting as a candidate for the lease default/books",
        "leads",
        "the cache of books.example.com/v1 in namespace prod synced: 1 objects in 0 s",
        "stopping: 0 runs may end within 30 s, and none begins",
        "drained: every run has ended",
    ):
        assert part in text


def test_a_list_that_does_not_come_at_the_start_is_told_every_thirty_seconds(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        operator = Operator()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run, Controller(client, Book, sync_timeout=None).run(nothing))
            await anyio.sleep(100)
            good, page = operator.ready()
            assert not good
            assert "500" in page
            operator.stop()

    on(backend, body, lambda cluster: sim.Faults(cluster, script=[sim.Fail()] * 1000))
    told = [one for one in messages(caplog, "kubeproto.controller") if "has not synced after" in one]
    assert [one.partition(" after ")[2].partition(" s,")[0] for one in told] == ["30", "60", "90"]
    assert "500" in told[0]
