"""The command line: ``kubeproto serve``."""

from __future__ import annotations

import argparse
import logging
import secrets
import signal
import sys
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kubeproto import Dynamic, KubeprotoError
from kubeproto.objects import encode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kubeproto.sim import Cluster

    from ._security import Security

_NEEDS_TLS: Final = "# kubectl and client-go send credentials over TLS alone: add --tls\n"
_FAULTY: Final = 0.1  # the share of requests that `--faults` lets fail


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the value is its exit status."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    try:
        cluster = _cluster(options)
        security = _security(options)
        import anyio

        anyio.run(_serve, cluster, security, options)
    except (KubeprotoError, OSError, ValueError) as error:
        print(f"kubeproto serve: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kubeproto", description="Tools for programs that speak Kubernetes."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser(
        "serve",
        help="serve a simulated Kubernetes API on a port",
        description="Serve a simulated Kubernetes API on a port, for kubectl and programs in any language.",
    )
    add = serve.add_argument
    add("--host", default="127.0.0.1", help="the address to listen on (default: %(default)s)")
    add(
        "--port",
        type=int,
        default=8001,
        help="the port to listen on; 0 takes a free one (default: %(default)s)",
    )
    add("--crd", action="append", default=[], metavar="FILE", help="definitions of custom resources to serve")
    add("--load", action="append", default=[], metavar="FILE", help="objects to begin with, YAML or JSON")
    add("--state", metavar="DIR", help="keep the objects in this folder, so that they outlive the process")
    add("--faults", type=int, metavar="SEED", help="let a tenth of all requests fail, chosen by this seed")
    add("--kubeconfig", metavar="FILE", help="write the kubeconfig to this file as well")
    add("--tls", action="store_true", help="serve HTTPS, with a certificate made for this run")
    add("--tls-cert", metavar="FILE", help="serve HTTPS with this certificate")
    add("--tls-key", metavar="FILE", help="the key of that certificate")
    add("--token", action="append", default=[], metavar="TOKEN", help="require this bearer token")
    add(
        "--authorization",
        choices=("AlwaysAllow", "RBAC"),
        default="AlwaysAllow",
        help="who may do what: everybody everything, or what roles and bindings allow (default: %(default)s)",
    )
    add("--token-auth-file", metavar="FILE", help='users by token: lines of token,user,uid,"group,group"')
    add(
        "--webhook", action="append", default=[], metavar="NAMESPACE/SERVICE=HOST:PORT",
        help="where the webhooks of a Service are called",
    )  # fmt: skip
    add("--client-certificates", action="store_true", help="with --tls: require a client certificate")
    add("--client-ca", metavar="FILE", help="with --tls-cert: require a client certificate of this authority")
    add(
        "--controllers", default="*", metavar="NAMES",
        help="which controllers to run, as kube-controller-manager names them: '*,-job-controller' is all"
        " but one, '' none (default: %(default)s)",
    )  # fmt: skip
    add("--empty", action="store_true", help="begin without the objects that a new cluster has")
    add("--log", action="store_true", help="log each request to standard error")
    return parser


def _cluster(options: argparse.Namespace) -> Cluster:
    from kubeproto.sim import Cluster

    from ._security import read_token_file

    # uids are to differ between two servers, but for those whose whole course a seed decides.
    seed = options.faults if options.faults is not None else secrets.randbits(63)
    cluster = Cluster(
        seed=seed, populated=not options.empty, authorization=options.authorization,
        tokens=read_token_file(Path(options.token_auth_file).read_text()) if options.token_auth_file else {},
        controllers=[name.strip() for name in options.controllers.split(",") if name.strip()],
        time_zones=_time_zone,
    )  # fmt: skip
    cluster.keeps_log = False
    for path in options.crd:
        cluster.define(*(encode(one) for one in _objects(path)))
    for path in options.load:
        for obj in _objects(path):
            cluster.put(obj)
    return cluster


def _time_zone(name: str) -> tzinfo | None:
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


def _security(options: argparse.Namespace) -> Security:
    from ._security import Security, from_files, self_made

    asked = list(options.token)
    if options.authorization == "RBAC" and not (asked or options.client_certificates or options.client_ca):
        asked.append(secrets.token_urlsafe(16))  # somebody has to grant the first rights
    tokens = dict.fromkeys(asked, "kubernetes-admin")
    if options.tls_cert or options.tls_key:
        if not (options.tls_cert and options.tls_key):
            raise ValueError("--tls-cert and --tls-key belong together: give both")
        return from_files(
            options.tls_cert, options.tls_key, client_authority=options.client_ca or "", tokens=tokens
        )
    if options.tls:
        return self_made(options.host, tokens=tokens, certificates=options.client_certificates)
    if options.client_certificates or options.client_ca:
        raise ValueError("client certificates need TLS: give --tls, or --tls-cert and --tls-key")
    return Security(tokens=tokens)


def _webhooks(given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        service, equals, address = one.partition("=")
        if not equals or service.count("/") != 1:
            raise ValueError(f"--webhook {one}: expected NAMESPACE/SERVICE=HOST:PORT")
        found[service] = address
    return found


async def _serve(cluster: Cluster, security: Security, options: argparse.Namespace) -> None:
    import anyio

    from kubeproto.sim import Faults

    from ._requestlog import RequestLog
    from ._serve import serve

    faults = None if options.faults is None else Faults(cluster, seed=options.faults, share=_FAULTY)
    log = RequestLog(sys.stderr) if options.log else None
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with serve(
            cluster, host=options.host, port=options.port, faults=faults, security=security,
            state=options.state, log=log, webhooks=_webhooks(options.webhook),
        ) as url:  # fmt: skip
            if options.kubeconfig:
                _write_private(Path(options.kubeconfig), url.kubeconfig)
            hint = _NEEDS_TLS if security.asks and security.context is None else ""
            print(f"# serving at {url}; the kubeconfig:\n{hint}{url.kubeconfig}", flush=True)  # noqa: T201
            async for _ in signals:
                return


def _write_private(path: Path, text: str) -> None:
    # There may be a token or a key in it.
    path.touch(mode=0o600)
    path.write_text(text)
