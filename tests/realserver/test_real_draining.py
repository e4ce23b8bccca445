"""A node of the real server is drained within its disruption budgets, as on the simulated server."""

from __future__ import annotations

import anyio
import pytest
from draining_scenario import NEW, OLD, a_node_is_drained

import kubeproto as kp
from kubeproto.kinds.core_v1 import Namespace, Node, ServiceAccount
from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client, conditions
from realserver import RealServer


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_node_of_a_real_server_is_drained(real_server: RealServer, backend: str) -> None:
    async def main() -> None:
        async with HttpxTransport(real_server.connection) as transport:
            client = Client(transport, namespace=f"draining-{backend}")
            namespace = await client.create(Namespace(metadata=kp.ObjectMeta(name=client.namespace)))
            try:
                # Pods are refused before it exists.
                await client.api(ServiceAccount).wait_for("default", conditions.exists())
                await a_node_is_drained(client)
            finally:
                with anyio.CancelScope(shield=True):
                    for node in (OLD, NEW):
                        await client.api(Node).delete(node)
                    await client.delete(namespace)  # which waits for the end of its pods

    anyio.run(main, backend=backend)
