"""Code as users write it: mypy strict and pyright strict accept every line without a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import ConfigMap, Pod
from kubeproto_runtime import BlockingClient, Client, conditions
from kubeproto_runtime.testing import simulated, simulated_blocking

if TYPE_CHECKING:
    from typing import assert_type

__all__ = ["go"]

TEXT = '{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "data": {"b": "c"}}'


def manifests() -> list[str]:
    """Without classes each object is dynamic; with classes, `isinstance` distinguishes them."""
    values = [str(obj["data"]["b"]) for obj in kp.parse_manifest(TEXT)]
    for obj in kp.parse_manifest(TEXT, ConfigMap):
        if isinstance(obj, ConfigMap):
            values += (obj.data or {}).values()
        else:
            values.append(str(obj.get("data")))
    for item in kp.parse_manifest(TEXT, [ConfigMap, Pod]):
        match item:
            case ConfigMap():
                values += (item.data or {}).values()
            case kp.Dynamic():
                values.append(str(item.get("data")))
            case _:
                values.append(item.metadata.name)
    return values


async def use_any_kind(client: Client) -> list[str]:
    """Use a kind by its metadata, by its name, and from a file."""
    resource = kp.Resource(group="", version="v1", kind="ConfigMap", plural="configmaps")
    partial_objects = client.api(kp.Metadata, resource=resource)
    [created] = [await client.create(obj) for obj in kp.parse_manifest(TEXT)]
    names = [obj.metadata.name for obj in await partial_objects.list()]
    maps = await client.resource("cm")
    table = await maps.as_table().list()
    existing = await client.wait_for(created, conditions.exists())
    if TYPE_CHECKING:
        assert_type(created, kp.Dynamic)
        assert_type(await client.refresh(ConfigMap()), ConfigMap)
        assert_type(await client.wait_for(ConfigMap(), lambda obj: bool(obj.data)), ConfigMap)
    await client.delete(existing)
    return [*names, *(row.metadata.name for row in table.rows if row.metadata)]


def use_blocking_client(client: BlockingClient) -> list[str]:
    """Use a kind without an event loop."""
    [created] = [client.create(obj) for obj in kp.parse_manifest(TEXT)]
    table = client.resource("cm").as_table().list()
    existing = client.wait_for(created, conditions.exists())
    if TYPE_CHECKING:
        assert_type(existing, kp.Dynamic)
        assert_type(client.refresh(ConfigMap()), ConfigMap)
    client.delete(existing)
    return [row.metadata.name for row in table.rows if row.metadata]


def test_code_without_type_hints_runs_as_checked(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            assert [name for name in await use_any_kind(client) if name != "kube-root-ca.crt"] == ["a", "a"]

    go(main)
    assert manifests() == ["c", "c", "c"]
    with simulated_blocking(sim.Cluster()) as client:
        assert "a" in use_blocking_client(client)
