"""What takes more than one request, on either server: entries, manifests, long lists."""

from __future__ import annotations

import anyio
import pytest

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, bare_rig, rig, ship
from kubeproto.crd import definition_of
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import ApplyError, Client

__all__ = ["bare_rig", "rig"]


class DinghySpec(kp.Fields):
    oars: int


class Dinghy(kp.Object[DinghySpec, None], group="harbour.example.com", version="v1", plural="dinghies"):
    """A kind that no other test defines."""


FILE = """\
apiVersion: harbour.example.com/v1
kind: Dinghy
metadata: {{name: tender, namespace: {namespace}-harbour}}
spec: {{oars: 2}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: tides}}
data: {{high: "06:12"}}
---
{definition}
---
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}-harbour}}
"""


def test_a_file_with_a_definition_and_its_objects_is_applied_in_order_of_dependency(rig: Rig) -> None:
    async def main(client: Client) -> None:
        definition = definition_of(Dinghy)
        definition.metadata.name = "dinghies.harbour.example.com"
        text = FILE.format(namespace=rig.namespace, definition=definition.to_yaml().strip())
        first = await client.apply_manifests(text, field_manager="suite", force=True)
        assert [result.obj.kind for result in first] == [
            "Namespace", "CustomResourceDefinition", "ConfigMap", "Dinghy",
        ]  # fmt: skip
        assert [result.outcome for result in first if result.obj.kind != "CustomResourceDefinition"] == [
            "created"
        ] * 3
        tender = await client.api(Dinghy, namespace=f"{rig.namespace}-harbour").get("tender")
        assert tender.spec.oars == 2
        assert (await client.api(ConfigMap).get("tides")).data == {"high": "06:12"}

        again = await client.apply_manifests(text.replace("06:12", "06:59"), field_manager="suite")
        assert [result.outcome for result in again] == ["configured"] * 4
        assert again[3].obj.metadata.resource_version == tender.metadata.resource_version
        assert (await client.api(ConfigMap).get("tides")).data == {"high": "06:59"}

        wrong = text.replace("oars: 2", "oars: many")
        with pytest.raises(ApplyError, match=r"object 1 of the manifests, Dinghy.*tender") as caught:
            await client.apply_manifests(wrong, field_manager="suite")
        assert "spec.oars" in str(caught.value)
        assert len(caught.value.applied) == 3

    rig.run(main)


def test_a_field_of_another_manager_is_a_conflict_that_names_both(rig: Rig) -> None:
    async def main(client: Client) -> None:
        tides = ConfigMap(metadata=kp.ObjectMeta(name="tides"), data={"high": "06:12"})
        await client.apply_manifests([tides], field_manager="pilot")
        tides.data = {"high": "07:00"}
        with pytest.raises(ApplyError, match=r"conflict with .pilot.*high") as caught:
            await client.apply_manifests([tides], field_manager="mate")
        assert isinstance(caught.value.__cause__, kp.Conflict)
        await client.apply_manifests([tides], field_manager="mate", force=True)
        assert (await client.api(ConfigMap).get("tides")).data == {"high": "07:00"}

    rig.run(main)


def test_an_entry_is_committed_after_a_change_of_other_fields_and_not_over_a_change_of_its_own(
    rig: Rig,
) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        ship_entry = await ships.entry("pequod")
        assert not ship_entry.exists
        ship_entry.or_insert(ship)
        created = await ship_entry.commit()

        mine, other, late = [await ships.entry("pequod") for _ in range(3)]
        await other.modify(lambda obj: setattr(obj.spec, "port", "nantucket")).commit()
        written = await mine.modify(lambda obj: setattr(obj.spec, "crew", 31)).commit()
        assert (written.spec.crew, written.spec.port) == (31, "nantucket")
        assert written.metadata.uid == created.metadata.uid

        with pytest.raises(kp.Conflict, match="the object has been modified"):
            await late.modify(lambda obj: setattr(obj.spec, "port", "hull")).commit()
        assert (await ships.get("pequod")).spec.port == "nantucket"

        rival = await ships.entry("essex")
        rival.or_insert(lambda: ship("essex"))
        await ships.create(ship("essex"))
        with pytest.raises(kp.AlreadyExists):
            await rival.commit()

    rig.run(main, Ship)


def test_an_update_is_repeated_on_the_object_that_others_changed(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        await ships.create(ship(crew=30))
        crews: list[int] = []
        async with rig.client() as other:

            async def meddle() -> None:
                await other.api(Ship).update("pequod", lambda obj: obj.spec.cargo.append("oil"))

            def hire(obj: Ship) -> None:
                crews.append(obj.spec.crew)
                obj.spec.crew += 1
                obj.spec.cargo.append(f"bread for {obj.spec.crew}")

            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(meddle)
                    tasks.start_soon(ships.update, "pequod", hire)
        final = await ships.get("pequod")
        assert final.spec.crew == 35
        assert sorted(final.spec.cargo) == [f"bread for {crew}" for crew in range(31, 36)] + ["oil"] * 5
        assert rig.real or len(crews) > 5  # if the course is always the same, some updates meet a conflict

    rig.run(main, Ship)


def test_pages_are_of_the_same_version_and_contain_all_items(bare_rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        for name in "abcdefg":
            await ships.create(ship(name))
        listed_names, versions = list[str](), set[str]()
        async for page in ships.pages(limit=3):
            listed_names += [item.metadata.name for item in page]
            versions.add(page.metadata.resource_version)
            if len(listed_names) == 3:
                await ships.delete("e")
        assert (listed_names, len(versions)) == (list("abcdefg"), 1)
        assert [item.metadata.name async for item in ships.items(limit=2)] == list("abcdfg")

        pages = ships.pages(limit=2, on_expired="fail")
        await anext(pages)
        await ships.delete("f")
        bare_rig.compact()
        with pytest.raises(kp.Gone):
            await anext(pages)

        remaining = ships.items(limit=2, on_expired="go on")
        read_names = [(await anext(remaining)).metadata.name, (await anext(remaining)).metadata.name]
        await ships.create(ship("dd"))
        bare_rig.compact()
        read_names += [item.metadata.name async for item in remaining]
        assert read_names == ["a", "b", "c", "d", "dd", "g"]

    bare_rig.run(main, Ship)
