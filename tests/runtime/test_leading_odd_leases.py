"""A candidate leads in time, whatever the last holder, or a person, has left in the Lease."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto_runtime import LeaderElector
from kubeproto_runtime.testing import simulated

__all__ = ["go"]

ODD: list[dict[str, Any]] = [
    {},
    {"holderIdentity": ""},
    {"holderIdentity": "other"},
    {"holderIdentity": "other", "leaseTransitions": -2147483648},
    {"holderIdentity": "me", "leaseTransitions": -2147483648},
    {"holderIdentity": "other", "leaseTransitions": 2147483647},
    {"holderIdentity": "other", "leaseDurationSeconds": 0},
    {"holderIdentity": "other", "leaseDurationSeconds": -2147483648},
    {"holderIdentity": "", "leaseDurationSeconds": 2147483647},
    {"holderIdentity": "other", "renewTime": "0000-01-01T00:00:00.000000Z"},
    {"holderIdentity": "me", "acquireTime": "0000-01-01T00:00:00.000000Z"},
    {"holderIdentity": "other", "renewTime": "0001-01-01T00:00:00.000000Z"},
    {"holderIdentity": "other", "renewTime": "9999-12-31T23:59:59.999999Z"},
    {"holderIdentity": "other", "renewTime": "10000-01-01T11:59:59.999999Z"},
    {"holderIdentity": "o" * 100_000},
]


@pytest.mark.parametrize("spec", ODD, ids=lambda spec: str(spec)[:80])
def test_a_candidate_leads_after_an_odd_lease_and_again_after_it_was_edited(
    go: Go, spec: dict[str, Any]
) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            await client.api(Lease).create(Lease(metadata=kp.ObjectMeta(name="books")))
            cluster.edit(Lease, "books", lambda obj: obj.update(spec=dict(spec)))
            terms: list[float] = []

            async def work() -> None:
                terms.append(anyio.current_time())
                await anyio.sleep_forever()

            elector = LeaderElector(client, name="books", identity="me")
            async with anyio.create_task_group() as tasks:
                began = anyio.current_time()
                tasks.start_soon(elector.run, work)
                await anyio.sleep(30)
                assert len(terms) == 1
                assert terms[0] - began < 25
                cluster.edit(Lease, "books", lambda obj: obj.update(spec={"holderIdentity": "other"} | spec))
                await anyio.sleep(60)
                assert elector.is_leader
                tasks.cancel_scope.cancel()
            lease = cluster.get(Lease, "books")
            assert lease is not None
            assert lease["spec"]["holderIdentity"] == ""

    go(main)


def test_a_lease_that_its_holder_may_leave_unchanged_for_years_is_reported(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with simulated(cluster) as client:
            spec = {"holderIdentity": "other", "leaseDurationSeconds": 2147483647}
            await client.api(Lease).create(Lease(metadata=kp.ObjectMeta(name="books")))
            cluster.edit(Lease, "books", lambda obj: obj.update(spec=spec))
            elector = LeaderElector(client, name="books", identity="me")
            leads: list[bool] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(elector.run, anyio.sleep_forever)
                await anyio.sleep(3600)
                leads.append(elector.is_leader)
                cluster.remove(Lease, "books")  # the remedy
                await anyio.sleep(10)
                leads.append(elector.is_leader)
                tasks.cancel_scope.cancel()
            assert leads == [False, True]

    go(main)
    assert "allows other to be silent for 2147483647 s; if that process has ended, delete the Lease" in (
        caplog.text
    )
