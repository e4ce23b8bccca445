"""Controllers and scripts as users write them: mypy and pyright strict infer kinds without annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Action, BlockingClient, Client, Context, Controller, await_change, conditions
from kubeproto_runtime.testing import simulated, simulated_blocking

if TYPE_CHECKING:
    from typing import assert_type

    from kubeproto.objects import Table, TableRow
    from kubeproto_runtime.blocking import BlockingApi
    from kubeproto_runtime.caches import Cache
    from kubeproto_runtime.client import BoundApi

__all__ = ["go"]


class State:
    """The state that the runs of a controller share."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.failed: list[str] = []


async def reconcile(subject: Book, ctx: Context[State]) -> Action:
    """Apply a label for each book, unless the cache of `owns` contains it."""
    labels = ctx.cache(ConfigMap)
    if label := labels.get(ctx.name):
        ctx.state.labels += (label.data or {}).values()
        if TYPE_CHECKING:
            assert_type(label, ConfigMap)
        raise ValueError(f"{subject.spec.title} has a label already")
    desired = ConfigMap(metadata=kp.ObjectMeta(name=ctx.name), data={"title": subject.spec.title})
    applied_label = await ctx.api(ConfigMap).apply(desired, field_manager="labels", force=True)
    if TYPE_CHECKING:
        assert_type(ctx.state, State)
        assert_type(ctx.api(ConfigMap), BoundApi[ConfigMap])
        assert_type(ctx.cache(Book), Cache[Book])
        assert_type(ctx.cache(Book, namespace=kp.ALL).get("a", "b"), Book | None)
        assert_type(applied_label, ConfigMap)
    return await_change()


def on_error(error: Exception, ctx: Context[State]) -> Action:
    """Record the failure. `on_error` reads the object from the context."""
    subject: Book | None = ctx.object
    ctx.state.failed.append(f"{subject and subject.spec.title}: {error}")
    return await_change()


async def script(client: Client, web: Deployment | None = None) -> list[str]:
    """Use kinds by name, verbs on objects, tables and metadata."""
    deployments = await client.resource("deploy")
    moby = await client.create(book())
    moby.spec.pages = 635
    moby = await client.replace(moby)
    applied = await client.apply(book("typee", title="Typee"), field_manager="me")
    table = await client.api(Book).as_table().list()
    names = [cell for row in table.rows for cell in row.cells[:1]]
    owners = [row.metadata.name for row in table.rows if row.metadata]
    parts = [row.object.metadata.name for row in table.rows if row.object]
    partial_objects: list[kp.Metadata] = list(await client.api(kp.Metadata, resource=Book.resource).list())
    if TYPE_CHECKING:
        assert_type(deployments, BoundApi[kp.Dynamic])
        assert_type(moby, Book)
        assert_type(applied, Book)
        assert_type(await client.of(moby), BoundApi[Book])
        assert_type(await client.delete(moby), Book | kp.Status)
        assert_type(await client.wait_for(moby, conditions.deleted()), Book | None)
        assert_type(table, Table)
        assert_type(table.rows, list[TableRow])
        assert_type(table.rows[0].cells, list[Any])
        assert_type(table.rows[0].object, kp.Dynamic | None)
        assert_type(table.rows[0].metadata, kp.ObjectMeta | None)
        assert_type(table.records(), list[dict[str, Any]])
        if web:
            assert_type(await client.wait_for(web, conditions.rolled_out()), Deployment)
    return [*names, *owners, *parts, *(obj.metadata.name for obj in partial_objects)]


def use_blocking_client(client: BlockingClient) -> list[str]:
    """Use kinds and a reflector without an event loop."""
    books = client.resource("books.example.com")
    moby = client.create(book())
    with client.api(Book).reflect() as reflector:
        if TYPE_CHECKING:
            assert_type(reflector.get("moby"), Book | None)
            assert_type(reflector.wait(lambda: reflector.get("moby")), Book)
    if TYPE_CHECKING:
        assert_type(books, BlockingApi[kp.Dynamic])
        assert_type(client.of(moby), BlockingApi[Book])
        assert_type(client.delete(moby), Book | kp.Status)
    return [str(obj["spec"]["title"]) for obj in books.list()]


def test_a_typed_controller_runs_as_checked(go: Go) -> None:
    state = State()

    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            controller = Controller(client, Book, state=state).owns(ConfigMap)
            client.start(controller.run(reconcile, on_error=on_error))
            await client.create(book())
            await client.until(lambda: cluster.get(ConfigMap, "moby"))
            await client.api(Book).merge_patch("moby", {"spec": {"pages": 1}})
            await client.until(lambda: state.failed)

    go(main)
    assert state.labels[0] == "Moby-Dick"
    assert state.failed[0] == "Moby-Dick: Moby-Dick has a label already"


def test_a_typed_script_runs_as_checked(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            assert await script(client) == ["moby", "typee"] * 4

    go(main)
    with simulated_blocking(library()) as client:
        assert use_blocking_client(client) == ["Moby-Dick"]
