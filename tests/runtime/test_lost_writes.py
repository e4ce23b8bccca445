"""What a restored backup has taken back is done again, although no cache has ever shown that it was done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from msgspec.structs import replace

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import owner_reference
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Action, Context, Controller, finalizer
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated

FINALIZER = "example.com/shelf"


class Count(kp.Fields):
    seen: int = 0


class Book(kp.Object[Count, Count], group="example.com", version="v1"):
    """A book whose status repeats its spec."""


class Restorable:
    """A cluster with one book, its backup, and what stands between it and the operator."""

    def __init__(self, *finalizers: str) -> None:
        self.cluster = sim.Cluster(crds=[Book])
        metadata = kp.ObjectMeta(name="moby", finalizers=list(finalizers))
        self.cluster.put(Book(metadata=metadata, spec=Count(seen=1)))
        self.faults = sim.Faults(self.cluster)
        self.backups: list[sim.Snapshot] = []

    def back_up(self) -> None:
        """Make a backup; no cache sees what is written after it."""
        self.backups.append(self.cluster.snapshot())
        self.cluster.lag = 100

    def restore(self) -> None:
        """Go back to the one backup, in the way that etcd documents for Kubernetes."""
        [backup] = self.backups
        raised = replace(backup, version=self.cluster.version + 1000, seed=self.cluster.seed)
        self.cluster.restore(raised)
        self.cluster.lag = 0
        self.cluster.end_watches()


def with_client(
    rig: Restorable, backend: Backend, body: Callable[[SimulatedClient], Awaitable[None]]
) -> None:
    async def main() -> None:
        async with simulated(rig.cluster, faults=rig.faults) as client:
            await body(client)

    run(main, backend=backend)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


def test_a_key_whose_write_was_taken_back_unseen_is_reconciled_again(backend: Backend) -> None:
    rig = Restorable()

    async def body(client: SimulatedClient) -> None:
        async def reconcile(book: Book, ctx: Context[None]) -> None:
            if book.status is not None and book.status.seen == book.spec.seen:
                return
            rig.back_up()
            await client.api(Book).patch_status(book, {"seen": book.spec.seen})

        client.start(Controller(client, Book).run(reconcile))
        await anyio.sleep(30)
        rig.restore()
        restored = rig.cluster.get(Book, "moby")
        assert restored is not None
        assert "status" not in restored
        await anyio.sleep(60)
        found = rig.cluster.get(Book, "moby")
        assert found is not None
        assert found["status"] == {"seen": 1}

    with_client(rig, backend, body)


@pytest.mark.parametrize("meanwhile", ["nothing", "deleted", "made anew"])
def test_a_finalizer_that_came_back_with_its_object_is_removed_again(
    backend: Backend, meanwhile: str
) -> None:
    rig = Restorable(FINALIZER)

    async def body(client: SimulatedClient) -> None:
        async def keep(book: Book, ctx: Context[None]) -> Action:
            raise AssertionError("it is being deleted")

        async def clean_up(book: Book, ctx: Context[None]) -> None:
            if rig.backups:
                return
            rig.back_up()
            if meanwhile != "nothing":  # the patch meets a 404
                rig.cluster.remove(Book, "moby")
            if meanwhile == "made anew":  # or a conflict, and then there is nothing to clean up
                rig.cluster.put(Book(metadata=kp.ObjectMeta(name="moby"), spec=Count()))

        await client.api(Book).delete("moby")
        client.start(Controller(client, Book).run(finalizer(FINALIZER, apply=keep, cleanup=clean_up)))
        await anyio.sleep(30)
        assert (rig.cluster.get(Book, "moby") is not None) == (meanwhile == "made anew")
        rig.restore()
        assert rig.cluster.get(Book, "moby") is not None
        await anyio.sleep(60)
        assert rig.cluster.get(Book, "moby") is None

    with_client(rig, backend, body)


def test_a_deletion_that_was_taken_back_unseen_is_made_again(backend: Backend) -> None:
    rig = Restorable()

    async def body(client: SimulatedClient) -> None:
        async def reconcile(book: Book, ctx: Context[None]) -> None:
            if not rig.backups:
                rig.back_up()
            await ctx.api(Book).delete(ctx.name)

        client.start(Controller(client, Book).run(reconcile))
        await anyio.sleep(30)
        rig.restore()
        assert rig.cluster.get(Book, "moby") is not None
        await anyio.sleep(60)
        assert rig.cluster.get(Book, "moby") is None

    with_client(rig, backend, body)


@pytest.mark.parametrize("what", ["status", "child", "deletion"])
def test_a_write_whose_response_comes_after_the_list_of_a_restored_server_is_made_again(
    backend: Backend, what: str
) -> None:
    rig = Restorable()

    def done() -> bool:
        book, child = rig.cluster.get(Book, "moby"), rig.cluster.get(ConfigMap, "moby")
        if what == "deletion":
            return book is None
        return child is not None if what == "child" else book is not None and "status" in book

    async def body(client: SimulatedClient) -> None:
        async def reconcile(book: Book, ctx: Context[None]) -> None:
            if not rig.backups:
                rig.back_up()
                rig.faults.script.append(sim.Delay(20.0))
            if what == "status":
                if book.status is None:
                    await ctx.api(Book).patch_status(book, {"seen": book.spec.seen})
            elif what == "child":
                if ctx.cache(ConfigMap).get("moby") is None:
                    meta = kp.ObjectMeta(name="moby", owner_references=[owner_reference(book)])
                    await ctx.api(ConfigMap).create(ConfigMap(metadata=meta))
            else:
                await ctx.api(Book).delete(ctx.name)

        client.start(Controller(client, Book).owns(ConfigMap).run(reconcile))
        await client.until(done)
        rig.restore()
        assert not done()
        await anyio.sleep(90)
        assert done()

    with_client(rig, backend, body)
