"""The resync machine advances only with what its sink has taken: what a sink could not take comes again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from sync_rig import Book as SyncBook, book as sync_book, client_of
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Store
from kubeproto.watching import resync
from kubeproto_runtime.blocking import BlockingResyncDriver
from kubeproto_runtime.testing import simulated
from kubeproto_runtime.watching import ResyncDriver

__all__ = ["go"]

# One that a driver takes for the watch's own, and retries; and one that ends it.
ERRORS = (kp.TransportError("the disk of the sink is full"), ZeroDivisionError("a bug of the sink"))

# A watch that says nothing leads to a relist in the end, which would make up for a loss.
SOON = 60.0  # seconds, of virtual time


class Fragile:
    """A Store that cannot take something once: a part of a list, a snapshot, or an event."""

    def __init__(self, where: str, error: Exception, kind: type[Any]) -> None:
        self.store: Store[Any] = Store(kind)
        self.where = where
        self.error = error

    def fails(self, where: str) -> None:
        if where == self.where:
            self.where = ""
            raise self.error

    def stage(self, items: list[Any]) -> None:
        self.fails("stage")
        self.store.stage(items)

    def update(self, events: list[Any]) -> None:
        if events:
            self.fails("update")
        self.store.update(events)

    def replace(self, version: str) -> None:
        self.fails("replace")
        self.store.replace(version)

    def discard(self) -> None:
        self.store.discard()

    def report(self, failure: resync.SyncFailure) -> None:
        pass

    def abandon(self, outcome: Any) -> None:
        raise AssertionError(outcome)

    @property
    def synced(self) -> bool:
        return bool(self.store.version)

    @property
    def whole(self) -> bool:
        return {key.rpartition("/")[2] for key in self.store.entries()} == {"a", "b"}


wheres = pytest.mark.parametrize("where", ["stage", "update", "replace"])
streamings = pytest.mark.parametrize("streaming", [True, False])
errors = pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)


@wheres
@streamings
@errors
def test_what_a_sink_could_not_take_comes_again(
    go: Go, where: str, streaming: bool, error: Exception
) -> None:
    async def main() -> None:
        cluster, sink = library(), Fragile(where, error, Book)
        begun = cluster.now
        cluster.put(book("a"))
        async with simulated(cluster) as client:
            settings = resync.Settings(streaming=streaming)
            driver = ResyncDriver(client, kp.Api(Book), sink, settings=settings)
            for _ in range(100):
                driver.begin()
                try:
                    await driver.advance()
                except ZeroDivisionError:
                    await driver.pause()
                if sink.synced and cluster.get(Book, "b", "default") is None:
                    cluster.put(book("b"))
                if sink.whole:
                    break
            await driver.pause()
        assert (sink.whole, sink.where) == (True, "")
        assert cluster.now - begun < SOON

    go(main)


@wheres
@streamings
@errors
def test_what_a_sink_could_not_take_comes_again_in_a_thread(
    where: str, streaming: bool, error: Exception
) -> None:
    cluster, sink = sim.Cluster(crds=[SyncBook]), Fragile(where, error, SyncBook)
    begun = cluster.now
    cluster.put(sync_book("a"))
    settings = resync.Settings(streaming=streaming)
    driver = BlockingResyncDriver(client_of(cluster), kp.Api(SyncBook), sink, settings=settings)
    for _ in range(10):
        with suppress(ZeroDivisionError):
            for _ in driver.drive():
                if sink.synced and cluster.get(SyncBook, "b", "default") is None:
                    cluster.put(sync_book("b"))
                if sink.whole or cluster.now - begun > SOON:
                    break
        if sink.whole:
            break
    assert (sink.whole, sink.where) == (True, "")
    assert cluster.now - begun < SOON
