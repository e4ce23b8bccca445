"""`kubeproto run`: an operator at work, restarted when its files change."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connection_options
from ._loading import load_object
from ._output import note

if TYPE_CHECKING:
    from kubeproto_runtime import Client

# Set for the process that runs the operator by the one that watches the files: it ends when its input does.
SUPERVISED = "_KUBEPROTO_SUPERVISED"


@click.command(
    cls=Command,
    examples=[
        ("against a simulated cluster, until Ctrl-C", "kubeproto run books.py:operator --simulated"),
        ("with objects to begin with", "kubeproto run books.py:operator --simulated --load objects.yaml"),
        ("against a real cluster, once", "kubeproto run books.py:operator --context dev --no-reload"),
    ],
)  # fmt: skip
@connection_options()
@click.argument("operator", metavar="MODULE:OPERATOR")
@click.option("--simulated", is_flag=True, help="Serve a simulated cluster, and run the operator against it.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0,
    help="With --simulated: the port to serve it on; a free one by default.",
)  # fmt: skip
@click.option(
    "--load", multiple=True, type=click.Path(dir_okay=False), metavar="FILE",
    help="With --simulated: objects that are there at the start.",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(0), default=0, metavar="COUNT",
    help="With --simulated: run pods on this many simulated nodes; without nodes they stay pending.",
)  # fmt: skip
@click.option("--reload/--no-reload", default=True, help="Whether to restart it when a file changes.")
@click.option("--define", is_flag=True, help="Apply the definitions of its kinds first, as --simulated does.")
def run(connection: ConnectionOptions, **given: Any) -> int:
    """Run an operator, and restart it when one of its files changes.

    OPERATOR is a function that takes a client and returns an Operator, what Controller.run() returned, or
    several of these. SIGTERM, Ctrl-C and a change of a file let it end its runs and give up its lease; a
    second signal ends it at once.
    """
    supervised = SUPERVISED in os.environ
    if supervised or not (given["reload"] or given["simulated"]):
        make = _function(given["operator"])
        logging.basicConfig(
            level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr
        )
        return asyncio_run(_operate, make, connection, given["define"], supervised)
    if (given["load"] or given["port"] or given["nodes"]) and not given["simulated"]:
        raise click.UsageError("--load, --port and --nodes are for a simulated cluster: add --simulated")
    return asyncio_run(_supervise, connection, given)


def _function(reference: str) -> Any:
    make = load_object(reference)
    if not callable(make) or iscoroutinefunction(make):
        raise click.UsageError(
            "OPERATOR has to be a function that takes a client and returns an operator without awaiting"
        )
    return make


async def _operate(make: Any, connection: ConnectionOptions, define: bool, supervised: bool) -> int:
    """Run the operator in this process until it is asked to end."""
    from kubeproto_runtime import connect
    from kubeproto_runtime.manifests import operator_of

    from ._operating import install_definitions, operate

    async with connect(**connection.wanted) as client:
        operator = operator_of(_made(make, client))
        if define:
            await install_definitions(client, operator.description.kinds)
        await operate(operator, sys.stdin.fileno() if supervised else None)
    return 0


def _made(make: Any, client: Client) -> Any:
    made = make(client)
    if made is None:
        raise ValueError("OPERATOR returned None: it has to return an operator")
    return made


async def _supervise(connection: ConnectionOptions, given: dict[str, Any]) -> int:
    """Run the operator in a separate process, with a simulated cluster if that is requested."""
    words = ["run", given["operator"], *connection.words]
    root = _root(given["operator"]) if given["reload"] else None
    if not given["simulated"]:
        return await _repeat(words + ["--define"] * given["define"], root)
    from kubeproto_serve import serve

    from ._serve import ServeOptions, add_nodes, simulated_cluster

    cluster = simulated_cluster(ServeOptions(load=given["load"]))
    with tempfile.TemporaryDirectory(prefix="kubeproto-") as folder:
        async with serve(cluster, port=given["port"]) as url:
            if given["nodes"]:
                add_nodes(cluster, given["nodes"])
            path = Path(folder, "kubeconfig")
            path.touch(mode=0o600)
            path.write_text(url.kubeconfig)
            note(f"# a simulated cluster at {url}; for kubectl: export KUBECONFIG={path}")
            # A namespace of the command line applies; a context of the user's own files does not.
            namespace = ["--namespace", connection.namespace] if connection.namespace else []
            words = ["run", given["operator"], "--kubeconfig", str(path), *namespace, "--define"]
            return await _repeat(words, root)


async def _repeat(words: list[str], root: Path | None) -> int:
    from ._supervising import Supervisor

    command = [sys.executable, "-m", "kubeproto_cli", *words, "--no-reload"]
    return await Supervisor(command, {**os.environ, SUPERVISED: "1"}, root).run()


def _root(reference: str) -> Path:
    """Return the folder whose files are watched: that of the program, or of its package."""
    place = reference.rpartition(":")[0]
    return Path(place).parent.resolve() if place.endswith(".py") else Path.cwd()
