"""`kubeproto exec`: a command in a container, with its input, output, terminal and exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from ._commands import Command
from ._connecting import ConnectionOptions, asyncio_run, connected, connection_options
from ._errors import CommandFailed
from ._output import note

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from kubeproto.streams import Exited, Process

_PIECE: Final = 32 * 1024


@click.command(
    name="exec",
    cls=Command,
    examples=[
        ("one command", "kubeproto exec web-0 -- ls /tmp"),
        ("a shell", "kubeproto exec -it deploy/shop -- sh"),
        ("a file into a pipe", "kubeproto exec web-0 -c db -- cat /data/dump"),
    ],
)
@click.argument("target", metavar="POD | TYPE/NAME")
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARGUMENT]...")
@click.option("--stdin", "-i", is_flag=True, help="Pass standard input on to the command.")
@click.option("--tty", "-t", is_flag=True, help="Give the command a terminal: this one.")
@click.option("--container", "-c", default="", metavar="NAME", help="The container; the first by default.")
@connection_options()
def exec_command(
    connection: ConnectionOptions,
    target: str,
    command: tuple[str, ...],
    container: str,
    *,
    stdin: bool,
    tty: bool,
) -> int:
    """Run a command in a container.

    It ends with the exit status of the command.
    """
    if tty and not (stdin and sys.stdin.isatty()):
        note("Unable to use a TTY: it needs -i, and standard input that is a terminal")
        tty = False
    return asyncio_run(_run, connection, target, command, container, stdin, tty)


async def _run(
    connection: ConnectionOptions, target: str, command: Sequence[str], container: str, stdin: bool, tty: bool
) -> int:
    from kubeproto import Dynamic
    from kubeproto_runtime.pods import PODS, choose_pods, default_container, serving_pod

    async with connected(connection) as client:
        choice = await choose_pods(client, target, namespace=connection.namespace or "")
        pod = await serving_pod(client, choice)
        api = client.api(Dynamic, namespace=choice.namespace, resource=PODS)
        place = container or default_container(pod)
        name = pod["metadata"]["name"]
        async with api.exec(name, list(command), container=place, stdin=stdin, tty=tty) as process:
            with _raw_terminal(tty):
                ended = await _converse(process, stdin=stdin, tty=tty)
    if ended.code is None:
        raise CommandFailed(f"the command could not be run in {place} of Pod {choice.namespace}/{name}:"
                            f" {ended.status.message}")  # fmt: skip
    if ended.code:
        note(f"command terminated with exit code {ended.code}")
    return ended.code


async def _converse(process: Process, *, stdin: bool, tty: bool) -> Exited:
    from kubeproto.streams import Stderr, Stdout

    tasks = [asyncio.create_task(_send_stdin(process))] if stdin else []
    loop = asyncio.get_running_loop()
    resized = asyncio.Event()
    if tty:
        resized.set()  # its first size
        loop.add_signal_handler(signal.SIGWINCH, resized.set)
        tasks.append(asyncio.create_task(_send_sizes(process, resized)))
    try:
        async for event in process:
            match event:
                case Stdout(data):
                    sys.stdout.buffer.write(data)
                    sys.stdout.buffer.flush()
                case Stderr(data):
                    sys.stderr.buffer.write(data)
                    sys.stderr.buffer.flush()
                case _:
                    return event
        return await process.wait()
    finally:
        if tty:
            loop.remove_signal_handler(signal.SIGWINCH)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send_stdin(process: Process) -> None:
    """Send standard input, as fast as the command takes it; the reading side reports a lost connection."""
    from kubeproto import KubeprotoError

    try:
        while data := await _read_stdin():
            await process.write(data)
        await process.end_stdin()
    except KubeprotoError:
        pass


async def _read_stdin() -> bytes:
    """Read the available input, without a thread that would outlive the command."""
    loop = asyncio.get_running_loop()
    fd = sys.stdin.fileno()
    ready = asyncio.Event()
    try:
        loop.add_reader(fd, ready.set)
    except PermissionError:  # a regular file, which is always ready
        return await loop.run_in_executor(None, os.read, fd, _PIECE)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
    return os.read(fd, _PIECE)


async def _send_sizes(process: Process, resized: asyncio.Event) -> None:
    """Tell the command how large its terminal is, whenever that changes."""
    while True:
        await resized.wait()
        resized.clear()
        size = os.get_terminal_size(sys.stdin.fileno())
        if size.columns and size.lines:
            await process.resize(size.columns, size.lines)


@contextmanager
def _raw_terminal(tty: bool) -> Generator[None]:
    """Pass each key to the command, even Ctrl-C."""
    if not tty:
        yield
        return
    import termios
    import tty as terminals

    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        terminals.setraw(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
