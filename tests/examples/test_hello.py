"""The Hello operator in process, in virtual time: pods run, requests fail, and each of them is lost once."""

from __future__ import annotations

import anyio
import hello
import pytest
from hello_kind import Hello, HelloSpec, OldHello, downgraded, upgraded
from hello_webhooks import webhooks
from hypothesis import given, strategies as st

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto_runtime import Client, Events, conditions
from kubeproto_runtime.testing import (
    BACKENDS,
    Backend,
    SimulatedClient,
    explore,
    install_webhooks,
    run,
    simulated,
)


def make_hello(name: str = "world", replicas: int = 2) -> Hello:
    return Hello(metadata=kp.ObjectMeta(name=name), spec=HelloSpec(replicas=replicas))


async def operate(client: Client) -> None:
    await hello.controller(client, Events(client, controller="hello", instance="hello-0"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hello_is_ready_when_its_pods_run_in_spite_of_failures(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Hello], controllers=True)
        cluster.nodes(ready_after=2)
        install_webhooks(cluster, webhooks)
        faults = sim.Faults(cluster, seed=7, share=0.2)
        async with simulated(cluster) as user, simulated(cluster, faults=faults) as client:
            client.start(operate(client))
            created = await user.create(make_hello())
            assert created.spec.text == "Hello from world!"
            ready = await user.api(Hello).wait_for("world", conditions.condition("Ready"), timeout=900)
            assert ready.status is not None
            assert (ready.status.replicas, ready.status.observed_generation) == (2, 1)
            await user.api(Hello).merge_patch("world", {"spec": {"replicas": 4}})
            await user.until(
                lambda: (cluster.get(Hello, "world") or {})["status"]["replicas"] == 4, within=900
            )
            await user.api(Hello).delete("world")
            await user.until(lambda: cluster.get(Hello, "world") is None, within=900)
            await user.until(lambda: not cluster.objects(Deployment))

    run(main, backend=backend)


@pytest.mark.thorough("a run for each lost request")
def test_the_final_state_is_the_same_after_the_loss_of_any_request() -> None:
    async def scenario(user: SimulatedClient) -> None:
        await user.create(make_hello("one", 1))
        await user.until(lambda: user.cluster.get(Deployment, "one"))
        await user.api(Hello).merge_patch("one", {"spec": {"replicas": 3}})
        await user.until(lambda: (user.cluster.get(Deployment, "one") or {})["spec"]["replicas"] == 3)
        await user.api(Hello).delete("one")
        await user.until(lambda: user.cluster.get(Hello, "one") is None)

    explore(operate, scenario, cluster=sim.Cluster(crds=[Hello])).check()


def test_an_unchanged_status_is_not_written() -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[Hello], controllers=True)
        async with simulated(cluster) as client:
            client.start(operate(client))
            await client.create(make_hello())
            await anyio.sleep(60)
            version_before = cluster.objects(Hello)[0]["metadata"]["resourceVersion"]
            await client.api(Deployment).merge_patch("world", {"metadata": {"annotations": {"a": "b"}}})
            await anyio.sleep(60)
            [deployed] = [
                exchange for exchange in cluster.log if "deployments/world" in exchange.request.target
            ][-1:]
            assert deployed.time > cluster.now - 61  # it was read
            assert cluster.objects(Hello)[0]["metadata"]["resourceVersion"] == version_before

    run(main)


@given(st.integers(0, 20), st.text(max_size=200))
def test_no_conversion_loses_data(replicas: int, text: str) -> None:
    new = Hello(metadata=kp.ObjectMeta(name="a"), spec=HelloSpec(replicas=replicas, text=text))
    assert upgraded(downgraded(new)).spec == new.spec
    assert isinstance(downgraded(new), OldHello)
