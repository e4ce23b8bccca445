"""A node is drained as its disruption budget allows, on the simulated and on the real server alike.

Neither has a scheduler or a kubelet here: what they would do is done by `Placing`.
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
LIMIT: Final = 120.0  # seconds; what takes longer has failed
LABELS: Final = {"app": "web"}


def objects() -> list[dict[str, Any]]:
    """Two pods, of which one has to be healthy, and one that nothing replaces."""
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


class Placing:
    """Binds the pods of the Deployment to a node, and says that they run."""

    def __init__(self, client: Client) -> None:
        self._pods = client.api(Pod)
        self.node = OLD
        self.left: list[int] = []  # how many were on the old node when one came to the new one

    async def run(self) -> None:
        """Do so with each pod as it comes."""
        async with self._pods.follow(label_selector="app=web") as events:
            async for event in events:
                match event:
                    case kp.Added(pod) | kp.Modified(pod) if pod.spec.node_name is None:
                        await self._place(pod.metadata.name)
                    case _:
                        pass

    async def _place(self, name: str) -> None:
        if self.node == NEW:
            self.left.append(len(await pods_on(self._pods, OLD, "app=web")))
        try:
            await self._pods.bind(name, self.node)
            ready = {"type": "Ready", "status": "True"}
            await self._pods.status.merge_patch(name, {"status": {"phase": "Running", "conditions": [ready]}})
        except (kp.Conflict, kp.NotFound):
            return  # an event came twice, or the pod has gone


async def pods_on(pods: BoundApi[Pod], node: str, label_selector: str = "") -> set[str]:
    found = await pods.list(field_selector=f"spec.nodeName={node}", label_selector=label_selector)
    return {pod.metadata.name for pod in found}


async def a_node_is_drained(client: Client) -> None:
    """With none of this on the server before, in the namespace of the client."""
    pods, nodes, placing = client.api(Pod), client.api(Node), Placing(client)
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(placing.run)
            await client.apply_manifests([dynamic(obj) for obj in objects()], field_manager="test")
            await client.api(Deployment).wait_for("web", has_two)
            await client.api(PodDisruptionBudget).wait_for("web", allows_one)
            containers = [Container(name="alone", image="web:1")]
            alone = Pod(
                metadata=kp.ObjectMeta(name="alone"), spec=PodSpec(node_name=OLD, containers=containers)
            )
            await client.create(alone)
            before = await pods_on(pods, OLD)
            assert len(before) == 3
            with pytest.raises(DrainError, match=r"cordoned and not drained: .*/alone: no controller would"):
                await client.drain(OLD)
            assert await pods_on(pods, OLD) == before
            assert (await nodes.get(OLD)).spec.unschedulable

            placing.node = NEW
            # Without a kubelet no pod would end by itself.
            done = await client.drain(OLD, force=True, grace_period=0)
            assert {ref.name for ref in done.evicted} == before
            assert await pods_on(pods, OLD) == set()
            await client.api(Deployment).wait_for("web", has_two)
            assert len(await pods_on(pods, NEW)) == 2
            # The second one had to wait until the first one's successor was healthy.
            assert placing.left == [1, 0]
            assert (await client.drain(OLD)).evicted == ()
            tasks.cancel_scope.cancel()


def dynamic(obj: dict[str, Any]) -> kp.Dynamic:
    return kp.decode(kp.encode(obj), kp.Dynamic)


def has_two(found: Deployment) -> bool:
    return found.status is not None and found.status.available_replicas == 2


def allows_one(found: PodDisruptionBudget) -> bool:
    return found.status is not None and found.status.disruptions_allowed == 1
