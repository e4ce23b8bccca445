"""Waiting on either server: for definitions, rollouts, jobs and ends."""

from __future__ import annotations

from typing import Final, Literal

import pytest

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, poll_until, rig, running_beside, ship
from kubeproto.crd import CustomResourceDefinition
from kubeproto.kinds.apps_v1 import Deployment, DeploymentSpec
from kubeproto.kinds.batch_v1 import Job, JobSpec
from kubeproto.kinds.core_v1 import Container, PodSpec, PodTemplateSpec
from kubeproto.kinds.meta_v1 import LabelSelector
from kubeproto_runtime import Client, WaitTimeout, conditions

__all__ = ["rig"]

LABELS = {"app": "web"}
PROPAGATIONS: Final[tuple[Literal["Foreground", "Background"], ...]] = ("Foreground", "Background")


def pods(restart_policy: str | None = None) -> PodTemplateSpec:
    spec = PodSpec(containers=[Container(name="c", image="i")], restart_policy=restart_policy)
    return PodTemplateSpec(metadata=kp.ObjectMeta(labels=LABELS), spec=spec)


def web(replicas: int) -> Deployment:
    spec = DeploymentSpec(replicas=replicas, selector=LabelSelector(match_labels=LABELS), template=pods())
    return Deployment(metadata=kp.ObjectMeta(name="web"), spec=spec)


def test_a_rollout_is_complete_when_the_pods_of_the_new_generation_are_available(rig: Rig) -> None:
    async def main(client: Client) -> None:
        deployments = client.api(Deployment)
        await deployments.create(web(2))
        with pytest.raises(WaitTimeout, match=r"Deployment .*/web is not rolled out after 0\.5 s"):
            await deployments.wait_for("web", conditions.rolled_out(), timeout=0.5)
        async with running_beside(lambda: rig.nodes(client)):
            completed = await deployments.wait_for("web", conditions.rolled_out())
            assert completed.status is not None
            assert (completed.status.available_replicas, await rig.pods(client, "web")) == (2, 2)
            image = {"template": {"spec": {"containers": [{"name": "c", "image": "another"}]}}}
            changed = await deployments.strategic_patch("web", {"spec": image})
            again = await deployments.wait_for("web", conditions.rolled_out())
            assert again.status is not None
            assert again.status.observed_generation == changed.metadata.generation
            assert again.status.updated_replicas == 2

    rig.run(main)


def test_a_job_is_complete_when_its_pod_has_succeeded(rig: Rig) -> None:
    async def main(client: Client) -> None:
        jobs = client.api(Job)
        await jobs.create(Job(metadata=kp.ObjectMeta(name="once"), spec=JobSpec(template=pods("Never"))))
        async with running_beside(lambda: rig.nodes(client)):
            completed = await jobs.wait_for("once", conditions.job_complete())
        assert completed.status is not None
        assert completed.status.succeeded == 1

    rig.run(main)


def test_a_definition_is_established_and_an_object_is_deleted_when_no_finalizer_holds_it(rig: Rig) -> None:
    async def main(client: Client) -> None:
        name = "ships.runtime.example.com"
        await client.api(CustomResourceDefinition).wait_for(name, conditions.established())
        ships, ship_with_finalizer = client.api(Ship), ship()
        ship_with_finalizer.metadata.finalizers = ["runtime.example.com/owner"]
        created = await ships.create(ship_with_finalizer)
        await ships.delete("pequod")
        with pytest.raises(
            WaitTimeout,
            match=r"and waits for the finalizers runtime\.example\.com/owner",
        ):
            await ships.wait_for("pequod", conditions.deleted(), timeout=5.0)

        async def let_go() -> None:
            await ships.merge_patch("pequod", {"metadata": {"finalizers": None}})

        async with running_beside(let_go):
            assert await ships.wait_for("pequod", conditions.deleted(created.metadata.uid)) is None

    rig.run(main, Ship)


def test_pods_are_deleted_with_their_owner_by_each_policy(rig: Rig) -> None:
    async def main(client: Client) -> None:
        deployments = client.api(Deployment)
        for propagation in PROPAGATIONS:
            created = await deployments.create(web(1))
            await poll_until(lambda: has_pods(client, 1))
            await deployments.delete("web", propagation=propagation)
            is_deleted = conditions.deleted(created.metadata.uid)
            assert await deployments.wait_for("web", is_deleted) is None
            if propagation == "Foreground":
                assert await has_pods(client, 0)
            await poll_until(lambda: has_pods(client, 0))

    async def has_pods(client: Client, count: int) -> bool:
        return await rig.pods(client, "web") == count

    rig.run(main)
