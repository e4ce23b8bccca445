"""Indexes and views: what is found where, and what a change is to those who see only a part."""

from __future__ import annotations

import logging

import anyio
import pytest
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
from kubeproto.control import Change
from kubeproto_runtime import Caches
from kubeproto_runtime.caches import Cache
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def authors(one: Book) -> list[str]:
    return one.spec.authors


def titles(one: Book) -> list[str]:
    return [one.spec.title]


def in_(namespace: str, name: str, **spec: object) -> Book:
    one = book(name, **spec)
    one.metadata.namespace = namespace
    return one


def labelled(name: str, **labels: str) -> Book:
    one = book(name)
    one.metadata.labels = labels
    return one


def names(found: list[Book]) -> list[str]:
    return sorted(one.metadata.name for one in found)


def told(batches: list[list[Change[Book]]]) -> list[tuple[str, str]]:
    return [(one.type, one.key.removeprefix("default/")) for batch in batches for one in batch]


def test_s_01_s_02_s_03_an_index_follows_the_changes(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a", authors=["x", "y", "x"]))
        cluster.put(book("b", authors=["y"]))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            books.add_index("author", authors)
            await books.wait_synced()
            assert (names(books.by_index("author", "x")), names(books.by_index("author", "y"))) == (
                ["a"],
                ["a", "b"],
            )
            cluster.put(book("a", authors=["z"]))
            await anyio.sleep(1)
            assert books.by_index("author", "x") == []
            assert (names(books.by_index("author", "y")), names(books.by_index("author", "z"))) == (
                ["b"],
                ["a"],
            )
            assert sorted(books.index_values("author")) == ["y", "z"]
            cluster.remove(Book, "b")
            await anyio.sleep(1)
            assert (books.by_index("author", "y"), books.index_values("author")) == ([], ["z"])

    go(main)


def test_s_05_an_index_may_be_by_anything_and_be_added_late(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        one = book("a")
        one.metadata.annotations = {"shelf": "3"}
        cluster.put(one)
        cluster.put(book("b"))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()

            def shelf(each: Book) -> list[str]:
                return [text for key, text in each.metadata.annotations.items() if key == "shelf"]

            books.add_index("shelf", shelf)
            books.add_index("shelf", shelf)
            assert (names(books.by_index("shelf", "3")), books.index_values("shelf")) == (["a"], ["3"])
            with pytest.raises(kp.LocalProtocolError, match="already has an index 'shelf'"):
                books.add_index("shelf", authors)
            with pytest.raises(KeyError, match="no index 'nope'; there are: 'shelf'"):
                books.by_index("nope", "3")

    go(main)


def test_what_an_index_fails_for_is_left_out_said_once_and_cached(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("a", "b", "c"):
            cluster.put(book(name, authors=[] if name != "c" else ["x"]))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            books.add_index("first", lambda one: [one.spec.authors[0]])
            await books.wait_synced()
            assert (len(books), names(books.by_index("first", "x"))) == (3, ["c"])
            assert books.failed_in("first") == dict.fromkeys(
                ("default/a", "default/b"), "IndexError: list index out of range"
            )
            cluster.put(book("a", authors=["x"]))
            cluster.remove(Book, "b")
            await anyio.sleep(1)
            assert (names(books.by_index("first", "x")), books.failed_in("first")) == (["a", "c"], {})

    with caplog.at_level(logging.WARNING, "kubeproto.cache"):
        go(main)
    [said] = caplog.messages
    assert said == "index 'first': the function failed for default/a, which is omitted"


def test_listeners_find_the_indexes_up_to_date(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books: Cache[Book] = caches.cache(Book)
            books.add_index("author", authors)
            found: list[list[str]] = []
            books.listen(lambda changes: found.append(names(books.by_index("author", "x"))))
            await books.wait_synced()
            cluster.put(book("a", authors=["x"]))
            await anyio.sleep(1)
            assert found == [["a"]]

    go(main)


def test_ca_03_views_are_by_namespace_labels_and_several_indexes_at_once(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.namespace("other")
        cluster.put(in_("default", "a", authors=["x"], title="t"))
        cluster.put(in_("default", "b", authors=["x"], title="u"))
        cluster.put(in_("other", "c", authors=["x"], title="t"))
        cluster.put(labelled("d", genre="sea"))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            books.add_index("author", authors)
            books.add_index("title", titles)
            await books.wait_synced()
            assert names(list(books.view(author="x"))) == ["a", "b", "c"]
            assert names(list(books.view(author="x", title="t"))) == ["a", "c"]
            assert names(list(books.view(namespace="default", author="x", title="t"))) == ["a"]
            other = books.view(namespace="other")
            assert (names(list(other)), other.keys(), len(other)) == (["c"], ["other/c"], 1)
            assert ("other/c" in other, "default/a" in other) == (True, False)
            found = other.get("c")
            assert found is not None
            assert found.metadata.namespace == "other"
            assert other.get("a", "default") is None
            sea = books.view(selector="genre in (sea, shore)")
            assert (names(list(sea)), len(books.view(selector="!genre"))) == (["d"], 3)
            assert sea.synced
            assert not sea.closed

    go(main)


def test_a_view_tells_what_comes_to_match_as_added_and_what_no_longer_does_as_deleted(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(labelled("stays", genre="sea"))
        cluster.put(labelled("leaves", genre="sea"))
        cluster.put(labelled("joins", genre="land"))
        cluster.put(labelled("strange", genre="land"))
        async with simulated(cluster) as client, Caches(client) as caches:
            view = caches.cache(Book).view(selector="genre=sea")
            got: list[list[Change[Book]]] = []
            end = view.listen(got.append)
            await anyio.sleep(1)
            assert sorted(told(got)) == [("ADDED", "leaves"), ("ADDED", "stays")]
            got.clear()
            cluster.put(labelled("stays", genre="sea", more="yes"))
            cluster.put(labelled("leaves", genre="land"))
            cluster.put(labelled("joins", genre="sea"))
            cluster.put(labelled("strange", genre="air"))
            cluster.remove(Book, "strange")
            cluster.remove(Book, "stays")
            await anyio.sleep(1)
            assert told(got) == [
                ("MODIFIED", "stays"),
                ("DELETED", "leaves"),
                ("ADDED", "joins"),
                ("DELETED", "stays"),
            ]
            changes = {(change.type, change.key): change for batch in got for change in batch}
            leaving, joining = changes["DELETED", "default/leaves"], changes["ADDED", "default/joins"]
            assert (leaving.assumed, leaving.object.metadata.labels["genre"]) == (False, "land")
            assert (joining.old_object, joining.object.metadata.labels["genre"]) == (None, "sea")
            end()
            cluster.remove(Book, "joins")
            await anyio.sleep(1)
            assert len(told(got)) == 4

    go(main)


def test_a_view_by_an_index_tells_what_gets_and_loses_the_value(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a", authors=["x"]))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            books.add_index("author", authors)
            got: list[list[Change[Book]]] = []
            books.view(author="x").listen(got.append)
            await books.wait_synced()
            cluster.put(book("a", authors=["y"]))
            cluster.put(book("a", authors=["y", "x"]))
            await anyio.sleep(1)
            assert told(got) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]

    go(main)
