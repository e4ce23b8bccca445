"""Subscriptions: what is left of several changes, the world first, and nobody waits for anybody."""

from __future__ import annotations

from typing import Literal

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_time import Book, Go, book, go, library

from kubeproto import sim
from kubeproto.control import CachedObject, Change
from kubeproto_runtime import Caches
from kubeproto_runtime.caches._subscriptions import Subscription, merge
from kubeproto_runtime.testing import simulated

__all__ = ["go"]

Kind = Literal["ADDED", "MODIFIED", "DELETED"]

ONE, TWO, THREE, FOUR = (CachedObject(str(number), b"{}") for number in (1, 2, 3, 4))


def change(
    kind: Kind, old: CachedObject | None, new: CachedObject | None, *, initial: bool = False
) -> Change[Book]:
    return Change(Book, kind, "a", old, new, initial)


def told(changes: list[Change[Book]]) -> list[tuple[str, str]]:
    return [(one.type, one.key.removeprefix("default/")) for one in changes]


@pytest.mark.parametrize(
    ("first", "then", "merged"),
    [
        (change("ADDED", None, ONE), change("MODIFIED", ONE, TWO), change("ADDED", None, TWO)),
        (
            change("ADDED", None, ONE, initial=True),
            change("MODIFIED", ONE, TWO),
            change("ADDED", None, TWO, initial=True),
        ),
        (change("ADDED", None, ONE), change("DELETED", ONE, TWO), None),
        (change("ADDED", None, ONE), change("DELETED", ONE, None), None),
        (change("MODIFIED", ONE, TWO), change("MODIFIED", TWO, THREE), change("MODIFIED", ONE, THREE)),
        (change("MODIFIED", ONE, TWO), change("DELETED", TWO, THREE), change("DELETED", ONE, THREE)),
        (change("MODIFIED", ONE, TWO), change("DELETED", TWO, None), change("DELETED", ONE, None)),
        (change("DELETED", ONE, TWO), change("ADDED", None, THREE), change("MODIFIED", ONE, THREE)),
        (change("DELETED", ONE, None), change("ADDED", None, THREE), change("MODIFIED", ONE, THREE)),
    ],
)
def test_two_changes_of_a_key_are_one_from_what_was_told_to_what_is_there(
    first: Change[Book], then: Change[Book], merged: Change[Book] | None
) -> None:
    assert merge(None, first) == first
    assert merge(first, then) == merged


@given(st.lists(st.booleans(), max_size=12))
def test_what_is_left_of_any_course_brings_the_picture_up_to_date(there: list[bool]) -> None:
    told_before: CachedObject | None = ONE
    here: CachedObject | None = ONE
    left: Change[Book] | None = None
    for number, stays in enumerate(there, 2):
        new = CachedObject(str(number), b"{}")
        if stays:
            left = merge(left, change("MODIFIED" if here else "ADDED", here, new))
            here = new
        elif here is not None:
            left = merge(left, change("DELETED", here, new))
            here = None
    assert left is None or left.old is told_before
    if left is not None:
        assert (left.new if left.type != "DELETED" else None) is here
    elif there:
        assert here is told_before or here is None


def test_a_subscriber_gets_the_world_and_then_what_changes(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a"))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            async with books.subscribe() as news:
                assert told(await anext(news)) == [("ADDED", "a")]
                cluster.put(book("b"))
                cluster.remove(Book, "a")
                got: list[tuple[str, str]] = []
                while len(got) < 2:
                    got += told(await anext(news))
                assert got == [("ADDED", "b"), ("DELETED", "a")]
            async with books.subscribe() as late:
                [first] = await anext(late)
                assert (first.key, first.initial) == ("default/b", True)

    go(main)


def test_the_first_batch_is_the_world_also_if_there_is_nothing_in_it(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with (
            simulated(cluster) as client,
            Caches(client) as caches,
            caches.cache(Book).subscribe() as news,
        ):
            assert await anext(news) == []
            cluster.put(book("a"))
            assert told(await anext(news)) == [("ADDED", "a")]

    go(main)


def test_a_slow_subscriber_gets_one_change_a_key_and_holds_nobody_up(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("a", "b"):
            cluster.put(book(name))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            async with books.subscribe() as slow, books.subscribe() as quick:
                await anext(slow)
                await anext(quick)
                seen = 0
                for number in range(100):
                    cluster.put(book("a", title=f"t{number}"))
                    cluster.put(book("passing"))
                    cluster.remove(Book, "passing")
                    await anyio.sleep(0.1)
                    seen += len(await anext(quick))
                cluster.remove(Book, "b")
                cluster.put(book("b", title="another"))
                await anyio.sleep(1)
                assert seen >= 100
                [a, b] = await anext(slow)
                assert (a.type, a.object.spec.title) == ("MODIFIED", "t99")
                assert a.before is not None
                assert a.before.spec.title == "Moby-Dick"
                assert (b.type, b.replaced) == ("MODIFIED", True)

    go(main)


def test_a_subscription_ends_with_its_caches(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client, anyio.create_task_group() as tasks:
            ended: list[int] = []

            async def read(news: Subscription[Book]) -> None:
                async with news:
                    ended.append(len([batch async for batch in news]))

            async with Caches(client) as caches:
                tasks.start_soon(read, caches.cache(Book).subscribe())
                await anyio.sleep(1)
            await anyio.sleep(1)
            assert ended == [1]

    go(main)


def test_a_subscription_is_entered_once_and_before_it_is_read(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client, Caches(client) as caches:
            news = caches.cache(Book).subscribe()
            with pytest.raises(RuntimeError, match="begins when it is entered"):
                await anext(news)
            async with news:
                with pytest.raises(RuntimeError, match="entered already"):
                    await news.__aenter__()

    go(main)


def test_two_tasks_that_iterate_one_subscription_share_its_batches_and_both_end(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        taken: list[list[str]] = []
        with anyio.fail_after(60):
            await iterate(cluster, taken)
        assert taken == [[], ["default/a"], ["default/b"], ["default/c"]]

    async def iterate(cluster: sim.Cluster, taken: list[list[str]]) -> None:
        async with simulated(cluster) as client, anyio.create_task_group() as tasks:

            async def take(subscription: Subscription[Book]) -> None:
                async for changes in subscription:
                    taken.append([change.key for change in changes])

            async with Caches(client) as caches:
                cache = caches.cache(Book)
                subscription = cache.subscribe()
                await subscription.__aenter__()
                for _ in range(2):
                    tasks.start_soon(take, subscription)
                for name in "abc":
                    await anyio.sleep(1)
                    await client.api(Book).create(book(name))
                await anyio.sleep(1)

    go(main)
