"""Names at the limits of their lengths are refused by the simulated server as by a real one: bytes count."""

from __future__ import annotations

import json
from typing import Any, Final

import anyio

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client
from kubeproto_runtime.testing import simulated
from realserver import RealServer

CONFIG_MAPS: Final = kp.Resource("", "v1", "ConfigMap", "configmaps")
NAMESPACES: Final = kp.Resource("", "v1", "Namespace", "namespaces", namespaced=False)
NAMES: Final = ("a" * 63, "a" * 64, "é" * 31, "é" * 32, "a" * 253, "a" * 254, "é" * 126, "é" * 127)


def documents(name: str) -> list[tuple[kp.Resource, dict[str, Any]]]:
    metadata: list[dict[str, Any]] = [
        {"name": name},
        {"name": "a", "labels": {"key": name}},
        {"name": "a", "labels": {name: "value"}},
        {"name": "a", "annotations": {f"{name}/key": "value"}},
    ]
    maps = [(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}) for meta in metadata]
    return [*maps, (NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})]


async def refusals(client: Client) -> list[str]:
    """Return the messages of a server about dry runs of each document."""
    messages: list[str] = []
    for name in NAMES:
        for resource, document in documents(name):
            obj = kp.decode(json.dumps(document).encode(), kp.Dynamic)
            try:
                await client.api(kp.Dynamic, resource=resource).create(obj, dry_run=True)
            except kp.ApiError as error:
                messages.append(f"{name}: {error.status.message}")
            else:
                messages.append(f"{name}: accepted")
    return messages


def test_names_are_refused_as_by_a_real_server(real_server: RealServer) -> None:
    async def main() -> None:
        async with HttpxTransport(real_server.connection) as transport:
            real = await refusals(Client(transport, namespace="default"))
        async with simulated(sim.Cluster()) as client:
            assert await refusals(client) == real
        assert len(set(real)) > len(NAMES)

    anyio.run(main, backend="asyncio")
