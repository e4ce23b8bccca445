"""`Supervisor`: a process that is restarted when a file changes, and asked to end before it is killed.

::

    starting ─► running ── a file changed ─► draining ─► starting
                   │ it ended by itself ─► waiting ── a file changed ─► starting
                   └ SIGTERM, Ctrl-C ─► draining ─► done

The end of its standard input tells the process to end. That works on every system, also when this process was
killed, and does not count as a second signal beside a Ctrl-C that the terminal sends to both.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio

from ._output import note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import Process

FileTimes: TypeAlias = "dict[str, tuple[int, int]]"
Reason: TypeAlias = Literal["changed", "ended", "stopped"]

# A delay that people do not notice; a thousand files cost some milliseconds each time.
_INTERVAL: Final = 0.3
_GRACE: Final = 30.0  # what Kubernetes gives a pod
_PASSED_BY: Final = ("__pycache__", "node_modules")


def file_times(root: Path) -> FileTimes:
    """Return when each Python file below a folder was changed, and its size, without environments."""
    found: FileTimes = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and name not in _PASSED_BY
            and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                try:
                    stat = os.stat(path)
                except OSError:  # an editor is just replacing it
                    continue
                found[path] = stat.st_mtime_ns, stat.st_size
    return found


def changed(before: FileTimes, after: FileTimes) -> list[str]:
    """Return the files that were added, changed or removed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


class Supervisor:
    """Runs a command until a signal arrives; with a `root`, again when a Python file below it changes."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], root: Path | None) -> None:
        self._command = command
        self._environment = environment
        self._root = root
        self._seen: FileTimes = {}
        self._stop = anyio.Event()
        self._hurry = anyio.Event()

    async def run(self) -> int:
        """Return the exit status: 0 when a signal ended it, else that of the command."""
        status = 1
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._listen)
            status = await self._repeat()
            tasks.cancel_scope.cancel()
        return status

    async def _listen(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            task_status.started()
            async for _ in signals:
                if self._stop.is_set():
                    self._hurry.set()
                self._stop.set()

    async def _repeat(self) -> int:
        while True:
            self._seen = file_times(self._root) if self._root else {}
            process = await anyio.open_process(
                self._command, stdin=subprocess.PIPE, stdout=None, stderr=None, env=self._environment
            )
            try:
                reason = await self._first(process)
            finally:
                status = await self._drain(process)
            if reason == "ended" and self._root is not None:
                note(f"# it ended with status {status}; it is restarted when a file changes")
                reason = await self._first(None)
            if reason == "stopped":
                return 0
            if reason == "ended":
                return status

    async def _first(self, process: Process | None) -> Reason:
        """Wait for what happens first: a signal, a change, the end of the process."""
        reasons: list[Reason] = []
        async with anyio.create_task_group() as tasks:

            async def ended(running: Process) -> None:
                await running.wait()
                reasons.append("ended")
                tasks.cancel_scope.cancel()

            async def altered(root: Path) -> None:
                while not (paths := changed(self._seen, file_times(root))):
                    await anyio.sleep(_INTERVAL)
                note(f"# {os.path.relpath(paths[0])} changed: restarting")
                reasons.append("changed")
                tasks.cancel_scope.cancel()

            async def stopped() -> None:
                await self._stop.wait()
                reasons.append("stopped")
                tasks.cancel_scope.cancel()

            tasks.start_soon(stopped)
            if process is not None:
                tasks.start_soon(ended, process)
            if self._root is not None:
                tasks.start_soon(altered, self._root)
        return "stopped" if "stopped" in reasons else reasons[0]

    async def _drain(self, process: Process) -> int:
        """Let the process end, and kill it if it does not in time or a second signal came."""
        status = 1
        with anyio.CancelScope(shield=True):
            assert process.stdin is not None  # it is a pipe
            await process.stdin.aclose()
            with anyio.move_on_after(_GRACE):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._kill_when_hurried, process)
                    await process.wait()
                    tasks.cancel_scope.cancel()
            if process.returncode is None:
                process.kill()
            status = await process.wait()
            await process.aclose()
        return status if status >= 0 else 128 - status

    async def _kill_when_hurried(self, process: Process) -> None:
        await self._hurry.wait()
        process.kill()
