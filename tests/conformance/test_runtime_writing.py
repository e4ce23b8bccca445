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
    """What no other test has defined."""


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


def test_a_file_with_a_definition_and_its_objects_is_applied_in_the_order_that_works(rig: Rig) -> None:
    async def main(client: Client) -> None:
        definition = definition_of(Dinghy)
        definition.metadata.name = "dinghies.harbour.example.com"
        text = FILE.format(namespace=rig.namespace, definition=definition.to_yaml().strip())
        first = await client.apply_manifests(text, field_manager="suite", force=True)
        assert [one.obj.kind for one in first] == [
            "Namespace", "CustomResourceDefinition", "ConfigMap", "Dinghy",
        ]  # fmt: skip
        assert [one.outcome for one in first if one.obj.kind != "CustomResourceDefinition"] == ["created"] * 3
        tender = await client.api(Dinghy, namespace=f"{rig.namespace}-harbour").get("tender")
        assert tender.spec.oars == 2
        assert (await client.api(ConfigMap).get("tides")).data == {"high": "06:12"}

        again = await client.apply_manifests(text.replace("06:12", "06:59"), field_manager="suite")
        assert [one.outcome for one in again] == ["configured"] * 4
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


def test_an_entry_is_committed_past_a_change_of_others_and_not_over_one_of_its_own_field(
    rig: Rig,
) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        made = await ships.entry("pequod")
        assert not made.exists
        made.or_insert(ship)
        created = await made.commit()

        mine, other, late = [await ships.entry("pequod") for _ in range(3)]
        await other.modify(lambda one: setattr(one.spec, "port", "nantucket")).commit()
        written = await mine.modify(lambda one: setattr(one.spec, "crew", 31)).commit()
        assert (written.spec.crew, written.spec.port) == (31, "nantucket")
        assert written.metadata.uid == created.metadata.uid

        with pytest.raises(kp.Conflict, match="the object has been modified"):
            await late.modify(lambda one: setattr(one.spec, "port", "hull")).commit()
        assert (await ships.get("pequod")).spec.port == "nantucket"

        rival = await ships.entry("essex")
        rival.or_insert(lambda: ship("essex"))
        await ships.create(ship("essex"))
        with pytest.raises(kp.AlreadyExists):
            await rival.commit()

    rig.run(main, Ship)


def test_an_update_is_made_again_on_what_others_have_written_meanwhile(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        await ships.create(ship(crew=30))
        crews: list[int] = []
        async with rig.client() as other:

            async def meddle() -> None:
                await other.api(Ship).update("pequod", lambda one: one.spec.cargo.append("oil"))

            def hire(one: Ship) -> None:
                crews.append(one.spec.crew)
                one.spec.crew += 1
                one.spec.cargo.append(f"bread for {one.spec.crew}")

            async with anyio.create_task_group() as tasks:
                for _ in range(5):
                    tasks.start_soon(meddle)
                    tasks.start_soon(ships.update, "pequod", hire)
        done = await ships.get("pequod")
        assert done.spec.crew == 35
        assert sorted(done.spec.cargo) == [f"bread for {crew}" for crew in range(31, 36)] + ["oil"] * 5
        assert rig.real or len(crews) > 5  # where the course is always the same, some meet a conflict

    rig.run(main, Ship)


def test_pages_are_of_one_moment_and_items_are_all_there_are(bare_rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        for name in "abcdefg":
            await ships.create(ship(name))
        found, versions = list[str](), set[str]()
        async for page in ships.pages(limit=3):
            found += [one.metadata.name for one in page]
            versions.add(page.metadata.resource_version)
            if len(found) == 3:
                await ships.delete("e")
        assert (found, len(versions)) == (list("abcdefg"), 1)
        assert [one.metadata.name async for one in ships.items(limit=2)] == list("abcdfg")

        pages = ships.pages(limit=2, on_expired="fail")
        await anext(pages)
        await ships.delete("f")
        bare_rig.compact()
        with pytest.raises(kp.Gone):
            await anext(pages)

        rest = ships.items(limit=2, on_expired="go on")
        seen = [(await anext(rest)).metadata.name, (await anext(rest)).metadata.name]
        await ships.create(ship("dd"))
        bare_rig.compact()
        seen += [one.metadata.name async for one in rest]
        assert seen == ["a", "b", "c", "d", "dd", "g"]

    bare_rig.run(main, Ship)
