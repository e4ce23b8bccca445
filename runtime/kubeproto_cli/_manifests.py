"""`kubeproto manifests`: what a program needs in a cluster, printed or written to a folder."""

from __future__ import annotations

from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec import Struct

from ._commands import Command
from ._loading import load_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubeproto import Head
    from kubeproto_runtime.manifests import Packaging
    from kubeproto_runtime.operator import ProgramDescription


class ManifestOptions(Struct, frozen=True, kw_only=True):
    """The arguments and options of the command, under their names."""

    operator: str
    name: str | None = None
    namespace: str | None = None
    image: str | None = None
    replicas: int = 0
    access: str | None = None
    layout: str = "plain"
    output: str | None = None


@click.command(
    cls=Command,
    examples=[
        ("everything, to look at or to apply", "kubeproto manifests books.py:operator --access access.json"),
        (
            "a folder for kubectl apply -k, with a Dockerfile",
            "kubeproto manifests books.py:operator --kustomize --output deploy --image example.com/books:1",
        ),
        ("a chart", "kubeproto manifests books.py:operator --helm --output chart"),
    ],
)
@click.argument("operator", metavar="MODULE:OPERATOR")
@click.option("--name", help="The name of the Deployment, account and roles; that of the module by default.")
@click.option("--namespace", help="Where the operator runs; named like it by default.")
@click.option("--image", help="The image, with its tag; NAME:latest by default.")
@click.option("--replicas", type=click.IntRange(1), help="2 with an election by default, else 1.")
@click.option(
    "--access", type=click.Path(dir_okay=False),
    help="What the operator's requests need, as AccessRecorder has written it in its tests.",
)  # fmt: skip
@click.option("--kustomize", "layout", flag_value="kustomize", help="Write a folder for kustomize.")
@click.option("--helm", "layout", flag_value="helm", help="Write a Helm chart.")
@click.option(
    "--output", "-o", type=click.Path(file_okay=False), metavar="FOLDER",
    help="Write files to this folder, and a Dockerfile; otherwise YAML is printed.",
)  # fmt: skip
def manifests(**given: Any) -> None:
    """Print or write what an operator needs in a cluster.

    Its definitions, account, least rights, Deployment, PodDisruptionBudget, NetworkPolicy and webhooks.
    OPERATOR is a function that takes a client and returns an Operator, what Controller.run() returned,
    several of these, or the ProgramDescription of a program without an Operator. It is called without a
    cluster; the namespace of the client is the one in which it will run.
    """
    options = ManifestOptions(**{key: value for key, value in given.items() if value is not None})
    if options.layout != "plain" and options.output is None:
        raise click.UsageError(f"--{options.layout} makes a folder: say which by --output FOLDER")
    packaging = _packaging(options)
    described = _described(load_object(options.operator), packaging.namespace or packaging.name)
    files = _files(described, packaging, options)
    if options.output is None:
        click.echo(files["manifests.yaml"], nl=False)
        return
    for name, text in files.items():
        path = Path(options.output, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        click.echo(path, err=True)


def print_manifests(program: Path, name: str, access: Path) -> str:
    """Return what `kubeproto manifests` prints for the function `deployed` of a program."""
    options = ManifestOptions(operator=f"{program}:deployed", name=name, access=str(access))
    packaging = _packaging(options)
    described = _described(load_object(options.operator), packaging.namespace or packaging.name)
    return _files(described, packaging, options)["manifests.yaml"]


def _packaging(options: ManifestOptions) -> Packaging:
    from kubeproto_runtime.manifests import Packaging, parse_access

    try:
        access = parse_access(Path(options.access).read_bytes() if options.access else b"[]")
    except ValueError as error:
        raise ValueError(f"{options.access}: {error}") from error
    module = Path(options.operator.rpartition(":")[0].removesuffix(".py")).name.rpartition(".")[2]
    return Packaging(
        name=options.name or module.replace("_", "-"),
        namespace=options.namespace or "",
        image=options.image or "",
        replicas=options.replicas,
        access=access,
    )


def _files(
    described: ProgramDescription, packaging: Packaging, options: ManifestOptions
) -> Mapping[str, str]:
    from kubeproto import dump_yaml
    from kubeproto_runtime.manifests import dockerfile, helm_chart, kustomization
    from kubeproto_runtime.manifests import manifests as made_for

    objects = made_for(described, packaging)
    namespace = packaging.namespace or packaging.name
    match options.layout:
        case "kustomize":
            files = kustomization(objects, image=packaging.image or f"{packaging.name}:latest")
        case "helm":
            files = helm_chart(objects, name=packaging.name, namespace=namespace)
        case _:
            files = {"manifests.yaml": dump_yaml(objects)}
    program = options.operator.rpartition(":")[0].removesuffix(".py").replace(".", "/")
    extra = ",webhooks" if described.webhooks is not None else ""
    text = dockerfile(f"{Path(program).name}.py", extras=f"runtime,asyncio{extra}")
    return {**files, "Dockerfile": text}


class _DisconnectedTransport:
    """The transport of a client without a server: an operator is described before it sends anything."""

    def send(self, head: Head, *, timeout: float | None = None, idle: float | None = None) -> NoReturn:
        """Refuse the request."""
        from kubeproto import ConnectError

        raise ConnectError(
            f"{head.method} {head.target}: `kubeproto manifests` connects to no server;"
            " create the operator without requests"
        )


def _described(make: Any, namespace: str) -> ProgramDescription:
    """Call the function with a client of no server, and describe the operator that it returns."""
    import anyio

    from kubeproto_runtime import Client
    from kubeproto_runtime.manifests import description_of

    async def describe() -> ProgramDescription:
        return description_of(make(Client(_DisconnectedTransport(), namespace=namespace)))

    if not callable(make) or iscoroutinefunction(make):
        raise click.UsageError(
            "OPERATOR has to be a function that takes a client and returns an operator without awaiting"
        )
    try:
        return anyio.run(describe)
    except TypeError as error:
        raise ValueError(str(error)) from error
