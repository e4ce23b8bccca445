"""`kubeproto run`: an operator in a process, restarted when its files change."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connection_options
from ._loading import load_operator_function
from ._output import print_note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anyio import CancelScope
    from anyio.abc import TaskStatus

    from kubeproto_runtime import Client, Operator

# The supervisor sets this variable for the process of the operator, which ends when its standard input ends.
_SUPERVISED: Final = "_KUBEPROTO_SUPERVISED"
_SERVING_TIMEOUT: Final = 30.0  # seconds; a real server serves a definition some seconds after an apply


@click.command(
    cls=Command,
    examples=[
        ("against a simulated cluster, until Ctrl-C", "kubeproto run books.py:operator --simulated"),
        ("with initial objects", "kubeproto run books.py:operator --simulated --load objects.yaml"),
        ("against a real cluster, once", "kubeproto run books.py:operator --context dev --no-reload"),
    ],
)  # fmt: skip
@connection_options()
@click.argument("operator", metavar="MODULE:OPERATOR")
@click.option("--simulated", is_flag=True, help="Serve a simulated cluster, and run the operator against it.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0,
    help="With --simulated: the port of the cluster; a free port by default.",
)  # fmt: skip
@click.option(
    "--load", multiple=True, type=click.Path(dir_okay=False), metavar="FILE",
    help="With --simulated: the initial objects.",
)  # fmt: skip
@click.option(
    "--nodes", type=click.IntRange(0), default=0, metavar="COUNT",
    help="With --simulated: run pods on this many simulated nodes; without nodes they stay pending.",
)  # fmt: skip
@click.option(
    "--reload/--no-reload", default=True, help="Whether to restart the operator when a file changes."
)
@click.option("--define", is_flag=True, help="Apply the definitions of its kinds first, as with --simulated.")
def run(connection: ConnectionOptions, **options: Any) -> int:
    """Run an operator, and restart it when one of its files changes.

    OPERATOR is a function that takes a client and returns an Operator, the result of Controller.run(), or
    several of these. After SIGTERM, Ctrl-C or the change of a file, it finishes its runs and releases its
    lease; a second signal ends it immediately.
    """
    supervised = _SUPERVISED in os.environ
    if supervised or not (options["reload"] or options["simulated"]):
        function = load_operator_function(options["operator"])
        logging.basicConfig(
            level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stderr
        )
        return asyncio_run(_run_operator, function, connection, options["define"], supervised)
    if (options["load"] or options["port"] or options["nodes"]) and not options["simulated"]:
        raise click.UsageError("--load, --port and --nodes are for a simulated cluster: add --simulated")
    return asyncio_run(_supervise, connection, options)


# In this process


async def _run_operator(
    function: Callable[..., Any], connection: ConnectionOptions, define: bool, supervised: bool
) -> int:
    """Run the operator until it ends, a signal arrives, or the supervisor closes standard input.

    After the first signal, current runs finish and the lease is released. A second signal cancels them.
    """
    import anyio

    from kubeproto_runtime import connect
    from kubeproto_runtime.manifests import operator_of

    async with connect(**connection.parameters) as client:
        returned = function(client)
        if returned is None:
            raise ValueError("OPERATOR returned None: it must return an operator")
        operator = operator_of(returned)
        if define:
            await _install_definitions(client, operator.description.kinds)
        async with anyio.create_task_group() as tasks:
            await tasks.start(_stop_on_signal, operator, tasks.cancel_scope)
            if supervised:
                tasks.start_soon(_stop_at_end_of_stdin, operator)
            await operator.run()
            tasks.cancel_scope.cancel()
    return 0


async def _install_definitions(client: Client, kinds: Iterable[type[Any]]) -> None:
    """Apply the definitions of custom resources, and wait until they are served."""
    from kubeproto import Dynamic
    from kubeproto.crd import definitions_of

    # Built-in kinds need no definition, and a Dynamic has no schema.
    custom = [
        kind
        for kind in kinds
        if not kind.__module__.startswith("kubeproto.") and not issubclass(kind, Dynamic)
    ]
    definitions = definitions_of(custom)
    if definitions:
        await client.apply_manifests(definitions, field_manager="kubeproto-run")
        await client.require(*custom, within=_SERVING_TIMEOUT)


async def _stop_on_signal(operator: Operator, scope: CancelScope, *, task_status: TaskStatus[None]) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        stopped = False
        async for _ in signals:
            if stopped:
                scope.cancel()
            stopped = True
            operator.stop()


async def _stop_at_end_of_stdin(operator: Operator) -> None:
    import anyio

    # The pipe also ends when the supervisor is killed, so the operator does not outlive it.
    stdin = sys.stdin.fileno()
    await anyio.wait_readable(stdin)
    os.read(stdin, 1)
    operator.stop()


# In a separate process


async def _supervise(connection: ConnectionOptions, options: dict[str, Any]) -> int:
    """Run the operator in a separate process, with a simulated cluster under `--simulated`."""
    arguments = ["run", options["operator"], *connection.arguments]
    root = _watched_folder(options["operator"]) if options["reload"] else None
    if not options["simulated"]:
        return await _run_supervisor(arguments + ["--define"] * options["define"], root)
    from kubeproto_serve import serve

    from ._serve import ServeOptions, add_nodes, simulated_cluster, write_private

    cluster = simulated_cluster(ServeOptions(load=options["load"]))
    with tempfile.TemporaryDirectory(prefix="kubeproto-") as folder:
        async with serve(cluster, port=options["port"]) as server:
            if options["nodes"]:
                add_nodes(cluster, options["nodes"])
            path = Path(folder, "kubeconfig")
            write_private(path, server.kubeconfig)
            print_note(f"# a simulated cluster at {server}; for kubectl: export KUBECONFIG={path}")
            # A namespace of the command line applies; a context of the user's own files does not.
            namespace = ["--namespace", connection.namespace] if connection.namespace else []
            arguments = ["run", options["operator"], "--kubeconfig", str(path), *namespace, "--define"]
            return await _run_supervisor(arguments, root)


async def _run_supervisor(arguments: list[str], root: Path | None) -> int:
    from ._supervising import Supervisor

    command = [sys.executable, "-m", "kubeproto_cli", *arguments, "--no-reload"]
    return await Supervisor(command, {**os.environ, _SUPERVISED: "1"}, root).run()


def _watched_folder(reference: str) -> Path:
    """Return the folder whose files are watched: the folder of the file, or the current folder."""
    path = reference.rpartition(":")[0]
    return Path(path).parent.resolve() if path.endswith(".py") else Path.cwd()
