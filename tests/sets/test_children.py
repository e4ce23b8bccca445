"""Children of an object in a reconcile: applied, pruned, left alone, and silent while nothing changes."""

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


Story: TypeAlias = "Callable[[Rig], Awaitable[None]]"


class ShopSpec(kp.Fields):
    configs: list[str] = []
    color: str = "blue"
    robot: bool = False


class Shop(kp.Object[ShopSpec, None], group="example.com", version="v1"):
    """A shop with a ConfigMap for each of its configs."""


def shop(name: str = "corner", **spec: Any) -> Shop:
    return Shop(metadata=kp.ObjectMeta(name=name), spec=ShopSpec(**spec))


class Rig:
    """A controller of shops, with its cluster, its user, and what its reconciles raised."""

    def __init__(self, cluster: sim.Cluster, user: SimulatedClient, client: SimulatedClient) -> None:
        self.cluster = cluster
        self.user = user
        self.client = client
        self.failures: list[Exception] = []
        self.runs = 0
        self.children = Children(ConfigMap, ServiceAccount, field_manager="shops")

    async def reconcile(self, obj: Shop, ctx: Context[None]) -> Action:
        self.runs += 1
        wanted = [config(f"{obj.metadata.name}-{name}", color=obj.spec.color) for name in obj.spec.configs]
        wanted += [account(f"{obj.metadata.name}-robot")] if obj.spec.robot else []
        try:
            await self.children.reconcile(ctx, obj, wanted)
        except PlanRefused as error:
            self.failures.append(error)
        return await_change()

    async def settled(self) -> list[str]:
        """Wait until nothing happens any more, and return the names of the children there are."""
        log_length = -1
        while log_length != len(self.cluster.log):
            log_length = len(self.cluster.log)
            await self.client.until(lambda: True)
            for _ in range(30):
                self.cluster.settle()
                await pause()
        return sorted(
            one["metadata"]["name"]
            for kind in ("v1/ConfigMap", "v1/ServiceAccount")
            for one in self.cluster.objects(kind)
            if LABEL in one["metadata"].get("labels", {})
        )

    async def change(self, name: str = "corner", **spec: Any) -> list[str]:
        def edit(obj: Shop) -> None:
            for key, value in spec.items():
                setattr(obj.spec, key, value)

        await self.user.api(Shop).update(name, edit)
        return await self.settled()


async def pause() -> None:
    await anyio.sleep(0.1)  # in virtual time


@pytest.fixture(params=BACKENDS)
def play(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Run a story with a controller of shops, which owns its ConfigMaps, on each event loop."""

    def on_loop(
        story: Callable[[Rig], Awaitable[None]], *, owns: tuple[type[Any], ...] = (ConfigMap,)
    ) -> None:
        async def main() -> None:
            cluster = sim.Cluster(crds=[Shop])
            async with simulated(cluster) as user, simulated(cluster) as client:
                rig = Rig(cluster, user, client)
                controller = Controller(client, Shop)
                for kind in owns:
                    controller = controller.owns(kind)
                client.start(controller.run(rig.reconcile))
                await story(rig)

        run(main, backend=request.param)

    return on_loop


def test_children_follow_what_their_owner_wants(play: Callable[..., None]) -> None:
    async def story(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a", "b"]))
        await rig.user.api(Shop).create(shop("other", configs=["a"]))
        assert await rig.settled() == ["corner-a", "corner-b", "other-a"]
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

    play(story)
    play(story, owns=())
    play(story, owns=(ConfigMap, ServiceAccount))


def test_nothing_is_sent_while_nothing_changes(play: Callable[..., None]) -> None:
    async def story(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a", "b"]))
        await rig.settled()
        runs, log_length = rig.runs, len(rig.cluster.log)
        await rig.user.api(Shop).merge_patch("corner", {"metadata": {"annotations": {"seen": "yes"}}})
        await rig.settled()
        assert rig.runs > runs
        assert [one.head.target for one in rig.cluster.log[log_length + 1 :]] == []

    play(story, owns=(ConfigMap, ServiceAccount))


def test_after_a_restart_there_is_one_dry_run_for_each_child_and_no_write(play: Callable[..., None]) -> None:
    async def story(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a", "b"]))
        await rig.settled()
        rig.children = Children(ConfigMap, ServiceAccount, field_manager="shops")
        runs, log_length = rig.runs, len(rig.cluster.log)
        await rig.user.api(Shop).merge_patch("corner", {"metadata": {"annotations": {"seen": "yes"}}})
        await rig.settled()
        assert rig.runs > runs
        heads = [one.head for one in rig.cluster.log[log_length + 1 :] if "watch=" not in one.head.target]
        assert len([head for head in heads if "dryRun=All" in head.target]) == 2
        assert writes(rig.cluster, log_length + 1) == []

    play(story, owns=(ConfigMap, ServiceAccount))


def test_what_others_change_is_changed_again_and_what_they_add_stays(play: Callable[..., None]) -> None:
    async def story(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["a"]))
        await rig.settled()
        await rig.user.api(ConfigMap).merge_patch("corner-a", {"data": {"color": "red", "more": "theirs"}})
        await rig.settled()
        config_map: Any = rig.cluster.get("v1/ConfigMap", "corner-a")
        assert config_map["data"] == {"color": "blue", "more": "theirs"}
        await rig.user.api(ConfigMap).delete("corner-a")
        assert await rig.settled() == ["corner-a"]

    play(story)


def test_objects_of_others_are_never_pruned(play: Callable[..., None]) -> None:
    async def story(rig: Rig) -> None:
        made = await rig.user.api(Shop).create(shop(configs=["a"]))
        await rig.settled()
        reference = owner_reference(made)
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

    play(story)
    play(story, owns=())


def test_while_a_child_is_refused_others_are_applied_and_none_is_pruned(
    play: Callable[..., None],
) -> None:
    async def story(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop(configs=["old"]))
        await rig.settled()
        assert await rig.change(configs=["new", "Bad_Name"]) == ["corner-new", "corner-old"]
        assert any("ConfigMap default/corner-Bad_Name" in str(error) for error in rig.failures)
        assert await rig.change(configs=["new"]) == ["corner-new"]

    play(story)


def test_a_child_of_another_owner_is_not_taken(play: Callable[..., None]) -> None:
    async def story(rig: Rig) -> None:
        await rig.user.api(Shop).create(shop("corner", configs=["x-y"]))
        await rig.settled()
        await rig.user.api(Shop).create(shop("corner-x", configs=["y"]))
        assert await rig.settled() == ["corner-x-y"]
        assert any("it belongs to another owner" in str(error) for error in rig.failures)
        config_map: Any = rig.cluster.get("v1/ConfigMap", "corner-x-y")
        assert [one["name"] for one in config_map["metadata"]["ownerReferences"]] == ["corner"]

    play(story)


class Mall(kp.Object[ShopSpec, None], group="example.com", version="v1", namespaced=False):
    """An owner without a namespace."""


def config_map_in(name: str, namespace: str) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name, namespace=namespace))


WHOLE_NAMESPACE: Final = Namespace(metadata=kp.ObjectMeta(name="mine"))
REFUSED: Final[list[tuple[type[kp.KubeObject], list[kp.KubeObject], str]]] = [
    (Shop, [config("a", color="red"), config("a", color="blue")], "default/a: it is wanted twice"),
    (Shop, [config_map_in("a", "other")], "other/a: its owner is in namespace default, and owns nothing outside"),
    (Shop, [WHOLE_NAMESPACE], "mine: its owner is in namespace default, and owns nothing outside"),
    (Mall, [config_map_in("a", "")], "a: it has no namespace, and neither has its owner"),
    (Mall, [config_map_in("a", "other"), WHOLE_NAMESPACE], ""),
]


@pytest.mark.parametrize(("kind", "wanted", "message"), REFUSED, ids=[*"abcde"])
def test_what_the_server_would_delete_or_change_again_and_again_is_refused(
    kind: type[Any], wanted: list[kp.KubeObject], message: str
) -> None:
    children, failures = Children(ConfigMap, Namespace, field_manager="shops"), list[str]()

    async def reconcile(obj: kp.KubeObject, ctx: Context[None]) -> Action:
        assert len(failures) < 5, "it is reconciled again and again"
        try:
            await children.reconcile(ctx, obj, wanted)
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


def test_children_need_a_manager_and_their_kinds() -> None:
    with pytest.raises(kp.InvalidRequest, match="field_manager"):
        Children(ConfigMap, field_manager="")

    async def main() -> None:
        cluster = sim.Cluster(crds=[Shop])
        async with simulated(cluster) as user, simulated(cluster) as client:
            rig = Rig(cluster, user, client)
            rig.children = Children(ConfigMap, field_manager="shops")
            client.start(Controller(client, Shop).run(rig.reconcile))
            await rig.user.api(Shop).create(shop(robot=True))
            await rig.settled()
            assert any("ServiceAccount is not among the kinds" in str(error) for error in rig.failures)

    run(main)
