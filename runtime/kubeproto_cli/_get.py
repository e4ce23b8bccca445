"""`kubeproto get`: objects as a table of the server, or as YAML, JSON, names or custom columns."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options, require_one_place
from ._errors import CommandFailed, first_error, reason_of
from ._output import FORMATS, note
from ._resources import Selected, WantedResources, parse_resources

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from kubeproto import Dynamic
    from kubeproto.objects import Table
    from kubeproto_runtime.client import BoundApi

    from ._objects import ObjectPrinter
    from ._tables import TablePrinter


@click.command(
    cls=Command,
    examples=[
        ("the pods of the namespace", "kubeproto get pods"),
        ("of all namespaces, with more columns", "kubeproto get pods -A -o wide"),
        ("one object as YAML", "kubeproto get deploy/web -o yaml"),
        ("two kinds, by label", "kubeproto get pods,services -l app=web"),
        ("one JSON object a line, read page by page", "kubeproto get pods -A -o jsonl"),
        ("custom columns", "kubeproto get po -o custom-columns=POD:.metadata.name,NODE:.spec.nodeName"),
        ("values", "kubeproto get pod web -o jsonpath='{.status.podIP}'"),
    ],
)  # fmt: skip
@click.argument("resources", nargs=-1, metavar="TYPE[,TYPE] [NAME…]")
@click.option("--output", "-o", default="", metavar="FORMAT", help=f"{FORMATS}; a table by default.")
@click.option("--selector", "-l", default="", metavar="LABELS", help="Only objects with these labels.")
@click.option("--field-selector", default="", metavar="FIELDS", help="Only objects with these fields.")
@click.option("--no-headers", is_flag=True, help="Leave out the names of the columns.")
@click.option("--show-labels", is_flag=True, help="Show the labels as the last column.")
@click.option("--label-columns", "-L", multiple=True, metavar="LABEL", help="Show this label as a column.")
@click.option("--sort-by", default="", metavar="PATH", help="Sort by the value at this JSONPath.")
@click.option("--show-managed-fields", is_flag=True, help="Keep managedFields in YAML and JSON.")
@click.option("--ignore-not-found", is_flag=True, help="A name that does not exist is not an error.")
@click.option("--chunk-size", type=click.IntRange(0), default=500, metavar="N", help="Read so many at once.")
@connection_options(all_namespaces=True)
def get(connection: ConnectionOptions, resources: tuple[str, ...], **given: Any) -> None:
    """Show objects: a table, YAML, JSON, names or columns.

    Types are named as for kubectl: pods, po, pod, deployments.apps, deploy/web, or a category such as all.
    Several are read one after the other, each in pages.
    """
    require_one_place(connection)
    wanted = parse_resources(resources)
    if any(one.names for one in wanted) and (given["selector"] or given["field_selector"]):
        raise click.UsageError("names and selectors exclude each other")
    if connection.all_namespaces and any(one.names for one in wanted):
        raise click.UsageError("an object cannot be read by its name in all namespaces")
    getting = _Getting(connection, given)
    asyncio_run(getting.run, wanted)
    if getting.failed:
        raise click.exceptions.Exit(1)


class _Getting:
    """One call: what is requested, and whether all of it could be read."""

    def __init__(self, connection: ConnectionOptions, given: dict[str, Any]) -> None:
        self.connection = connection
        self.given = given
        self.failed = False
        self.namespaced = True
        self.selection = Selected(given["selector"], given["field_selector"])

    async def run(self, wanted: Sequence[WantedResources]) -> None:
        output: str = self.given["output"]
        printer = self._tables(output == "wide") if output in ("", "wide") else self._objects(output)
        async with connected(self.connection) as client:
            found: list[tuple[BoundApi[Dynamic], tuple[str, ...]]] = []
            for one in wanted:
                found += [(api, one.names) for api in await client.resources(one.kind, namespace=self._place)]
            printer.several = len({str(api.resource) for api, _ in found}) > 1
            printer.namespaced = any(api.resource.namespaced for api, _ in found)
            printer.single = len(found) == 1 and len(found[0][1]) == 1
            for api, names in found:
                await self._print(printer, api, names)
            self.namespaced = all(api.resource.namespaced for api, _ in found)
            namespace = self.connection.namespace or client.namespace
        printer.close()
        if not (printer.count or self.failed or self.given["ignore_not_found"]) and printer.tells_nothing:
            here = self.namespaced and not self.connection.all_namespaces
            note(f"No resources found in {namespace} namespace." if here else "No resources found")

    @property
    def _place(self) -> Any:
        return self.connection.place

    def _tables(self, wide: bool) -> TablePrinter:
        from ._tables import TablePrinter

        return TablePrinter(
            sys.stdout,
            wide=wide,
            namespaces=self.connection.all_namespaces,
            headers=not self.given["no_headers"],
            labels=self.given["show_labels"],
            label_columns=tuple(key for word in self.given["label_columns"] for key in word.split(",")),
            sort_by=self.given["sort_by"],
        )

    def _objects(self, output: str) -> ObjectPrinter:
        from ._objects import object_printer

        if self.given["show_labels"] or self.given["label_columns"]:
            raise click.UsageError("labels are columns of a table: leave out --output, or use -o wide")
        return object_printer(
            output,
            sys.stdout,
            headers=not self.given["no_headers"],
            managed_fields=self.given["show_managed_fields"],
            sort_by=self.given["sort_by"],
        )

    async def _print(
        self, printer: TablePrinter | ObjectPrinter, api: BoundApi[Dynamic], names: tuple[str, ...]
    ) -> None:
        printer.begin(api.resource)
        try:
            if names:
                for name in names:
                    await self._one(printer, api, name)
            else:
                async for page in self._pages(printer, api):
                    printer.page(page)
        except (BrokenPipeError, CommandFailed):
            raise
        except Exception as error:
            self._complain(error)
        printer.end()

    async def _one(self, printer: TablePrinter | ObjectPrinter, api: BoundApi[Dynamic], name: str) -> None:
        from kubeproto import NotFound

        try:
            if printer.tabular:
                printer.page(await api.as_table(include_object=printer.include_object).get(name))
            else:
                printer.page([await api.get(name)])
        except NotFound as error:
            if not self.given["ignore_not_found"]:
                self._complain(error)

    async def _pages(
        self, printer: TablePrinter | ObjectPrinter, api: BoundApi[Dynamic]
    ) -> AsyncIterator[Table | list[Dynamic]]:
        limit, (labels, fields) = self.given["chunk_size"], self.selection
        if printer.tabular:
            tables = api.as_table(include_object=printer.include_object)
            async for table in tables.pages(limit=limit, label_selector=labels, field_selector=fields):
                yield table
        else:
            async for page in api.pages(limit=limit, label_selector=labels, field_selector=fields):
                yield page.items

    def _complain(self, error: Exception) -> None:
        """Report what could not be read, and continue with the rest."""
        cause = first_error(error)
        if (reason := reason_of(cause)) is None:
            raise cause
        note(f"kubeproto get: {reason}")
        self.failed = True
