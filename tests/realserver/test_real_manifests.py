"""On a real API server the operators work under exactly the rights of their manifests."""

from __future__ import annotations

from typing import Any, Final

import anyio
import msgspec
import pytest
from deployed import objects_of, operated, recorded
from stories import OPERATORS

import kubeproto as kp
from kubeproto import sim
from kubeproto.config import Connection
from kubeproto.kinds.core_v1 import Pod
from kubeproto_asyncio import AsyncioTransport
from kubeproto_runtime import Client
from kubeproto_runtime.manifests import Packaging
from realserver import RealServer

# Pods never run here, and nobody is to pull an image.
_NOT_RUN: Final = ("Deployment",)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_works_on_a_real_server_under_the_rights_of_its_manifests(
    real_server: RealServer, name: str
) -> None:
    make, story, kind, namespace = OPERATORS[name]
    recorder = recorded(make, story, sim.Cluster(crds=[kind]), namespace)
    packaging = Packaging(name=name, namespace=namespace, access=frozenset(recorder.needed))
    objects = objects_of(make, packaging)
    account = f"system:serviceaccount:{namespace}:{name}"

    async def body() -> None:
        connection = real_server.connection
        async with (
            AsyncioTransport(connection) as transport,
            AsyncioTransport(_as(connection, account)) as own,
        ):
            user, client = Client(transport, namespace="default"), Client(own, namespace=namespace)
            wanted = [obj for obj in objects if obj["kind"] not in _NOT_RUN]
            await user.apply_manifests(
                msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": wanted}),
                field_manager="test",
            )
            refused = await _refused(client, namespace)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operated, make(client))
                await story(user)
                tasks.cancel_scope.cancel()
            assert refused == "pods"

    anyio.run(body)


def _as(connection: Connection, account: str) -> Connection:
    return msgspec.structs.replace(connection, headers=(*connection.headers, ("Impersonate-User", account)))


async def _refused(client: Client, namespace: str) -> str:
    """What the account may not do, so that its rights are what is tested."""
    try:
        await client.api(Pod, namespace=namespace).list()
    except kp.Forbidden as error:
        details: Any = error.status.details
        return str(details.kind)
    return ""
