"""A migration to another stored version, as the simulated and the real server go through it."""

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
    """A book as it was stored."""


class Book(kp.Object[Spec, None], group=GROUP, version="v2", plural="books"):
    """A book as it is stored."""


def definition(*, storage: str) -> CustomResourceDefinition:
    """Both versions; what v2 shows in a table says whether a server knows which one is stored."""
    made = definition_of(BookV1, Book, storage=storage)
    made.spec["versions"][0]["additionalPrinterColumns"] = [
        {"name": f"Stored in {storage}", "type": "string", "jsonPath": ".spec.title"}
    ]
    return made


async def defined(client: Client, *, places: tuple[str, ...] = ("default",), number: int = 5) -> None:
    """Define books, store some as v1, and have v2 stored from then on."""
    await client.create(definition(storage="v1"))
    definitions = client.api(CustomResourceDefinition)
    await definitions.wait_for(NAME, conditions.established())
    await shows(client, "Stored in v1")
    for place in places:
        for number_ in range(number):
            metadata = kp.ObjectMeta(name=f"b{number_}", namespace=place)
            await client.create(BookV1(metadata=metadata, spec=Spec(title="Moby-Dick")))
    await definitions.update(NAME, store_v2)
    await shows(client, "Stored in v2")
    assert await stored(client) == ["v1", "v2"]


def store_v2(found: CustomResourceDefinition) -> None:
    found.spec["versions"] = definition(storage="v2").spec["versions"]


def drop_v1(found: CustomResourceDefinition) -> None:
    found.spec["versions"] = [one for one in found.spec["versions"] if one["name"] == "v2"]


async def shows(client: Client, column: str) -> None:
    """Return once the server serves books by the definition as it is now."""
    while True:
        try:
            table = await client.api(Book).as_table().list()
        except kp.NotFound:  # it is established a moment before it is served
            pass
        else:
            if column in table.columns:
                return
        await anyio.sleep(0.05)


async def stored(client: Client) -> list[str]:
    status: Any = (await client.api(CustomResourceDefinition).get(NAME)).status
    found: list[str] = status["storedVersions"]
    return found


async def books_are_migrated(client: Client) -> None:
    """All books, in two namespaces, are stored as v2, so that v1 can go."""
    await client.create(Namespace(metadata=kp.ObjectMeta(name="migrated")))
    await defined(client, places=("default", "migrated"), number=3)
    definitions, books = client.api(CustomResourceDefinition), client.api(Book, namespace=ALL)
    with pytest.raises(kp.Invalid, match=r"storedVersions\[0\]"):
        await definitions.update(NAME, drop_v1)
    before = {one.metadata.uid: one.metadata.resource_version for one in await books.list()}
    done = await client.migrate_storage(Book, settle=0.0, rate=1000.0)
    assert done == Migration(NAME, "v2", 6, ("v1",))
    assert str(done) == f"{NAME}: 6 objects rewritten as v2; nothing is stored as v1 any more"
    assert await stored(client) == ["v2"]
    after = {one.metadata.uid: one.metadata.resource_version for one in await books.list()}
    assert before.keys() == after.keys()
    assert all(before[uid] != version for uid, version in after.items())  # each was written
    assert await client.migrate_storage(NAME) == Migration(NAME, "v2")

    await definitions.update(NAME, drop_v1)
    old: BoundApi[BookV1] = client.api(BookV1)
    while True:
        try:
            await old.list()
        except kp.NotFound:
            break
        await anyio.sleep(0.05)
    assert [one.spec.title for one in await books.list()] == ["Moby-Dick"] * 6
    await definitions.delete(NAME)
    await definitions.wait_for(NAME, conditions.deleted())
    await client.api(Namespace).delete("migrated")
