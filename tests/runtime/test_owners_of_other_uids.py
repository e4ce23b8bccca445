"""A change of an owned object is about the object that has the owner's name, whatever the uid."""

from __future__ import annotations

from typing import Any

import anyio
from virtual_time import Book, Go, book, go, library

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Context, Controller
from kubeproto_runtime.controllers import Children
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def owned(cluster: sim.Cluster, name: str, owner: str) -> dict[str, Any]:
    """An object of an earlier owner, which the garbage collector keeps for its other owner."""
    keeper = cluster.put({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"keeper-{name}"}})
    uid = keeper["metadata"]["uid"]
    references = [
        {"apiVersion": "example.com/v1", "kind": "Book", "name": owner, "uid": "old", "controller": True},
        {"apiVersion": "v1", "kind": "Secret", "name": f"keeper-{name}", "uid": uid},
    ]
    metadata = {"name": name, "namespace": "default", "ownerReferences": references}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def test_an_object_of_an_earlier_owner_of_the_name_causes_a_run(go: Go) -> None:
    reasons: list[str] = []

    async def reconcile(subject: Book, ctx: Context[None]) -> None:
        reasons.append(f"{ctx.name}: {ctx.reason}")

    async def main() -> None:
        cluster = library()
        cluster.put(book("moby"))
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).owns(ConfigMap).run(reconcile))
            await anyio.sleep(1)
            cluster.put(owned(cluster, "old", "moby"))
            cluster.put(owned(cluster, "orphan", "omoo"))  # no book has this name
            await anyio.sleep(1)

    go(main)
    assert reasons == ["moby: Book listed", "moby: ConfigMap added"]


def test_children_leave_the_objects_of_an_earlier_owner_of_the_name_alone(go: Go) -> None:
    children = Children(ConfigMap, field_manager="librarian")

    async def reconcile(subject: Book, ctx: Context[None]) -> None:
        await children.reconcile(ctx, subject, [ConfigMap(metadata=kp.ObjectMeta(name="new"))])

    async def main() -> None:
        cluster = library()
        cluster.put(book("moby"))
        old = owned(cluster, "old", "moby")
        cluster.put(old)
        async with simulated(cluster) as client:
            client.start(Controller(client, Book).owns(ConfigMap).run(reconcile))
            await anyio.sleep(5)
            found: Any = cluster.get(ConfigMap, "old")
            assert "kubeproto/child-of" not in str(found)
            assert cluster.get(ConfigMap, "new") is not None

    go(main)
