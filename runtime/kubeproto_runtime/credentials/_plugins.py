"""Run exec plugins, which print credentials, and report their outcome.

A plugin inherits standard error, which is never read, so that no log and no error can quote a secret from it.
A plugin that hangs, or prints without end, is killed with all of its processes.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio

from kubeproto.config import credentials as c

if TYPE_CHECKING:
    from anyio.abc import Process

# An OIDC token is a few KB, a certificate chain is a bit larger.
_MAX_OUTPUT: Final = 1024 * 1024


def has_terminal() -> bool:
    """Return whether a plugin can interact with a person."""
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # it has been closed
        return False


async def run_plugin(task: c.RunPlugin) -> c.Event:
    """Run a plugin until it exits or its timeout has passed. It is killed if the caller is cancelled."""
    try:
        process = await _start(task)
    except FileNotFoundError:
        return c.PluginMissing()
    except (OSError, ValueError) as error:
        return c.Failed(f"it cannot be started: {_reason(error)}")
    exited = False
    try:
        with anyio.move_on_after(task.timeout):
            stdout = await _read(process)
            if stdout is None:
                return c.Failed(f"it printed more than {_MAX_OUTPUT} bytes")
            code = await process.wait()
            exited = True
            return c.PluginExited(code, stdout)
        return c.Failed(f"it did not exit within {task.timeout:g} s")
    finally:
        await _end(process, exited=exited, alone=task.interactive)


async def _start(task: c.RunPlugin) -> Process:
    # Without this, a program that was just started could not be killed.
    with anyio.CancelScope(shield=True):
        return await anyio.open_process(
            [task.command, *task.args],
            stdin=None if task.interactive else subprocess.DEVNULL,
            stderr=None,
            env={**os.environ, **dict(task.env)},
            # Its children are killed with it. A plugin that talks to a person must keep the terminal.
            start_new_session=not task.interactive,
        )
    raise AssertionError("a shielded scope is not left early")


def run_plugin_blocking(task: c.RunPlugin) -> c.Event:
    """Run a plugin in a thread with or without an event loop."""
    from anyio.from_thread import start_blocking_portal  # only programs with a plugin need it

    with start_blocking_portal("asyncio") as portal:
        return portal.call(run_plugin, task)


async def _read(process: Process) -> bytes | None:
    """Return the standard output of a plugin; None if it exceeds the limit."""
    assert process.stdout is not None  # it is a pipe
    output = bytearray()
    async for chunk in process.stdout:
        output += chunk
        if len(output) > _MAX_OUTPUT:
            return None
    return bytes(output)


async def _end(process: Process, *, exited: bool, alone: bool) -> None:
    """Kill the remaining processes of a plugin that did not exit by itself, and leave no zombie.

    Children of a plugin that did exit continue: some plugins start a daemon that caches credentials.
    """
    with anyio.CancelScope(shield=True):
        if not exited:
            _kill(process, alone=alone)
        await process.aclose()


def _kill(process: Process, *, alone: bool) -> None:
    """Kill a plugin and its children.

    Its process group may still exist after it has ended, with a child that keeps its standard output open.
    """
    if sys.platform == "win32":
        if process.returncode is None:
            process.terminate()
        return
    # A plugin that talks to a person is in the process group of this program.
    children = _descendants(process.pid) if alone else []
    if alone and process.returncode is None:
        children.append(process.pid)
    for pid in children:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    if not alone:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have; none without /proc."""
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The second field is the name in parentheses, which may contain anything.
            parent = int(status.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(status.parent.name))
    descendants: list[int] = []
    parents = [pid]
    while parents:
        parents = [child for parent in parents for child in children.get(parent, ())]
        descendants += parents
    return descendants


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return "it is neither a program nor a script with a #! line"
    return (error.strerror if isinstance(error, OSError) else "") or "its command is invalid"
