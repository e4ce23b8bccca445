"""A reconcile with a finalizer: what is called when, what is patched, and what another's patch does to it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import Action, await_change, requeue
from kubeproto_runtime import Client, finalizer
from kubeproto_runtime.testing import simulated

__all__ = ["go"]

OURS, THEIRS = "example.com/ours", "example.com/theirs"


class Ctx(Struct):
    client: Client
    resource: kp.Resource = Book.resource


class Shelf:
    """What is made for books: written down, and failing when told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.cleaned: Action | Exception | None = None

    async def apply(self, one: Any, ctx: Ctx) -> Action:
        self.calls.append(f"apply {one.metadata.name}")
        return requeue(after=60)

    async def cleanup(self, one: Any, ctx: Ctx) -> Action | None:
        self.calls.append(f"cleanup {one.metadata.name}")
        if isinstance(self.cleaned, Exception):
            raise self.cleaned
        return self.cleaned


def finalizers(cluster: sim.Cluster) -> list[str] | None:
    found = cluster.get(Book, "moby")
    return None if found is None else found["metadata"].get("finalizers", [])


def patches(cluster: sim.Cluster) -> list[int]:
    return [one.status for one in cluster.log if one.request.method == "PATCH"]


def test_fn_01_to_fn_05_the_finalizer_goes_in_first_and_out_last(go: Go) -> None:
    async def main() -> None:
        cluster, shelf = library(), Shelf()
        cluster.put(book())
        reconcile = finalizer(OURS, apply=shelf.apply, cleanup=shelf.cleanup)
        async with simulated(cluster) as client:
            books, ctx = client.api(Book), Ctx(client)
            assert await reconcile(await books.get("moby"), ctx) == requeue(after=60)
            assert (shelf.calls, finalizers(cluster)) == (["apply moby"], [OURS])
            assert await reconcile(await books.get("moby"), ctx) == requeue(after=60)
            assert shelf.calls == ["apply moby", "apply moby"]
            shelf.calls.pop()
            await books.delete("moby")
            going = await books.get("moby")
            assert await reconcile(going, ctx) == await_change()
            assert shelf.calls == ["apply moby", "cleanup moby"]
            assert finalizers(cluster) is None
            assert await reconcile(going, ctx) == await_change()  # a stale cache: it is gone, which is good
            other = kp.decode(kp.encode(going), Book)
            other.metadata.finalizers = [THEIRS]
            assert await reconcile(other, ctx) == await_change()
            assert shelf.calls == ["apply moby", "cleanup moby", "cleanup moby"]

    go(main)


def test_a_cleanup_that_fails_or_is_not_done_leaves_the_finalizer(go: Go) -> None:
    async def main() -> None:
        cluster, shelf = library(), Shelf()
        one = book()
        one.metadata.finalizers = [OURS]
        cluster.put(one)
        reconcile = finalizer(OURS, apply=shelf.apply, cleanup=shelf.cleanup)
        async with simulated(cluster) as client:
            await client.api(Book).delete("moby")
            going, ctx = await client.api(Book).get("moby"), Ctx(client)
            shelf.cleaned = ZeroDivisionError()
            with pytest.raises(ZeroDivisionError):
                await reconcile(going, ctx)
            assert finalizers(cluster) == [OURS]
            shelf.cleaned = requeue(after=3)
            assert await reconcile(going, ctx) == requeue(after=3)
            assert finalizers(cluster) == [OURS]
            shelf.cleaned = await_change()
            await reconcile(going, ctx)
            assert finalizers(cluster) is None

    go(main)


def test_fn_06_a_finalizer_of_another_that_came_between_is_respected(go: Go) -> None:
    async def main() -> None:
        cluster, shelf = library(), Shelf()
        cluster.put(book())
        reconcile = finalizer(OURS, apply=shelf.apply, cleanup=shelf.cleanup)
        async with simulated(cluster) as client:
            stale, ctx = await client.api(Book).get("moby"), Ctx(client)
            await client.api(Book).merge_patch("moby", {"metadata": {"finalizers": [THEIRS]}})
            await reconcile(stale, ctx)
            assert finalizers(cluster) == [THEIRS, OURS]
            assert patches(cluster) == [200, 422, 200]

            await client.api(Book).delete("moby")
            stale = await client.api(Book).get("moby")
            await client.api(Book).merge_patch("moby", {"metadata": {"finalizers": [OURS]}})
            await reconcile(stale, ctx)
            assert finalizers(cluster) is None
            assert shelf.calls == ["apply moby", "cleanup moby"]

    go(main)


def test_fn_06_a_stale_object_adds_no_finalizer_to_one_that_is_being_deleted_or_is_another(go: Go) -> None:
    async def main() -> None:
        cluster, shelf = library(), Shelf()
        one = book()
        one.metadata.finalizers = [THEIRS]
        cluster.put(one)
        reconcile = finalizer(OURS, apply=shelf.apply, cleanup=shelf.cleanup)
        async with simulated(cluster) as client:
            stale, ctx = await client.api(Book).get("moby"), Ctx(client)
            cluster.remove(Book, "moby")
            cluster.put(book())
            assert await reconcile(stale, ctx) == await_change()
            assert finalizers(cluster) == []
            assert shelf.calls == []

    go(main)


def test_fn_06_who_is_always_one_too_late_gives_up_and_is_called_again(go: Go) -> None:
    async def main() -> None:
        cluster, shelf = library(), Shelf()
        cluster.put(book())
        faults = sim.Faults(cluster)
        reconcile = finalizer(OURS, apply=shelf.apply, cleanup=shelf.cleanup)
        async with simulated(cluster, faults=faults) as client:
            one = await client.api(Book).get("moby")
            faults.script += [sim.ForceConflict()] * 100
            with pytest.raises(kp.Conflict):
                await reconcile(one, Ctx(client))
            assert 95 <= len(faults.script) < 100
            faults.calm()
            await reconcile(one, Ctx(client))
            assert finalizers(cluster) == [OURS]

    go(main)


def test_fn_06_a_finalizer_that_could_not_be_removed_in_time_is_an_error(go: Go) -> None:
    async def main() -> None:
        cluster, shelf = library(), Shelf()
        cluster.put(Book(metadata=kp.ObjectMeta(name="moby", finalizers=[OURS]), spec=book().spec))

        class Racing(sim.SimTransport):
            """Another client adds a finalizer before each patch."""

            def send(self, request: kp.RawRequest, **options: Any) -> Any:
                if request.method == "PATCH":
                    cluster.edit(Book, "moby", add_finalizer)
                return super().send(request, **options)

        async with simulated(cluster) as client:
            await client.api(Book).delete("moby")
            client.transport = Racing(cluster, cluster.respond)
            subject = await client.api(Book).get("moby")
            with pytest.raises(kp.Invalid):
                await finalizer(OURS, apply=shelf.apply, cleanup=shelf.cleanup)(subject, Ctx(client))
        assert OURS in (finalizers(cluster) or [])

    go(main)


def add_finalizer(obj: dict[str, Any]) -> None:
    names: list[str] = obj["metadata"]["finalizers"]
    names.insert(0, f"{THEIRS}-{len(names)}")


def test_a_dynamic_object_is_finalized_under_the_resource_of_its_context(go: Go) -> None:
    async def main() -> None:
        cluster, shelf = library(), Shelf()
        cluster.put(book())
        reconcile = finalizer(OURS, apply=shelf.apply, cleanup=shelf.cleanup)
        async with simulated(cluster) as client:
            one = await client.api(kp.Dynamic, resource=Book.resource).get("moby")
            await reconcile(one, Ctx(client))
            assert finalizers(cluster) == [OURS]

    go(main)


def test_what_cannot_be_the_name_of_a_finalizer_is_refused_at_once() -> None:
    shelf = Shelf()
    with pytest.raises(ValueError, match="finalizer"):
        finalizer("ours", apply=shelf.apply, cleanup=shelf.cleanup)
