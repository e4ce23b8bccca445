"""A day in the life of a controller: people change things, and whatever can go wrong does.

The controller keeps a ConfigMap for each Book. One request in twenty meets a fault, watches end, history is
forgotten, and somebody deletes what is not theirs. Twenty-four hours take some seconds.
"""

from __future__ import annotations

import logging
import random
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import owner_reference
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Action, Context, Controller, await_change
from kubeproto_runtime.testing import Backend, run, simulated

THOROUGH = pytest.mark.thorough("another day of the same kind")
DAY = 24 * 3600.0
CHANGES = 400
WATCHES = 2


class BookSpec(kp.Fields):
    title: str


class Book(kp.Object[BookSpec, None], group="example.io", version="v1", plural="books"):
    """What people write."""


class Shelf:
    """The controller, and what it has been doing."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.overlaps: list[str] = []

    async def reconcile(self, book: Book, ctx: Context[None]) -> Action:
        if ctx.key in self.running:
            self.overlaps.append(ctx.key)
        self.running.add(ctx.key)
        try:
            return await self.keep(book, ctx)
        finally:
            self.running.discard(ctx.key)

    async def keep(self, book: Book, ctx: Context[None]) -> Action:
        wanted = {"title": book.spec.title}
        child = ctx.cache(ConfigMap).get(ctx.name, ctx.namespace)
        if child is None or child.data != wanted:
            metadata = kp.ObjectMeta(name=ctx.name, owner_references=[owner_reference(book)])
            api = ctx.client.api(ConfigMap, namespace=ctx.namespace)
            await api.apply(ConfigMap(metadata=metadata, data=wanted), field_manager="shelf", force=True)
        return await_change()


def disturb(cluster: sim.Cluster, rng: random.Random) -> None:
    """Something that people, or servers, do to others."""
    books = [one["metadata"]["name"] for one in cluster.objects(Book)]
    children = [
        one["metadata"]["name"] for one in cluster.objects(ConfigMap) if one["metadata"]["name"] in books
    ]
    match rng.randrange(10):
        case 0 | 1 | 2:
            cluster.put(book(f"b{cluster.version}", "new"))
        case 3 | 4 | 5 | 6 if books:
            cluster.put(book(rng.choice(books), f"title {rng.random()}"))
        case 7 if books:
            cluster.remove(Book, rng.choice(books))
        case 8 if children:
            cluster.remove(ConfigMap, rng.choice(children))
        case 9 if children:
            cluster.edit(ConfigMap, rng.choice(children), lambda obj: obj["data"].update(title="not mine"))
        case _:
            cluster.put(book("first", f"title {rng.random()}"))


def book(name: str, title: str) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name, namespace="default"), spec=BookSpec(title=title))


def titles(cluster: sim.Cluster) -> dict[str, Any]:
    return {one["metadata"]["name"]: one["spec"]["title"] for one in cluster.objects(Book)}


def shelved(cluster: sim.Cluster) -> dict[str, Any]:
    return {one["metadata"]["name"]: one["data"]["title"] for one in cluster.objects(ConfigMap)}


@pytest.mark.parametrize("backend", ["asyncio", pytest.param("trio", marks=THOROUGH)])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=THOROUGH), pytest.param(3, marks=THOROUGH)])
def test_a_day_of_trouble_ends_well(seed: int, backend: Backend, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "kubeproto")
    cluster = sim.Cluster(crds=[Book], seed=seed)
    faults = sim.Faults(cluster, seed=seed, share=0.05)
    rng = random.Random(seed)
    shelf = Shelf()
    for _ in range(CHANGES):
        cluster.later(rng.uniform(0, DAY), lambda: disturb(cluster, rng))
    for _ in range(24):
        cluster.later(rng.uniform(0, DAY), cluster.end_watches)
        cluster.later(rng.uniform(0, DAY), cluster.compact)
    cluster.later(DAY, faults.calm)

    async def day() -> None:
        async with simulated(cluster, faults=faults, seed=seed) as client:
            # A program that still sees a Book whose uid has changed makes a child that is collected at once,
            # and would make the next one at once.
            client.start(Controller(client, Book, debounce=1.0).owns(ConfigMap).run(shelf.reconcile))
            await anyio.sleep(DAY)
            # What is broken without a sign is noticed after a minute of silence, and then backed off from.
            await client.until(lambda: titles(cluster) == shelved(cluster), within=600, every=1)

    run(day, backend=backend)
    assert titles(cluster)
    assert not shelf.overlaps
    met = sum(" !! " in line for line in faults.lines)
    assert met > 20
    assert len(faults.lines) <= 3 * (met + CHANGES) + 10 * WATCHES, faults.transcript
