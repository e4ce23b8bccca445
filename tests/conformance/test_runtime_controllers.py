"""Controllers on either server: what they follow, what they write, what they do when it is refused."""

from __future__ import annotations

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, ShipStatus, beside, rig, ship, until
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
    """Give a ship its papers, and say in its status whether it may sail: that takes a pilot in its port."""
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


def test_a_controller_keeps_what_it_owns_watches_what_it_needs_and_says_how_it_stands(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships, maps, secrets = client.api(Ship), client.api(ConfigMap), client.api(Secret)
        results: list[Result] = []
        controller = (
            Controller(client, Ship, namespace=rig.namespace, backoff=SOON, when=predicates.generation)
            .owns(ConfigMap)
            .watches(Secret, lambda pilot: [f"{rig.namespace}/pequod"])
        )
        async with beside(lambda: controller.run(fit_out, observe=results.append)):
            await ships.create(ship(port="nantucket"))
            waiting = await ships.wait_for("pequod", conditions.condition("Ready", "False"))
            [condition] = status_of(waiting).conditions
            assert (condition.reason, condition.observed_generation) == ("NoPilot", 1)

            await secrets.create(Secret(metadata=kp.ObjectMeta(name="nantucket")))
            piloted = await ships.wait_for("pequod", conditions.ready())
            assert piloted.metadata.generation == 1  # nobody but a status has been written

            await maps.delete("pequod-papers")
            await maps.wait_for("pequod-papers", lambda one: one.data == {"crew": "30"})
            await maps.merge_patch("pequod-papers", {"data": {"crew": "3"}})
            await maps.wait_for("pequod-papers", lambda one: one.data == {"crew": "30"})

            await ships.merge_patch("pequod", {"spec": {"crew": 31}})
            seen = await ships.wait_for("pequod", lambda one: status_of(one).crew == 31)
            assert status_of(seen).conditions[0].observed_generation == 2
            await maps.wait_for("pequod-papers", lambda one: one.data == {"crew": "31"})

            await ships.delete("pequod")
            # The garbage collector looks for kinds that are new to it twice a minute.
            await maps.wait_for("pequod-papers", conditions.deleted(), timeout=180)
        assert_only_late(results)

    rig.run(main, Ship)


def test_a_controller_that_finds_all_in_order_comes_to_rest(rig: Rig) -> None:
    """What it writes comes back as a change: a condition with a new time each run would go round forever."""

    async def main(client: Client) -> None:
        results: list[Result] = []
        controller = Controller(client, Ship, namespace=rig.namespace, backoff=SOON).owns(ConfigMap)
        controller = controller.watches(Secret, lambda pilot: [])

        async def fit_out_for_a_while(obj: Ship, ctx: Context[None]) -> Action:
            assert len(results) < MANY, "it does not come to rest"
            return await fit_out(obj, ctx)

        def end_it(error: Exception, ctx: Context[None]) -> Action:
            if isinstance(error, AssertionError):
                raise error
            return requeue(after=0.1)

        run = controller.run(fit_out_for_a_while, on_error=end_it, observe=results.append)
        async with beside(lambda: run):
            await client.api(Ship).create(ship())
            await client.api(Ship).wait_for("pequod", conditions.condition("Ready", "False"))
            before = (await until_at_rest(client)).metadata.resource_version
            await client.api(Ship).merge_patch("pequod", {"metadata": {"labels": {"seen": "1"}}})
            await until(lambda: len(results) >= 2)
            again = await until_at_rest(client)
            assert again.metadata.resource_version != before
        assert_only_late(results)

    async def until_at_rest(client: Client) -> Ship:
        """The ship, once several looks at it give the same."""
        seen: list[Ship] = []

        async def rests() -> bool:
            seen.append(await client.api(Ship).get("pequod"))
            last = [one.metadata.resource_version for one in seen[-LOOKS:]]
            return len(last) == LOOKS and len(set(last)) == 1

        await until(rests)
        return seen[-1]

    rig.run(main, Ship)


def test_a_run_comes_again_when_it_asked_for_it_and_after_a_conflict(rig: Rig) -> None:
    async def main(client: Client) -> None:
        ships = client.api(Ship)
        results: list[Result] = []
        stale: list[Ship] = []

        async def man(obj: Ship, ctx: Context[None]) -> Action:
            if not stale:
                # Somebody writes between what this run has seen and what it writes.
                stale.append(obj)
                await ships.merge_patch(ctx.name, {"spec": {"port": "nantucket"}})
            if obj.spec.crew < 33:
                obj.spec.crew += 1
                await ships.replace(obj)
                return requeue(after=0.2)
            return await_change()

        controller = Controller(client, Ship, namespace=rig.namespace, backoff=SOON)
        async with beside(lambda: controller.run(man, observe=results.append)):
            await ships.create(ship(crew=30))
            done = await ships.wait_for("pequod", lambda one: one.spec.crew == 33)
            assert done.spec.port == "nantucket"
            await until(lambda: results and results[-1].after is None and results[-1].error is None)
        assert isinstance(results[0].error, kp.Conflict)
        assert results[0].attempt == 1
        assert 0.2 in [result.after for result in results]

    rig.run(main, Ship)


def test_a_finalizer_goes_in_first_holds_the_object_and_leaves_the_others_alone(rig: Rig) -> None:
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
        held = ship()
        held.metadata.finalizers = ["runtime.example.com/owner"]
        async with beside(lambda: controller.run(reconcile)):
            await ships.create(held)
            await until(lambda: "launch" in actions)
            await ships.delete("pequod")
            left = await ships.wait_for(
                "pequod", lambda one: one.metadata.finalizers == ["runtime.example.com/owner"]
            )
            assert left.metadata.deletion_timestamp is not None
            assert actions.count("scrap") == 3
            free = [{"op": "remove", "path": "/metadata/finalizers"}]
            await ships.json_patch("pequod", free)
            await ships.wait_for("pequod", conditions.deleted(left.metadata.uid))
        assert actions.index("scrap") > actions.index("launch")
        assert set(actions[actions.index("scrap") :]) == {"scrap"}

    rig.run(main, Ship)


def assert_only_late(results: list[Result]) -> None:
    """A run may fail because what it has read was written or deleted meanwhile, also by itself."""
    errors = [one.error for one in results if one.error is not None]
    assert [error for error in errors if not isinstance(error, kp.Conflict | kp.NotFound)] == []


def status_of(obj: Ship) -> ShipStatus:
    return obj.status or ShipStatus()
