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
    """A shelf, a cluster-scoped kind."""


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    name: Backend = request.param
    return name


def book(name: str, size: int = 0, **metadata: Any) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name, **metadata), spec=BookSpec(title=name.title(), size=size))


def resize(client: SimulatedClient, name: str, size: int) -> None:
    client.cluster.edit(Book, name, lambda obj: obj["spec"].update(size=size))


def _uid(owner: Book) -> dict[str, Any]:
    return {"uid": owner.metadata.uid, "controller": True}


def cluster() -> sim.Cluster:
    return sim.Cluster(crds=[Book, Shelf])


class RecordingReconcile:
    """A reconcile that records the time, the object and the reason of each call."""

    def __init__(self, then: Callable[[Any, Context[Any]], Awaitable[Action | None]] | None = None) -> None:
        self.calls: list[tuple[float, str, str, int]] = []
        self.sizes: list[int] = []
        self.contexts: list[Context[Any]] = []
        self.started_at = anyio.current_time()
        self.then = then

    async def __call__(self, subject: Any, ctx: Context[Any]) -> Action | None:
        now = anyio.current_time() - self.started_at
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
        return [time for time, _, _, _ in self.calls]

    @property
    def reasons(self) -> list[str]:
        return [reason for _, _, reason, _ in self.calls]


@asynccontextmanager
async def running_operator(*parts: ControllerRun, **options: Any) -> AsyncGenerator[Operator]:
    operator = Operator(**options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(operator.run, *parts)
        await anyio.sleep(1)
        yield operator
        operator.stop()


def run_on(backend: Backend, body: Callable[[SimulatedClient], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with simulated(options.pop("cluster", None) or cluster(), **options) as client:
            await body(client)

    run(main, backend=backend)


def test_a_controller_reconciles_existing_new_and_changed_objects(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("old"))
        recorder = RecordingReconcile()
        async with running_operator(Controller(client, Book).run(recorder)):
            await books.create(book("new"))
            await anyio.sleep(1)
            resize(client, "old", 3)
            await anyio.sleep(1)
            await books.delete("old")
            await anyio.sleep(1)
        assert recorder.calls == [
            (0, "old", "Book listed", 1),
            (1, "new", "Book added", 1),
            (2, "old", "Book modified", 1),
        ]
        assert recorder.sizes == [0, 0, 3]

    run_on(backend, body)


def test_a_reconcile_by_key_is_called_for_deleted_objects(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))
        keys: list[str] = []

        async def reconcile(key: str, ctx: Context[None]) -> None:
            keys.append(f"{key} {ctx.reason} {key in ctx.cache(Book)}")

        async with running_operator(Controller(client, Book).run_keys(reconcile)):
            await books.delete("a")
            await anyio.sleep(1)
        assert keys == ["default/a Book listed True", "default/a Book deleted False"]

    run_on(backend, body)


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

        async with running_operator(Controller(client, Book, state=shop, name="shop").run(reconcile)):
            assert shop.sold == 7

    with caplog.at_level(logging.WARNING):
        run_on(backend, body)
    [record] = [record for record in caplog.records if record.name == "kubeproto.controller.shop"]
    assert record.getMessage() == "Book.example.technosophos.com default/a: sold 7"
    assert vars(record)["object"] == "Book.example.technosophos.com default/a"


def test_a_requeue_happens_at_its_time_and_a_change_earlier(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))

        async def later(subject: Book, ctx: Context[None]) -> Action:
            return requeue(after=60) if ctx.reason != "Book modified" else await_change()

        recorder = RecordingReconcile(later)
        async with running_operator(Controller(client, Book).run(recorder)):
            await anyio.sleep(129)
            resize(client, "a", 3)
            await anyio.sleep(500)
        assert list(zip(recorder.times, recorder.reasons, strict=True)) == [
            (0, "Book listed"),
            (60, "requeue"),
            (120, "requeue"),
            (130, "Book modified"),
        ]

    run_on(backend, body)


def test_rn_13_an_event_during_a_reconcile_replaces_its_requeue(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))

        async def slow(subject: Book, ctx: Context[None]) -> Action:
            await anyio.sleep(2)
            return requeue(after=5) if ctx.reason == "Book listed" else await_change()

        recorder = RecordingReconcile(slow)
        async with running_operator(Controller(client, Book).run(recorder)):
            resize(client, "a", 3)
            await anyio.sleep(30)
        assert recorder.times == [0, 2]
        assert recorder.sizes == [0, 3]

    run_on(backend, body)


def test_ct_01_rn_07_a_failing_reconcile_is_retried_and_affects_no_other_object(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        for name in ("bad", "good"):
            await client.api(Book).create(book(name))
        results: list[Result] = []

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            if book.metadata.name == "bad" and ctx.attempt < 4:
                raise ZeroDivisionError("one by zero")

        recorder = RecordingReconcile(reconcile)
        async with running_operator(Controller(client, Book).run(recorder, observe=results.append)):
            await anyio.sleep(10)
        bad = [(time, attempt) for time, name, _, attempt in recorder.calls if name == "bad"]
        assert bad == [(0, 1), (0.005, 2), (0.015, 3), (0.035, 4)]
        assert recorder.names.count("good") == 1
        outcomes = [
            (result.attempt, result.after, repr(result.error))
            for result in results
            if result.ref.name == "bad"
        ]
        zero = "ZeroDivisionError('one by zero')"
        assert outcomes == [(1, 0.005, zero), (2, 0.01, zero), (3, 0.02, zero), (4, None, "None")]

    run_on(backend, body)
    first = next(record for record in caplog.records if record.exc_info)
    assert (
        "Book.example.technosophos.com default/bad: attempt 1 failed, the next in 0.005 s"
        in first.getMessage()
    )
    assert first.exc_info is not None
    assert first.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("error", [ZeroDivisionError("a bug"), asyncio.CancelledError("of a future")])
def test_ct_01_errors_of_on_error_observe_and_predicates_are_logged_and_ignored(
    backend: Backend, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """A synchronous function cannot be cancelled, so a cancellation that it raises is a failure."""
    raised = error if backend == "asyncio" or isinstance(error, Exception) else ValueError("a bug")

    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def fail(subject: Book, ctx: Context[None]) -> None:
            if ctx.attempt < 3:
                raise LookupError(ctx.key)

        def broken(*args: Any) -> Any:
            raise raised

        recorder = RecordingReconcile(fail)
        controller = Controller(client, Book, when=broken).watches(ConfigMap, broken)
        async with running_operator(controller.run(recorder, on_error=broken, observe=broken)) as operator:
            await anyio.sleep(1)
            await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="c")))
            await anyio.sleep(1)
            resize(client, "a", 7)
            await anyio.sleep(1)
            assert operator.healthy()[0]
        assert [attempt for *_, attempt in recorder.calls] == [1, 2, 3, 1, 2, 3]
        assert recorder.sizes[-1] == 7

    run_on(backend, body)
    for message in ("on_error failed", "observe failed", "the predicate failed", "leads to no key"):
        assert message in caplog.text


def test_a_failing_trigger_is_iterated_again_and_a_failing_generator_ends_alone(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    class FailingTrigger:
        """Fails after each key, like a connection to a message broker."""

        async def __aiter__(self) -> AsyncIterator[str]:
            yield "default/a"
            raise ConnectionResetError("the broker is gone")

    async def fail_once() -> AsyncIterator[str]:
        await anyio.sleep(0)
        yield "default/none" if 1 // 0 else ""

    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        recorder = RecordingReconcile()
        async with running_operator(
            Controller(client, Book).triggered_by(FailingTrigger()).triggered_by(fail_once()).run(recorder)
        ) as operator:
            await anyio.sleep(2.5)
            assert operator.healthy()[0]
        assert recorder.times[:3] == [0, 1, 2]

    run_on(backend, body)
    assert caplog.text.count("retried in 1 s") >= 3
    assert "has ended: it adds no more keys" in caplog.text


def test_an_error_handler_decides_when_to_retry(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def fail(subject: Book, ctx: Context[None]) -> None:
            raise LookupError("nothing here")

        def on_error(error: Exception, ctx: Context[None]) -> Action | None:
            return [requeue(after=7), None, await_change()][ctx.attempt - 1]

        recorder = RecordingReconcile(fail)
        async with running_operator(Controller(client, Book).run(recorder, on_error=on_error)):
            await anyio.sleep(100)
        assert [(time, attempt) for time, _, _, attempt in recorder.calls] == [(0, 1), (7, 2), (7.01, 3)]

    run_on(backend, body)


def test_ct_07_a_terminal_error_waits_for_a_change(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))

        async def fail(subject: Book, ctx: Context[None]) -> None:
            raise Terminal("no such flavour")

        recorder = RecordingReconcile(fail)
        async with running_operator(Controller(client, Book).run(recorder)) as operator:
            await anyio.sleep(5000)
            resize(client, "a", 3)
            await anyio.sleep(1)
            assert 'terminal_reconcile_errors_total{controller="book"} 2\n' in operator.metrics()
        assert recorder.reasons == ["Book listed", "Book modified"]

    run_on(backend, body)


def test_ct_02_rn_08_only_the_deadline_of_a_reconcile_is_a_reconcile_timeout(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        results: list[Result] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> None:
            if ctx.attempt == 1:
                await anyio.sleep(100)
            if ctx.attempt == 2:
                raise TimeoutError("the user's own")

        recorder = RecordingReconcile(reconcile)
        controller = Controller(client, Book, timeout=30)
        async with running_operator(controller.run(recorder, observe=results.append)) as operator:
            await anyio.sleep(100)
            assert 'controller_runtime_reconcile_timeouts_total{controller="book"} 1\n' in operator.metrics()
        assert recorder.times == [0, 30.005, 30.015]
        [first, second, third] = results
        assert isinstance(first.error, ReconcileTimeout)
        assert str(first.error) == "the reconcile of default/a took longer than 30 s"
        assert first.seconds == 30
        assert (type(second.error), third.error) == (TimeoutError, None)

    run_on(backend, body)


def test_ct_03_a_cache_that_never_syncs_is_an_error_with_the_reason(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        async def reconcile(book: Book, ctx: Context[None]) -> None:
            raise AssertionError("there is nothing to reconcile")

        start = anyio.current_time()
        with pytest.raises(kp.KubeprotoError, match=r"the definition of Book .* is not installed"):
            await Controller(client, Book).run(reconcile)
        assert anyio.current_time() - start < 1
        waiting_controller = Controller(client, Book, sync_timeout=20, wait_for_definition=True)
        with pytest.raises(kp.DeadlineExceeded, match="books"):
            await waiting_controller.run(reconcile)
        assert 20 <= anyio.current_time() - start < 22
        with anyio.move_on_after(5) as scope:  # a cancellation is not an error
            await waiting_controller.run(reconcile)
        assert scope.cancelled_caught

    run_on(backend, body, cluster=sim.Cluster())


def test_a_controller_may_wait_for_a_definition(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        recorder = RecordingReconcile()
        async with running_operator(Controller(client, Book, wait_for_definition=True).run(recorder)):
            await anyio.sleep(30)
            client.cluster.define(Book)
            await client.api(Book).create(book("a"))
            await anyio.sleep(60)
        assert recorder.names == ["a"]

    run_on(backend, body, cluster=sim.Cluster())


def test_ct_04_rn_03_rn_04_no_reconcile_begins_before_every_source_has_synced(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        cluster = client.cluster
        for name in ("a", "b"):
            await client.api(Book).create(book(name))
        faults = sim.Faults(cluster, script=[sim.Delay(5.0)])

        async def reconcile(subject: Book, ctx: Context[None]) -> None:
            assert ctx.cache(ConfigMap).synced

        async with simulated(cluster, faults=faults) as slow:
            recorder = RecordingReconcile(reconcile)
            controller = Controller(slow, Book).watches(ConfigMap, lambda config: ["default/a", "default/a"])
            async with running_operator(controller.run(recorder)):
                await anyio.sleep(3)
                assert recorder.calls == []
                await anyio.sleep(10)
            assert sorted(recorder.names) == ["a", "b"]

    run_on(backend, body)


def test_ct_05_a_controller_runs_once(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        controller_run = Controller(client, Book).run(RecordingReconcile())
        async with running_operator(controller_run):
            pass
        with pytest.raises(RuntimeError, match="controller book has been run already"):
            await controller_run

    run_on(backend, body)


def test_ct_14_objects_of_the_first_list_have_a_lower_priority_than_changes(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        for number in range(5):
            await books.create(book(f"old-{number}"))

        async def slow(subject: Book, ctx: Context[None]) -> None:
            await anyio.sleep(10)

        recorder = RecordingReconcile(slow)
        async with running_operator(Controller(client, Book, concurrency=1).run(recorder)):
            await books.create(book("new"))
            await anyio.sleep(100)
        assert recorder.names[1] == "new"
        assert [context.priority for context in recorder.contexts] == [
            LOW_PRIORITY,
            0,
            LOW_PRIORITY,
            LOW_PRIORITY,
            LOW_PRIORITY,
            LOW_PRIORITY,
        ]

    run_on(backend, body)


def test_ct_15_a_change_of_an_owned_object_enqueues_its_old_and_new_owners(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books, maps = client.api(Book), client.api(ConfigMap)
        created = {name: await books.create(book(name)) for name in ("a", "b", "c")}

        def owner(name: str, *, version: str = "v1", controller: bool = True) -> OwnerReference:
            return OwnerReference(
                api_version=f"example.technosophos.com/{version}",
                kind="Book",
                name=name,
                uid=created[name].metadata.uid,
                controller=controller,
            )

        def config(name: str, *owners: OwnerReference) -> ConfigMap:
            return ConfigMap(metadata=kp.ObjectMeta(name=name, owner_references=list(owners)))

        recorder, lax = RecordingReconcile(), RecordingReconcile()
        strict = Controller(client, Book, name="strict").owns(ConfigMap)
        every = Controller(client, Book, name="every").owns(ConfigMap, controllers_only=False)
        async with running_operator(strict.run(recorder), every.run(lax)):
            recorder.calls.clear()
            lax.calls.clear()
            await maps.create(config("m", owner("a", version="v2"), owner("c", controller=False)))
            await anyio.sleep(1)
            assert [name for _, name, _, _ in recorder.calls] == ["a"]
            assert sorted(lax.names) == ["a", "c"]
            assert recorder.reasons == ["ConfigMap added"]
            moved = [
                {
                    "apiVersion": "example.technosophos.com/v1",
                    "kind": "Book",
                    "name": "b",
                    **_uid(created["b"]),
                }
            ]
            client.cluster.edit(ConfigMap, "m", lambda obj: obj["metadata"].update(ownerReferences=moved))
            await anyio.sleep(1)
            assert sorted(recorder.names) == ["a", "a", "b"]

    run_on(backend, body)


def test_ct_15_a_cluster_scoped_owner_has_no_namespace(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        shelf = await client.api(Shelf).create(
            Shelf(metadata=kp.ObjectMeta(name="s"), spec=BookSpec(title="S"))
        )
        keys: list[str] = []

        async def reconcile(key: str, ctx: Context[None]) -> None:
            keys.append(f"{key} {ctx.reason}")

        async with running_operator(
            Controller(client, Shelf).owns(kp.Metadata[ConfigMap]).run_keys(reconcile)
        ):
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

    run_on(backend, body)


def test_ct_16_a_missed_deletion_causes_a_reconcile_with_the_last_known_state(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        books, maps, cluster = client.api(Book), client.api(ConfigMap), client.cluster
        await books.create(book("a"))
        await maps.create(ConfigMap(metadata=kp.ObjectMeta(name="m"), data={"book": "default/a"}))
        recorder = RecordingReconcile()
        controller = Controller(client, Book).watches(ConfigMap, lambda config: [(config.data or {})["book"]])
        async with running_operator(controller.run(recorder)):
            assert cluster.watches
            cluster.end_watches(ConfigMap)
            cluster.remove(ConfigMap, "m")
            cluster.compact()
            await anyio.sleep(60)
        assert recorder.reasons[-1] == "ConfigMap deleted"

    run_on(backend, body)


def test_a_failing_mapper_affects_only_its_object(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        recorder = RecordingReconcile()
        controller = Controller(client, Book).watches(ConfigMap, lambda config: [(config.data or {})["book"]])
        async with running_operator(controller.run(recorder)):
            for name, data in (("odd", {"no": "book"}), ("even", {"book": "default/a"})):
                await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name=name), data=data))
            await anyio.sleep(1)
        assert recorder.reasons == ["Book listed", "ConfigMap added"]

    run_on(backend, body)
    assert "default/odd leads to no key" in caplog.text


def test_an_invalid_object_is_reported_once_per_version_and_never_reconciled(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("odd"))
        set_title(client, "odd", 5)
        reported: list[str] = []

        async def on_invalid(error: kp.InvalidObject, ctx: Context[None]) -> None:
            reported.append(f"{ctx.ref}: {error}")
            stored = ctx.partial_object
            assert stored is not None
            assert (stored.kind, stored.metadata.name, bool(stored.metadata.uid)) == ("Book", "odd", True)

        recorder = RecordingReconcile()
        controller = Controller(client, Book).watches(ConfigMap, lambda _: ["default/odd"])
        async with running_operator(controller.run(recorder, on_invalid=on_invalid)):
            await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="m")))
            await anyio.sleep(5)
            assert len(reported) == 1
            assert "Book.example.technosophos.com default/odd: " in reported[0]
            assert "title" in reported[0]
            set_title(client, "odd", 6)
            await anyio.sleep(5)
            assert len(reported) == 2
            set_title(client, "odd", "Six")
            await anyio.sleep(5)
        assert recorder.names == ["odd"]

    run_on(backend, body)


def test_the_failures_of_an_object_are_reset_once_it_is_invalid(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        attempts: list[int] = []

        async def fail(subject: Book, ctx: Context[None]) -> Action:
            attempts.append(ctx.attempt)
            raise ValueError("no")

        await client.api(Book).create(book("moby"))
        async with running_operator(Controller(client, Book, backoff=lambda failures: 10.0).run(fail)):
            await anyio.sleep(15)
            set_title(client, "moby", 5)
            await anyio.sleep(5)
            set_title(client, "moby", "Moby")
            await anyio.sleep(5)
        assert attempts == [1, 2, 1]

    run_on(backend, body)


def test_an_invalid_object_is_reported_again_if_a_restored_server_assigns_its_version_again(
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
        async with running_operator(
            Controller(client, Book).run(RecordingReconcile(), on_invalid=on_invalid)
        ):
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

    run_on(backend, body)


@pytest.mark.parametrize("outcome", ["requeue", "error"])
def test_a_reconcile_of_an_object_that_is_deleted_meanwhile_leaves_no_state(
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

    run_on(backend, body)


def test_a_change_during_a_long_list_is_processed_after_it(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        changes: list[str] = []
        for number in range(5_000):
            client.cluster.store(book(f"b{number:04}", namespace="default"))

        def when(change: Change[Book]) -> bool:
            if change.key == "default/b0000" and change.initial:
                resize(client, "b4999", 7)
            if change.key == "default/b4999":
                changes.append(change.type)
            return False

        async with running_operator(Controller(client, Book, when=when).run(RecordingReconcile())):
            await anyio.sleep(60)
        assert changes == ["ADDED", "MODIFIED"]

    run_on(backend, body)


def set_title(client: SimulatedClient, name: str, title: object) -> None:
    client.cluster.edit(Book, name, lambda obj: obj["spec"].update(title=title))


def test_a_controller_follows_several_namespaces_and_no_others(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        for name in ("one", "two", "three"):
            client.cluster.namespace(name)
            await client.api(Book, namespace=name).create(book(f"of-{name}"))
        recorder = RecordingReconcile()
        async with running_operator(Controller(client, Book, namespace=["one", "two"]).run(recorder)):
            for ctx in recorder.contexts:
                assert ctx.cache(Book).get(ctx.name, ctx.namespace) is not None
        assert sorted(recorder.names) == ["of-one", "of-two"]

    run_on(backend, body)


def test_dynamic_kinds_and_metadata_are_reconciled(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a", size=4))
        sizes: list[int] = []
        names: list[str] = []

        async def dynamic(obj: kp.Dynamic, ctx: Context[None]) -> None:
            sizes.append(obj["spec"]["size"])

        async def metadata_only(obj: kp.Metadata[Book], ctx: Context[None]) -> None:
            names.append(obj.metadata.name)

        async with running_operator(
            Controller(client, kp.Dynamic, resource=Book.resource).run(dynamic),
            Controller(client, kp.Metadata[Book], name="bare").run(metadata_only),
        ):
            pass
        assert (sizes, names) == ([4], ["a"])

    run_on(backend, body)


def test_the_cache_of_a_kind_that_is_followed_twice_is_that_of_the_controller(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        recorder = RecordingReconcile()
        controller = Controller(client, kp.Dynamic, resource=Book.resource)
        controller.watches(kp.Dynamic, lambda _: ["default/a"], resource=ConfigMap.resource)
        controller.watches(
            kp.Dynamic, lambda _: ["default/a"], resource=Book.resource, label_selector="no=body"
        )
        async with running_operator(controller.run(recorder)):
            await client.api(ConfigMap).create(ConfigMap(metadata=kp.ObjectMeta(name="m")))
            await anyio.sleep(1)
        assert recorder.reasons == ["Book listed", "ConfigMap added"]
        assert len(recorder.contexts[1].cache(kp.Dynamic)) == 1
        assert [obj.metadata.name for obj in recorder.contexts[1].cache(kp.Dynamic, ConfigMap.resource)] == [
            "m"
        ]

    run_on(backend, body)


def test_predicates_keep_irrelevant_changes_out_of_the_queue(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books = client.api(Book)
        await books.create(book("a"))
        sized, status = RecordingReconcile(), RecordingReconcile()
        async with running_operator(
            Controller(client, Book, name="sized", when=changed("spec.size")).run(sized),
            Controller(client, Book, name="quiet", when=beyond_status).run(status),
        ):
            set_title(client, "a", "B")
            await anyio.sleep(1)
            client.cluster.edit(Book, "a", lambda obj: obj.update(status={"copies": 3}))
            await anyio.sleep(1)
            resize(client, "a", 8)
            await anyio.sleep(1)
        assert (len(sized.calls), len(status.calls)) == (2, 3)

    run_on(backend, body)


def test_a_change_passes_a_failing_predicate(backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))
        recorder = RecordingReconcile()
        async with running_operator(Controller(client, Book, when=lambda change: 1 / 0 > 0).run(recorder)):
            pass
        assert recorder.names == ["a"]

    run_on(backend, body)
    assert "the predicate failed on default/a" in caplog.text


def test_keys_of_a_trigger_are_reconciled_when_they_arrive(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def trigger() -> AsyncIterator[str]:
            for _ in range(2):
                await anyio.sleep(10)
                yield "default/a"
            yield "default/nobody"

        recorder = RecordingReconcile()
        async with running_operator(Controller(client, Book).triggered_by(trigger()).run(recorder)):
            await anyio.sleep(100)
        assert recorder.calls == [
            (0, "a", "Book listed", 1),
            (10, "a", "trigger", 1),
            (20, "a", "trigger", 1),
        ]

    run_on(backend, body)


def test_no_reconcile_reads_a_snapshot_older_than_its_event(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        books, maps = client.api(Book), client.api(ConfigMap)
        await books.create(book("a"))
        written: list[str] = []

        async def reconcile(subject: Book, ctx: Context[None]) -> None:
            if ctx.reason == "ConfigMap modified":
                config = ctx.cache(ConfigMap).get("m", "default")
                assert config is not None
                assert config.data == {"n": written[-1]}

        recorder = RecordingReconcile(reconcile)
        controller = Controller(client, Book).watches(ConfigMap, lambda _: ["default/a"])
        async with running_operator(controller.run(recorder)):
            await maps.create(ConfigMap(metadata=kp.ObjectMeta(name="m"), data={"n": ""}))
            for number in range(20):
                written.append(str(number))
                client.cluster.edit(ConfigMap, "m", lambda obj: obj.update(data={"n": written[-1]}))
                await anyio.sleep(0.01)
        assert recorder.reasons.count("ConfigMap modified") == 20

    run_on(backend, body)


def test_many_immediate_requeues_neither_stop_nor_starve_other_objects(
    backend: Backend,
) -> None:
    async def body(client: SimulatedClient) -> None:
        for number in range(100):
            client.cluster.put(book(f"b-{number}"))
        runs: dict[str, int] = {}

        async def reconcile(subject: Book, ctx: Context[None]) -> Action:
            runs[ctx.key] = runs.get(ctx.key, 0) + 1
            return requeue(after=0) if runs[ctx.key] < 30 else await_change()

        async with running_operator(Controller(client, Book).run(reconcile)):
            pass
        assert set(runs.values()) == {30}

    run_on(backend, body)


def test_a_wrong_result_of_a_reconcile_is_an_error_with_the_remedy(
    backend: Backend, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(client: SimulatedClient) -> None:
        await client.api(Book).create(book("a"))

        async def return_seven(subject: Any, ctx: Context[Any]) -> Any:
            return 7

        wrong: Any = RecordingReconcile(return_seven)
        async with running_operator(Controller(client, Book).run(wrong)):
            pass

    run_on(backend, body)
    assert "the reconcile returned 7: return requeue(after=...), await_change() or None" in caplog.text
    assert len(caplog.records) == 1  # it is not retried


def test_invalid_options_raise_immediately(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        with pytest.raises(ValueError, match="concurrency is 0"):
            Controller(client, Book, concurrency=0)
        with pytest.raises(ValueError, match="pass at least one namespace"):
            Controller(client, Book, namespace=[])

    run_on(backend, body)
