"""Waiting on either server: for definitions, rollouts, jobs and ends."""

from __future__ import annotations

from typing import Final, Literal

import pytest

import kubeproto as kp
from conformance.runtime_interface import Rig, Ship, beside, rig, ship, until
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


def test_a_rollout_is_done_when_the_pods_of_the_new_generation_are_available(rig: Rig) -> None:
    async def main(client: Client) -> None:
        deployments = client.api(Deployment)
        await deployments.create(web(2))
        with pytest.raises(WaitTimeout, match=r"Deployment .*/web is not rolled out after 0\.5 s"):
            await deployments.wait_for("web", conditions.rolled_out(), timeout=0.5)
        async with beside(lambda: rig.nodes(client)):
            done = await deployments.wait_for("web", conditions.rolled_out())
            assert done.status is not None
            assert (done.status.available_replicas, await rig.pods(client, "web")) == (2, 2)
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
        async with beside(lambda: rig.nodes(client)):
            done = await jobs.wait_for("once", conditions.job_complete())
        assert done.status is not None
        assert done.status.succeeded == 1

    rig.run(main)


def test_a_definition_is_established_and_an_object_is_gone_when_nothing_holds_it(rig: Rig) -> None:
    async def main(client: Client) -> None:
        name = "ships.runtime.example.com"
        await client.api(CustomResourceDefinition).wait_for(name, conditions.established())
        ships, held = client.api(Ship), ship()
        held.metadata.finalizers = ["runtime.example.com/owner"]
        made = await ships.create(held)
        await ships.delete("pequod")
        with pytest.raises(
            WaitTimeout,
            match=r"and waits for the finalizers runtime\.example\.com/owner",
        ):
            await ships.wait_for("pequod", conditions.deleted(), timeout=5.0)

        async def let_go() -> None:
            await ships.merge_patch("pequod", {"metadata": {"finalizers": None}})

        async with beside(let_go):
            assert await ships.wait_for("pequod", conditions.deleted(made.metadata.uid)) is None

    rig.run(main, Ship)


def test_what_runs_goes_with_what_it_belongs_to_whichever_way_that_is_deleted(rig: Rig) -> None:
    async def main(client: Client) -> None:
        deployments = client.api(Deployment)
        for propagation in PROPAGATIONS:
            made = await deployments.create(web(1))
            await until(lambda: has_pods(client, 1))
            await deployments.delete("web", propagation=propagation)
            gone = conditions.deleted(made.metadata.uid)
            assert await deployments.wait_for("web", gone) is None
            if propagation == "Foreground":
                assert await has_pods(client, 0)
            await until(lambda: has_pods(client, 0))

    async def has_pods(client: Client, count: int) -> bool:
        return await rig.pods(client, "web") == count

    rig.run(main)
