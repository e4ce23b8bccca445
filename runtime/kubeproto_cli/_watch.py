"""`kubeproto watch`: a live table on a terminal, JSON lines in a pipe. It recovers from interruptions."""

from __future__ import annotations

import logging
import sys
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._output import plain_object, print_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Dynamic
    from kubeproto_runtime.client import BoundApi

    from ._live_table import LiveRows, LiveTable, Selectors

_EXPECTED: Final = "expected TYPE, TYPE NAME… or TYPE/NAME…, such as pods, deploy web or deploy/web"


class ResourceArgument(NamedTuple):
    """The objects of a kind that the command line names: all objects if `names` is empty."""

    kind: str
    names: tuple[str, ...] = ()


@click.command(
    cls=Command,
    examples=[
        ("a live table of pods", "kubeproto watch pods"),
        ("of two kinds in all namespaces", "kubeproto watch pods,deployments -A"),
        ("a single object", "kubeproto watch deploy/web"),
        ("a JSON line for each change, for jq", "kubeproto watch pods -l app=web -o jsonl"),
    ],
)
@click.argument("resources", nargs=-1, metavar="TYPE[,TYPE] [NAME…]")
@click.option(
    "--output", "-o", type=click.Choice(["table", "wide", "jsonl"]),
    help="By default a table on a terminal, and jsonl in a pipe.",
)  # fmt: skip
@click.option("--selector", "-l", default="", metavar="LABELS", help="Only objects with these labels.")
@click.option("--field-selector", default="", metavar="FIELDS", help="Only objects with these fields.")
@connection_options(all_namespaces=True)
def watch(
    connection: ConnectionOptions,
    resources: tuple[str, ...],
    output: str | None,
    selector: str,
    field_selector: str,
) -> None:
    """Show objects and their changes: a live table, or JSON lines.

    It begins with the existing objects, and continues until Ctrl-C, also after lost connections, restarts of
    the server, and expired versions and tokens. No change is missed or shown twice. In a pipe, a line is
    {"type": "ADDED", "object": …}, where the type is ADDED, MODIFIED or DELETED.
    """
    arguments = parse_resources(resources)
    has_names = any(argument.names for argument in arguments)
    if has_names and (selector or field_selector):
        raise click.UsageError("names and selectors are mutually exclusive")
    if has_names and connection.all_namespaces:
        raise click.UsageError("an object cannot be watched by its name in all namespaces")
    output = output or ("table" if sys.stdout.isatty() else "jsonl")
    if output != "jsonl" and not sys.stdout.isatty():
        raise click.UsageError("a live table needs a terminal: use -o jsonl, or kubectl get for a table")
    asyncio_run(_watch, connection, arguments, (selector, field_selector), output)


def parse_resources(words: Sequence[str]) -> tuple[ResourceArgument, ...]:
    """Parse the resources of a command line, like kubectl.

    ``TYPE[,TYPE…]`` is all objects of these kinds, ``TYPE[,TYPE…] NAME…`` these names of each kind,
    ``TYPE/NAME…`` single objects. The kinds are not checked: `Client.resources` finds them on the server.
    """
    if not words:
        raise click.UsageError(f"no resources: {_EXPECTED}")
    type_names = [argument for argument in words if "/" in argument]
    if type_names and len(type_names) != len(words):
        other = next(argument for argument in words if "/" not in argument)
        raise click.UsageError(f"{other!r} is not TYPE/NAME like {type_names[0]!r}; {_EXPECTED}")
    if type_names:
        return tuple(_parse_type_name(argument) for argument in words)
    kinds = words[0].split(",")
    if not all(kinds):
        raise click.UsageError(f"{words[0]!r} has an empty type; {_EXPECTED}")
    return tuple(ResourceArgument(kind, tuple(words[1:])) for kind in kinds)


def _parse_type_name(argument: str) -> ResourceArgument:
    kind, _, name = argument.partition("/")
    if not kind or not name or "/" in name or "," in kind:
        raise click.UsageError(f"{argument!r} is not TYPE/NAME; {_EXPECTED}")
    return ResourceArgument(kind, (name,))


async def _watch(
    connection: ConnectionOptions,
    arguments: Sequence[ResourceArgument],
    selectors: tuple[str, str],
    output: str,
) -> None:
    import anyio

    from ._live_table import LiveRows, LiveTable, Selectors

    live = output != "jsonl"
    async with (
        connected(connection, warnings=logging.CRITICAL if live else logging.WARNING) as client,
        anyio.create_task_group() as tasks,
    ):
        watches: list[tuple[BoundApi[Dynamic], Selectors]] = []
        for argument in arguments:
            single = [Selectors(fields=f"metadata.name={name}") for name in argument.names]
            apis = await client.resources(argument.kind, namespace=connection.scope)
            watches += product(apis, single or [Selectors(*selectors)])
        if not live:
            for watch in watches:
                tasks.start_soon(_print_lines, *watch)
            return
        all_rows = [LiveRows(client, *watch) for watch in watches]
        table = LiveTable(all_rows, wide=output == "wide", namespaces=connection.all_namespaces)
        tasks.start_soon(table.run)
        for rows in all_rows:
            tasks.start_soon(_follow, rows, table)
            tasks.start_soon(rows.run, table.wake.set)


async def _print_lines(api: BoundApi[Dynamic], selectors: Selectors) -> None:
    import msgspec

    from kubeproto import Added, Deleted, Malformed, Modified

    following = api.follow(strict=True, label_selector=selectors.labels, field_selector=selectors.fields)
    async with following as events:
        async for event in events:
            match event:
                case Added() | Modified() | Deleted():
                    line = {"type": type(event).__name__.upper(), "object": plain_object(event.object)}
                    print_result(msgspec.json.encode(line).decode())
                case Malformed():
                    logging.getLogger("kubeproto.watch").warning("%s", event.error)
                case _:
                    pass


async def _follow(rows: LiveRows, table: LiveTable) -> None:
    from kubeproto import Added, Bookmark, Deleted, Modified

    labels, fields = rows.selectors
    async with rows.api.follow(label_selector=labels, field_selector=fields) as events:
        rows.problem = lambda: events.sync_status.reason
        async for event in events:
            match event:
                case Added(obj) | Modified(obj):
                    rows.mark_changed(obj)
                case Deleted(obj):
                    rows.remove(obj)
                case Bookmark(initial_events_end=True):
                    rows.mark_synced()
                case _:
                    continue
            table.wake.set()
