"""Indexes and views: their objects, and the changes that the listeners of a view get."""

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


def authors(obj: Book) -> list[str]:
    return obj.spec.authors


def titles(obj: Book) -> list[str]:
    return [obj.spec.title]


def book_in(namespace: str, name: str, **spec: object) -> Book:
    obj = book(name, **spec)
    obj.metadata.namespace = namespace
    return obj


def labelled(name: str, **labels: str) -> Book:
    obj = book(name)
    obj.metadata.labels = labels
    return obj


def names(books: list[Book]) -> list[str]:
    return sorted(obj.metadata.name for obj in books)


def changes_of(batches: list[list[Change[Book]]]) -> list[tuple[str, str]]:
    return [(change.type, change.key.removeprefix("default/")) for batch in batches for change in batch]


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


def test_s_05_an_index_may_use_any_function_and_be_added_late(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        annotated = book("a")
        annotated.metadata.annotations = {"shelf": "3"}
        cluster.put(annotated)
        cluster.put(book("b"))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            await books.wait_synced()

            def shelf(obj: Book) -> list[str]:
                return [text for key, text in obj.metadata.annotations.items() if key == "shelf"]

            books.add_index("shelf", shelf)
            books.add_index("shelf", shelf)
            assert (names(books.by_index("shelf", "3")), books.index_values("shelf")) == (["a"], ["3"])
            with pytest.raises(kp.LocalProtocolError, match="already has an index 'shelf'"):
                books.add_index("shelf", authors)
            with pytest.raises(KeyError, match="no index 'nope'; there are: 'shelf'"):
                books.by_index("nope", "3")

    go(main)


def test_an_object_for_which_an_index_fails_is_omitted_logged_once_and_cached(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster = library()
        for name in ("a", "b", "c"):
            cluster.put(book(name, authors=[] if name != "c" else ["x"]))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            books.add_index("first", lambda obj: [obj.spec.authors[0]])
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
    [message] = caplog.messages
    assert message == "index 'first': the function failed for default/a, which is omitted"


def test_indexes_are_updated_before_listeners_are_called(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client, Caches(client) as caches:
            books: Cache[Book] = caches.cache(Book)
            books.add_index("author", authors)
            indexed: list[list[str]] = []
            books.listen(lambda changes: indexed.append(names(books.by_index("author", "x"))))
            await books.wait_synced()
            cluster.put(book("a", authors=["x"]))
            await anyio.sleep(1)
            assert indexed == [["a"]]

    go(main)


def test_ca_03_views_select_by_namespace_labels_and_several_indexes(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.namespace("other")
        cluster.put(book_in("default", "a", authors=["x"], title="t"))
        cluster.put(book_in("default", "b", authors=["x"], title="u"))
        cluster.put(book_in("other", "c", authors=["x"], title="t"))
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
            obj = other.get("c")
            assert obj is not None
            assert obj.metadata.namespace == "other"
            assert other.get("a", "default") is None
            sea = books.view(selector="genre in (sea, shore)")
            assert (names(list(sea)), len(books.view(selector="!genre"))) == (["d"], 3)
            assert sea.synced
            assert not sea.closed

    go(main)


def test_a_view_reports_objects_that_begin_to_match_as_added_and_others_as_deleted(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(labelled("unchanged", genre="sea"))
        cluster.put(labelled("leaving", genre="sea"))
        cluster.put(labelled("joining", genre="land"))
        cluster.put(labelled("other", genre="land"))
        async with simulated(cluster) as client, Caches(client) as caches:
            view = caches.cache(Book).view(selector="genre=sea")
            batches: list[list[Change[Book]]] = []
            remove = view.listen(batches.append)
            await anyio.sleep(1)
            assert sorted(changes_of(batches)) == [("ADDED", "leaving"), ("ADDED", "unchanged")]
            batches.clear()
            cluster.put(labelled("unchanged", genre="sea", more="yes"))
            cluster.put(labelled("leaving", genre="land"))
            cluster.put(labelled("joining", genre="sea"))
            cluster.put(labelled("other", genre="air"))
            cluster.remove(Book, "other")
            cluster.remove(Book, "unchanged")
            await anyio.sleep(1)
            assert changes_of(batches) == [
                ("MODIFIED", "unchanged"),
                ("DELETED", "leaving"),
                ("ADDED", "joining"),
                ("DELETED", "unchanged"),
            ]
            changes = {(change.type, change.key): change for batch in batches for change in batch}
            leaving, joining = changes["DELETED", "default/leaving"], changes["ADDED", "default/joining"]
            assert (leaving.assumed, leaving.object.metadata.labels["genre"]) == (False, "land")
            assert (joining.old_object, joining.object.metadata.labels["genre"]) == (None, "sea")
            remove()
            cluster.remove(Book, "joining")
            await anyio.sleep(1)
            assert len(changes_of(batches)) == 4

    go(main)


def test_a_view_by_an_index_reports_objects_that_gain_and_lose_the_value(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book("a", authors=["x"]))
        async with simulated(cluster) as client, Caches(client) as caches:
            books = caches.cache(Book)
            books.add_index("author", authors)
            batches: list[list[Change[Book]]] = []
            books.view(author="x").listen(batches.append)
            await books.wait_synced()
            cluster.put(book("a", authors=["y"]))
            cluster.put(book("a", authors=["y", "x"]))
            await anyio.sleep(1)
            assert changes_of(batches) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]

    go(main)
