"""The rows behind the live table: what is deleted while its row is read does not come back."""

from __future__ import annotations

import asyncio

import pytest

import kubeproto_sim as sim
from kubeproto_cli._live_table import LiveRows
from kubeproto_cli._resources import Selected
from kubeproto_runtime.testing import simulated

pytestmark = pytest.mark.one_python


@pytest.mark.parametrize("all_at_once", [True, False])
def test_a_row_that_is_read_while_its_object_goes_is_dropped(all_at_once: bool) -> None:
    cluster = sim.Cluster()
    for name in ("a", "b"):
        cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "x"}})

    async def main() -> None:
        async with simulated(cluster) as client:
            api = await client.resource("cm", namespace="x")
            rows = LiveRows(client, api, Selected())
            first, second = [obj async for obj in api.items()]
            rows.changed(first)
            rows.changed(second)
            rows.complete()
            if not all_at_once:
                await rows.refresh()
                rows.changed(first)
            reading = asyncio.create_task(rows.refresh())
            await asyncio.sleep(0)  # the request is on its way
            rows.deleted(first)
            await reading
            assert [name for _, name in rows.rows] == ["b"]
            shown = rows.shown(0.0, several=False)
            assert shown is not None
            assert len(shown[0].rows) == 1

    asyncio.run(main())


def test_what_the_server_did_not_say_is_read_again() -> None:
    cluster = sim.Cluster()
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}})

    async def main() -> None:
        async with simulated(cluster) as client:
            api = await client.resource("cm", namespace="x")
            [obj] = [obj async for obj in api.items()]
            rows = LiveRows(client, api, Selected(labels="a=("))  # a selector that every server refuses
            rows.changed(obj)
            rows.complete()
            await rows.refresh()
            assert rows.shown(0.0, several=False) is None
            rows.selection = Selected()
            await rows.refresh()
            assert [name for _, name in rows.rows] == ["a"]

    asyncio.run(main())


def test_a_change_stands_out_at_least_once_however_late_it_is_drawn() -> None:
    cluster = sim.Cluster()
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}})

    def styles(rows: LiveRows, now: float) -> list[str]:
        shown = rows.shown(now, several=False)
        assert shown is not None
        return shown[1]

    async def main() -> None:
        async with simulated(cluster) as client:
            api = await client.resource("cm", namespace="x")
            [obj] = [obj async for obj in api.items()]
            rows = LiveRows(client, api, Selected())
            rows.changed(obj)
            rows.complete()
            await rows.refresh()
            assert styles(rows, 0.0) == [""]  # what was there from the beginning
            rows.changed(obj)
            await rows.refresh()
            seen = [styles(rows, 60.0 + second) for second in range(5)]  # the server was slow
            assert seen == [["33"], ["33"], ["33"], ["33"], [""]]

    asyncio.run(main())
