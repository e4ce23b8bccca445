"""`kubeproto drain`: a node is cordoned, and its pods are evicted as their disruption budgets allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options, seconds
from ._errors import CommandFailed
from ._output import note, result
from ._planning import ref_name

if TYPE_CHECKING:
    from kubeproto import ObjectRef
    from kubeproto_runtime import Client

_WEEK = 7 * 24 * 3600.0
_GONE = "it has gone"  # as `Client.drain` says it


@click.command(
    cls=Command,
    examples=[
        ("a node", "kubeproto drain node-1"),
        ("with pods that nothing recreates, and with those that keep data on the node",
         "kubeproto drain node-1 --force --delete-emptydir-data"),
        ("for five minutes at most", "kubeproto drain node-1 --timeout 5m"),
    ],
)  # fmt: skip
@click.argument("node")
@click.option("--force", is_flag=True, help="Evict pods that no controller recreates: they are lost.")
@click.option("--delete-emptydir-data", is_flag=True, help="Evict pods whose data are in an emptyDir: lost.")
@click.option("--ignore-daemonsets", is_flag=True, help="As for kubectl; pods of DaemonSets are always left.")
@click.option(
    "--grace-period", type=click.IntRange(-1), default=-1, metavar="SECONDS",
    help="Replace the grace period of the pods; -1 keeps it.",
)  # fmt: skip
@click.option(
    "--timeout", type=seconds, default=0.0, metavar="DURATION", help="Give up after this time; 0 is never."
)
@connection_options(namespace=False)
def drain(connection: ConnectionOptions, node: str, **given: Any) -> None:
    """Cordon a node, and evict its pods as their budgets allow.

    Static pods and those of DaemonSets are left. If a pod would be lost, nothing is evicted, and the exit
    status is 1. An eviction that a budget refuses is retried every five seconds.
    """
    asyncio_run(_drain, connection, node, given)


async def _drain(connection: ConnectionOptions, node: str, given: dict[str, Any]) -> None:
    from kubeproto_runtime.writing import DrainError

    async with connected(connection) as client:
        progress = _Progress(already=await _is_cordoned(client, node))
        try:
            drained = await client.drain(
                node,
                force=given["force"],
                delete_local_data=given["delete_emptydir_data"],
                grace_period=given["grace_period"] if given["grace_period"] >= 0 else None,
                timeout=given["timeout"] or _WEEK,
                progress=progress.note,
            )
        except DrainError as error:
            reasons = "; ".join(f"{pod.namespace}/{pod.name}: {_advised(why)}" for pod, why in error.pods)
            raise CommandFailed(f"node/{node} is cordoned and not drained: {reasons}") from error
    for pod, why in drained.left:
        note(f"{ref_name(pod)} left: {why}")
    result(f"node/{node} drained")


async def _is_cordoned(client: Client, node: str) -> bool:
    from kubeproto import Dynamic, Resource

    nodes = client.api(Dynamic, resource=Resource("", "v1", "Node", "nodes", namespaced=False))
    spec: dict[str, Any] = (await nodes.get(node)).get("spec") or {}
    return bool(spec.get("unschedulable"))


class _Progress:
    """Prints what happens while it happens: the steps as kubectl does, and each reason to wait once."""

    def __init__(self, *, already: bool) -> None:
        self._already = already  # cordoned before
        self._begun: set[ObjectRef[Any]] = set()
        self._noted: set[tuple[ObjectRef[Any], str]] = set()

    def note(self, pod: ObjectRef[Any], what: str) -> None:
        """Print a step of the node or of one pod."""
        if pod.kind == "Node":
            result(f"node/{pod.name} {'already ' * self._already}cordoned")
            return
        place = f"{pod.namespace}/{pod.name}"
        if pod not in self._begun:
            self._begun.add(pod)
            result(f"evicting pod {place}")
        if what == _GONE:
            result(f"{ref_name(pod)} evicted")
        elif (pod, what) not in self._noted:
            self._noted.add((pod, what))
            note(f"{place}: {what}")


def _advised(why: str) -> str:
    """Return a reason with the options of the command line in place of the parameters of the runtime."""
    return why.replace("drain with force=True", "--force").replace(
        "drain with delete_local_data=True", "--delete-emptydir-data"
    )
