"""Children of an object in a reconcile: application, pruning, adoption, and no requests without a change."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

import anyio
import pytest
from sets_rig import account, config, writes

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.control import owner_reference
from kubeproto.kinds.core_v1 import ConfigMap, Namespace, ServiceAccount
from kubeproto_runtime import Action, Context, Controller, await_change
from kubeproto_runtime.controllers import Children
from kubeproto_runtime.sets import PlanRefused
from kubeproto_runtime.testing import BACKENDS, SimulatedClient, run, simulated

LABEL: Final = "kubeproto/child-of"


Scenario: TypeAlias = "Callable[[Rig], Awaitable[None]]"


class ShopSpec(kp.Fields):
    configs: list[str] = []
    color: str = "blue"
    robot: bool = False


class Shop(kp.Object[ShopSpec, None], group="example.com", version="v1"):
    """A shop with a ConfigMap for each of its configs."""


def shop(name: str = "corner", **spec: Any) -> Shop:
    return Shop(metadata=kp.ObjectMeta(name=name), spec=ShopSpec(**spec))


class Rig:
    """A controller of shops with its cluster, its user, and the errors of its reconciles."""

    def __init__(self, cluster: sim.Cluster, user: SimulatedClient, client: SimulatedClient) -> None:
        self.cluster = cluster
        self.user = user
        self.client = client
        self.failures: list[Exception] = []
        self.runs = 0
        self.children = Children(ConfigMap, ServiceAccount, field_manager="shops")

    async def reconcile(self, obj: Shop, ctx: Context[None]) -> Action:
        self.runs += 1
        desired_children = [
            config(f"{obj.metadata.name}-{name}", color=obj.spec.color) for name in obj.spec.configs
        ]
        desired_children += [account(f"{obj.metadata.name}-robot")] if obj.spec.robot else []
        try:
            await self.children.reconcile(ctx, obj, desired_children)
        except PlanRefused as error:
            self.failures.append(error)
        return await_change()

    async def wait_until_settled(self) -> list[str]:
        """Wait until no more requests are sent, and return the names of the existing children."""
        log_length = -1
        while log_length != len(self.cluster.log):
            log_length = len(self.cluster.log)
            await self.client.until(lambda: True)
            for _ in range(30):
                self.cluster.settle()
                await sleep_briefly()
        return sorted(
            obj["metadata"]["name"]
            for kind in ("v1/ConfigMap", "v1/ServiceAccount")
            for obj in self.cluster.objects(kind)
            if LABEL in obj["metadata"].get("labels", {})
        )

    async def change(self, name: str = "corner", **spec: Any) -> list[str]:
        def edit(obj: Shop) -> None:
            for key, value in spec.items():
                setattr(obj.spec, key, value)

        await self.user.api(Shop).update(name, edit)
        return await self.wait_until_settled()


async def sleep_briefly() -> None:
    await anyio.sleep(0.1)  # in virtual time


@pytest.fixture(params=BACKENDS)
def play(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Run a scenario with a controller of shops, which owns ConfigMaps, on each event loop."""

    def on_loop(
        scenario: Callable[[Rig], Awaitable[None]], *, owns: tuple[type[Any], ...] = (ConfigMap,)
    ) -> None:
        async def main() -> None:
            cluster = sim.Cluster(crds=[Shop])
            async with simulated(cluster) as user, simulated(cluster) as client:
                rig = Rig(cluster, user, client)
                controller = Controller(client, Shop)
                for kind in owns:
                    controller = controller.owns(kind)
                client.start(controller.run(rig.reconcile))
                await scenario(rig)

        run(main, backend=request.param)

    return on_loop


def test_children_follow_the_spec_of_their_owner(play: Callable[..., None]) -> None:
    async def scenario(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a", "b"]))
        await rig.user.api(Shop).create(shop("other", configs=["a"]))
        assert await rig.wait_until_settled() == ["corner-a", "corner-b", "other-a"]
        config_map: Any = rig.cluster.get("v1/ConfigMap", "corner-a")
        [owner] = config_map["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Shop", "corner", True)
        assert await rig.change(configs=["b", "c"], robot=True) == [
            "corner-b",
            "corner-c",
            "corner-robot",
            "other-a",
        ]
        assert await rig.change(configs=[], robot=False) == ["other-a"]

    play(scenario)
    play(scenario, owns=())
    play(scenario, owns=(ConfigMap, ServiceAccount))


def test_a_reconcile_without_a_change_sends_no_request(play: Callable[..., None]) -> None:
    async def scenario(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a", "b"]))
        await rig.wait_until_settled()
        runs, log_length = rig.runs, len(rig.cluster.log)
        await rig.user.api(Shop).merge_patch("corner", {"metadata": {"annotations": {"checked": "yes"}}})
        await rig.wait_until_settled()
        assert rig.runs > runs
        assert [entry.request.target for entry in rig.cluster.log[log_length + 1 :]] == []

    play(scenario, owns=(ConfigMap, ServiceAccount))


def test_a_restart_sends_a_dry_run_per_child_and_no_write(play: Callable[..., None]) -> None:
    async def scenario(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a", "b"]))
        await rig.wait_until_settled()
        rig.children = Children(ConfigMap, ServiceAccount, field_manager="shops")
        runs, log_length = rig.runs, len(rig.cluster.log)
        await rig.user.api(Shop).merge_patch("corner", {"metadata": {"annotations": {"checked": "yes"}}})
        await rig.wait_until_settled()
        assert rig.runs > runs
        requests = [
            one.request for one in rig.cluster.log[log_length + 1 :] if "watch=" not in one.request.target
        ]
        assert len([request for request in requests if "dryRun=All" in request.target]) == 2
        assert writes(rig.cluster, log_length + 1) == []

    play(scenario, owns=(ConfigMap, ServiceAccount))


def test_changes_by_others_are_reverted_and_their_additions_stay(play: Callable[..., None]) -> None:
    async def scenario(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a"]))
        await rig.wait_until_settled()
        await rig.user.api(ConfigMap).merge_patch("corner-a", {"data": {"color": "red", "more": "theirs"}})
        await rig.wait_until_settled()
        config_map: Any = rig.cluster.get("v1/ConfigMap", "corner-a")
        assert config_map["data"] == {"color": "blue", "more": "theirs"}
        await rig.user.api(ConfigMap).delete("corner-a")
        assert await rig.wait_until_settled() == ["corner-a"]

    play(scenario)


def test_foreign_objects_are_never_pruned(play: Callable[..., None]) -> None:
    async def scenario(rig: Rig) -> None:
        corner = await rig.user.api(Shop).create(shop(configs=["a"]))
        await rig.wait_until_settled()
        reference = owner_reference(corner)
        child: Any = rig.cluster.get("v1/ConfigMap", "corner-a")
        labels: dict[str, str] = child["metadata"]["labels"]
        unlabelled = kp.ObjectMeta(name="owned", owner_references=[reference])
        by_hand = kp.ObjectMeta(name="labelled", labels=dict(labels))
        for metadata in (unlabelled, by_hand):
            await rig.user.api(ConfigMap).create(ConfigMap(metadata=metadata))
        await rig.change(configs=[])
        assert rig.cluster.get("v1/ConfigMap", "corner-a") is None
        assert rig.cluster.get("v1/ConfigMap", "owned") is not None
        assert rig.cluster.get("v1/ConfigMap", "labelled") is not None

    play(scenario)
    play(scenario, owns=())


def test_a_copy_of_a_child_in_a_namespace_of_a_similar_name_is_not_pruned(play: Callable[..., None]) -> None:
    async def scenario(rig: Rig) -> None:
        rig.cluster.controllers["garbage-collector-controller"].stop()  # it would delete the copy
        rig.cluster.put(Namespace(metadata=kp.ObjectMeta(name="default-backup")))
        await rig.user.api(Shop).create(shop(configs=["a"]))
        await rig.wait_until_settled()
        copy: Any = rig.cluster.get("v1/ConfigMap", "corner-a")
        copy["metadata"] = {
            name: copy["metadata"][name] for name in ("name", "labels", "ownerReferences")
        } | {"namespace": "default-backup"}
        rig.cluster.put(copy)
        await rig.change(configs=[])
        assert rig.cluster.get("v1/ConfigMap", "corner-a") is None
        assert rig.cluster.get("v1/ConfigMap", "corner-a", "default-backup") is not None

    play(scenario)


def test_a_refused_child_does_not_block_the_others_but_blocks_pruning(
    play: Callable[..., None],
) -> None:
    async def scenario(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["old"]))
        await rig.wait_until_settled()
        assert await rig.change(configs=["new", "Bad_Name"]) == ["corner-new", "corner-old"]
        assert any("ConfigMap default/corner-Bad_Name" in str(error) for error in rig.failures)
        assert await rig.change(configs=["new"]) == ["corner-new"]

    play(scenario)


def test_a_child_of_another_owner_is_not_taken_over(play: Callable[..., None]) -> None:
    async def scenario(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop("corner", configs=["x-y"]))
        await rig.wait_until_settled()
        await rig.user.api(Shop).create(shop("corner-x", configs=["y"]))
        assert await rig.wait_until_settled() == ["corner-x-y"]
        assert any("it belongs to another owner" in str(error) for error in rig.failures)
        config_map: Any = rig.cluster.get("v1/ConfigMap", "corner-x-y")
        assert [reference["name"] for reference in config_map["metadata"]["ownerReferences"]] == ["corner"]

    play(scenario)


class Mall(kp.Object[ShopSpec, None], group="example.com", version="v1", namespaced=False):
    """An owner without a namespace."""


def config_map_in(name: str, namespace: str) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name, namespace=namespace))


WHOLE_NAMESPACE: Final = Namespace(metadata=kp.ObjectMeta(name="mine"))
REFUSED: Final[list[tuple[type[kp.KubeObject], list[kp.KubeObject], str]]] = [
    (Shop, [config("a", color="red"), config("a", color="blue")], "default/a: it is in the objects twice"),
    (
        Shop,
        [config_map_in("a", "other")],
        "other/a: its owner is in namespace default, and cannot own",
    ),
    (Shop, [WHOLE_NAMESPACE], "mine: its owner is in namespace default, and cannot own"),
    (Mall, [config_map_in("a", "")], "a: neither it nor its owner has a namespace"),
    (Mall, [config_map_in("a", "other"), WHOLE_NAMESPACE], ""),
]


@pytest.mark.parametrize(("kind", "desired_children", "message"), REFUSED, ids=[*"abcde"])
def test_children_that_would_be_deleted_or_changed_repeatedly_are_refused(
    kind: type[Any], desired_children: list[kp.KubeObject], message: str
) -> None:
    children, failures = Children(ConfigMap, Namespace, field_manager="shops"), list[str]()

    async def reconcile(obj: kp.KubeObject, ctx: Context[None]) -> Action:
        assert len(failures) < 5, "the object is reconciled in a loop"
        try:
            await children.reconcile(ctx, obj, desired_children)
        except PlanRefused as error:
            failures.append(str(error))
        else:
            failures.append("")
        return await_change()

    async def main() -> None:
        cluster = sim.Cluster(crds=[Shop, Mall], controllers=True)
        cluster.namespace("other")
        async with simulated(cluster) as user, simulated(cluster) as client:
            controller = Controller(client, kind).owns(ConfigMap).owns(Namespace)
            client.start(controller.run(reconcile))
            await user.create(kind(metadata=kp.ObjectMeta(name="corner"), spec=ShopSpec()))
            await anyio.sleep(60)
            assert message in failures[-1]
            assert bool(failures[-1]) == bool(message)
            if not message:
                assert cluster.get(ConfigMap, "a", namespace="other") is not None

    run(main)


def test_children_require_a_field_manager_and_declared_kinds() -> None:
    with pytest.raises(kp.InvalidRequest, match="field_manager"):
        Children(ConfigMap, field_manager="")

    async def main() -> None:
        cluster = sim.Cluster(crds=[Shop])
        async with simulated(cluster) as user, simulated(cluster) as client:
            rig = Rig(cluster, user, client)
            rig.children = Children(ConfigMap, field_manager="shops")
            client.start(Controller(client, Shop).run(rig.reconcile))
            await rig.user.api(Shop).create(shop(robot=True))
            await rig.wait_until_settled()
            assert any("ServiceAccount is not a kind" in str(error) for error in rig.failures)

    run(main)
