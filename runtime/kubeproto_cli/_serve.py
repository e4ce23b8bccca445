"""`kubeproto serve`: the simulated API server on a port, for kubectl and programs in any language."""

from __future__ import annotations

import errno
import logging
import secrets
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click
from msgspec import Struct

from ._commands import Command
from ._programs import read_programs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import tzinfo

    from kubeproto import Dynamic
    from kubeproto_serve import Security
    from kubeproto_sim import Cluster, Program

_NEEDS_TLS: Final = "# kubectl and client-go send credentials over TLS alone: add --tls\n"
_FAULTY: Final = 0.1  # the share of requests that `--faults` lets fail
# Seconds, as of a program that heeds SIGTERM; otherwise a deleted pod would take its 30 s of grace.
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
        ("who may do what is decided by roles and bindings", "kubeproto serve --tls --authorization RBAC"),
        ("one request in ten fails, the same ones in each run", "kubeproto serve --faults 7"),
        ("what was written is there again after a restart", "kubeproto serve --state ./state"),
    ],
)
@click.option("--host", default=_DEFAULTS.host, show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_DEFAULTS.port, show_default=True,
    help="The port to listen on; 0 takes a free one.",
)  # fmt: skip
@click.option("--crd", multiple=True, type=_FILE, help="Definitions of custom resources to serve.")
@click.option("--load", multiple=True, type=_FILE, help="Objects to begin with, YAML or JSON.")
@click.option(
    "--state", type=click.Path(file_okay=False),
    help="Keep the objects in this folder, so that they outlive the process.",
)  # fmt: skip
@click.option(
    "--faults", type=int, metavar="SEED", help="Let a tenth of all requests fail, chosen by this seed."
)
@click.option("--kubeconfig", type=_FILE, help="Write the kubeconfig to this file as well.")
@click.option("--tls", is_flag=True, help="Serve HTTPS, with a certificate made for this run.")
@click.option("--tls-cert", type=_FILE, help="Serve HTTPS with this certificate.")
@click.option("--tls-key", type=_FILE, help="The key of that certificate.")
@click.option("--token", multiple=True, help="Require this bearer token.")
@click.option(
    "--authorization", type=click.Choice(["AlwaysAllow", "RBAC"]), default=_DEFAULTS.authorization,
    show_default=True, help="Who may do what: everybody everything, or what roles and bindings allow.",
)  # fmt: skip
@click.option("--token-auth-file", type=_FILE, help='Users by token: lines of token,user,uid,"group,group".')
@click.option(
    "--webhook", multiple=True, metavar="NAMESPACE/SERVICE=HOST:PORT",
    help="Where the webhooks of a Service are called.",
)  # fmt: skip
@click.option("--client-certificates", is_flag=True, help="With --tls: require a client certificate.")
@click.option(
    "--client-ca", type=_FILE, help="With --tls-cert: require a client certificate of this authority."
)
@click.option(
    "--controllers", default=_DEFAULTS.controllers, show_default=True, metavar="NAMES",
    help="Which controllers to run, as kube-controller-manager names them: '*,-job-controller' is all but"
    " one, '' none.",
)  # fmt: skip
@click.option(
    "--kubernetes", default=_DEFAULTS.kubernetes, show_default=True, metavar="RELEASE",
    help="The release of Kubernetes to be: 1.30 to 1.36.",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(0), default=_DEFAULTS.nodes, metavar="COUNT",
    help="Run pods on this many simulated nodes; without nodes they stay pending.",
)  # fmt: skip
@click.option(
    "--programs",
    type=_FILE,
    help="With --nodes: what containers do, by their image: their log, their files, when they exit (YAML).",
)
@click.option("--empty", is_flag=True, help="Begin without the objects that a new cluster has.")
@click.option("--log", is_flag=True, help="Log each request to standard error.")
def serve(**given: Any) -> None:
    """Serve a simulated Kubernetes API on a port.

    For kubectl and programs in any language. It prints the kubeconfig to use, and ends with Ctrl-C.
    """
    options = ServeOptions(**given)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    webhooks = _webhooks(options.webhook)
    security = _security(options)
    if options.programs and not options.nodes:
        raise click.UsageError("--programs are for pods that run: add --nodes")
    programs = read_programs(Path(options.programs)) if options.programs else {}
    cluster = simulated_cluster(options)
    import anyio

    try:
        anyio.run(_serve, cluster, security, webhooks, programs, options)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        address = f"{options.host}:{options.port}"
        raise OSError(f"{address} is in use: give another --port, or 0 for one that is free") from error


def simulated_cluster(options: ServeOptions) -> Cluster:
    """Return the cluster that the options describe."""
    from kubeproto.objects import encode
    from kubeproto_serve import read_token_file
    from kubeproto_sim import Cluster

    # uids must differ between two servers, unless a seed decides everything. Versions, too:
    # where they begin at 1 again, a watch from before is one from the future, which a real server, too,
    # leaves open and silent; one from the past gets a 410, and its client lists anew at once.
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
        cluster.define(*(encode(one) for one in _objects(path)))
    for path in options.load:
        for obj in _objects(path):
            cluster.put(obj)
    return cluster


def add_nodes(cluster: Cluster, count: int, programs: dict[str, Program] | None = None) -> None:
    """Run the pods of a cluster on nodes that are added, or taken over if it has them already."""
    cluster.nodes(count, ends_after=_POD_ENDS_AFTER, programs=programs or {})
    cluster.settle()


def time_zone(name: str) -> tzinfo | None:
    """Return a time zone of the system; None if it has none of this name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _objects(path: str) -> list[Dynamic]:
    from kubeproto.objects import InvalidManifest, parse_manifest

    try:
        return parse_manifest(Path(path).read_bytes())
    except InvalidManifest as error:
        raise ValueError(f"{path}: {error}") from error


def _security(options: ServeOptions) -> Security:
    from kubeproto_serve import Security, from_files, self_made

    asked = list(options.token)
    if options.authorization == "RBAC" and not (asked or options.client_certificates or options.client_ca):
        asked.append(secrets.token_urlsafe(16))  # an administrator has to grant the first rights
    tokens = dict.fromkeys(asked, "kubernetes-admin")
    if options.tls_cert or options.tls_key:
        if not (options.tls_cert and options.tls_key):
            raise click.UsageError("--tls-cert and --tls-key belong together: give both")
        return from_files(
            options.tls_cert, options.tls_key, client_authority=options.client_ca or "", tokens=tokens
        )
    if options.tls:
        return self_made(options.host, tokens=tokens, certificates=options.client_certificates)
    if options.client_certificates or options.client_ca:
        raise click.UsageError("client certificates need TLS: give --tls, or --tls-cert and --tls-key")
    return Security(tokens=tokens)


def _webhooks(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        service, equals, address = one.partition("=")
        if not equals or service.count("/") != 1:
            raise click.UsageError(f"--webhook {one}: expected NAMESPACE/SERVICE=HOST:PORT")
        found[service] = address
    return found


async def _serve(
    cluster: Cluster, security: Security, webhooks: dict[str, str], programs: dict[str, Program],
    options: ServeOptions,
) -> None:  # fmt: skip
    import anyio

    from kubeproto_serve import RequestLog
    from kubeproto_serve import serve as serve_cluster
    from kubeproto_sim import Faults

    faults = None if options.faults is None else Faults(cluster, seed=options.faults, share=_FAULTY)
    log = RequestLog(sys.stderr) if options.log else None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with serve_cluster(
            cluster, host=options.host, port=options.port, faults=faults, security=security,
            state=options.state, log=log, webhooks=webhooks,
        ) as url:  # fmt: skip
            if options.nodes:
                add_nodes(cluster, options.nodes, programs)  # behind what --state has brought
            if options.kubeconfig:
                write_private(Path(options.kubeconfig), url.kubeconfig)
            hint = _NEEDS_TLS if security.asks and security.context is None else ""
            click.echo(f"# serving at {url}; the kubeconfig:\n{hint}{url.kubeconfig}")
            async for _ in signals:
                return


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read: it may contain a token or a key."""
    path.touch(mode=0o600)
    path.write_text(text)
