"""`kubeproto generate`: classes for custom resources, from their definitions in files or on a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._errors import CommandFailed
from ._output import note

if TYPE_CHECKING:
    from collections.abc import Sequence

_GROUP = "apiextensions.k8s.io"


@click.command(
    cls=Command,
    examples=[
        ("from files", "kubeproto generate -f crds.yaml -f more/ -o library.py"),
        ("from a server: one kind, and all kinds of a group",
         "kubeproto generate certificates.cert-manager.io argoproj.io -o library.py"),
        ("from a chart", "kubeproto generate -f -"),
    ],
)  # fmt: skip
@click.argument("names", nargs=-1, metavar="[DEFINITION|GROUP…]")
@click.option(
    "--filename", "-f", multiple=True, metavar="PATH",
    help="A file or folder with definitions, or - for standard input, in place of a server.",
)  # fmt: skip
@click.option("--output", "-o", default="-", metavar="MODULE.py", help="Where to write; - prints.")
@connection_options(namespace=False)
def generate(
    connection: ConnectionOptions, names: tuple[str, ...], filename: tuple[str, ...], output: str
) -> None:
    """Write a module of classes for custom resources.

    From definitions in files, or from those on a server, by the names of definitions or of groups. Each
    served version becomes a class, with classes for the objects in it; what a schema leaves open is Any, and
    what cannot be a class is refused by name. The module passes mypy --strict.
    """
    if bool(names) == bool(filename):
        raise click.UsageError("definitions from where? give files by -f, or names for those of a server")
    documents = _from_files(filename) if filename else asyncio_run(_from_server, connection, names)
    from kubeproto.kinds import module_source

    text = module_source(documents)
    if output == "-":
        click.echo(text, nl=False)
        return
    Path(output).write_text(text)
    note(f"{output} is written: {text.count(chr(10))} lines")


def _from_files(paths: Sequence[str]) -> list[dict[str, Any]]:
    from kubeproto_runtime.sets import read_manifests

    from ._documents import as_plain

    files = read_manifests(*paths, recursive=True, stdin=sys.stdin.buffer)
    if files.failures:
        raise CommandFailed("; ".join(files.failures))
    return [as_plain(obj) for obj in files.objects]


async def _from_server(connection: ConnectionOptions, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the definitions of these names, and all of these groups; a missing one is an error."""
    from ._documents import as_plain

    async with connected(connection) as client:
        api = await client.resource(f"customresourcedefinitions.{_GROUP}")
        found = [as_plain(obj) async for obj in api.items()]
    chosen: list[dict[str, Any]] = []
    for name in names:
        matches = [one for one in found if name in (one["metadata"]["name"], one["spec"]["group"])]
        if not matches:
            known = sorted({one["metadata"]["name"] for one in found})
            there = f"; there is {', '.join(known[:20])}" if known else "; there is none at all"
            raise CommandFailed(f"the server has no definition {name}, and none of a group {name}{there}")
        chosen += [one for one in matches if one not in chosen]
    return chosen
