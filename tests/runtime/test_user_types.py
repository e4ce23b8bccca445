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
    """Without classes each object is dynamic; with one, or several, `isinstance` tells them apart."""
    said = [str(obj["data"]["b"]) for obj in kp.parse_manifest(TEXT)]
    for obj in kp.parse_manifest(TEXT, ConfigMap):
        if isinstance(obj, ConfigMap):
            said += (obj.data or {}).values()
        else:
            said.append(str(obj.get("data")))
    for one in kp.parse_manifest(TEXT, [ConfigMap, Pod]):
        match one:
            case ConfigMap():
                said += (one.data or {}).values()
            case kp.Dynamic():
                said.append(str(one.get("data")))
            case _:
                said.append(one.metadata.name)
    return said


async def anything(client: Client) -> list[str]:
    """Any kind, by its metadata alone, by its name, or from a file."""
    resource = kp.Resource(group="", version="v1", kind="ConfigMap", plural="configmaps")
    heads = client.api(kp.Metadata, resource=resource)
    [made] = [await client.create(obj) for obj in kp.parse_manifest(TEXT)]
    names = [head.metadata.name for head in await heads.list()]
    maps = await client.resource("cm")
    table = await maps.as_table().list()
    found = await client.wait_for(made, conditions.exists())
    if TYPE_CHECKING:
        assert_type(made, kp.Dynamic)
        assert_type(await client.refresh(ConfigMap()), ConfigMap)
        assert_type(await client.wait_for(ConfigMap(), lambda obj: bool(obj.data)), ConfigMap)
    await client.delete(found)
    return [*names, *(row.metadata.name for row in table.rows if row.metadata)]


def blocking(client: BlockingClient) -> list[str]:
    """The same without an event loop."""
    [made] = [client.create(obj) for obj in kp.parse_manifest(TEXT)]
    table = client.resource("cm").as_table().list()
    found = client.wait_for(made, conditions.exists())
    if TYPE_CHECKING:
        assert_type(found, kp.Dynamic)
        assert_type(client.refresh(ConfigMap()), ConfigMap)
    client.delete(found)
    return [row.metadata.name for row in table.rows if row.metadata]


def test_each_form_runs_as_it_is_typed(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client:
            assert [name for name in await anything(client) if name != "kube-root-ca.crt"] == ["a", "a"]

    go(main)
    assert manifests() == ["c", "c", "c"]
    with simulated_blocking(sim.Cluster()) as client:
        assert "a" in blocking(client)
