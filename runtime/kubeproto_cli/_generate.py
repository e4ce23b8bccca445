"""`kubeproto generate`: classes for custom resources, from their definitions in files or on a server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._command_errors import CommandFailed
from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._output import plain_object, print_note

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(
    cls=Command,
    examples=[
        ("from files", "kubeproto generate -f crds.yaml -f more/ -o library.py"),
        ("from a server: a single kind, and all kinds of a group",
         "kubeproto generate certificates.cert-manager.io argoproj.io -o library.py"),
        ("from a chart", "kubeproto generate -f -"),
    ],
)  # fmt: skip
@click.argument("names", nargs=-1, metavar="[DEFINITION|GROUP…]")
@click.option(
    "--filename", "-f", multiple=True, metavar="PATH",
    help="A file or folder with definitions, or - for standard input, in place of a server.",
)  # fmt: skip
@click.option("--output", "-o", default="-", metavar="MODULE.py", help="The file to write; - prints.")
@connection_options(namespace=False)
def generate(
    connection: ConnectionOptions, names: tuple[str, ...], filename: tuple[str, ...], output: str
) -> None:
    """Write a module of classes for custom resources.

    From definitions in files, or from those on a server, by the names of definitions or of groups. Each
    served version becomes a class, with classes for the objects in it. Fields whose type a schema leaves open
    become Any; a definition that cannot become a class is an error. The module passes mypy --strict.
    """
    if bool(names) == bool(filename):
        raise click.UsageError("expected either --filename, or names of definitions or groups of a server")
    documents = _read_definitions(filename) if filename else asyncio_run(_fetch, connection, names)
    from kubeproto.kinds import module_source

    text = module_source(documents)
    if output == "-":
        click.echo(text, nl=False)
        return
    Path(output).write_text(text)
    print_note(f"{output} is written: {text.count(chr(10))} lines")


def _read_definitions(paths: Sequence[str]) -> list[dict[str, Any]]:
    from kubeproto_runtime.sets import read_manifests

    files = read_manifests(*paths, recursive=True, stdin=sys.stdin.buffer)
    if files.failures:
        raise CommandFailed("; ".join(files.failures))
    return [plain_object(obj) for obj in files.objects]


async def _fetch(connection: ConnectionOptions, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the definitions of a server with these names or groups. Each name must have a definition."""
    async with connected(connection) as client:
        api = await client.resource("customresourcedefinitions.apiextensions.k8s.io")
        definitions = [plain_object(obj) async for obj in api.items()]
    selected: list[dict[str, Any]] = []
    for name in names:
        matches = [
            definition
            for definition in definitions
            if name in (definition["metadata"]["name"], definition["spec"]["group"])
        ]
        if not matches:
            existing = sorted({definition["metadata"]["name"] for definition in definitions})
            hint = f"it has {', '.join(existing[:20])}" if existing else "it has no definitions"
            raise CommandFailed(f"the server has no definition {name}, and none of a group {name}; {hint}")
        selected += [definition for definition in matches if definition not in selected]
    return selected
