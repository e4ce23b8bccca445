"""A node is drained as its disruption budget allows, on the simulated and on the real server.

Neither server has a scheduler or a kubelet here: `PodBinder` does their work.
"""

from __future__ import annotations

from typing import Any, Final

import anyio
import pytest

import kubeproto as kp
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import Container, Node, Pod, PodSpec
from kubeproto.kinds.policy_v1 import PodDisruptionBudget
from kubeproto_runtime import Client
from kubeproto_runtime.client import BoundApi
from kubeproto_runtime.writing import DrainError

OLD: Final = "drained"
NEW: Final = "spare"
LIMIT: Final = 120.0  # seconds
LABELS: Final = {"app": "web"}


def objects() -> list[dict[str, Any]]:
    """Return two nodes, and a Deployment of two pods of which one must be healthy."""
    template = {
        "metadata": {"labels": LABELS},
        "spec": {"schedulerName": "nobody", "containers": [{"name": "web", "image": "web:1"}]},
    }
    selector = {"matchLabels": LABELS}
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": OLD}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NEW}},
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
            "spec": {"replicas": 2, "selector": selector, "template": template},
        },
        {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
            "spec": {"minAvailable": 1, "selector": selector},
        },
    ]  # fmt: skip


class PodBinder:
    """Binds the pods of the Deployment to a node, and sets them to running."""

    def __init__(self, client: Client) -> None:
        self._pods = client.api(Pod)
        self.node = OLD
        self.remaining: list[int] = []  # the number of pods on the old node before each binding to the new

    async def run(self) -> None:
        """Bind each new pod."""
        async with self._pods.follow(label_selector="app=web") as events:
            async for event in events:
                match event:
                    case kp.Added(pod) | kp.Modified(pod) if pod.spec.node_name is None:
                        await self._bind(pod.metadata.name)
                    case _:
                        pass

    async def _bind(self, name: str) -> None:
        if self.node == NEW:
            self.remaining.append(len(await pods_on(self._pods, OLD, "app=web")))
        try:
            await self._pods.bind(name, self.node)
            ready = {"type": "Ready", "status": "True"}
            await self._pods.status.merge_patch(name, {"status": {"phase": "Running", "conditions": [ready]}})
        except (kp.Conflict, kp.NotFound):
            return  # the event was repeated, or the pod was deleted


async def pods_on(pods: BoundApi[Pod], node: str, label_selector: str = "") -> set[str]:
    pods_of_node = await pods.list(field_selector=f"spec.nodeName={node}", label_selector=label_selector)
    return {pod.metadata.name for pod in pods_of_node}


async def a_node_is_drained(client: Client) -> None:
    """Drain a node whose objects do not exist before, in the namespace of the client."""
    pods, nodes, binder = client.api(Pod), client.api(Node), PodBinder(client)
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(binder.run)
            await client.apply_manifests([dynamic(obj) for obj in objects()], field_manager="test")
            await client.api(Deployment).wait_for("web", has_two_replicas)
            await client.api(PodDisruptionBudget).wait_for("web", allows_disruption)
            containers = [Container(name="alone", image="web:1")]
            alone = Pod(
                metadata=kp.ObjectMeta(name="alone"), spec=PodSpec(node_name=OLD, containers=containers)
            )
            await client.create(alone)
            old_pods = await pods_on(pods, OLD)
            assert len(old_pods) == 3
            with pytest.raises(DrainError, match=r"cordoned and not drained: .*/alone: no controller would"):
                await client.drain(OLD)
            assert await pods_on(pods, OLD) == old_pods
            assert (await nodes.get(OLD)).spec.unschedulable

            binder.node = NEW
            # Without a kubelet no pod terminates by itself.
            result = await client.drain(OLD, force=True, grace_period=0)
            assert {ref.name for ref in result.evicted} == old_pods
            assert await pods_on(pods, OLD) == set()
            await client.api(Deployment).wait_for("web", has_two_replicas)
            assert len(await pods_on(pods, NEW)) == 2
            # The second pod was evicted after the replacement of the first pod was healthy.
            assert binder.remaining == [1, 0]
            assert (await client.drain(OLD)).evicted == ()
            tasks.cancel_scope.cancel()


def dynamic(obj: dict[str, Any]) -> kp.Dynamic:
    return kp.decode(kp.encode(obj), kp.Dynamic)


def has_two_replicas(deployment: Deployment) -> bool:
    return deployment.status is not None and deployment.status.available_replicas == 2


def allows_disruption(budget: PodDisruptionBudget) -> bool:
    return budget.status is not None and budget.status.disruptions_allowed == 1
