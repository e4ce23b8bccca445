"""A whole controller against a simulated cluster, with and without faults."""

from __future__ import annotations

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import owner_reference
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Action, Context, Controller, Operator, requeue
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated


class BookSpec(kp.Fields):
    title: str
    authors: list[str] = []


class Book(kp.Object[BookSpec, None], group="example.technosophos.com", version="v1", plural="books"):
    """A book on a shelf."""


async def reconcile(book: Book, ctx: Context[None]) -> Action:
    """Keep a card of each book in the catalogue."""
    card = ConfigMap(
        metadata=kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(book)]),
        data={"title": book.spec.title, "authors": ", ".join(book.spec.authors)},
    )
    await ctx.client.api(ConfigMap, namespace=ctx.namespace).apply(card, field_manager="library")
    ctx.logger.info("catalogued, because of %s", ctx.reason)
    return requeue(after=600)


async def card(client: SimulatedClient, title: str) -> None:
    """Wait until the catalogue says this; a connection that only seems to be there costs a minute or two."""

    def catalogued() -> bool:
        return title in [obj["data"]["title"] for obj in client.cluster.objects(ConfigMap)]

    await client.until(catalogued, within=900)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_catalogue_holds_a_card_of_each_book_whatever_happens(backend: Backend, share: float) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        faults = sim.Faults(cluster, seed=7, share=share)
        async with simulated(cluster) as calm, simulated(cluster, faults=faults) as client:
            operator = Operator()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run, Controller(client, Book).owns(ConfigMap).run(reconcile))
                books = calm.api(Book)
                moby = BookSpec(title="Moby Dick", authors=["Herman Melville"])
                await books.create(Book(metadata=kp.ObjectMeta(name="moby"), spec=moby))
                await card(calm, "Moby Dick")
                cluster.edit(Book, "moby", lambda obj: obj["spec"].update(title="The Whale"))
                await card(calm, "The Whale")
                await calm.api(ConfigMap).delete("moby")
                await card(calm, "The Whale")
                await books.delete("moby")
                await calm.until(lambda: not cluster.objects(ConfigMap), within=900)
                operator.stop()

    run(main, backend=backend)
