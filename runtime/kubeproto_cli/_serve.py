"""`kubeproto serve`: the simulated API server on a port, for kubectl and programs in any language."""

from __future__ import annotations

import errno
import logging
import secrets
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
import msgspec
from msgspec import Struct

from ._commands import Command

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from datetime import tzinfo

    from kubeproto import Dynamic
    from kubeproto_serve import Security
    from kubeproto_sim import Cluster, Program

_NEEDS_TLS: Final = "# kubectl and client-go send credentials only over TLS: add --tls\n"
_FAULT_SHARE: Final = 0.1  # the share of requests that fail under `--faults`
# Seconds; a program that handles SIGTERM ends after about this time, and not after its 30 s of grace.
_POD_ENDS_AFTER: Final = 1.0


class ServeOptions(Struct, frozen=True, kw_only=True):
    """The options of the command, under their names."""

    host: str = "127.0.0.1"
    port: int = 8001
    crd: tuple[str, ...] = ()
    load: tuple[str, ...] = ()
    state: str | None = None
    faults: int | None = None
    kubeconfig: str | None = None
    tls: bool = False
    tls_cert: str | None = None
    tls_key: str | None = None
    token: tuple[str, ...] = ()
    authorization: Literal["AlwaysAllow", "RBAC"] = "AlwaysAllow"
    token_auth_file: str | None = None
    webhook: tuple[str, ...] = ()
    client_certificates: bool = False
    client_ca: str | None = None
    controllers: str = "*"
    kubernetes: str = "1.36"
    nodes: int = 0
    programs: str | None = None
    empty: bool = False
    log: bool = False


_FILE: Final = click.Path(dir_okay=False)
_DEFAULTS: Final = ServeOptions()


@click.command(
    cls=Command,
    examples=[
        (
            "a server for kubectl, with the definitions and objects of files",
            "kubeproto serve --crd crd.yaml --load objects.yaml --kubeconfig ./config",
        ),
        ("pods run on three nodes, for kubectl logs and exec", "kubeproto serve --nodes 3"),
        ("roles and bindings decide who may do what", "kubeproto serve --tls --authorization RBAC"),
        ("a tenth of the requests fails, the same requests in each run", "kubeproto serve --faults 7"),
        ("objects survive a restart", "kubeproto serve --state ./state"),
    ],
)
@click.option("--host", default=_DEFAULTS.host, show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_DEFAULTS.port, show_default=True,
    help="The port to listen on; 0 chooses a free port.",
)  # fmt: skip
@click.option("--crd", multiple=True, type=_FILE, help="Definitions of custom resources to serve.")
@click.option("--load", multiple=True, type=_FILE, help="Objects to begin with, YAML or JSON.")
@click.option(
    "--state", type=click.Path(file_okay=False),
    help="Store the objects in this folder, so that they outlive the process.",
)  # fmt: skip
@click.option(
    "--faults", type=int, metavar="SEED", help="Make a tenth of all requests fail, chosen by this seed."
)
@click.option("--kubeconfig", type=_FILE, help="Write the kubeconfig to this file as well.")
@click.option("--tls", is_flag=True, help="Serve HTTPS, with a certificate that is created for this run.")
@click.option("--tls-cert", type=_FILE, help="Serve HTTPS with this certificate.")
@click.option("--tls-key", type=_FILE, help="The key of that certificate.")
@click.option("--token", multiple=True, help="Require this bearer token.")
@click.option(
    "--authorization", type=click.Choice(["AlwaysAllow", "RBAC"]), default=_DEFAULTS.authorization,
    show_default=True, help="Allow everything to everybody, or only what roles and bindings grant.",
)  # fmt: skip
@click.option("--token-auth-file", type=_FILE, help='Users by token: lines of token,user,uid,"group,group".')
@click.option(
    "--webhook", multiple=True, metavar="NAMESPACE/SERVICE=HOST:PORT",
    help="The address of the webhooks of a Service.",
)  # fmt: skip
@click.option("--client-certificates", is_flag=True, help="With --tls: require a client certificate.")
@click.option(
    "--client-ca",
    type=_FILE,
    help="With --tls-cert: require a client certificate issued by this authority, or a token.",
)
@click.option(
    "--controllers", default=_DEFAULTS.controllers, show_default=True, metavar="NAMES",
    help="The controllers to run, in kube-controller-manager's form: '*,-job-controller' is all controllers"
    " except that of Jobs, '' is none.",
)  # fmt: skip
@click.option(
    "--kubernetes", default=_DEFAULTS.kubernetes, show_default=True, metavar="RELEASE",
    help="The release of Kubernetes to simulate: 1.30 to 1.36.",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(0), default=_DEFAULTS.nodes, metavar="COUNT",
    help="Run pods on this many simulated nodes; without nodes they stay pending.",
)  # fmt: skip
@click.option(
    "--programs",
    type=_FILE,
    help="With --nodes: a YAML file with the log, the files and the exit of each image's containers.",
)
@click.option("--empty", is_flag=True, help="Begin without the objects of a new cluster.")
@click.option("--log", is_flag=True, help="Log each request to standard error.")
def serve(**arguments: Any) -> None:
    """Serve a simulated Kubernetes API on a port.

    For kubectl and programs in any language. It prints the kubeconfig to use, and ends with Ctrl-C.
    """
    options = ServeOptions(**arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    webhooks = _parse_webhooks(options.webhook)
    security = _read_security(options)
    if options.programs and not options.nodes:
        raise click.UsageError("--programs requires --nodes: without nodes no container runs")
    programs = _read_programs(Path(options.programs)) if options.programs else {}
    cluster = simulated_cluster(options)
    import anyio

    with port_in_use(options.host, options.port):
        anyio.run(_serve, cluster, security, webhooks, programs, options)


@contextmanager
def port_in_use(host: str, port: int) -> Generator[None]:
    """Add the remedy to the error for a port that another program uses."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise OSError(f"{host}:{port} is in use: use another --port, or 0 for a free port") from error


def simulated_cluster(options: ServeOptions) -> Cluster:
    """Create a cluster from the options."""
    from kubeproto.objects import encode
    from kubeproto_serve import read_token_file
    from kubeproto_sim import Cluster

    # uids must differ between two servers, unless a seed determines all values. Versions must grow: if they
    # began at 1 again, a watch of the previous server would continue at a future version, and receive nothing
    # (also from a real server). At a past version it receives a 410, and its client relists.
    seed, version = options.faults, 0
    if seed is None:
        seed, version = secrets.randbits(63), int(time.time() * 1000)
    cluster = Cluster(
        seed=seed, version=version, populated=not options.empty, authorization=options.authorization,
        tokens=read_token_file(Path(options.token_auth_file).read_text()) if options.token_auth_file else {},
        controllers=[name.strip() for name in options.controllers.split(",") if name.strip()],
        time_zones=time_zone, kubernetes=options.kubernetes,
    )  # fmt: skip
    cluster.keeps_log = False
    for path in options.crd:
        cluster.define(*map(encode, _read_manifest(path)))
    for path in options.load:
        for obj in _read_manifest(path):
            cluster.put(obj)
    return cluster


def add_nodes(cluster: Cluster, count: int, programs: dict[str, Program] | None = None) -> None:
    """Run the pods of a cluster on simulated nodes; existing nodes of these names are simulated too."""
    cluster.nodes(count, ends_after=_POD_ENDS_AFTER, programs=programs or {})
    cluster.settle()


def time_zone(name: str) -> tzinfo | None:
    """Return a time zone of the system by its name, or None."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _read_manifest(path: str) -> list[Dynamic]:
    from kubeproto.objects import InvalidManifest, parse_manifest

    try:
        return parse_manifest(Path(path).read_bytes())
    except InvalidManifest as error:
        raise ValueError(f"{path}: {error}") from error


def _read_security(options: ServeOptions) -> Security:
    from kubeproto_serve import Security, certificate_files, self_signed

    admin_tokens = list(options.token)
    if options.authorization == "RBAC" and not (
        admin_tokens or options.client_certificates or options.client_ca
    ):
        admin_tokens.append(secrets.token_urlsafe(16))  # an administrator must create the first roles
    tokens = dict.fromkeys(admin_tokens, "kubernetes-admin")
    if options.tls_cert or options.tls_key:
        if not (options.tls_cert and options.tls_key):
            raise click.UsageError("--tls-cert and --tls-key belong together: use both")
        return certificate_files(
            options.tls_cert, options.tls_key, client_authority=options.client_ca or "", tokens=tokens,
            requires_certificate=not options.token_auth_file,
        )  # fmt: skip
    if options.tls:
        return self_signed(options.host, tokens=tokens, certificates=options.client_certificates)
    if options.client_certificates or options.client_ca:
        raise click.UsageError("client certificates need TLS: use --tls, or --tls-cert and --tls-key")
    return Security(tokens=tokens)


def _parse_webhooks(values: Sequence[str]) -> dict[str, str]:
    """Return the address of each Service in the values of ``--webhook``."""
    addresses: dict[str, str] = {}
    for value in values:
        service, equals, address = value.partition("=")
        if not equals or service.count("/") != 1:
            raise click.UsageError(f"--webhook {value}: expected NAMESPACE/SERVICE=HOST:PORT")
        addresses[service] = address
    return addresses


class _ImageProgram(Struct, forbid_unknown_fields=True, kw_only=True):
    """The program of an image in the YAML of `--programs`: `kubeproto_sim.Program` without its functions."""

    log: str = ""
    takes: float | None = None
    code: int = 0
    ready_after: float | None = None
    unpullable: str = ""
    files: dict[str, str] = {}


def _read_programs(path: Path) -> dict[str, Program]:
    """Return the programs of a YAML file by image."""
    from kubeproto_sim import Program

    try:
        programs = msgspec.yaml.decode(path.read_bytes(), type=dict[str, _ImageProgram])
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise ValueError(f"{path}: {error}") from error
    return {image: Program(**msgspec.structs.asdict(program)) for image, program in programs.items()}


async def _serve(
    cluster: Cluster, security: Security, webhooks: dict[str, str], programs: dict[str, Program],
    options: ServeOptions,
) -> None:  # fmt: skip
    import anyio

    from kubeproto_serve import RequestLog, serve as serve_cluster
    from kubeproto_sim import Faults

    faults = None if options.faults is None else Faults(cluster, seed=options.faults, share=_FAULT_SHARE)
    log = RequestLog(sys.stderr) if options.log else None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with serve_cluster(
            cluster, host=options.host, port=options.port, faults=faults, security=security,
            state=options.state, log=log, webhooks=webhooks,
        ) as server:  # fmt: skip
            if options.nodes:
                add_nodes(cluster, options.nodes, programs)  # after --state has restored its objects
            if options.kubeconfig:
                write_private(Path(options.kubeconfig), server.kubeconfig)
            hint = _NEEDS_TLS if security.requires_credentials and security.context is None else ""
            click.echo(f"# serving at {server}; the kubeconfig:\n{hint}{server.kubeconfig}")
            async for _ in signals:
                return


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read: it may contain a token or a key."""
    path.touch(mode=0o600)
    path.write_text(text)
