"""A migration to another storage version, on the simulated and on the real server."""

from __future__ import annotations

from typing import Any, Final

import anyio
import pytest

import kubeproto as kp
from kubeproto.crd import CustomResourceDefinition, definition_of
from kubeproto.kinds.core_v1 import Namespace
from kubeproto.requests import ALL
from kubeproto_runtime import Client, conditions
from kubeproto_runtime.client import BoundApi
from kubeproto_runtime.writing import Migration

GROUP: Final = "migrated.test"
NAME: Final = f"books.{GROUP}"


class Spec(kp.Fields):
    title: str


class BookV1(kp.Object[Spec, None], group=GROUP, version="v1", plural="books", kind="Book"):
    """A book in the old storage version."""


class Book(kp.Object[Spec, None], group=GROUP, version="v2", plural="books"):
    """A book in the new storage version."""


def definition(*, storage: str) -> CustomResourceDefinition:
    """Return a definition of both versions, whose printer column names the storage version."""
    crd = definition_of(BookV1, Book, storage=storage)
    crd.spec["versions"][0]["additionalPrinterColumns"] = [
        {"name": f"Stored in {storage}", "type": "string", "jsonPath": ".spec.title"}
    ]
    return crd


async def store_old_books(
    client: Client, *, namespaces: tuple[str, ...] = ("default",), number: int = 5
) -> None:
    """Define books, store some of them as v1, and make v2 the storage version."""
    await client.create(definition(storage="v1"))
    definitions = client.api(CustomResourceDefinition)
    await definitions.wait_for(NAME, conditions.established())
    await wait_for_column(client, "Stored in v1")
    for namespace in namespaces:
        for index in range(number):
            metadata = kp.ObjectMeta(name=f"b{index}", namespace=namespace)
            await client.create(BookV1(metadata=metadata, spec=Spec(title="Moby-Dick")))
    await definitions.update(NAME, store_v2)
    await wait_for_column(client, "Stored in v2")
    assert await stored_versions(client) == ["v1", "v2"]


def store_v2(crd: CustomResourceDefinition) -> None:
    crd.spec["versions"] = definition(storage="v2").spec["versions"]


def drop_v1(crd: CustomResourceDefinition) -> None:
    crd.spec["versions"] = [version for version in crd.spec["versions"] if version["name"] == "v2"]


async def wait_for_column(client: Client, column: str) -> None:
    """Wait until the server serves books with this printer column."""
    while True:
        try:
            table = await client.api(Book).as_table().list()
        except kp.NotFound:  # a definition is established a moment before it is served
            pass
        else:
            if column in table.columns:
                return
        await anyio.sleep(0.05)


async def stored_versions(client: Client) -> list[str]:
    status: Any = (await client.api(CustomResourceDefinition).get(NAME)).status
    versions: list[str] = status["storedVersions"]
    return versions


async def books_are_migrated(client: Client) -> None:
    """Rewrite all books of two namespaces as v2, so that v1 can be removed."""
    await client.create(Namespace(metadata=kp.ObjectMeta(name="migrated")))
    await store_old_books(client, namespaces=("default", "migrated"), number=3)
    definitions, books = client.api(CustomResourceDefinition), client.api(Book, namespace=ALL)
    with pytest.raises(kp.Invalid, match=r"storedVersions\[0\]"):
        await definitions.update(NAME, drop_v1)
    old_versions = {book.metadata.uid: book.metadata.resource_version for book in await books.list()}
    migration = await client.migrate_storage(Book, settle=0.0, rate=1000.0)
    assert migration == Migration(NAME, "v2", 6, ("v1",))
    assert str(migration) == f"{NAME}: 6 objects rewritten as v2; nothing is stored as v1 any more"
    assert await stored_versions(client) == ["v2"]
    new_versions = {book.metadata.uid: book.metadata.resource_version for book in await books.list()}
    assert old_versions.keys() == new_versions.keys()
    assert all(old_versions[uid] != version for uid, version in new_versions.items())
    assert await client.migrate_storage(NAME) == Migration(NAME, "v2")

    await definitions.update(NAME, drop_v1)
    old_books: BoundApi[BookV1] = client.api(BookV1)
    while True:
        try:
            await old_books.list()
        except kp.NotFound:
            break
        await anyio.sleep(0.05)
    assert [book.spec.title for book in await books.list()] == ["Moby-Dick"] * 6
    await definitions.delete(NAME)
    await definitions.wait_for(NAME, conditions.deleted())
    await client.api(Namespace).delete("migrated")
