"""The rows of the live table: an object that is deleted while its row is read does not reappear."""

from __future__ import annotations

import asyncio

import pytest

import kubeproto_sim as sim
from kubeproto_cli._live_table import LiveRows, Selectors
from kubeproto_runtime.testing import simulated

pytestmark = pytest.mark.one_python


@pytest.mark.parametrize("in_single_refresh", [True, False])
def test_the_row_of_an_object_that_is_deleted_during_a_refresh_is_dropped(in_single_refresh: bool) -> None:
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
            if not in_single_refresh:
                await rows.refresh()
                rows.mark_changed(first)
            refresh_task = asyncio.create_task(rows.refresh())
            await asyncio.sleep(0)  # the request is in flight
            rows.remove(first)
            await refresh_task
            assert [name for _, name in rows.rows] == ["b"]
            rendered = rows.render(0.0, with_kinds=False)
            assert rendered is not None
            assert len(rendered[0].rows) == 1

    asyncio.run(main())


def test_rows_are_read_again_after_a_refused_list() -> None:
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


def test_a_change_is_highlighted_at_least_once_however_late_it_is_drawn() -> None:
    cluster = sim.Cluster()
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}})

    def styles(rows: LiveRows, now: float) -> list[str]:
        rendered = rows.render(now, with_kinds=False)
        assert rendered is not None
        return rendered[1]

    async def main() -> None:
        async with simulated(cluster) as client:
            api = await client.resource("cm", namespace="x")
            [obj] = [obj async for obj in api.items()]
            rows = LiveRows(client, api, Selectors())
            rows.mark_changed(obj)
            rows.mark_synced()
            await rows.refresh()
            assert styles(rows, 0.0) == [""]  # the initial rows are not highlighted
            rows.mark_changed(obj)
            await rows.refresh()
            styles_by_second = [styles(rows, 60.0 + second) for second in range(5)]  # the server was slow
            assert styles_by_second == [["33"], ["33"], ["33"], ["33"], [""]]

    asyncio.run(main())
