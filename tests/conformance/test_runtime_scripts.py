"""Kinds by name, verbs on objects and printed tables, on either server."""

from __future__ import annotations

import json

import pytest
from book import Book

import kubeproto as kp
from conformance.runtime_interface import Rig, rig
from kubeproto_runtime import Client, conditions
from kubeproto_runtime.calls import UnknownKind

__all__ = ["rig"]

NAMES = ["cm", "configmap", "ConfigMap", "configmaps", "configmaps.v1."]
MANIFEST = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"sea": "deep", "ship": "old"},
    },
    {
        "apiVersion": Book.resource.api_version,
        "kind": "Book",
        "metadata": {"name": "moby"},
        "spec": {"title": "Moby-Dick"},
    },
]


def test_a_script_discovers_creates_prints_awaits_and_deletes_named_objects(rig: Rig) -> None:
    async def main(client: Client) -> None:
        objects = kp.parse_manifest("\n".join(map(json.dumps, MANIFEST)))
        for obj in objects:
            assert (await client.create(obj)).metadata.uid
        resources = {str((await client.resource(name)).resource) for name in NAMES}
        assert resources == {"configmaps/v1"}
        assert (await client.resource("book")).resource.plural == "books"
        with pytest.raises(UnknownKind, match="did you mean configmaps"):
            await client.resource("configmps")

        maps = await client.resource("cm")
        table = await maps.as_table().list(field_selector="metadata.name=settings")
        head, line = table.text().splitlines()
        assert (head, line.split()[:2]) == ("NAME       DATA   AGE", ["settings", "2"])
        [row] = table.rows
        assert row.metadata is not None
        assert row.metadata.name == "settings"

        for obj in objects:
            existing = await client.wait_for(obj, conditions.exists())
            assert (await client.refresh(obj)).metadata.uid == existing.metadata.uid
            await client.delete(obj)
            assert await client.wait_for(obj, conditions.deleted()) is None

    rig.run(main, Book)
