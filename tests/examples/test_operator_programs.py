"""The operator programs of docs/programs.md run unchanged, against a simulated cluster."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable

import anyio
import operator_archive
import operator_labels
import pytest
from book import Book, BookSpec
from suite_with_webhook import test_a_book_gets_its_label_back, test_a_book_has_a_title

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto.kinds.events_v1 import Event
from kubeproto_runtime import Client, recording
from kubeproto_runtime.operator import LeaderElector, Operator
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, explore, run, simulated

__all__ = ["test_a_book_gets_its_label_back", "test_a_book_has_a_title"]  # the suite is one of the programs


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    chosen: Backend = request.param
    return chosen


def make_book(name: str = "moby") -> Book:
    meta = kp.ObjectMeta(name=name, namespace="prod")
    return Book(metadata=meta, spec=BookSpec(title="Moby", authors=["Melville"]))


def test_each_book_has_a_label_in_its_namespace_and_gets_it_back(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        cluster.put(make_book())
        async with simulated(cluster) as client:
            client.start(operator_labels.labels(client))
            label = await client.until(lambda: cluster.get(ConfigMap, "moby", "prod"))
            assert label["data"] == {"label": "Moby, by Melville"}
            await client.api(ConfigMap, namespace="prod").delete("moby")
            await client.until(lambda: cluster.get(ConfigMap, "moby", "prod"))

    run(main, backend=backend)


def test_a_book_is_archived_before_its_deletion(backend: Backend) -> None:
    async def body(client: SimulatedClient) -> None:
        async with recording(client, controller="archive", instance="archive-0") as events:
            state = operator_archive.Archive(events)
            client.start(operator_archive.archiving(client, state))
            books = client.api(Book, namespace="prod")
            cluster = client.cluster
            await client.until(lambda: cluster.objects(Book)[0]["metadata"].get("finalizers"))
            await books.delete("moby")
            await client.until(lambda: cluster.get(Book, "moby", "prod") is None)
            assert state.titles == ["Moby"]
            [event] = await client.until(lambda: cluster.objects(Event))
            assert (event["reason"], event["regarding"]["name"]) == ("Archived", "moby")

    async def main() -> None:
        cluster = sim.Cluster(crds=[Book])
        cluster.put(make_book())
        async with simulated(cluster) as client:
            await body(client)

    run(main, backend=backend)


REPLICAS = itertools.count()


async def label_as_leader(client: Client) -> None:
    election = LeaderElector(client, name="labels", identity=f"replica-{next(REPLICAS)}")
    await Operator(election=election).run(operator_labels.labels(client))


async def archive(client: Client) -> None:
    async with recording(client, controller="archive", instance="archive-0") as events:
        await operator_archive.archiving(client, operator_archive.Archive(events))


@pytest.mark.thorough("a run for each fault at each write")
@pytest.mark.parametrize("operator", [label_as_leader, archive])
def test_an_operator_program_reaches_the_same_state_after_each_fault_at_a_write(
    operator: Callable[[Client], Awaitable[None]],
) -> None:
    async def scenario(user: SimulatedClient) -> None:
        books = user.api(Book, namespace="prod")
        await anyio.sleep(5)
        await books.create(make_book("typee"))
        await books.merge_patch("moby", {"spec": {"authors": ["Herman Melville"]}})
        await anyio.sleep(30)
        await books.delete("typee")
        await anyio.sleep(30)

    cluster = sim.Cluster(crds=[Book])
    cluster.put(make_book())
    exploration = explore(operator, scenario, cluster=cluster)
    exploration.check()
    assert {write.author for write in exploration.writes if write.changed} == {"user", "operator"}
