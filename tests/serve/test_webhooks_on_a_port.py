"""A cluster on a port calls webhooks over HTTPS: services, bundles of certificates, and failures."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.abc
import pytest
from conversion_cases import GROUP, Case, answer_conversion, definition
from webhook_server import WebhookServer, serving_webhooks

import kubeproto_sim as sim
from kubeproto_serve import serve

Main = Callable[[], Awaitable[None]]
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
RULE: Final = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}


def configure(
    cluster: sim.Cluster, webhooks: WebhookServer, *, service: bool = False, trusted: bool = True
) -> None:
    client: dict[str, Any] = {"url": f"https://127.0.0.1:{webhooks.server_port}/hook"}
    if service:
        client = {"service": {"namespace": "default", "name": "hooks", "path": "/hook"}}
    if trusted:
        client["caBundle"] = base64.b64encode(webhooks.authority.cert_pem.bytes()).decode()
    for phase in ("Mutating", "Validating"):
        cluster.put({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{phase}WebhookConfiguration",
            "metadata": {"name": "hooks"},
            "webhooks": [{
                "name": "hook.x.io", "clientConfig": client, "rules": [RULE], "sideEffects": "None",
                "admissionReviewVersions": ["v1"], "timeoutSeconds": 1, "failurePolicy": "Fail",
                "matchPolicy": "Equivalent",
            }],
        })  # fmt: skip


def add(request: dict[str, Any]) -> dict[str, Any]:
    if "uid" in request["object"]["metadata"]:
        return {"allowed": True}
    patch = json.dumps([{"op": "add", "path": "/data/added", "value": "1"}]).encode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}


async def create(url: str, name: str) -> str:
    """Return the message, or the data, of the response to a creation."""
    host, _, port = url.rpartition("/")[2].rpartition(":")
    body = json.dumps({"metadata": {"name": name}, "data": {"x": "1"}})
    lines = [
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1", "Host: h", "Connection: close",
        "Content-Type: application/json", f"Content-Length: {len(body)}", "", body,
    ]  # fmt: skip
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send("\r\n".join(lines).encode())
        response = b""
        with suppress(anyio.EndOfStream):
            while True:
                response += await stream.receive()
    answer = json.loads(response.partition(b"\r\n\r\n")[2])
    return str(answer.get("message") or answer["data"])


def run(on: str, main: Main) -> None:
    anyio.run(main, backend=on)


@pytest.mark.parametrize("on", ["asyncio", "trio"])
@pytest.mark.parametrize("service", [False, True])
def test_webhooks_are_called_over_https(on: str, service: bool) -> None:
    async def main() -> None:
        with serving_webhooks() as webhooks:
            webhooks.behaviours["hook"] = add
            cluster = sim.Cluster()
            configure(cluster, webhooks, service=service)
            address = {"default/hooks": f"127.0.0.1:{webhooks.server_port}"}
            async with serve(cluster, webhooks=address) as url:
                assert await create(url, "a") == "{'added': '1', 'x': '1'}"
                webhooks.behaviours["hook"] = lambda _: {"allowed": False, "status": {"message": "no"}}
                assert await create(url, "b") == 'admission webhook "hook.x.io" denied the request: no'
            assert len(webhooks.calls) == 3

    run(on, main)


@pytest.mark.parametrize("on", ["asyncio", "trio"])
def test_the_bundle_may_be_the_certificate_of_the_webhook_and_its_path_is_cleaned(on: str) -> None:
    async def main() -> None:
        with serving_webhooks() as webhooks:
            webhooks.behaviours["hook"] = add
            cluster = sim.Cluster()
            configure(cluster, webhooks)
            leaf = base64.b64encode(webhooks.certificate.cert_chain_pems[0].bytes()).decode()
            client = {"url": f"https://127.0.0.1:{webhooks.server_port}//hook/", "caBundle": leaf}

            def replace_client(configuration: dict[str, Any]) -> None:
                configuration["webhooks"][0]["clientConfig"] = client

            kind = "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration"
            cluster.edit(kind, "hooks", replace_client, namespace="")
            async with serve(cluster) as url:
                assert await create(url, "a") == "{'added': '1', 'x': '1'}"

    run(on, main)


@pytest.mark.parametrize("on", ["asyncio", "trio"])
def test_an_untrusted_or_late_or_unreachable_webhook_refuses_the_write(on: str) -> None:
    async def main() -> None:
        with serving_webhooks() as webhooks:
            cluster = sim.Cluster()
            async with serve(cluster) as url:
                configure(cluster, webhooks, trusted=False)
                assert "certificate signed by unknown authority" in await create(url, "a")
                configure(cluster, webhooks)
                webhooks.behaviours["hook"] = lambda _: "timeout"
                assert "context deadline exceeded" in await create(url, "a")
                configure(cluster, webhooks, service=True)
                assert 'service "hooks" not found' in await create(url, "a")
                webhooks.server_port = 1
                configure(cluster, webhooks)
                assert "connection refused" in await create(url, "a")
                assert cluster.get("v1/ConfigMap", "a") is None

    run(on, main)


@pytest.mark.parametrize("on", ["asyncio", "trio"])
def test_objects_are_converted_over_https_for_reads_lists_and_open_watches(on: str) -> None:
    async def main() -> None:
        with serving_webhooks() as webhooks:
            webhooks.behaviours["convert"] = answer_conversion
            bundle = base64.b64encode(webhooks.authority.cert_pem.bytes()).decode()
            client = {"url": f"https://127.0.0.1:{webhooks.server_port}/convert", "caBundle": bundle}
            cluster = sim.Cluster(crds=[definition(Case("", ()), client)])
            async with serve(cluster) as url:
                async with await connected(url) as stream:
                    await stream.send(f"GET {WIDGETS}?watch=1 HTTP/1.1\r\nHost: h\r\n\r\n".encode())
                    for name, width in (("a", 1), ("b", 2)):
                        cluster.put(widget(name, width))
                    received = b""
                    with anyio.fail_after(30):
                        while received.count(b'"ADDED"') < 2:
                            received += await stream.receive()
                    assert b'"size":"1x5"' in received
                    assert b'"size":"2x5"' in received
                listed = await get_json(url, WIDGETS)
                assert [item["spec"]["size"] for item in listed["items"]] == ["1x5", "2x5"]
                assert (await get_json(url, f"{WIDGETS}/a"))["spec"] == {"size": "1x5"}
                webhooks.behaviours["convert"] = lambda _: {"result": {"message": "no"}}
                assert (await get_json(url, f"{WIDGETS}/a"))["message"].endswith("Kind=Widget failed: no")
                cluster.define(definition(Case("", ()), {"url": client["url"]}))
                assert (
                    "certificate signed by unknown authority"
                    in (await get_json(url, f"{WIDGETS}/a"))["message"]
                )

    run(on, main)


def widget(name: str, width: int) -> dict[str, Any]:
    body = {"apiVersion": f"{GROUP}/v2", "kind": "Widget", "metadata": {"name": name}}
    return body | {"spec": {"width": width, "height": 5}}


async def connected(url: str) -> anyio.abc.SocketStream:
    host, _, port = url.rpartition("/")[2].rpartition(":")
    return await anyio.connect_tcp(host, int(port))


async def get_json(url: str, target: str) -> Any:
    """Return the body of the response to a GET."""
    async with await connected(url) as stream:
        await stream.send(f"GET {target} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode())
        response = b""
        with suppress(anyio.EndOfStream):
            while True:
                response += await stream.receive()
    return json.loads(response.partition(b"\r\n\r\n")[2])
