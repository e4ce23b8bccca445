"""Elections on either server: two candidates and one Lease, and leases as Go's clients write them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, beside, rig, ship, until
from kubeproto.kinds.coordination_v1 import Lease
from kubeproto_runtime import Action, Client, Context, Controller, Operator, await_change
from kubeproto_runtime.operator import LeaderElector

__all__ = ["rig"]

LEASES = kp.Resource("coordination.k8s.io", "v1", "Lease", "leases")
MICRO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
# What the leader election of client-go writes: when it takes a lease, and when it gives one back.
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
    """Who does the work: fails as soon as two do it at once."""

    def __init__(self) -> None:
        self.now: list[str] = []
        self.history: list[str] = []

    def as_(self, name: str) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            self.now.append(name)
            self.history.append(name)
            try:
                assert len(self.now) == 1, f"{self.now} act at once"
                await anyio.sleep_forever()
            finally:
                self.now.remove(name)

        return work


def candidate(client: Client, identity: str) -> LeaderElector:
    return LeaderElector(client, name="fleet", identity=identity, retry_period=0.5)


async def spec_of(client: Client) -> dict[str, Any]:
    """The spec of the lease, as it stands on the server."""
    lease = await client.api(kp.Dynamic, resource=LEASES).get("fleet")
    spec: dict[str, Any] = lease["spec"]
    return spec


def test_one_of_two_leads_and_the_other_follows_as_soon_as_it_is_let(rig: Rig) -> None:
    async def main(client: Client) -> None:
        acting = Acting()
        first, second = candidate(client, "ahab"), candidate(client, "starbuck")
        stepping_down = anyio.CancelScope()

        async def lead_for_a_while() -> None:
            with stepping_down:
                await first.run(acting.as_("ahab"))

        async with beside(lead_for_a_while):
            await until(lambda: acting.now == ["ahab"])
            taken = await spec_of(client)
            assert (taken["holderIdentity"], taken["leaseDurationSeconds"]) == ("ahab", 15)
            assert MICRO.fullmatch(taken["acquireTime"])
            async with beside(lambda: second.run(acting.as_("starbuck"))):
                await until(lambda: second.leadership_status.leader == "ahab")
                renewed = await until_renewed(client, taken["renewTime"])
                assert renewed["acquireTime"] == taken["acquireTime"]
                assert (first.is_leader, second.is_leader) == (True, False)
                stepping_down.cancel()
                await until(lambda: acting.now == ["starbuck"])
                found = await spec_of(client)
                assert (found["holderIdentity"], found["leaseTransitions"]) == ("starbuck", 1)
                assert (first.is_leader, second.is_leader) == (False, True)
            released = await spec_of(client)
        assert (released["holderIdentity"], released["leaseDurationSeconds"]) == ("", 1)
        assert acting.history == ["ahab", "starbuck"]

    async def until_renewed(client: Client, since: str) -> dict[str, Any]:
        await client.api(Lease).wait_for("fleet", lambda one: str(one.spec.renew_time) > since)
        return await spec_of(client)

    rig.run(main)


def test_a_lease_that_client_go_holds_is_left_alone_and_one_that_it_releases_is_taken(rig: Rig) -> None:
    async def main(client: Client) -> None:
        leases, acting = client.api(Lease), Acting()
        raw = client.api(kp.Dynamic, resource=LEASES)
        await raw.create(kp.Dynamic(metadata=kp.ObjectMeta(name="fleet"), content={"spec": HELD}))
        leading = candidate(client, "ishmael")
        async with beside(lambda: leading.run(acting.as_("ishmael"))):
            await until(lambda: leading.leadership_status.leader == HELD["holderIdentity"])
            for second in range(3):
                renewed = {"renewTime": f"2026-01-01T00:00:{second + 10}.000001Z"}
                await leases.merge_patch("fleet", {"spec": renewed})
                assert (await spec_of(client)) == HELD | renewed
            assert acting.history == []
            await leases.merge_patch("fleet", {"spec": RELEASED})
            await until(lambda: acting.now == ["ishmael"])
            taken = await spec_of(client)
        assert taken.keys() == HELD.keys()
        assert (taken["holderIdentity"], taken["leaseTransitions"]) == ("ishmael", 4)
        assert taken["leaseDurationSeconds"] == 15

    rig.run(main)


def test_a_lease_whose_holder_says_nothing_more_is_taken_when_it_has_run_out(rig: Rig) -> None:
    async def main(client: Client) -> None:
        acting = Acting()
        raw = client.api(kp.Dynamic, resource=LEASES)
        spec = HELD | {"leaseDurationSeconds": 2}
        await raw.create(kp.Dynamic(metadata=kp.ObjectMeta(name="fleet"), content={"spec": spec}))
        leading = candidate(client, "ishmael")
        async with beside(lambda: leading.run(acting.as_("ishmael"))):
            await until(lambda: acting.now == ["ishmael"])
            assert (await spec_of(client))["leaseTransitions"] == 4

    rig.run(main)


def test_controllers_run_only_where_the_leader_is_and_go_on_where_it_goes(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)

        def operating(leading: LeaderElector) -> Callable[[], Awaitable[None]]:
            async def paint(obj: Ship, ctx: Context[None]) -> Action:
                painter = {"painted-by": leading.leadership_status.leader}
                await ships.merge_patch(ctx.name, {"metadata": {"labels": painter}})
                return await_change()

            operator = Operator(election=leading)
            return lambda: operator.run(Controller(client, Ship, namespace=rig.namespace).run(paint))

        def is_painted(one: Ship, by: str) -> bool:
            return one.metadata.labels.get("painted-by") == by

        first, ending = candidate(client, "ahab"), anyio.CancelScope()

        async def operate_for_a_while() -> None:
            with ending:
                await operating(first)()

        async with beside(operate_for_a_while):
            await ships.create(ship())
            await ships.wait_for("pequod", lambda one: is_painted(one, "ahab"))
            second = candidate(client, "starbuck")
            async with beside(operating(second)):
                await until(lambda: second.leadership_status.leader == "ahab")
                assert first.is_leader
                ending.cancel()
                await ships.wait_for("pequod", lambda one: is_painted(one, "starbuck"))
                assert second.is_leader

    rig.run(main, Ship)
