"""Prints the changes of worker nodes: `python examples/nodes/nodes.py`.

It follows nodes with the label `role=worker` and prints new nodes, nodes that become unschedulable or not
ready, with their problems and Events, and deleted nodes. Failures are logged, and missed changes are
recovered.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import kubeproto as kp
from kubeproto.kinds.core_v1 import Event, Node
from kubeproto_runtime import Client, FollowedKind, ProgramDescription, connect

SELECTOR: Final = "role=worker"
EVENTS: Final = 5  # the number of printed Events

Write = Callable[[str], object]


async def print_changes(client: Client, write: Write = print) -> None:
    """Follow the nodes, and print a line about each change that matters."""
    printed_problems: dict[str, list[str]] = {}  # the problems of each node, as printed last
    async with client.api(Node).follow(label_selector=SELECTOR) as events:
        async for event in events:
            match event:
                case kp.Added(node) | kp.Modified(node):
                    await report(client, node, printed_problems, write)
                case kp.Deleted(node):
                    printed_problems.pop(node.metadata.name, None)
                    labels = ",".join(
                        f"{name}={value}" for name, value in sorted(node.metadata.labels.items())
                    )
                    write(f"{node.metadata.name}: gone, with labels {labels}")
                case kp.Bookmark(initial_events_end=True):
                    write(f"these are all: {len(printed_problems)} nodes")
                case kp.Bookmark():
                    pass
                case kp.Malformed(_, error):
                    write(f"a node cannot be read: {error}")


async def report(client: Client, node: Node, printed_problems: dict[str, list[str]], write: Write) -> None:
    """Print new problems: nodes write their status every few minutes, usually without a change."""
    name, current = node.metadata.name, problems(node)
    if name not in printed_problems:
        write(f"{name}: new")
    previous, printed_problems[name] = printed_problems.get(name, []), current
    if current == previous:
        return
    write(f"{name}: {'; '.join(current) or 'ready'}")
    if current:
        for line in await events_about(client, name):
            write(f"  {line}")


def problems(node: Node) -> list[str]:
    """Return the reasons why pods cannot be bound to a node or run there."""
    problems = ["unschedulable"] if node.spec.unschedulable else []
    conditions = (node.status and node.status.conditions) or []
    for condition in conditions:
        # Ready must be True; all others, such as DiskPressure, must be False.
        if condition.status != ("True" if condition.type == "Ready" else "False"):
            details = ": ".join(text for text in (condition.reason, condition.message) if text)
            problems.append(f"{condition.type} is {condition.status}{f' ({details})' if details else ''}")
    if not any(condition.type == "Ready" for condition in conditions):
        problems.append("Ready is not known")
    return problems


async def events_about(client: Client, name: str) -> list[str]:
    """Return the last Events about a node; the Events of nodes may be in any namespace."""
    selector = f"involvedObject.kind=Node,involvedObject.name={name}"
    try:
        page = await client.api(Event, namespace=kp.ALL).list(field_selector=selector)
    except kp.KubeprotoError as error:
        return [f"its Events cannot be read: {error}"]
    newest = sorted(page, key=lambda event: event.metadata.creation_timestamp or "")[-EVENTS:]
    return [f"{event.type} {event.reason}: {event.message}" for event in newest]


def deployed(client: Client) -> ProgramDescription:
    """Return the program that `manifests.yaml` deploys."""
    return ProgramDescription(follows=(FollowedKind(Node.resource),), reconciles=False, grace=0)


async def main() -> None:
    """Watch the cluster of the current kubeconfig context, until Ctrl-C."""
    async with connect() as client:
        await print_changes(client)


if __name__ == "__main__":
    logging.basicConfig()
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
