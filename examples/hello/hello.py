"""The Hello operator: each Hello becomes a Deployment of servers that say hello.

    python examples/hello/hello.py --definition | kubectl apply -f -

    python examples/hello/hello.py

The README lists the other features, and describes the deployment in a cluster.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import socket
from pathlib import Path
from typing import Final

from hello_kind import Hello, HelloStatus
from hello_tracing import show_spans
from hello_webhooks import webhooks

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.kinds.apps_v1 import Deployment, DeploymentSpec
from kubeproto.kinds.core_v1 import Container, ContainerPort, PodSpec, PodTemplateSpec
from kubeproto.kinds.meta_v1 import Condition, LabelSelector
from kubeproto_runtime import (
    Action,
    Client,
    Context,
    Controller,
    ControllerRun,
    Events,
    LeaderElector,
    Operator,
    await_change,
    connect,
    finalizer,
    is_controlled_by,
    owner_reference,
    requeue,
    set_condition,
)
from kubeproto_runtime.webhooks import CertificateFiles, ManagedCertificates, WebhookAddress, WebhookServer

IMAGE: Final = "hashicorp/http-echo:1.0"
MANAGER: Final = "hello-operator"
FINALIZER: Final = "fraim.co.jp/hello-operator"
WEBHOOK_SERVICE: Final = (
    "hello-operator-webhooks"  # the Service of the webhooks, and the Secret of their certificate
)
RETRY_SECONDS: Final = (
    60.0  # seconds until the next attempt, if the operator does not follow the object that must change
)


def deployment_of(hello: Hello) -> Deployment:
    """Return the Deployment of a Hello, with only the fields that this operator owns."""
    name = hello.metadata.name
    labels = {"app.kubernetes.io/name": "hello", "app.kubernetes.io/instance": name}
    text = hello.spec.text or f"Hello from {name}!"
    container = Container(
        name="hello", image=IMAGE, args=[f"-text={text}"], ports=[ContainerPort(container_port=5678)]
    )
    template = PodTemplateSpec(metadata=kp.ObjectMeta(labels=labels), spec=PodSpec(containers=[container]))
    return Deployment(
        metadata=kp.ObjectMeta(name=name, labels=labels, owner_references=[owner_reference(hello)]),
        spec=DeploymentSpec(
            replicas=hello.spec.replicas, selector=LabelSelector(match_labels=labels), template=template
        ),
    )


async def deploy(hello: Hello, ctx: Context[Events]) -> Action:
    """Apply the Deployment of a Hello, and report its progress."""
    existing = ctx.cache(Deployment).get(ctx.name)
    if existing is not None and not is_controlled_by(existing, hello):
        message = f"Deployment {ctx.name} exists, and is not this Hello's: delete or rename one of them"
        await report(hello, ctx, Condition(type="Ready", status="False", reason="NameTaken", message=message))
        return requeue(after=RETRY_SECONDS)
    deployment = await ctx.api(Deployment).apply(deployment_of(hello), field_manager=MANAGER, force=True)
    await report(hello, ctx, readiness(hello, deployment), replicas=available(deployment))
    return await_change()


def available(deployment: Deployment) -> int:
    return (deployment.status and deployment.status.available_replicas) or 0


def readiness(hello: Hello, deployment: Deployment) -> Condition:
    """Return the condition Ready: whether the desired number of servers of this version is available."""
    desired, actual = hello.spec.replicas, available(deployment)
    status = deployment.status
    current = status is not None and status.observed_generation == deployment.metadata.generation
    rolled_out = current and actual == desired == ((status and status.updated_replicas) or 0)
    return Condition(
        type="Ready",
        status="True" if rolled_out else "False",
        reason="Available" if rolled_out else "Progressing",
        message=f"{actual} of {desired} replicas are available",
    )


async def report(hello: Hello, ctx: Context[Events], ready: Condition, *, replicas: int = 0) -> None:
    """Write the status if it differs, without changing conditions of other programs."""
    generation = hello.metadata.generation or 0
    ready.observed_generation = generation
    conditions = list(hello.status.conditions) if hello.status else []
    set_condition(conditions, ready, now=ctx.client.wall_clock())
    status = HelloStatus(observed_generation=generation, replicas=replicas, conditions=conditions)
    await ctx.api(Hello).patch_status(hello, status)


async def clean_up(hello: kp.KubeObject, ctx: Context[Events]) -> None:
    """Delete the Deployment with its pods, before the Hello is deleted."""
    deployments = ctx.api(Deployment)
    existing = await deployments.get_or_none(ctx.name)
    if existing is not None and is_controlled_by(existing, hello):
        await deployments.delete(ctx.name, uid=existing.metadata.uid, propagation="Background")
    ctx.state.record(hello, "Goodbye", "its servers have been asked to end")


reconcile = finalizer(FINALIZER, apply=deploy, cleanup=clean_up)


async def on_invalid(error: kp.InvalidObject, ctx: Context[Events]) -> None:
    """Report a Hello that only an older definition allows; it can be deleted nevertheless."""
    if (stored := ctx.partial_object) is None:
        return
    ctx.state.record(stored, "InvalidSpec", str(error), action="Reconcile", warning=True)
    if stored.metadata.deletion_timestamp is not None:
        await release(stored, ctx)


async def do_nothing(hello: kp.KubeObject, ctx: Context[Events]) -> Action:
    return await_change()


release = finalizer(FINALIZER, apply=do_nothing, cleanup=clean_up)


def on_error(error: Exception, ctx: Context[Events]) -> Action | None:
    """Report refusals, and retry each minute: only a user can fix the cause.

    Other errors are retried after the backoff of the controller, from 5 ms to a quarter of an hour.
    """
    if isinstance(error, kp.Forbidden | kp.Invalid):
        ctx.state.record(
            ctx.partial_object or ctx.ref, "Refused", str(error), action="Reconcile", warning=True
        )
        return requeue(after=RETRY_SECONDS)
    return None


def controller(client: Client, events: Events) -> ControllerRun:
    return (
        Controller(client, Hello, state=events, timeout=30)
        .owns(Deployment)
        .run(reconcile, on_error=on_error, on_invalid=on_invalid)
    )


def operator(client: Client, *, port: int | None = None, server: WebhookServer | None = None) -> Operator:
    """Return the controller as it is deployed: one of several replicas reconciles, and all serve webhooks."""
    identity = os.environ.get("POD_NAME") or socket.gethostname()
    events = Events(client, controller=MANAGER, instance=identity)
    election = LeaderElector(client, name=MANAGER, identity=identity)
    operator = Operator(election=election, signals=True, grace=20, port=port, webhooks=server)
    operator.add(controller(client, events), events.run)
    return operator


def webhook_server(client: Client, address: WebhookAddress, *, port: int = 9443) -> WebhookServer:
    """Return the server of webhooks, with a certificate that the leader creates, renews and publishes."""
    manifests = webhooks.manifests(f"{MANAGER}-{Hello.resource.plural}", address)
    return WebhookServer(
        webhooks,
        ManagedCertificates(client, address, secret=WEBHOOK_SERVICE, configurations=manifests),
        port=port,
    )


def deployed(client: Client, *, port: int = 8080, webhook_port: int = 9443) -> Operator:
    """Return the operator that `manifests.yaml` deploys, with its webhooks."""
    address = WebhookAddress(namespace=client.namespace, service=WEBHOOK_SERVICE)
    return operator(client, port=port, server=webhook_server(client, address, port=webhook_port))


async def operate(options: argparse.Namespace) -> None:
    """Run on the cluster of the current kubeconfig context, until SIGTERM."""
    async with connect() as client:
        if options.in_cluster:
            port = 8080 if options.port is None else options.port
            await deployed(client, port=port, webhook_port=options.webhook_port).run()
            return
        server = None
        if (folder := options.certificates) is not None:
            files = CertificateFiles(folder / "tls.crt", folder / "tls.key")
            server = WebhookServer(webhooks, files, port=options.webhook_port)
        await operator(client, port=options.port, server=server).run()


def manifests(address: WebhookAddress | None) -> str:
    """Return the definition, with both versions only if the webhooks can be called."""
    if address is None:
        return definition_of(Hello).to_yaml()
    parts = [webhooks.definition(address), *webhooks.configurations(MANAGER, address)]
    return "---\n".join(kp.dump_yaml(part) for part in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description="The Hello operator.")
    add = parser.add_argument
    add("--definition", action="store_true", help="print the definition of Hellos, and end")
    add("--webhooks-url", default="", help="with --definition: also the webhooks, to be called at this URL")
    add("--webhooks-ca", type=Path, help="with --webhooks-url: the authority of their certificate")
    add("--in-cluster", action="store_true", help="run as manifests.yaml wants it to, with its webhooks")
    add("--port", type=int, help="serve /healthz, /readyz and /metrics on this port")
    add("--certificates", type=Path, help="serve webhooks with tls.crt and tls.key of this folder")
    add("--webhook-port", type=int, default=9443, help="where webhooks are served (default: %(default)s)")
    options = parser.parse_args()
    if options.definition:
        ca_bundle = options.webhooks_ca.read_bytes() if options.webhooks_ca else b""
        url = options.webhooks_url
        print(manifests(WebhookAddress(url=url, ca_bundle=ca_bundle) if url else None), end="")
        return
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    show_spans()
    asyncio.run(operate(options))


if __name__ == "__main__":
    main()
