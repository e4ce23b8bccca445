"""The rows behind the live table: what is deleted while its row is read does not come back."""

from __future__ import annotations

import asyncio

import pytest

import kubeproto_sim as sim
from kubeproto_cli._live_table import LiveRows, Selectors
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
            rows = LiveRows(client, api, Selectors())
            first, second = [obj async for obj in api.items()]
            rows.mark_changed(first)
            rows.mark_changed(second)
            rows.mark_synced()
            if not all_at_once:
                await rows.refresh()
                rows.mark_changed(first)
            reading = asyncio.create_task(rows.refresh())
            await asyncio.sleep(0)  # the request is on its way
            rows.remove(first)
            await reading
            assert [name for _, name in rows.rows] == ["b"]
            shown = rows.render(0.0, with_kinds=False)
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
            rows = LiveRows(client, api, Selectors(labels="a=("))  # a selector that every server refuses
            rows.mark_changed(obj)
            rows.mark_synced()
            await rows.refresh()
            assert rows.render(0.0, with_kinds=False) is None
            rows.selectors = Selectors()
            await rows.refresh()
            assert [name for _, name in rows.rows] == ["a"]

    asyncio.run(main())


def test_a_change_stands_out_at_least_once_however_late_it_is_drawn() -> None:
    cluster = sim.Cluster()
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}})

    def styles(rows: LiveRows, now: float) -> list[str]:
        shown = rows.render(now, with_kinds=False)
        assert shown is not None
        return shown[1]

    async def main() -> None:
        async with simulated(cluster) as client:
            api = await client.resource("cm", namespace="x")
            [obj] = [obj async for obj in api.items()]
            rows = LiveRows(client, api, Selectors())
            rows.mark_changed(obj)
            rows.mark_synced()
            await rows.refresh()
            assert styles(rows, 0.0) == [""]  # what was there from the beginning
            rows.mark_changed(obj)
            await rows.refresh()
            seen = [styles(rows, 60.0 + second) for second in range(5)]  # the server was slow
            assert seen == [["33"], ["33"], ["33"], ["33"], [""]]

    asyncio.run(main())
