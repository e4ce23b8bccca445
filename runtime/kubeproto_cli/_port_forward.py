"""`kubeproto port-forward`: local ports that lead to a pod, and to the next one when it is replaced."""

from __future__ import annotations

import asyncio

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options, seconds
from ._output import note, result


@click.command(
    name="port-forward",
    cls=Command,
    examples=[
        ("port 8080 of a pod", "kubeproto port-forward web-0 8080"),
        ("a Service, on another local port", "kubeproto port-forward svc/shop 8080:80"),
        ("local ports that are free", "kubeproto port-forward deploy/shop :80 :443"),
    ],
)
@click.argument("target", metavar="POD | TYPE/NAME")
@click.argument("ports", nargs=-1, required=True, metavar="[LOCAL:]PORT...")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--pod-running-timeout", type=seconds, default=60.0, metavar="DURATION",
    help="How long a connection waits for a pod that runs; 60s by default.",
)  # fmt: skip
@connection_options()
def port_forward(
    connection: ConnectionOptions,
    target: str,
    ports: tuple[str, ...],
    address: str,
    pod_running_timeout: float,
) -> None:
    """Forward local ports to a pod, until Ctrl-C.

    TARGET is a pod, or an object that selects pods. When the pod is replaced, new connections go to another.
    """
    asyncio_run(_forward, connection, target, ports, address, pod_running_timeout)


async def _forward(
    connection: ConnectionOptions, target: str, ports: tuple[str, ...], address: str, within: float
) -> None:
    from kubeproto_runtime.pods import forward_ports

    async with (
        connected(connection) as client,
        forward_ports(
            client, target, ports, namespace=connection.namespace or "", host=address, within=within,
            on_error=lambda error: note(f"error: {error}"),
        ) as forwarded,
    ):  # fmt: skip
        for port in forwarded.ports:
            result(f"Forwarding from {port.host}:{port.local} -> {port.remote}")
        await asyncio.Event().wait()
