"""`kubeproto crd`: the definition of a custom resource, from its classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._command_errors import CommandFailed
from ._commands import Command
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

    Several classes of one kind are its versions; several kinds result in several definitions. It is an error,
    with every path and reason, if a server would refuse a definition.
    """
    import msgspec

    from kubeproto import dump_yaml
    from kubeproto.crd import definitions_of

    from ._output import plain_object

    definitions = definitions_of(map(_load_class, classes))
    if output == "yaml":
        click.echo(dump_yaml(definitions), nl=False)
        return
    for definition in definitions:
        text = msgspec.json.encode(plain_object(definition), order="sorted")
        click.echo(msgspec.json.format(text, indent=4).decode())


def _load_class(reference: str) -> type[KubeObject]:
    from kubeproto import KubeObject

    kind: Any = load_object(reference)
    if not (isinstance(kind, type) and issubclass(kind, KubeObject)):
        raise CommandFailed(f"{reference} is not a class of objects: expected a subclass of kubeproto.Object")
    if kind.abstract:
        raise CommandFailed(f"{reference} has no group, version and kind: it has no definition")
    return kind
