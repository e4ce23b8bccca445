"""`follow`: the changes of a kind without end or gaps, in the task that iterates."""

from __future__ import annotations

from functools import partial
from typing import assert_type

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.watching import resync
from kubeproto_runtime import KindNotServed
from kubeproto_runtime.client import BoundApi
from kubeproto_runtime.testing import simulated
from kubeproto_runtime.watching import FollowEvent, FollowStream

__all__ = ["go"]


class Page(kp.Object[dict[str, object], None], group="example.com", version="v1", plural="pages"):
    """A kind that nobody has installed."""


async def take(events: FollowStream[Book], count: int) -> list[str]:
    return [describe(await anext(events)) for _ in range(count)]


def describe(event: FollowEvent[Book]) -> str:
    match event:
        case kp.Added(obj) | kp.Modified(obj) | kp.Deleted(obj):
            return f"{type(event).__name__} {obj.metadata.name} {obj.spec.title}"
        case kp.Bookmark():
            return "all"
        case kp.Malformed():
            return "Malformed"


def test_it_begins_with_the_existing_objects_and_never_ends(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        async with simulated(cluster) as client, client.api(Book).follow() as events:
            assert await take(events, 2) == ["Added a Moby-Dick", "all"]
            for hours in range(1, 4):
                cluster.later(3600 * hours, partial(cluster.put, book("a", title=f"after {hours} h")))
            cluster.later(4 * 3600, lambda: cluster.remove(Book, "a"))
            changes: list[str] = []
            while len(changes) < 4:
                changes += [event for event in await take(events, 1) if event != "all"]
            assert changes == [
                "Modified a after 1 h",
                "Modified a after 2 h",
                "Modified a after 3 h",
                "Deleted a after 3 h",
            ]
            assert events.version == str(cluster.version)
            assert events.sync_status.live
        assert cluster.watches == []

    go(main)


def test_after_a_gap_it_reports_deletions_and_no_change_twice(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("changes", "goes", "new one", "stays"):
            cluster.put(book(name.replace(" ", "-")))
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client, client.api(Book).follow() as events:
            await take(events, 5)
            faults.script += [sim.RefuseConnection(), sim.Expire("http-gone"), sim.Html()]
            cluster.end_watches()
            cluster.put(book("changes", title="x"))
            cluster.remove(Book, "goes")
            cluster.remove(Book, "new-one")
            cluster.put(book("new-one", title="y"))
            cluster.compact()
            changes = await take(events, 5)
            assert (sorted(changes[:-1]), changes[-1]) == (
                [
                    "Added new-one y",
                    "Deleted goes Moby-Dick",
                    "Deleted new-one Moby-Dick",
                    "Modified changes x",
                ],
                "all",
            )
            assert changes.index("Deleted new-one Moby-Dick") < changes.index("Added new-one y")

    go(main)


def test_the_server_applies_the_selectors(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        cluster.put(book("b"))
        async with (
            simulated(cluster) as client,
            client.api(Book).follow(field_selector="metadata.name=b") as events,
        ):
            assert await take(events, 2) == ["Added b Moby-Dick", "all"]

    go(main)


def test_it_works_without_a_context_and_can_be_closed(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        async with simulated(cluster) as client:
            events = client.api(Book).follow()
            async for event in events:
                assert describe(event) == "Added a Moby-Dick"
                await events.aclose()
            assert cluster.watches == []

    go(main)


def test_a_cancelled_iteration_continues_at_the_same_event(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        async with simulated(cluster) as client, client.api(Book).follow() as events:
            await take(events, 2)
            for _ in range(3):
                with anyio.move_on_after(10) as scope:
                    await anext(events)
                assert scope.cancelled_caught
                assert cluster.watches == []
            cluster.put(book("b"))
            assert await take(events, 1) == ["Added b Moby-Dick"]

    go(main)


def test_scopes_of_the_user_may_open_and_close_between_events(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, client.api(Book).follow() as events:
            with anyio.move_on_after(1000):
                await take(events, 1)
            cluster.put(book("a"))
            with anyio.move_on_after(1000) as scope:
                assert await take(events, 1) == ["Added a Moby-Dick"]
            async with anyio.create_task_group():
                cluster.put(book("b"))
                assert await take(events, 1) == ["Added b Moby-Dick"]
            assert not scope.cancelled_caught

    go(main)


def test_a_missing_definition_ends_it_without_wait_for_definition(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            pages = client.api(Page)
            async with pages.follow() as events:
                with pytest.raises(KindNotServed, match="the definition of Page"):
                    await anext(events)
                with pytest.raises(StopAsyncIteration):
                    await anext(events)
            cluster.later(30, lambda: cluster.define(Page))
            async with pages.follow(wait_for_definition=True) as patient:
                assert await anext(patient) == kp.Bookmark(str(cluster.version), initial_events_end=True)

    go(main)


def test_a_slow_consumer_receives_the_last_state_of_each_object(go: Go) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Book], window=5)
        settings = resync.Settings(streaming=False)
        async with simulated(cluster) as client, client.api(Book).follow(settings=settings) as events:
            await take(events, 1)
            for number in range(50):
                cluster.put(book(f"b{number % 7}", title=str(number)))
                cluster.later(60, lambda: None)
                await anyio.sleep(60)
            latest: dict[str, str] = {}
            while len(latest) < 7 or sorted(latest.values())[-1] != "49":
                event = await anext(events)
                if isinstance(event, kp.Added | kp.Modified):
                    latest[event.object.metadata.name] = event.object.spec.title
            assert sorted(latest.values()) == [str(number) for number in range(43, 50)]

    go(main)


def test_types_are_known_to_the_checkers() -> None:
    async def never(books: BoundApi[Book]) -> None:
        async for event in books.follow():
            assert_type(
                event, kp.Added[Book] | kp.Modified[Book] | kp.Deleted[Book] | kp.Bookmark | kp.Malformed
            )

    assert never.__name__ == "never"


def test_short_waits_for_the_next_event_do_not_delay_a_retry(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        faults = sim.Faults(cluster, script=[sim.RefuseConnection()] * 1000)
        async with simulated(cluster, faults=faults) as client, client.api(Book).follow() as events:
            received: list[str] = []
            while not received:
                if anyio.current_time() >= 40:
                    faults.calm()
                assert anyio.current_time() < 120
                with anyio.move_on_after(0.5):
                    received += await take(events, 1)

    go(main)
