"""`kubeproto crd`: the definition of a custom resource, from its classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._errors import CommandFailed
from ._loading import load_object

if TYPE_CHECKING:
    from kubeproto import KubeObject


@click.command(
    cls=Command,
    examples=[
        ("the definition of a class", "kubeproto crd books.kinds:Book"),
        ("to a file, for kubeproto apply", "kubeproto crd books.kinds:Book > book.yaml"),
        ("of a kind with two versions", "kubeproto crd books/kinds.py:Book books/kinds.py:BookV1Beta1"),
    ],
)
@click.argument("classes", nargs=-1, required=True, metavar="MODULE:CLASS…")
@click.option(
    "--output", "-o", type=click.Choice(["yaml", "json"]), default="yaml", help="yaml by default."
)  # fmt: skip
def crd(classes: tuple[str, ...], output: str) -> None:
    """Print the definition of a custom resource, from its class.

    Several classes of one kind are its versions; of several kinds, each gets a definition. What a server
    would refuse is an error, with every path and reason.
    """
    from kubeproto import dump_yaml
    from kubeproto.crd import definitions_of

    definitions = definitions_of(map(_class, classes))
    if output == "yaml":
        click.echo(dump_yaml(definitions), nl=False)
        return
    from ._documents import as_plain
    from ._output import indented

    for one in definitions:
        click.echo(indented(as_plain(one)))


def _class(reference: str) -> type[KubeObject]:
    from kubeproto import KubeObject

    found: Any = load_object(reference)
    if not (isinstance(found, type) and issubclass(found, KubeObject)):
        raise CommandFailed(f"{reference} is not a class of objects: expected a subclass of kubeproto.Object")
    if found.abstract:
        raise CommandFailed(f"{reference} has no group, version and kind: it has no definition")
    return found
