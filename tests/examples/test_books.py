"""The three forms of the Book informer, each in the same scenario."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import blocking
import on_asyncio
import on_trio
import pytest
from book import Book, BookSpec

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_runtime import BlockingClient, Client
from kubeproto_runtime.testing import Backend, run, simulated

STORY = [
    "added: Moby-Dick",
    "these were all there are; waiting for changes",
    "added: Typee",
    "modified: Typee, by Herman Melville",
    "modified: Omoo, by Herman Melville and somebody else",
    "error: Book default/typee: Expected `str`, got `int` - at `$.spec.title`",
    "deleted: Moby-Dick",
]


class ScenarioFinished(Exception):
    """The end of the scenario."""


class Listener:
    """Collects lines, and ends after the last expected line."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)
        if line.startswith("deleted"):
            raise ScenarioFinished


def make_book(name: str, title: str, *authors: str) -> Book:
    spec = BookSpec(title=title, authors=list(authors))
    return Book(metadata=kp.ObjectMeta(name=name, namespace="default"), spec=spec)


def library() -> tuple[sim.Cluster, sim.Faults]:
    """Return a cluster with scheduled changes, a lost connection and a missed deletion."""
    cluster = sim.Cluster(crds=[Book])
    faults = sim.Faults(cluster)
    cluster.put(make_book("moby", "Moby-Dick"))

    def disconnect() -> None:
        faults.script.append(sim.Cut(after=300))
        cluster.end_watches()

    def forget() -> None:
        cluster.end_watches()
        cluster.remove(Book, "moby")
        cluster.compact()

    later = cluster.later
    later(10, lambda: cluster.put(make_book("typee", "Typee")))
    later(20, lambda: cluster.put(make_book("typee", "Typee", "Herman Melville")))
    later(30, disconnect)
    later(40, lambda: cluster.put(make_book("typee", "Omoo", "Herman Melville", "somebody else")))
    later(70, lambda: cluster.edit(Book, "typee", lambda obj: obj["spec"].update(title=7)))
    later(100, forget)
    return cluster, faults


@pytest.mark.parametrize(
    ("report", "backend"), [(on_trio.report, "trio"), (on_asyncio.report, "asyncio")], ids=["trio", "asyncio"]
)
def test_books_on_an_event_loop(
    report: Callable[[Client, Callable[[str], object]], Awaitable[None]], backend: Backend
) -> None:
    cluster, faults = library()
    heard = Listener()

    async def main() -> None:
        async with simulated(cluster, faults=faults) as client:
            with pytest.raises(ScenarioFinished):
                await report(client, heard)

    run(main, backend=backend)
    assert heard.lines == STORY
    assert "Cut" in faults.transcript


def test_books_without_an_event_loop() -> None:
    cluster, faults = library()
    heard = Listener()
    client = BlockingClient(
        faults.blocking_transport(),
        clock=lambda: cluster.now,
        sleep=cluster.advance,
        rng=random.Random(1),
    )
    with pytest.raises(ScenarioFinished):
        blocking.report(client, heard)
    assert heard.lines == STORY
    assert "Cut" in faults.transcript
