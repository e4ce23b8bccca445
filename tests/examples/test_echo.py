"""The Echo operator in process, on both event loops."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import echo
import pytest
from echo import Echo, EchoSpec

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto_runtime import Action, Context
from kubeproto_runtime.testing import BACKENDS, Backend, SimulatedClient, run, simulated

EXAMPLE = Path(echo.__file__)


def make_echo(name: str, replicas: int) -> Echo:
    return Echo(metadata=kp.ObjectMeta(name=name), spec=EchoSpec(replicas=replicas))


def run_operator(backend: Backend, body: Callable[[SimulatedClient], Awaitable[None]]) -> sim.Cluster:
    """Return a cluster after the operator and `body` ran in it."""
    cluster = sim.Cluster(crds=[Echo])

    async def main() -> None:
        async with simulated(cluster) as user:
            user.start(echo.controller(user))
            await body(user)

    run(main, backend=backend)
    return cluster


def deployment(cluster: sim.Cluster, name: str = "canyon") -> dict[str, Any]:
    stored = cluster.get(Deployment, name)
    assert stored is not None
    return stored


def sent_requests(cluster: sim.Cluster) -> list[tuple[str, str]]:
    """Return the writes: the method and the last part of the path."""
    return [
        (exchange.request.method, exchange.request.target.partition("?")[0].rpartition("/apis/")[2])
        for exchange in cluster.log
        if exchange.request.method != "GET"
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_finalizer_is_added_before_the_deployment(backend: Backend) -> None:
    async def body(user: SimulatedClient) -> None:
        await user.api(Echo).create(make_echo("canyon", 2))
        await user.until(lambda: user.cluster.get(Deployment, "canyon"))

    cluster = run_operator(backend, body)
    [created, finalized, deployed, *_] = sent_requests(cluster)
    assert created == ("POST", "example.com/v1/namespaces/default/echoes")
    assert finalized == ("PATCH", "example.com/v1/namespaces/default/echoes/canyon")
    assert deployed == ("PATCH", "apps/v1/namespaces/default/deployments/canyon")
    stored_deployment = deployment(cluster)
    assert stored_deployment["spec"]["replicas"] == 2
    pod = stored_deployment["spec"]["template"]
    assert (
        stored_deployment["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"] == {"app": "canyon"}
    )
    [container] = pod["spec"]["containers"]
    assert container["image"] == "inanimate/echo-server:latest"
    assert [port["containerPort"] for port in container["ports"]] == [8080]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_change_of_replicas_is_applied_and_a_foreign_change_reverted(backend: Backend) -> None:
    async def body(user: SimulatedClient) -> None:
        await user.api(Echo).create(make_echo("canyon", 1))
        await user.until(lambda: user.cluster.get(Deployment, "canyon"))
        await user.api(Echo).merge_patch("canyon", {"spec": {"replicas": 4}})
        await user.until(lambda: deployment(user.cluster)["spec"]["replicas"] == 4)
        await user.api(Deployment).merge_patch("canyon", {"spec": {"replicas": 9}})
        await user.until(lambda: deployment(user.cluster)["spec"]["replicas"] == 4, within=1)

    run_operator(backend, body)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_echo_is_reconciled_every_ten_seconds(backend: Backend) -> None:
    async def body(user: SimulatedClient) -> None:
        await user.api(Echo).create(make_echo("canyon", 1))
        await anyio.sleep(65)

    cluster = run_operator(backend, body)
    times = [exchange.time for exchange in cluster.log if "deployments/canyon" in exchange.request.target]
    waits = [round(late - early, 3) for early, late in pairwise(times)]
    assert waits[-5:] == [10.0] * 5


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_is_retried_after_five_seconds(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    deploy = echo.deploy

    async def fail_once_and_reconcile(obj: Echo, ctx: Context[None]) -> Action:
        times.append(anyio.current_time())
        if len(times) < 5:
            raise RuntimeError("not yet")
        return await deploy(obj, ctx)

    monkeypatch.setattr(echo, "deploy", fail_once_and_reconcile)

    async def body(user: SimulatedClient) -> None:
        await user.api(Echo).create(make_echo("canyon", 1))
        await user.until(lambda: user.cluster.get(Deployment, "canyon"))

    run_operator(backend, body)
    # The first run has added the finalizer, and the event of that patch wakes the second at once.
    assert [round(late - early, 3) for early, late in pairwise(times[:5])] == [0.0, 5.0, 5.0, 5.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_foreign_deployment_is_neither_changed_nor_deleted(backend: Backend) -> None:
    async def body(user: SimulatedClient) -> None:
        other = await user.api(Echo).create(make_echo("somebody", 1))
        await user.until(lambda: user.cluster.get(Deployment, "somebody"))
        foreign = echo.deployment_of(other)
        foreign.metadata.name = "canyon"
        await user.api(Deployment).create(foreign)
        await user.api(Echo).create(make_echo("canyon", 2))
        await anyio.sleep(20)
        await user.api(Echo).delete("canyon")
        await user.until(lambda: user.cluster.get(Echo, "canyon") is None)

    cluster = run_operator(backend, body)
    assert deployment(cluster)["spec"]["replicas"] == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_deleting_removes_the_deployment_and_then_the_finalizer(backend: Backend) -> None:
    async def body(user: SimulatedClient) -> None:
        await user.api(Echo).create(make_echo("canyon", 1))
        await user.until(lambda: user.cluster.get(Deployment, "canyon"))
        await user.api(Echo).delete("canyon")
        await user.until(lambda: user.cluster.get(Echo, "canyon") is None)

    cluster = run_operator(backend, body)
    assert cluster.get(Deployment, "canyon") is None
    deleted, unfinalized = sent_requests(cluster)[-2:]
    assert deleted == ("DELETE", "apps/v1/namespaces/default/deployments/canyon")
    assert unfinalized == ("PATCH", "example.com/v1/namespaces/default/echoes/canyon")


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_echoes_are_reconciled_concurrently_and_an_echo_never_twice_at_once(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: Counter[str] = Counter()
    max_concurrency = {"one": 0, "all": 0}
    deploy = echo.deploy

    async def reconcile_slowly(obj: Echo, ctx: Context[None]) -> Action:
        running[ctx.key] += 1
        max_concurrency["one"] = max(max_concurrency["one"], running[ctx.key])
        max_concurrency["all"] = max(max_concurrency["all"], running.total())
        await anyio.sleep(1)
        running[ctx.key] -= 1
        return await deploy(obj, ctx)

    monkeypatch.setattr(echo, "deploy", reconcile_slowly)

    async def body(user: SimulatedClient) -> None:
        for number in range(30):
            await user.api(Echo).create(make_echo(f"canyon-{number}", 1))
        for replicas in range(2, 8):
            await anyio.sleep(0.7)
            for number in range(30):
                await user.api(Echo).merge_patch(f"canyon-{number}", {"spec": {"replicas": replicas}})
        await user.until(
            lambda: (
                all(deployment_["spec"]["replicas"] == 7 for deployment_ in user.cluster.objects(Deployment))
                and len(user.cluster.objects(Deployment)) == 30
            )
        )

    run_operator(backend, body)
    assert max_concurrency == {"one": 1, "all": 10}


def test_the_definition_can_be_applied() -> None:
    completed = subprocess.run(
        [sys.executable, str(EXAMPLE), "--definition"], capture_output=True, text=True, check=True
    )
    [definition] = kp.parse_manifest(completed.stdout.encode())
    cluster = sim.Cluster()
    cluster.put(definition)
    cluster.advance(5)
    cluster.put(make_echo("canyon", 3))
    assert cluster.get(Echo, "canyon") is not None
