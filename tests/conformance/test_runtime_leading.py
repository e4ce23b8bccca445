"""Elections on either server: two candidates for a Lease, and leases as Go's clients write them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, poll_until, rig, running_beside, ship
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto_runtime import Action, Client, Context, Controller, Operator, await_change
from kubeproto_runtime.operator import LeaderElector

__all__ = ["rig"]

LEASES = kp.Resource("coordination.k8s.io", "v1", "Lease", "leases")
MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
# The writes of client-go's leader election: when it acquires a lease, and when it releases a lease.
HELD = {
    "holderIdentity": "node-1_5ad7f3e1-6a53-4d0c-9c79-6a8f3d1f5a4b",
    "leaseDurationSeconds": 15,
    "acquireTime": "2026-01-01T00:00:00.000001Z",
    "renewTime": "2026-01-01T00:00:00.000001Z",
    "leaseTransitions": 3,
}
RELEASED = {
    "holderIdentity": "",
    "leaseDurationSeconds": 1,
    "acquireTime": "2026-01-01T00:01:00.000000Z",
    "renewTime": "2026-01-01T00:01:00.000000Z",
    "leaseTransitions": 3,
}


class Acting:
    """The workers: a second concurrent worker is an error."""

    def __init__(self) -> None:
        self.now: list[str] = []
        self.history: list[str] = []

    def run_as(self, name: str) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            self.now.append(name)
            self.history.append(name)
            try:
                assert len(self.now) == 1, f"{self.now} act at the same time"
                await anyio.sleep_forever()
            finally:
                self.now.remove(name)

        return work


def candidate(client: Client, identity: str) -> LeaderElector:
    return LeaderElector(client, name="fleet", identity=identity, retry_period=0.5)


async def spec_of(client: Client) -> dict[str, Any]:
    """Return the spec of the lease on the server."""
    lease = await client.api(kp.Dynamic, resource=LEASES).get("fleet")
    spec: dict[str, Any] = lease["spec"]
    return spec


def test_a_single_candidate_leads_and_the_other_follows_as_soon_as_possible(rig: Rig) -> None:
    async def main(client: Client) -> None:
        acting = Acting()
        first, second = candidate(client, "ahab"), candidate(client, "starbuck")
        stepping_down = anyio.CancelScope()

        async def lead_for_a_while() -> None:
            with stepping_down:
                await first.run(acting.run_as("ahab"))

        async with running_beside(lead_for_a_while):
            await poll_until(lambda: acting.now == ["ahab"])
            acquired = await spec_of(client)
            assert (acquired["holderIdentity"], acquired["leaseDurationSeconds"]) == ("ahab", 15)
            assert MICRO.fullmatch(acquired["acquireTime"])
            async with running_beside(lambda: second.run(acting.run_as("starbuck"))):
                await poll_until(lambda: second.leadership_status.leader == "ahab")
                renewed = await wait_until_renewed(client, acquired["renewTime"])
                assert renewed["acquireTime"] == acquired["acquireTime"]
                assert (first.is_leader, second.is_leader) == (True, False)
                stepping_down.cancel()
                await poll_until(lambda: acting.now == ["starbuck"])
                released_spec = await spec_of(client)
                assert (released_spec["holderIdentity"], released_spec["leaseTransitions"]) == ("starbuck", 1)
                assert (first.is_leader, second.is_leader) == (False, True)
            released = await spec_of(client)
        assert (released["holderIdentity"], released["leaseDurationSeconds"]) == ("", 1)
        assert acting.history == ["ahab", "starbuck"]

    async def wait_until_renewed(client: Client, since: str) -> dict[str, Any]:
        await client.api(Lease).wait_for("fleet", lambda lease: str(lease.spec.renew_time) > since)
        return await spec_of(client)

    rig.run(main)


def test_a_lease_held_by_client_go_is_respected_and_a_released_lease_is_acquired(rig: Rig) -> None:
    async def main(client: Client) -> None:
        leases, acting = client.api(Lease), Acting()
        raw = client.api(kp.Dynamic, resource=LEASES)
        await raw.create(kp.Dynamic(metadata=kp.ObjectMeta(name="fleet"), content={"spec": HELD}))
        leading = candidate(client, "ishmael")
        async with running_beside(lambda: leading.run(acting.run_as("ishmael"))):
            await poll_until(lambda: leading.leadership_status.leader == HELD["holderIdentity"])
            for second in range(3):
                renewed = {"renewTime": f"2026-01-01T00:00:{second + 10}.000001Z"}
                await leases.merge_patch("fleet", {"spec": renewed})
                assert (await spec_of(client)) == HELD | renewed
            assert acting.history == []
            await leases.merge_patch("fleet", {"spec": RELEASED})
            await poll_until(lambda: acting.now == ["ishmael"])
            acquired = await spec_of(client)
        assert acquired.keys() == HELD.keys()
        assert (acquired["holderIdentity"], acquired["leaseTransitions"]) == ("ishmael", 4)
        assert acquired["leaseDurationSeconds"] == 15

    rig.run(main)


def test_an_unrenewed_lease_is_acquired_after_it_has_expired(rig: Rig) -> None:
    async def main(client: Client) -> None:
        acting = Acting()
        raw = client.api(kp.Dynamic, resource=LEASES)
        spec = HELD | {"leaseDurationSeconds": 2}
        await raw.create(kp.Dynamic(metadata=kp.ObjectMeta(name="fleet"), content={"spec": spec}))
        leading = candidate(client, "ishmael")
        async with running_beside(lambda: leading.run(acting.run_as("ishmael"))):
            await poll_until(lambda: acting.now == ["ishmael"])
            assert (await spec_of(client))["leaseTransitions"] == 4

    rig.run(main)


def test_controllers_run_only_on_the_leader_and_move_with_the_leadership(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)

        def operating(leading: LeaderElector) -> Callable[[], Awaitable[None]]:
            async def paint(obj: Ship, ctx: Context[None]) -> Action:
                painter = {"painted-by": leading.leadership_status.leader}
                await ships.merge_patch(ctx.name, {"metadata": {"labels": painter}})
                return await_change()

            operator = Operator(election=leading)
            return lambda: operator.run(Controller(client, Ship, namespace=rig.namespace).run(paint))

        def is_painted(ship_: Ship, by: str) -> bool:
            return ship_.metadata.labels.get("painted-by") == by

        first, ending = candidate(client, "ahab"), anyio.CancelScope()

        async def operate_for_a_while() -> None:
            with ending:
                await operating(first)()

        async with running_beside(operate_for_a_while):
            await ships.create(ship())
            await ships.wait_for("pequod", lambda ship_: is_painted(ship_, "ahab"))
            second = candidate(client, "starbuck")
            async with running_beside(operating(second)):
                await poll_until(lambda: second.leadership_status.leader == "ahab")
                assert first.is_leader
                ending.cancel()
                await ships.wait_for("pequod", lambda ship_: is_painted(ship_, "starbuck"))
                assert second.is_leader

    rig.run(main, Ship)
