"""An operator for echo servers: each Echo becomes a Deployment with the replicas of its spec.

    python examples/echo/echo.py --definition | kubectl apply -f -

    python examples/echo/echo.py

An Echo gets a finalizer before it gets a Deployment. It is reconciled when it or its Deployment changes,
every ten seconds, and five seconds after an error. Its deletion removes the Deployment first.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket

import anyio

import kubeproto as kp
from kubeproto.crd import definition_of
from kubeproto.kinds.apps_v1 import Deployment, DeploymentSpec
from kubeproto.kinds.core_v1 import Container, ContainerPort, PodSpec, PodTemplateSpec
from kubeproto.kinds.meta_v1 import LabelSelector
from kubeproto_runtime import (
    Action,
    Client,
    Context,
    Controller,
    ControllerRun,
    LeaderElector,
    Operator,
    connect,
    finalizer,
    is_controlled_by,
    owner_reference,
    requeue,
)

IMAGE = "inanimate/echo-server:latest"
MANAGER = "echo-operator"


class EchoSpec(kp.Fields):
    replicas: int


class Echo(kp.Object[EchoSpec, None], group="example.com", version="v1", plural="echoes"):
    """A number of echo servers."""


def deployment_of(echo: Echo) -> Deployment:
    """Return the Deployment of an Echo."""
    name, labels = echo.metadata.name, {"app": echo.metadata.name}
    container = Container(name=name, image=IMAGE, ports=[ContainerPort(container_port=8080)])
    return Deployment(
        metadata=kp.ObjectMeta(name=name, labels=labels, owner_references=[owner_reference(echo)]),
        spec=DeploymentSpec(
            replicas=echo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=kp.ObjectMeta(labels=labels), spec=PodSpec(containers=[container])
            ),
        ),
    )


async def deploy(echo: Echo, ctx: Context[None]) -> Action:
    """Apply the Deployment; the server changes only fields that differ."""
    await ctx.api(Deployment).apply(deployment_of(echo), field_manager=MANAGER, force=True)
    return requeue(after=10)


async def clean_up(echo: Echo, ctx: Context[None]) -> None:
    """Delete the Deployment with its pods, unless the Deployment of this name belongs to somebody else."""
    deployments = ctx.api(Deployment)
    deployment = await deployments.get_or_none(echo.metadata.name)
    if deployment is not None and is_controlled_by(deployment, echo):
        await deployments.delete(echo.metadata.name, uid=deployment.metadata.uid, propagation="Background")


def retry_later(error: Exception, ctx: Context[None]) -> Action:
    """Retry after an error in five seconds, however often the Echo has failed."""
    return requeue(after=5)


def controller(client: Client) -> ControllerRun:
    """Return the controller of Echoes, ready to run."""
    reconcile = finalizer("echoes.example.com/finalizer", apply=deploy, cleanup=clean_up)
    return Controller(client, Echo, timeout=30).owns(Deployment).run(reconcile, on_error=retry_later)


def operator(client: Client, *, port: int | None = None) -> Operator:
    """Return the controller as it is deployed: in several replicas, with health endpoints, until SIGTERM."""
    identity = os.environ.get("POD_NAME") or socket.gethostname()
    election = LeaderElector(client, name=MANAGER, identity=identity)
    operator = Operator(election=election, signals=True, grace=20, port=port)
    operator.add(controller(client))
    return operator


def deployed(client: Client) -> Operator:
    """Return the operator that `manifests.yaml` deploys."""
    return operator(client, port=8080)


async def main(port: int | None) -> None:
    """Run on the cluster of the current kubeconfig context."""
    async with connect() as client:
        await operator(client, port=port).run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="The Echo operator.")
    parser.add_argument("--definition", action="store_true", help="print the definition of Echoes, and end")
    parser.add_argument("--port", type=int, help="serve /healthz, /readyz and /metrics on this port")
    options = parser.parse_args()
    if options.definition:
        print(definition_of(Echo).to_yaml(), end="")
    else:
        logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
        anyio.run(main, options.port)
