"""`kubeproto manifests`: the manifests of an operator, printed or written to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from msgspec import Struct

from ._commands import Command
from ._loading import load_operator_function

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kubeproto import RawRequest
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
        ("all manifests, to read or to apply", "kubeproto manifests books.py:operator --access access.json"),
        ("a folder for kubectl apply -k, with a Dockerfile",
         "kubeproto manifests books.py:operator --kustomize --output deploy --image example.com/books:1"),
        ("a chart", "kubeproto manifests books.py:operator --helm --output chart"),
    ],
)  # fmt: skip
@click.argument("operator", metavar="MODULE:OPERATOR")
@click.option("--name", help="The name of the Deployment, account and roles; that of the module by default.")
@click.option("--namespace", help="The namespace of the operator; its name by default.")
@click.option("--image", help="The image, with its tag; NAME:latest by default.")
@click.option("--replicas", type=click.IntRange(1), help="2 with an election by default, else 1.")
@click.option(
    "--access", type=click.Path(dir_okay=False),
    help="The permissions that the operator needs: a file that AccessRecorder wrote in its tests.",
)  # fmt: skip
@click.option("--kustomize", "layout", flag_value="kustomize", help="Write a folder for kustomize.")
@click.option("--helm", "layout", flag_value="helm", help="Write a Helm chart.")
@click.option(
    "--output", "-o", type=click.Path(file_okay=False), metavar="FOLDER",
    help="Write files and a Dockerfile to this folder; otherwise YAML is printed.",
)  # fmt: skip
def manifests(**arguments: Any) -> None:
    """Print or write the manifests of an operator.

    They are its definitions, account, minimal roles, Deployment, PodDisruptionBudget, NetworkPolicy and
    webhooks. OPERATOR is a function that takes a client and returns an Operator, the result of
    Controller.run(), several of these, or the ProgramDescription of a program without an Operator. It is
    called without a cluster; the namespace of the client is the namespace in which the operator will run.
    """
    options = ManifestOptions(**{key: value for key, value in arguments.items() if value is not None})
    if options.layout != "plain" and options.output is None:
        raise click.UsageError(f"--{options.layout} writes a folder: add --output FOLDER")
    files = _manifest_files(options)
    if options.output is None:
        click.echo(files["manifests.yaml"], nl=False)
        return
    for name, text in files.items():
        path = Path(options.output, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        click.echo(path, err=True)


def print_manifests(program: Path, name: str, access: Path) -> str:
    """Return the output of `kubeproto manifests` for the function `deployed` of a program."""
    options = ManifestOptions(operator=f"{program}:deployed", name=name, access=str(access))
    return _manifest_files(options)["manifests.yaml"]


def _packaging_of(options: ManifestOptions) -> Packaging:
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


def _manifest_files(options: ManifestOptions) -> Mapping[str, str]:
    """Return the text of each file."""
    from kubeproto import dump_yaml
    from kubeproto_runtime.manifests import dockerfile, helm_chart, kustomization, manifests as manifests_of

    packaging = _packaging_of(options)
    namespace = packaging.namespace or packaging.name
    description = _describe(load_operator_function(options.operator), namespace)
    objects = manifests_of(description, packaging)
    match options.layout:
        case "kustomize":
            files = kustomization(objects, image=packaging.image or f"{packaging.name}:latest")
        case "helm":
            files = helm_chart(objects, name=packaging.name, namespace=namespace)
        case _:
            files = {"manifests.yaml": dump_yaml(objects)}
    program = options.operator.rpartition(":")[0].removesuffix(".py").replace(".", "/")
    extra = ",webhooks" if description.webhooks is not None else ""
    text = dockerfile(f"{Path(program).name}.py", extras=f"runtime,asyncio{extra}")
    return {**files, "Dockerfile": text}


class _DisconnectedTransport:
    """The transport of a client without a server: an operator is described before it sends requests."""

    def send(
        self, request: RawRequest, *, timeout: float | None = None, idle: float | None = None
    ) -> NoReturn:
        """Raise `ConnectError`."""
        from kubeproto import ConnectError

        raise ConnectError(
            f"{request.method} {request.target}: `kubeproto manifests` connects to no server;"
            " create the operator without requests"
        )


def _describe(function: Callable[..., Any], namespace: str) -> ProgramDescription:
    """Call the function with a disconnected client, and describe the operator that it returns."""
    import anyio

    from kubeproto_runtime import Client
    from kubeproto_runtime.manifests import description_of

    async def describe() -> ProgramDescription:
        return description_of(function(Client(_DisconnectedTransport(), namespace=namespace)))

    try:
        return anyio.run(describe)
    except TypeError as error:
        raise ValueError(str(error)) from error
