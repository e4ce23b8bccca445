"""Programs work on a real API server with the permissions of their manifests, which admits their pods."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.to_thread
import msgspec
import pytest
from packaged_programs import PROGRAMS, PackagedProgram
from simulated_programs import packaged_objects

import kubeproto as kp
from kubeproto.config import Connection
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import Container, Event, Pod, PodSpec
from kubeproto_asyncio import AsyncioTransport
from kubeproto_runtime import Client, conditions
from kubeproto_runtime.webhooks import WebhookAddress, WebhookServer
from realserver import RealServer

from .access import sending, until_rights_are_known

# Webhook configurations are created once webhooks are served, because the port is not known earlier.
CONFIGURATIONS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
LIMIT: Final = 120.0  # seconds


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_works_on_a_real_server_with_the_permissions_of_its_manifests(
    real_server: RealServer, name: str
) -> None:
    program = PROGRAMS[name]
    objects = packaged_objects(program)

    async def body() -> None:
        connection = real_server.connection
        async with (
            AsyncioTransport(connection) as transport,
            AsyncioTransport(_impersonating(connection, program.account)) as program_transport,
        ):
            user, client = (
                Client(transport, namespace="default"),
                Client(program_transport, namespace=program.namespace),
            )
            try:
                with anyio.fail_after(LIMIT):
                    await _apply(
                        user,
                        [_without_conversion(obj) for obj in objects if not _is_webhook_configuration(obj)],
                    )
                    await anyio.to_thread.run_sync(_until_rights_are_known, real_server)
                    assert await _find_refused_resource(client) == "pods"
                    await _check_admission_of_pods(user, program)
                    await _run_scenario(user, client, program, objects)
            finally:
                with anyio.CancelScope(shield=True):
                    await _remove(user, objects)

    anyio.run(body)


def _until_rights_are_known(server: RealServer) -> None:
    with sending(server) as send:
        until_rights_are_known(send)


async def _run_scenario(
    user: Client, client: Client, program: PackagedProgram, objects: list[dict[str, Any]]
) -> None:
    lines: list[str] = []
    # The API server cannot reach the pods of a Service here, so it calls this process.
    server = program.server(client, WebhookAddress(url="https://127.0.0.1")) if program.server else None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(program.run, client, lines, server)
        if server is not None:
            while not server.listens:
                await anyio.sleep(0.05)
            webhook_objects = [
                obj
                for obj in objects
                if _is_webhook_configuration(obj) or "conversion" in obj.get("spec", {})
            ]
            await _apply(user, [_at_local_address(obj, server) for obj in webhook_objects])
        await program.scenario(user, lines)
        tasks.cancel_scope.cancel()


async def _check_admission_of_pods(user: Client, program: PackagedProgram) -> None:
    """Create the namespace with the Pod Security Standard *restricted*, which the Deployment's pods meet."""
    plain = Pod(
        metadata=kp.ObjectMeta(name="plain", namespace=program.namespace),
        spec=PodSpec(containers=[Container(name="plain", image="plain:1")]),
    )
    with pytest.raises(kp.Forbidden, match='violates PodSecurity "restricted:latest"'):
        await user.create(plain)
    deployments = user.api(Deployment, namespace=program.namespace)

    def has_its_pods(deployment: Deployment | None) -> bool:
        return (
            deployment is not None
            and (deployment.status and deployment.status.replicas) == deployment.spec.replicas
        )

    await deployments.wait_for(program.name, has_its_pods)
    events = await user.api(Event, namespace=program.namespace).list(field_selector="reason=FailedCreate")
    assert [event.message for event in events] == []
    pods = await user.api(Pod, namespace=program.namespace).list()
    assert {pod.metadata.labels["app.kubernetes.io/name"] for pod in pods} == {program.name}


async def _apply(user: Client, objects: list[dict[str, Any]]) -> None:
    data = msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": objects})
    await user.apply_manifests(data, field_manager="test", force=True)


async def _remove(user: Client, objects: list[dict[str, Any]]) -> None:
    """Delete objects that would affect other tests, webhook configurations first."""
    data = msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": objects})
    for obj in reversed(kp.parse_manifest(data)):
        if obj.metadata.namespace:
            continue  # it is deleted with its namespace
        with suppress(kp.NotFound):
            await user.delete(obj)
        if obj.kind == "CustomResourceDefinition":
            await user.wait_for(obj, conditions.deleted())


def _impersonating(connection: Connection, account: str) -> Connection:
    return msgspec.structs.replace(connection, headers=(*connection.headers, ("Impersonate-User", account)))


def _is_webhook_configuration(obj: dict[str, Any]) -> bool:
    return obj["kind"] in CONFIGURATIONS


def _without_conversion(obj: dict[str, Any]) -> dict[str, Any]:
    spec = {key: value for key, value in obj.get("spec", {}).items() if key != "conversion"}
    return obj | {"spec": spec} if "spec" in obj else obj


def _at_local_address(obj: dict[str, Any], server: WebhookServer) -> dict[str, Any]:
    """Replace the address of a Service with this machine, with the same path."""
    local_obj: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    if _is_webhook_configuration(obj):
        clients = [webhook["clientConfig"] for webhook in local_obj["webhooks"]]
    else:
        clients = [local_obj["spec"]["conversion"]["webhook"]["clientConfig"]]
    for client in clients:
        client["url"] = f"https://127.0.0.1:{server.port}{client.pop('service')['path']}"
    return local_obj


async def _find_refused_resource(client: Client) -> str:
    """Return the resource of a refused request, which shows that the account lacks other permissions."""
    try:
        await client.api(Pod).list()
    except kp.Forbidden as error:
        details: Any = error.status.details
        return str(details.kind)
    return ""
