"""Entries: what a commit sends, what becomes of it when others write too, and updates that go on trying."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from virtual_time import Book, BookStatus, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.wire import ConflictPolicy
from kubeproto_runtime.conditions import deleted
from kubeproto_runtime.testing import SimulatedClient, simulated
from kubeproto_runtime.writing import Entry

__all__ = ["go"]


def writes(cluster: sim.Cluster) -> list[tuple[str, Any]]:
    """What was written: the method and the body."""
    return [
        (one.request.method, json.loads(one.request.body or b"null"))
        for one in cluster.log
        if one.request.method != "GET"
    ]


def would_send(entry: Entry[Book]) -> bool:
    return entry.changed


def stored(cluster: sim.Cluster, name: str = "moby") -> dict[str, Any]:
    found = cluster.get(Book, name)
    assert found is not None
    spec: dict[str, Any] = found["spec"]
    return spec


def test_a_commit_sends_what_differs_for_the_version_that_was_read(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        made = cluster.put(book(pages=100))
        async with simulated(cluster) as client:
            entry = await client.api(Book).entry("moby")
            assert entry.exists
            assert entry.obj is not None
            assert not would_send(entry)
            entry.obj.spec.pages = 200
            entry.obj.metadata.labels["sea"] = "yes"
            assert would_send(entry)
            cluster.log.clear()
            written = await entry.commit(field_manager="m")
            assert (written.spec.pages, written.metadata.labels) == (200, {"sea": "yes"})
            assert not would_send(entry)
            meta = {"resourceVersion": made["metadata"]["resourceVersion"]}
            patch = {"spec": {"pages": 200}, "metadata": {"labels": {"sea": "yes"}} | meta}
            assert writes(cluster) == [("PATCH", patch)]

    go(main)


def test_a_commit_of_nothing_sends_nothing(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            entry = await client.api(Book).entry("moby")
            cluster.log.clear()
            assert (await entry.commit()).spec.title == "Moby-Dick"
            assert not would_send(entry.modify(lambda one: setattr(one.spec, "pages", None)))
            assert cluster.log == []

    go(main)


def test_fields_that_this_program_does_not_know_are_kept_by_a_commit_and_lost_by_a_replace(go: Go) -> None:
    """The spec is touched, and so read by a class that has no word for what else stands in it."""

    class Title(kp.Fields):
        title: str

    class Slim(kp.Object[Title, None], group="example.com", version="v1", kind="Book", plural="books"):
        """A book of which the title is all that matters."""

    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100, authors=["Melville"]))
        async with simulated(cluster) as client:
            entry = await client.api(Slim).entry("moby")
            assert entry.obj is not None
            entry.obj.spec.title = "Whale"
            await entry.commit()
            assert stored(cluster) == {"title": "Whale", "pages": 100, "authors": ["Melville"]}
            entry.obj.spec.title = "Omoo"
            await entry.replace()
            assert stored(cluster) == {"title": "Omoo", "authors": []}  # as the definition's default has it

    go(main)


def test_rq_35_what_others_wrote_meanwhile_to_other_fields_is_kept(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100))
        async with simulated(cluster) as client:
            entry = await client.api(Book).entry("moby")
            assert entry.obj is not None
            cluster.put(book(pages=300))
            entry.obj.spec.authors = ["Melville"]
            cluster.log.clear()
            written = await entry.commit()
            assert (written.spec.pages, written.spec.authors) == (300, ["Melville"])
            assert [one.status for one in cluster.log] == [409, 200, 200]

    go(main)


def test_rq_35_what_others_wrote_meanwhile_to_the_same_field_is_a_conflict(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100, shelf={"row": "1"}))
        async with simulated(cluster) as client:
            entry = await client.api(Book).entry("moby")
            assert entry.obj is not None
            cluster.put(book(pages=300, shelf={"row": "2"}))
            entry.obj.spec.pages = 200
            with pytest.raises(kp.Conflict):
                await entry.commit()
            assert stored(cluster)["pages"] == 300
            assert entry.obj.spec.pages == 200
            entry = await client.api(Book).entry("moby")
            assert entry.obj is not None
            cluster.put(book(pages=300, shelf=None))
            entry.obj.spec.shelf = {"row": "2", "column": "7"}
            with pytest.raises(kp.Conflict):
                await entry.commit()

    go(main)


def test_an_object_that_is_another_one_by_now_is_not_written(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100))
        async with simulated(cluster) as client:
            entry = await client.api(Book).entry("moby")
            assert entry.obj is not None
            cluster.remove(Book, "moby")
            cluster.put(book(pages=100))
            entry.obj.spec.pages = 200
            with pytest.raises(kp.Conflict):
                await entry.commit()
            assert stored(cluster)["pages"] == 100
            cluster.remove(Book, "moby")
            with pytest.raises(kp.NotFound):
                await entry.commit()

    go(main)


def test_a_commit_whose_answer_was_lost_finds_that_it_was_done(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100))
        faults = sim.Faults(cluster, script=[sim.LoseResponse()])
        async with simulated(cluster, faults=faults) as client:
            entry = await client.api(Book).entry("moby")
            assert entry.obj is not None
            entry.obj.spec.pages = 200
            assert (await entry.commit()).spec.pages == 200
            assert faults.script == []
            assert [one.status for one in cluster.log if one.request.method == "PATCH"] == [200, 409]
            assert not would_send(entry)

    go(main)


def test_a_commit_that_may_have_been_done_makes_no_more_attempts_than_others(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100))
        faults = sim.Faults(cluster)
        async with simulated(cluster, faults=faults) as client:
            entry = await client.api(Book).entry("moby")
            assert entry.obj is not None
            entry.obj.spec.pages = 200
            cluster.edit(Book, "moby", lambda obj: obj["spec"].update(title="Whale"))
            faults.script.append(sim.Html())  # the server may have got the patch, and had not
            with pytest.raises(kp.Conflict):
                await entry.commit(conflicts=ConflictPolicy(max_attempts=1))
            assert faults.script == []
            assert (stored(cluster)["title"], stored(cluster)["pages"]) == ("Whale", 100)

    go(main)


def test_an_update_that_may_have_been_done_makes_its_change_again(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100))
        faults = sim.Faults(cluster)

        def count_title(one: Book) -> None:
            if one.spec.title != "Whale":
                cluster.edit(Book, "moby", lambda obj: obj["spec"].update(title="Whale"))
                faults.script.append(sim.Html())
            one.spec.pages = len(one.spec.title)

        async with simulated(cluster, faults=faults) as client:
            await client.api(Book).update("moby", count_title)
            assert faults.script == []
            assert (stored(cluster)["title"], stored(cluster)["pages"]) == ("Whale", len("Whale"))

    go(main)


def test_an_entry_that_is_not_there_is_created_by_what_was_inserted(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            entry = await client.api(Book).entry("moby")
            assert (entry.exists, entry.obj, would_send(entry)) == (False, None, False)
            with pytest.raises(kp.InvalidRequest, match="use or_insert"):
                await entry.commit()
            touched: list[Book] = []
            entry.modify(touched.append)
            assert touched == []
            made = entry.or_insert(lambda: book(""))
            assert entry.or_insert(lambda: book("")) is made
            assert would_send(entry)
            written = await entry.modify(lambda one: setattr(one.spec, "pages", 7)).commit()
            assert (written.metadata.name, written.spec.pages) == ("moby", 7)
            assert entry.exists
            written.spec.pages = 8
            assert (await entry.commit()).spec.pages == 8
            taken = await client.api(Book).entry("emma")
            taken.or_insert(lambda: book("emma"))
            cluster.put(book("emma"))
            with pytest.raises(kp.AlreadyExists):
                await taken.commit()

    go(main)


def test_an_entry_holds_no_object_of_another_name_or_namespace(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            entry = await client.api(Book).entry("moby")
            with pytest.raises(kp.InvalidRequest, match="'emma'"):
                entry.or_insert(lambda: book("emma"))
            generated = kp.ObjectMeta(generate_name="moby-")
            with pytest.raises(kp.InvalidRequest, match="'moby-'"):
                entry.or_insert(lambda: Book(metadata=generated, spec=book().spec))
            elsewhere = kp.ObjectMeta(name="moby", namespace="attic")
            with pytest.raises(kp.InvalidRequest, match="'attic'"):
                entry.or_insert(lambda: Book(metadata=elsewhere, spec=book().spec))
            assert entry.obj is None
            entry.or_insert(book).metadata.name = "emma"
            with pytest.raises(kp.InvalidRequest, match="names do not change"):
                await entry.commit()
            assert repr(entry) == "<entry of Book 'moby', which does not exist>"

    go(main)


def test_a_dynamic_object_is_committed_by_its_difference_too(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100, shelf={"row": "1"}))
        async with simulated(cluster) as client:
            entry = await client.api(kp.Dynamic, resource=Book.resource).entry("moby")
            assert entry.obj is not None
            del entry.obj["spec"]["shelf"]
            entry.obj["spec"]["pages"] = 5
            cluster.log.clear()
            await entry.commit()
            [(_, patch)] = writes(cluster)
            assert patch["spec"] == {"shelf": None, "pages": 5}
            assert stored(cluster) == {"title": "Moby-Dick", "pages": 5, "authors": []}

    go(main)


def test_metadata_alone_is_read_changed_and_waited_for_too(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=100))
        async with simulated(cluster) as client:
            books = client.api(kp.Metadata[Book])
            entry = await books.entry("moby")
            assert entry.obj is not None
            entry.obj.metadata.labels["sea"] = "yes"
            await entry.commit()
            assert (await client.api(Book).get("moby")).metadata.labels == {"sea": "yes"}
            assert stored(cluster)["pages"] == 100
            client.later(3, lambda: cluster.remove(Book, "moby"))
            assert await books.wait_for("moby", deleted()) is None

    go(main)


# Updates


def test_rq_35_an_update_makes_its_change_again_for_each_conflict(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        seen: list[int | None] = []

        def one_more(one: Book) -> None:
            seen.append(one.spec.pages)
            if len(seen) < 4:
                cluster.put(book(pages=10 * len(seen)))
            one.spec.pages = (one.spec.pages or 0) + 1

        async with simulated(cluster) as client:
            assert (await client.api(Book).update("moby", one_more)).spec.pages == 31
            assert seen == [0, 10, 20, 30]

    go(main)


def test_rq_35_an_update_that_always_meets_a_conflict_gives_up_with_the_last_one(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        tries: list[int] = []

        def hopeless(one: Book) -> None:
            tries.append(1)
            cluster.put(book(pages=len(tries)))
            one.spec.pages = -1

        async with simulated(cluster) as client:
            with pytest.raises(kp.Conflict):
                await client.api(Book).update("moby", hopeless, conflicts=ConflictPolicy(max_attempts=3))
            assert len(tries) == 3
            assert stored(cluster)["pages"] == 3

    go(main)


def test_an_update_creates_what_is_not_there_if_it_is_told_how(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        async with simulated(cluster) as client:
            books = client.api(Book)
            with pytest.raises(kp.NotFound):
                await books.update("moby", lambda one: None)

            def somebody_else_is_quicker(one: Book) -> None:
                if one.spec.title == "mine":
                    cluster.put(book(title="theirs"))
                one.spec.pages = 7

            made = await books.update("moby", somebody_else_is_quicker, create=lambda: book(title="mine"))
            assert (made.spec.title, made.spec.pages) == ("theirs", 7)

            def somebody_deletes_it(one: Book) -> None:
                if one.spec.title == "theirs":
                    cluster.remove(Book, "moby")
                one.spec.pages = 8

            made = await books.update("moby", somebody_deletes_it, create=lambda: book(title="again"))
            assert (made.spec.title, made.spec.pages) == ("again", 8)

    go(main)


def test_several_who_update_at_once_lose_nothing(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))

        def one_more(one: Book) -> None:
            one.spec.authors = [*one.spec.authors, f"a{len(one.spec.authors)}"]

        async def add(client: SimulatedClient) -> None:
            for _ in range(5):
                await client.api(Book).update(
                    "moby", one_more, conflicts=ConflictPolicy(max_attempts=50, factor=1.5)
                )

        async with simulated(cluster) as client, anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(add, client)
        assert stored(cluster)["authors"] == [f"a{n}" for n in range(20)]

    go(main)


def test_an_update_whose_answer_was_lost_is_not_made_twice(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book(pages=0))
        faults = sim.Faults(cluster, script=[sim.LoseResponse(), sim.LoseResponse()])

        def one_more(one: Book) -> None:
            one.spec.pages = (one.spec.pages or 0) + 1

        async with simulated(cluster, faults=faults) as client:
            assert (await client.api(Book).update("moby", one_more)).spec.pages == 1
            assert (await client.api(Book).update("moby", one_more)).spec.pages == 2
            assert faults.script == []

    go(main)


# Statuses


def test_a_status_is_written_only_if_it_says_something_new(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            books = client.api(Book)
            found = await books.get("moby")
            cluster.log.clear()
            found = await books.patch_status(found, BookStatus(read=3))
            assert found.status is not None
            assert found.status.read == 3
            assert len(cluster.log) == 1
            again = await books.patch_status(found, BookStatus(read=3))
            assert again is found
            assert len(cluster.log) == 1

    go(main)


def test_two_who_report_in_one_status_keep_each_others_fields(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        one = book()
        one.status = BookStatus()
        cluster.put(one)
        async with simulated(cluster) as client:
            books = client.api(Book)
            mine, theirs = await books.get("moby"), await books.get("moby")
            await books.patch_status(mine, BookStatus(read=3))
            both = await books.patch_status(theirs, BookStatus(lent="Ann"))
            assert both.status is not None
            assert (both.status.read, both.status.lent) == (3, "Ann")

    go(main)


def test_a_list_in_a_status_is_written_for_one_version_only(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            books = client.api(Book)
            stale = await books.get("moby")
            ready = {"type": "Ready", "status": "True"}
            await books.patch_status(stale, BookStatus(conditions=[ready]))
            lost = {"type": "Lost", "status": "True"}
            with pytest.raises(kp.Conflict):
                await books.patch_status(stale, BookStatus(conditions=[lost]))
            fresh = await books.get("moby")
            assert fresh.status is not None
            written = await books.patch_status(fresh, BookStatus(conditions=[*fresh.status.conditions, lost]))
            assert written.status is not None
            assert written.status.conditions == [ready, lost]

    go(main)


def test_the_objects_own_status_cannot_be_compared_with_itself(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            books = client.api(Book)
            found = await books.patch_status(await books.get("moby"), BookStatus(read=1))
            assert found.status is not None
            found.status.read = 2
            with pytest.raises(kp.InvalidRequest, match="pass a changed copy"):
                await books.patch_status(found, found.status)

    go(main)
