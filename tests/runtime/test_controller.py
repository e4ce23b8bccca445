"""Controllers against a simulated cluster in virtual time, on asyncio and on trio."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from msgspec import Struct

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import LOW_PRIORITY, Action, Change, await_change, requeue
from kubeproto.kinds.core_v1 import ConfigMap, Secret
from kubeproto.objects import OwnerReference
from kubeproto_runtime import Context, Controller, ControllerRun, Operator, ReconcileTimeout, Terminal
from kubeproto_runtime.predicates import beyond_status, changed
from kubeproto_runtime.reconciling import Result
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


class BookSpec(kp.Fields):
    title: str
    size: int = 0


class BookStatus(kp.Fields):
    copies: int = 0


class Book(kp.Object[BookSpec, BookStatus], group="example.technosophos.com", version="v1", plural="books"):
    """A book on a shelf."""


class Shelf(
    kp.Object[BookSpec, None],
    group="example.technosophos.com",
    version="v1",
    plural="shelves",
    namespaced=False,
):
    """A shelf, which is nowhere in particular."""


Seen = list[tuple[float, str, str]]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def book(name: str, size: int = 0, **metadata: Any) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name, **metadata), spec=BookSpec(title=name.title(), size=size))


def resize(client: SimulatedClient, name: str, size: int) -> None:
    client.cluster.edit(Book, name, lambda obj: obj["spec"].update(size=size))


def _uid(owner: Book) -> dict[str, Any]:
    return {"uid": owner.metadata.uid, "controller": True}


def cluster() -> sim.Cluster:
    return sim.Cluster(crds=[Book, Shelf])


class Diary:
    """A reconcile that writes down when it was called, for which object and why."""

    def __init__(self, then: Callable[[Any, Context[Any]], Awaitable[Action | None]] | None = None) -> None:
        self.calls: list[tuple[float, str, str, int]] = []
        self.sizes: list[int] = []
        self.contexts: list[Context[Any]] = []
        self.begun = anyio.current_time()
        self.then = then

    async def __call__(self, subject: Any, ctx: Context[Any]) -> Action | None:
        now = anyio.current_time() - self.begun
        self.calls.append((round(now, 6), ctx.name, ctx.reason, ctx.attempt))
        self.contexts.append(ctx)
        if isinstance(subject, Book):
            assert (subject.metadata.name, subject.metadata.namespace) == (ctx.name, ctx.namespace)
            self.sizes.append(subject.spec.size)
        return None if self.then is None else await self.then(subject, ctx)

    @property
    def names(self) -> list[str]:
        return [name for _, name, _, _ in self.calls]

    @property
    def times(self) -> list[float]:
        return [at for at, _, _, _ in self.calls]

    @property
    def reasons(self) -> list[str]:
        return [reason for _, _, reason, _ in self.calls]


@asynccontextmanager
async def operating(*parts: ControllerRun, **options: Any) -> AsyncGenerator[Operator]:
    operator = Operator(**options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(operator.run, *parts)
        await anyio.sleep(1)
        yield operator
        operator.stop()


def on(backend: Backend, body: Callable[[SimulatedClient], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with simulated(options.pop("cluster", None) or cluster(), **options) as client:
            await body(client)

    run(main, backend=backend)


def test_a_controller_reconciles_what_is_there_what_comes_and_what_changes(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("there"))
        diary = Diary()
        async with operating(Controller(client, Book).run(diary)):
            await books.create(book("comes"))
            await anyio.sleep(1)
            resize(client, "there", 3)
            await anyio.sleep(1)
            await books.delete("there")
            await anyio.sleep(1)
        assert diary.calls == [
            (0, "there", "Book listed", 1),
            (1, "comes", "Book added", 1),
            (2, "there", "Book modified", 1),
        ]
        assert diary.sizes == [0, 0, 3]

    on(backend, body)


def test_a_reconcile_by_key_hears_of_what_is_gone(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))
        keys: list[str] = []

        async def reconcile(key: str, ctx: Context[None]) -> None:
            keys.append(f"{key} {ctx.reason} {key in ctx.cache(Book)}")

        async with operating(Controller(client, Book).run_keys(reconcile)):
            await books.delete("a")
            await anyio.sleep(1)
        assert keys == ["default/a Book listed True", "default/a Book deleted False"]

    on(backend, body)


def test_the_context_has_state_client_caches_and_a_logger_of_the_object(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    class Shop(Struct):
        sold: int = 0

    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a", size=7))
        shop = Shop()

        async def reconcile(book: Book, ctx: Context[Shop]) -> Action:
            ctx.state.sold += book.spec.size
            ctx.logger.warning("sold %d", book.spec.size)
            assert ctx.client is client
            assert ctx.caches.cache(Book) is ctx.cache(Book, namespace=kp.ALL)
            with pytest.raises(kp.LocalProtocolError, match=r"add \.owns\(Secret\)"):
                ctx.cache(Secret)
            assert str(ctx.ref) == "Book.example.technosophos.com default/a"
            return await_change()

        async with operating(Controller(client, Book, state=shop, name="shop").run(reconcile)):
            assert shop.sold == 7

    with caplog.at_level(logging.WARNING):
        on(backend, body)
    [record] = [record for record in caplog.records if record.name == "kubeproto.controller.shop"]
    assert record.getMessage() == "Book.example.technosophos.com default/a: sold 7"
    assert vars(record)["object"] == "Book.example.technosophos.com default/a"


def test_a_requeue_comes_at_its_time_and_a_change_comes_sooner(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))

        async def later(subject: Book, ctx: Context[None]) -> Action:
            return requeue(after=60) if ctx.reason != "Book modified" else await_change()

        diary = Diary(later)
        async with operating(Controller(client, Book).run(diary)):
            await anyio.sleep(129)
            resize(client, "a", 3)
            await anyio.sleep(500)
        assert list(zip(diary.times, diary.reasons, strict=True)) == [
            (0, "Book listed"),
            (60, "requeue"),
            (120, "requeue"),
            (130, "Book modified"),
        ]

    on(backend, body)


def test_rn_13_an_event_during_a_run_that_asks_for_later_runs_now_and_once(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))

        async def slow(subject: Book, ctx: Context[None]) -> Action:
            await anyio.sleep(2)
            return requeue(after=5) if ctx.reason == "Book listed" else await_change()

        diary = Diary(slow)
        async with operating(Controller(client, Book).run(diary)):
            resize(client, "a", 3)
            await anyio.sleep(30)
        assert diary.times == [0, 2]
        assert diary.sizes == [0, 3]

    on(backend, body)


def test_ct_01_rn_07_what_a_reconcile_raises_is_its_own_affair(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        for name in ("bad", "good"):
            await client.api(Book).create(book(name))
        results: list[Result] = []

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            if book.metadata.name == "bad" and ctx.attempt < 4:
                raise ZeroDivisionError("one by zero")

        diary = Diary(reconcile)
        async with operating(Controller(client, Book).run(diary, observe=results.append)):
            await anyio.sleep(10)
        bad = [(at, attempt) for at, name, _, attempt in diary.calls if name == "bad"]
        assert bad == [(0, 1), (0.005, 2), (0.015, 3), (0.035, 4)]
        assert diary.names.count("good") == 1
        told = [
            (result.attempt, result.after, repr(result.error))
            for result in results
            if result.ref.name == "bad"
        ]
        zero = "ZeroDivisionError('one by zero')"
        assert told == [(1, 0.005, zero), (2, 0.01, zero), (3, 0.02, zero), (4, None, "None")]

    on(backend, body)
    first = next(record for record in caplog.records if record.exc_info)
    assert (
        "Book.example.technosophos.com default/bad: attempt 1 failed, the next in 0.005 s"
        in first.getMessage()
    )
    assert first.exc_info is not None
    assert first.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), asyncio.CancelledError("of a future")])
def test_ct_01_what_on_error_observe_and_predicates_raise_is_logged_and_stops_nothing(
    backend: Backend, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """A function that is not a coroutine cannot be cancelled: what looks like it is a failure of its own."""
    raised = error if backend == "asyncio" or isinstance(error, Exception) else ValueError("a bug")

    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def fail(subject: Book, ctx: Context[None]) -> None:
            if ctx.attempt < 3:
                raise LookupError(ctx.key)

        def broken(*args: Any) -> Any:
            raise raised

        diary = Diary(fail)
        controller = Controller(client, Book, when=broken).watches(ConfigMap, broken)
        async with operating(controller.run(diary, on_error=broken, observe=broken)) as operator:
            await anyio.sleep(1)
            await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="c")))
            await anyio.sleep(1)
            resize(client, "a", 7)
            await anyio.sleep(1)
            assert operator.healthy()[0]
        assert [attempt for *_, attempt in diary.calls] == [1, 2, 3, 1, 2, 3]
        assert diary.sizes[-1] == 7

    on(backend, body)
    for said in ("on_error failed", "observe failed", "the predicate failed", "leads to no key"):
        assert said in caplog.text


def test_a_trigger_that_fails_is_iterated_anew_and_a_generator_that_fails_ends_alone(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    class News:
        """Fails after each key, as a connection to a message broker may."""

        async def __aiter__(self) -> AsyncIterator[str]:
            yield "default/a"
            raise ConnectionResetError("the broker is gone")

    async def once() -> AsyncIterator[str]:
        await anyio.sleep(0)
        yield "default/none" if 1 // 0 else ""

    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        diary = Diary()
        async with operating(
            Controller(client, Book).triggered_by(News()).triggered_by(once()).run(diary)
        ) as operator:
            await anyio.sleep(2.5)
            assert operator.healthy()[0]
        assert diary.times[:3] == [0, 1, 2]

    on(backend, body)
    assert caplog.text.count("retried in 1 s") >= 3
    assert "has ended: it adds no more keys" in caplog.text


def test_an_error_handler_decides_when_to_retry(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def fail(subject: Book, ctx: Context[None]) -> None:
            raise LookupError("nothing here")

        def on_error(error: Exception, ctx: Context[None]) -> Action | None:
            return [requeue(after=7), None, await_change()][ctx.attempt - 1]

        diary = Diary(fail)
        async with operating(Controller(client, Book).run(diary, on_error=on_error)):
            await anyio.sleep(100)
        assert [(at, attempt) for at, _, _, attempt in diary.calls] == [(0, 1), (7, 2), (7.01, 3)]

    on(backend, body)


def test_ct_07_a_terminal_error_waits_for_a_change(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))

        async def fail(subject: Book, ctx: Context[None]) -> None:
            raise Terminal("no such flavour")

        diary = Diary(fail)
        async with operating(Controller(client, Book).run(diary)) as operator:
            await anyio.sleep(5000)
            resize(client, "a", 3)
            await anyio.sleep(1)
            assert 'terminal_reconcile_errors_total{controller="book"} 2\n' in operator.metrics()
        assert diary.reasons == ["Book listed", "Book modified"]

    on(backend, body)


def test_ct_02_rn_08_a_reconcile_has_a_deadline_and_only_that_counts_as_one(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        results: list[Result] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> None:
            if ctx.attempt == 1:
                await anyio.sleep(100)
            if ctx.attempt == 2:
                raise TimeoutError("the user's own")

        diary = Diary(reconcile)
        controller = Controller(client, Book, timeout=30)
        async with operating(controller.run(diary, observe=results.append)) as operator:
            await anyio.sleep(100)
            assert 'controller_runtime_reconcile_timeouts_total{controller="book"} 1\n' in operator.metrics()
        assert diary.times == [0, 30.005, 30.015]
        [first, second, third] = results
        assert isinstance(first.error, ReconcileTimeout)
        assert str(first.error) == "the reconcile of default/a took longer than 30 s"
        assert first.seconds == 30
        assert (type(second.error), third.error) == (TimeoutError, None)

    on(backend, body)


def test_ct_03_a_cache_that_never_syncs_is_an_error_that_says_why(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        async def reconcile(book: Book, ctx: Context[None]) -> None:
            raise AssertionError("there is nothing to reconcile")

        begun = anyio.current_time()
        with pytest.raises(kp.KubeprotoError, match=r"the definition of Book .* is not installed"):
            await Controller(client, Book).run(reconcile)
        assert anyio.current_time() - begun < 1
        patient = Controller(client, Book, sync_timeout=20, wait_for_definition=True)
        with pytest.raises(kp.DeadlineExceeded, match="books"):
            await patient.run(reconcile)
        assert 20 <= anyio.current_time() - begun < 22
        with anyio.move_on_after(5) as scope:  # to be cancelled is not an error
            await patient.run(reconcile)
        assert scope.cancelled_caught

    on(backend, body, cluster=sim.Cluster())


def test_a_definition_is_waited_for_if_asked(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        diary = Diary()
        async with operating(Controller(client, Book, wait_for_definition=True).run(diary)):
            await anyio.sleep(30)
            client.cluster.define(Book)
            await client.api(Book).create(book("a"))
            await anyio.sleep(60)
        assert diary.names == ["a"]

    on(backend, body, cluster=sim.Cluster())


def test_ct_04_rn_03_rn_04_no_run_begins_before_every_source_has_synced(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        cluster = client.cluster
        for name in ("a", "b"):
            await client.api(Book).create(book(name))
        faults = sim.Faults(cluster, script=[sim.Delay(5.0)])

        async def reconcile(subject: Book, ctx: Context[None]) -> None:
            assert ctx.cache(ConfigMap).synced

        async with simulated(cluster, faults=faults) as slow:
            diary = Diary(reconcile)
            controller = Controller(slow, Book).watches(ConfigMap, lambda config: ["default/a", "default/a"])
            async with operating(controller.run(diary)):
                await anyio.sleep(3)
                assert diary.calls == []
                await anyio.sleep(10)
            assert sorted(diary.names) == ["a", "b"]

    on(backend, body)


def test_ct_05_a_controller_runs_once(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        begun = Controller(client, Book).run(Diary())
        async with operating(begun):
            pass
        with pytest.raises(RuntimeError, match="controller book has been run already"):
            await begun

    on(backend, body)


def test_ct_14_what_the_first_list_brings_is_less_urgent_than_what_happens_now(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        for number in range(5):
            await books.create(book(f"old-{number}"))

        async def slow(subject: Book, ctx: Context[None]) -> None:
            await anyio.sleep(10)

        diary = Diary(slow)
        async with operating(Controller(client, Book, concurrency=1).run(diary)):
            await books.create(book("new"))
            await anyio.sleep(100)
        assert diary.names[1] == "new"
        assert [context.priority for context in diary.contexts] == [
            LOW_PRIORITY,
            0,
            LOW_PRIORITY,
            LOW_PRIORITY,
            LOW_PRIORITY,
            LOW_PRIORITY,
        ]

    on(backend, body)


def test_ct_15_a_change_of_what_is_owned_is_about_its_owners_old_and_new(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books, maps = client.api(Book), client.api(ConfigMap)
        made = {name: await books.create(book(name)) for name in ("a", "b", "c")}

        def owner(name: str, *, version: str = "v1", controller: bool = True) -> OwnerReference:
            return OwnerReference(
                api_version=f"example.technosophos.com/{version}",
                kind="Book",
                name=name,
                uid=made[name].metadata.uid,
                controller=controller,
            )

        def config(name: str, *owners: OwnerReference) -> ConfigMap:
            return ConfigMap(metadata=kp.ObjectMeta(name=name, owner_references=list(owners)))

        diary, lax = Diary(), Diary()
        strict = Controller(client, Book, name="strict").owns(ConfigMap)
        every = Controller(client, Book, name="every").owns(ConfigMap, controllers_only=False)
        async with operating(strict.run(diary), every.run(lax)):
            diary.calls.clear()
            lax.calls.clear()
            await maps.create(config("m", owner("a", version="v2"), owner("c", controller=False)))
            await anyio.sleep(1)
            assert [name for _, name, _, _ in diary.calls] == ["a"]
            assert sorted(lax.names) == ["a", "c"]
            assert diary.reasons == ["ConfigMap added"]
            moved = [
                {
                    "apiVersion": "example.technosophos.com/v1",
                    "kind": "Book",
                    "name": "b",
                    **_uid(made["b"]),
                }
            ]
            client.cluster.edit(ConfigMap, "m", lambda obj: obj["metadata"].update(ownerReferences=moved))
            await anyio.sleep(1)
            assert sorted(diary.names) == ["a", "a", "b"]

    on(backend, body)


def test_ct_15_a_cluster_scoped_owner_has_no_namespace(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        shelf = await client.api(Shelf).create(
            Shelf(metadata=kp.ObjectMeta(name="s"), spec=BookSpec(title="S"))
        )
        keys: list[str] = []

        async def reconcile(key: str, ctx: Context[None]) -> None:
            keys.append(f"{key} {ctx.reason}")

        async with operating(Controller(client, Shelf).owns(kp.Metadata[ConfigMap]).run_keys(reconcile)):
            reference = OwnerReference(
                api_version="example.technosophos.com/v1",
                kind="Shelf",
                name="s",
                uid=shelf.metadata.uid,
                controller=True,
            )
            metadata = kp.ObjectMeta(name="m", owner_references=[reference])
            await client.api(ConfigMap).create(ConfigMap(metadata=metadata))
            await anyio.sleep(1)
        assert keys == ["s Shelf listed", "s ConfigMap added"]

    on(backend, body)


def test_ct_16_a_deletion_that_nobody_told_leads_to_a_run_and_shows_the_last_known_state(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        books, maps, cluster = client.api(Book), client.api(ConfigMap), client.cluster
        await books.create(book("a"))
        await maps.create(ConfigMap(metadata=kp.ObjectMeta(name="m"), data={"book": "default/a"}))
        diary = Diary()
        controller = Controller(client, Book).watches(ConfigMap, lambda config: [(config.data or {})["book"]])
        async with operating(controller.run(diary)):
            assert cluster.watches
            cluster.end_watches(ConfigMap)
            cluster.remove(ConfigMap, "m")
            cluster.compact()
            await anyio.sleep(60)
        assert diary.reasons[-1] == "ConfigMap deleted"

    on(backend, body)


def test_a_function_that_fails_to_map_an_object_costs_that_object_alone(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        diary = Diary()
        controller = Controller(client, Book).watches(ConfigMap, lambda config: [(config.data or {})["book"]])
        async with operating(controller.run(diary)):
            for name, data in (("odd", {"no": "book"}), ("even", {"book": "default/a"})):
                await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name=name), data=data))
            await anyio.sleep(1)
        assert diary.reasons == ["Book listed", "ConfigMap added"]

    on(backend, body)
    assert "default/odd leads to no key" in caplog.text


def test_an_object_that_does_not_fit_is_reported_once_a_version_and_never_reconciled(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("odd"))
        entitle(client, "odd", 5)
        told: list[str] = []

        async def on_invalid(error: kp.InvalidObject, ctx: Context[None]) -> None:
            told.append(f"{ctx.ref}: {error}")
            stored = ctx.partial_object
            assert stored is not None
            assert (stored.kind, stored.metadata.name, bool(stored.metadata.uid)) == ("Book", "odd", True)

        diary = Diary()
        controller = Controller(client, Book).watches(ConfigMap, lambda _: ["default/odd"])
        async with operating(controller.run(diary, on_invalid=on_invalid)):
            await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="m")))
            await anyio.sleep(5)
            assert len(told) == 1
            assert "Book.example.technosophos.com default/odd: " in told[0]
            assert "title" in told[0]
            entitle(client, "odd", 6)
            await anyio.sleep(5)
            assert len(told) == 2
            entitle(client, "odd", "Six")
            await anyio.sleep(5)
        assert diary.names == ["odd"]

    on(backend, body)


def test_the_failures_of_an_object_are_forgotten_once_it_is_invalid(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        attempts: list[int] = []

        async def fail(subject: Book, ctx: Context[None]) -> Action:
            attempts.append(ctx.attempt)
            raise ValueError("no")

        await client.api(Book).create(book("moby"))
        async with operating(Controller(client, Book, backoff=lambda failures: 10.0).run(fail)):
            await anyio.sleep(15)
            entitle(client, "moby", 5)
            await anyio.sleep(5)
            entitle(client, "moby", "Moby")
            await anyio.sleep(5)
        assert attempts == [1, 2, 1]

    on(backend, body)


def test_an_invalid_object_is_reported_again_if_a_restored_server_gives_its_version_again(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        reported: list[str] = []

        def on_invalid(error: kp.InvalidObject, ctx: Context[None]) -> None:
            assert ctx.entry is not None
            reported.append(ctx.entry.version)

        def store() -> None:
            client.cluster.store(kp.encode(book("odd")).replace(b'"title":"Odd"', b'"title":5'))

        backup = client.cluster.snapshot()
        async with operating(Controller(client, Book).run(Diary(), on_invalid=on_invalid)):
            store()
            await anyio.sleep(5)
            client.cluster.remove(Book, "odd")
            await anyio.sleep(5)
            client.cluster.restore(backup)
            client.cluster.end_watches()
            await anyio.sleep(3600)  # until watches at a version of the future are noticed
            store()
            await anyio.sleep(5)
        assert len(reported) == 2
        assert reported[0] == reported[1]

    on(backend, body)


@pytest.mark.parametrize("outcome", ["requeue", "error"])
def test_a_run_leaves_nothing_behind_of_an_object_that_was_deleted_meanwhile(
    backend: Backend, outcome: str
) -> None:
    async def body(client: SimulatedClient) -> None:
        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            client.cluster.remove(Book, subject.metadata.name)
            await anyio.sleep(5)
            if outcome == "error":
                raise ValueError("it is gone")
            return requeue(after=3600)

        operator = Operator()
        client.cluster.put(book("moby"))
        client.start(operator.run(Controller(client, Book).run(reconcile)))
        await client.until(lambda: sum(state.reconciled for state in operator.debug().controllers) == 1)
        controller = operator.debug().controllers[0]
        assert (controller.delayed, controller.due, controller.failing) == (0, 0, ())

    on(backend, body)


def test_a_change_that_comes_during_a_long_list_is_taken_after_it(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        taken: list[str] = []
        for number in range(5_000):
            client.cluster.store(book(f"b{number:04}", namespace="default"))

        def when(change: Change[Book]) -> bool:
            if change.key == "default/b0000" and change.initial:
                resize(client, "b4999", 7)
            if change.key == "default/b4999":
                taken.append(change.type)
            return False

        async with operating(Controller(client, Book, when=when).run(Diary())):
            await anyio.sleep(60)
        assert taken == ["ADDED", "MODIFIED"]

    on(backend, body)


def entitle(client: SimulatedClient, name: str, title: object) -> None:
    client.cluster.edit(Book, name, lambda obj: obj["spec"].update(title=title))


def test_several_namespaces_are_followed_and_no_others(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        for name in ("one", "two", "three"):
            client.cluster.namespace(name)
            await client.api(Book, namespace=name).create(book(f"of-{name}"))
        diary = Diary()
        async with operating(Controller(client, Book, namespace=["one", "two"]).run(diary)):
            for ctx in diary.contexts:
                assert ctx.cache(Book).get(ctx.name, ctx.namespace) is not None
        assert sorted(diary.names) == ["of-one", "of-two"]

    on(backend, body)


def test_kinds_without_a_class_and_metadata_alone_are_reconciled_too(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a", size=4))
        sizes: list[int] = []
        names: list[str] = []

        async def dynamic(obj: kp.Dynamic, ctx: Context[None]) -> None:
            sizes.append(obj["spec"]["size"])

        async def bare(obj: kp.Metadata[Book], ctx: Context[None]) -> None:
            names.append(obj.metadata.name)

        async with operating(
            Controller(client, kp.Dynamic, resource=Book.resource).run(dynamic),
            Controller(client, kp.Metadata[Book], name="bare").run(bare),
        ):
            pass
        assert (sizes, names) == ([4], ["a"])

    on(backend, body)


def test_a_kind_that_is_followed_twice_is_looked_up_where_it_is_the_controllers_own(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        diary = Diary()
        controller = Controller(client, kp.Dynamic, resource=Book.resource)
        controller.watches(kp.Dynamic, lambda _: ["default/a"], resource=ConfigMap.resource)
        controller.watches(
            kp.Dynamic, lambda _: ["default/a"], resource=Book.resource, label_selector="no=body"
        )
        async with operating(controller.run(diary)):
            await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="m")))
            await anyio.sleep(1)
        assert diary.reasons == ["Book listed", "ConfigMap added"]
        assert len(diary.contexts[1].cache(kp.Dynamic)) == 1
        assert [one.metadata.name for one in diary.contexts[1].cache(kp.Dynamic, ConfigMap.resource)] == ["m"]

    on(backend, body)


def test_predicates_keep_what_is_not_worth_a_run_from_the_queue(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))
        sized, status = Diary(), Diary()
        async with operating(
            Controller(client, Book, name="sized", when=changed("spec.size")).run(sized),
            Controller(client, Book, name="quiet", when=beyond_status).run(status),
        ):
            entitle(client, "a", "B")
            await anyio.sleep(1)
            client.cluster.edit(Book, "a", lambda obj: obj.update(status={"copies": 3}))
            await anyio.sleep(1)
            resize(client, "a", 8)
            await anyio.sleep(1)
        assert (len(sized.calls), len(status.calls)) == (2, 3)

    on(backend, body)


def test_a_predicate_that_fails_lets_the_change_pass(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        diary = Diary()
        async with operating(Controller(client, Book, when=lambda change: 1 / 0 > 0).run(diary)):
            pass
        assert diary.names == ["a"]

    on(backend, body)
    assert "the predicate failed on default/a" in caplog.text


def test_keys_from_outside_are_reconciled_as_they_come(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def news() -> AsyncIterator[str]:
            for _ in range(2):
                await anyio.sleep(10)
                yield "default/a"
            yield "default/nobody"

        diary = Diary()
        async with operating(Controller(client, Book).triggered_by(news()).run(diary)):
            await anyio.sleep(100)
        assert diary.calls == [
            (0, "a", "Book listed", 1),
            (10, "a", "trigger", 1),
            (20, "a", "trigger", 1),
        ]

    on(backend, body)


def test_no_run_sees_a_snapshot_older_than_the_event_that_caused_it(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books, maps = client.api(Book), client.api(ConfigMap)
        await books.create(book("a"))
        written: list[str] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> None:
            if ctx.reason == "ConfigMap modified":
                config = ctx.cache(ConfigMap).get("m", "default")
                assert config is not None
                assert config.data == {"n": written[-1]}

        diary = Diary(reconcile)
        controller = Controller(client, Book).watches(ConfigMap, lambda _: ["default/a"])
        async with operating(controller.run(diary)):
            await maps.create(ConfigMap(metadata=kp.ObjectMeta(name="m"), data={"n": ""}))
            for number in range(20):
                written.append(str(number))
                client.cluster.edit(ConfigMap, "m", lambda obj: obj.update(data={"n": written[-1]}))
                await anyio.sleep(0.01)
        assert diary.reasons.count("ConfigMap modified") == 20

    on(backend, body)


def test_a_flood_of_objects_that_ask_for_more_at_once_neither_stops_nor_starves_others(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        for number in range(100):
            client.cluster.put(book(f"b-{number}"))
        runs: dict[str, int] = {}

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            runs[ctx.key] = runs.get(ctx.key, 0) + 1
            return requeue(after=0) if runs[ctx.key] < 30 else await_change()

        async with operating(Controller(client, Book).run(reconcile)):
            pass
        assert set(runs.values()) == {30}

    on(backend, body)


def test_what_is_returned_by_mistake_fails_with_a_sentence(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def seven(subject: Any, ctx: Context[Any]) -> Any:
            return 7

        wrong: Any = Diary(seven)
        async with operating(Controller(client, Book).run(wrong)):
            pass

    on(backend, body)
    assert "the reconcile returned 7: return requeue(after=...), await_change() or None" in caplog.text
    assert len(caplog.records) == 1  # it is not retried


def test_what_cannot_be_meant_is_refused_at_once(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        with pytest.raises(ValueError, match="concurrency is 0"):
            Controller(client, Book, concurrency=0)
        with pytest.raises(ValueError, match="pass at least one namespace"):
            Controller(client, Book, namespace=[])

    on(backend, body)
