"""Controllers on either server: the followed kinds, their writes, and their reaction to refusals."""

from __future__ import annotations

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, ShipStatus, poll_until, rig, running_beside, ship
from kubeproto.control import ExponentialBackoff, owner_reference, set_condition
from kubeproto.kinds.core_v1 import ConfigMap, Secret
from kubeproto.kinds.meta_v1 import Condition
from kubeproto_runtime import (
    Action,
    Client,
    Context,
    Controller,
    await_change,
    conditions,
    finalizer,
    predicates,
    requeue,
)
from kubeproto_runtime.reconciling import Result

__all__ = ["rig"]

SOON = ExponentialBackoff(0.1, 1.0)
LOOKS = 5
MANY = 20


async def fit_out(obj: Ship, ctx: Context[None]) -> Action:
    """Create the papers of a ship, and set in its status whether it may sail: that requires a pilot in its
    port.
    """
    papers = ConfigMap(
        metadata=kp.ObjectMeta(name=f"{ctx.name}-papers", owner_references=[owner_reference(obj)]),
        data={"crew": str(obj.spec.crew)},
    )
    await ctx.client.api(ConfigMap, namespace=ctx.namespace).apply(papers, field_manager="rig", force=True)
    pilot = ctx.cache(Secret).get(obj.spec.port, ctx.namespace)
    status = ShipStatus(crew=obj.spec.crew, conditions=list(status_of(obj).conditions))
    ready = Condition(
        type="Ready",
        status="False" if pilot is None else "True",
        reason="NoPilot" if pilot is None else "Piloted",
        message="",
        observed_generation=obj.metadata.generation,
        last_transition_time=None,
    )
    set_condition(status.conditions, ready, now=ctx.client.wall_clock())
    await ctx.client.api(Ship, namespace=ctx.namespace).patch_status(obj, status)
    return await_change()


def test_a_controller_maintains_owned_objects_watches_others_and_writes_its_status(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships, maps, secrets = client.api(Ship), client.api(ConfigMap), client.api(Secret)
        results: list[Result] = []
        controller = (
            Controller(client, Ship, namespace=rig.namespace, backoff=SOON, when=predicates.generation)
            .owns(ConfigMap)
            .watches(Secret, lambda pilot: [f"{rig.namespace}/pequod"])
        )
        async with running_beside(lambda: controller.run(fit_out, observe=results.append)):
            await ships.create(ship(port="nantucket"))
            waiting = await ships.wait_for("pequod", conditions.condition("Ready", "False"))
            [condition] = status_of(waiting).conditions
            assert (condition.reason, condition.observed_generation) == ("NoPilot", 1)

            await secrets.create(Secret(metadata=kp.ObjectMeta(name="nantucket")))
            piloted = await ships.wait_for("pequod", conditions.ready())
            assert piloted.metadata.generation == 1  # only the status has been written

            await maps.delete("pequod-papers")
            await maps.wait_for("pequod-papers", lambda obj: obj.data == {"crew": "30"})
            await maps.merge_patch("pequod-papers", {"data": {"crew": "3"}})
            await maps.wait_for("pequod-papers", lambda obj: obj.data == {"crew": "30"})

            await ships.merge_patch("pequod", {"spec": {"crew": 31}})
            synced = await ships.wait_for("pequod", lambda obj: status_of(obj).crew == 31)
            assert status_of(synced).conditions[0].observed_generation == 2
            await maps.wait_for("pequod-papers", lambda obj: obj.data == {"crew": "31"})

            await ships.delete("pequod")
            # The garbage collector discovers new kinds twice a minute.
            await maps.wait_for("pequod-papers", conditions.deleted(), timeout=180)
        assert_only_late(results)

    rig.run(main, Ship)


def test_a_controller_without_work_stops_writing(rig: Rig) -> None:
    """Its own writes are changes for it: a condition with a new time in each run would cause an endless
    loop.
    """

    async def main(client: Client) -> None:
        results: list[Result] = []
        controller = Controller(client, Ship, namespace=rig.namespace, backoff=SOON).owns(ConfigMap)
        controller = controller.watches(Secret, lambda pilot: [])

        async def fit_out_for_a_while(obj: Ship, ctx: Context[None]) -> Action:
            assert len(results) < MANY, "the controller does not stop writing"
            return await fit_out(obj, ctx)

        def end_it(error: Exception, ctx: Context[None]) -> Action:
            if isinstance(error, AssertionError):
                raise error
            return requeue(after=0.1)

        run = controller.run(fit_out_for_a_while, on_error=end_it, observe=results.append)
        async with running_beside(lambda: run):
            await client.api(Ship).create(ship())
            await client.api(Ship).wait_for("pequod", conditions.condition("Ready", "False"))
            initial_version = (await until_at_rest(client)).metadata.resource_version
            await client.api(Ship).merge_patch("pequod", {"metadata": {"labels": {"seen": "1"}}})
            await poll_until(lambda: len(results) >= 2)
            again = await until_at_rest(client)
            assert again.metadata.resource_version != initial_version
        assert_only_late(results)

    async def until_at_rest(client: Client) -> Ship:
        """Return the ship as soon as several polls return the same ship."""
        polled: list[Ship] = []

        async def rests() -> bool:
            polled.append(await client.api(Ship).get("pequod"))
            last = [polled_ship.metadata.resource_version for polled_ship in polled[-LOOKS:]]
            return len(last) == LOOKS and len(set(last)) == 1

        await poll_until(rests)
        return polled[-1]

    rig.run(main, Ship)


def test_a_run_is_repeated_on_request_and_after_a_conflict(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        results: list[Result] = []
        stale: list[Ship] = []

        async def man(obj: Ship, ctx: Context[None]) -> Action:
            if not stale:
                # Another client writes between this run's read and its write.
                stale.append(obj)
                await ships.merge_patch(ctx.name, {"spec": {"port": "nantucket"}})
            if obj.spec.crew < 33:
                obj.spec.crew += 1
                await ships.replace(obj)
                return requeue(after=0.2)
            return await_change()

        controller = Controller(client, Ship, namespace=rig.namespace, backoff=SOON)
        async with running_beside(lambda: controller.run(man, observe=results.append)):
            await ships.create(ship(crew=30))
            final_ship = await ships.wait_for("pequod", lambda obj_: obj_.spec.crew == 33)
            assert final_ship.spec.port == "nantucket"
            await poll_until(lambda: results and results[-1].after is None and results[-1].error is None)
        assert isinstance(results[0].error, kp.Conflict)
        assert results[0].attempt == 1
        assert 0.2 in [result.after for result in results]

    rig.run(main, Ship)


def test_a_finalizer_is_added_first_holds_the_object_and_does_not_affect_others(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        actions: list[str] = []

        async def launch(obj: Ship, ctx: Context[None]) -> Action:
            assert "runtime.example.com/yard" in obj.metadata.finalizers
            actions.append("launch")
            return await_change()

        async def scrap(obj: Ship, ctx: Context[None]) -> Action | None:
            assert obj.metadata.deletion_timestamp is not None
            actions.append("scrap")
            return requeue(after=0.1) if actions.count("scrap") < 3 else None

        reconcile = finalizer("runtime.example.com/yard", apply=launch, cleanup=scrap)
        controller = Controller(client, Ship, namespace=rig.namespace, backoff=SOON)
        ship_ = ship()
        ship_.metadata.finalizers = ["runtime.example.com/owner"]
        async with running_beside(lambda: controller.run(reconcile)):
            await ships.create(ship_)
            await poll_until(lambda: "launch" in actions)
            await ships.delete("pequod")
            released = await ships.wait_for(
                "pequod", lambda obj_: obj_.metadata.finalizers == ["runtime.example.com/owner"]
            )
            assert released.metadata.deletion_timestamp is not None
            assert actions.count("scrap") == 3
            free = [{"op": "remove", "path": "/metadata/finalizers"}]
            await ships.json_patch("pequod", free)
            await ships.wait_for("pequod", conditions.deleted(released.metadata.uid))
        assert actions.index("scrap") > actions.index("launch")
        assert set(actions[actions.index("scrap") :]) == {"scrap"}

    rig.run(main, Ship)


def assert_only_late(results: list[Result]) -> None:
    """Check that runs failed only because their object was written or deleted in the meantime, possibly by
    themselves.
    """
    errors = [result.error for result in results if result.error is not None]
    assert [error for error in errors if not isinstance(error, kp.Conflict | kp.NotFound)] == []


def status_of(obj: Ship) -> ShipStatus:
    return obj.status or ShipStatus()
