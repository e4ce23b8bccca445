"""`kubeproto watch`: a live table on a terminal, JSON lines in a pipe; it survives whatever happens."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options, require_one_place
from ._resources import Selected, WantedResources, parse_resources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto import Dynamic
    from kubeproto_runtime.client import BoundApi

    from ._live_table import LiveRows, LiveTable


@click.command(
    cls=Command,
    examples=[
        ("a live table of pods", "kubeproto watch pods"),
        ("of two kinds in all namespaces", "kubeproto watch pods,deployments -A"),
        ("one object", "kubeproto watch deploy/web"),
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
def watch(connection: ConnectionOptions, resources: tuple[str, ...], **given: Any) -> None:
    """Show objects and each change of them: a live table, or JSON lines.

    It begins with the existing objects, and continues until Ctrl-C. Connections that are lost, servers
    that restart, versions that have expired and tokens that have run out are survived: no change is missed
    and none is shown twice. In a pipe, a line is {"type": "ADDED", "object": …}, with MODIFIED and DELETED.
    """
    require_one_place(connection)
    wanted = parse_resources(resources)
    if any(one.names for one in wanted) and (given["selector"] or given["field_selector"]):
        raise click.UsageError("names and selectors exclude each other")
    if connection.all_namespaces and any(one.names for one in wanted):
        raise click.UsageError("an object cannot be watched by its name in all namespaces")
    output = given["output"] or ("table" if sys.stdout.isatty() else "jsonl")
    if output != "jsonl" and not sys.stdout.isatty():
        raise click.UsageError("a live table needs a terminal: use -o jsonl, or kubectl get for a table")
    asyncio_run(_watch, connection, wanted, given, output)


async def _watch(
    connection: ConnectionOptions, wanted: Sequence[WantedResources], given: dict[str, Any], output: str
) -> None:
    import anyio

    live = output != "jsonl"
    async with (
        connected(connection, warnings=logging.CRITICAL if live else logging.WARNING) as client,
        anyio.create_task_group() as tasks,
    ):
        watched: list[tuple[BoundApi[Dynamic], Selected]] = []
        for one in wanted:
            for api in await client.resources(one.kind, namespace=connection.place):
                watched += [(api, selection) for selection in _selections(one, given)]
        if not live:
            for api, selection in watched:
                tasks.start_soon(_print_lines, api, selection)
            return
        from ._live_table import LiveRows, LiveTable

        rows = [LiveRows(client, api, selection) for api, selection in watched]
        table = LiveTable(rows, wide=output == "wide", namespaces=connection.all_namespaces)
        tasks.start_soon(table.run)
        for one_kind in rows:
            tasks.start_soon(_follow, one_kind, table)
            tasks.start_soon(one_kind.keep_fresh, table.wake.set)


def _selections(wanted: WantedResources, given: dict[str, Any]) -> list[Selected]:
    if wanted.names:
        return [Selected(fields=f"metadata.name={name}") for name in wanted.names]
    return [Selected(given["selector"], given["field_selector"])]


async def _print_lines(api: BoundApi[Dynamic], selection: Selected) -> None:
    import msgspec

    from kubeproto import Added, Deleted, Malformed, Modified

    from ._documents import as_plain

    following = api.follow(strict=True, label_selector=selection.labels, field_selector=selection.fields)
    async with following as events:
        async for event in events:
            match event:
                case Added() | Modified() | Deleted():
                    line = {"type": type(event).__name__.upper(), "object": as_plain(event.object)}
                    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
                    sys.stdout.flush()
                case Malformed():
                    logging.getLogger("kubeproto.watch").warning("%s", event.error)
                case _:
                    pass


async def _follow(rows: LiveRows, table: LiveTable) -> None:
    from kubeproto import Added, Bookmark, Deleted, Modified

    labels, fields = rows.selection
    async with rows.api.follow(label_selector=labels, field_selector=fields) as events:
        rows.why = lambda: events.sync_status.why
        async for event in events:
            match event:
                case Added(obj) | Modified(obj):
                    rows.changed(obj)
                case Deleted(obj):
                    rows.deleted(obj)
                case Bookmark(initial_events_end=True):
                    rows.complete()
                case _:
                    continue
            table.wake.set()
