"""`Supervisor`: a process that is restarted when a file changes, and drained before it is killed.

::

    starting ─► running ── a file changed ─► draining ─► starting
                   │ it ended ─► waiting ── a file changed ─► starting
                   └ SIGTERM, Ctrl-C ─► draining ─► done

The process drains when its standard input ends. That works on every system, also when the supervisor was
killed. A signal would not work after Ctrl-C: the terminal sends it to both processes, so the supervisor's
signal would be the second signal, which cancels the runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import anyio

from ._output import print_note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import Process

FileTimes: TypeAlias = "dict[str, tuple[int, int]]"
Reason: TypeAlias = Literal["changed", "ended", "stopped"]

# People do not notice this delay. Reading the times of a thousand files takes some milliseconds.
_POLL_PERIOD: Final = 0.3
_GRACE_PERIOD: Final = 30.0  # as for a pod
_IGNORED_FOLDERS: Final = ("__pycache__", "node_modules")


def file_times(root: Path) -> FileTimes:
    """Return the modification time and the size of each Python file below a folder, without environments."""
    times: FileTimes = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [
            name
            for name in folders
            if not name.startswith(".")
            and name not in _IGNORED_FOLDERS
            and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                try:
                    stat = os.stat(path)
                except OSError:  # an editor is replacing the file
                    continue
                times[path] = stat.st_mtime_ns, stat.st_size
    return times


def changed_files(old: FileTimes, new: FileTimes) -> list[str]:
    """Return the files that were added, changed or removed."""
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


class Supervisor:
    """Runs a command until a signal arrives; with a `root`, restarts it when a Python file below changes."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], root: Path | None) -> None:
        self._command = command
        self._environment = environment
        self._root = root
        self._file_times: FileTimes = {}
        self._stop_requested = anyio.Event()
        self._kill_requested = anyio.Event()

    async def run(self) -> int:
        """Return the exit status: 0 after a signal, otherwise that of the command."""
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
                if self._stop_requested.is_set():
                    self._kill_requested.set()
                self._stop_requested.set()

    async def _repeat(self) -> int:
        while True:
            self._file_times = file_times(self._root) if self._root else {}
            process = await anyio.open_process(
                self._command, stdin=subprocess.PIPE, stdout=None, stderr=None, env=self._environment
            )
            try:
                reason = await self._wait_for_reason(process)
            finally:
                status = await self._drain(process)
            if reason == "ended" and self._root is not None:
                print_note(f"# it ended with status {status}; it is restarted when a file changes")
                reason = await self._wait_for_reason(None)
            if reason == "stopped":
                return 0
            if reason == "ended":
                return status

    async def _wait_for_reason(self, process: Process | None) -> Reason:
        """Wait for a signal, a change, or the end of the process, and return the reason."""
        reasons: list[Reason] = []
        async with anyio.create_task_group() as tasks:

            async def wait_for_end(running: Process) -> None:
                await running.wait()
                reasons.append("ended")
                tasks.cancel_scope.cancel()

            async def wait_for_change(root: Path) -> None:
                while not (paths := changed_files(self._file_times, file_times(root))):
                    await anyio.sleep(_POLL_PERIOD)
                print_note(f"# {os.path.relpath(paths[0])} changed: restarting")
                reasons.append("changed")
                tasks.cancel_scope.cancel()

            async def wait_for_signal() -> None:
                await self._stop_requested.wait()
                reasons.append("stopped")
                tasks.cancel_scope.cancel()

            tasks.start_soon(wait_for_signal)
            if process is not None:
                tasks.start_soon(wait_for_end, process)
            if self._root is not None:
                tasks.start_soon(wait_for_change, self._root)
        return "stopped" if "stopped" in reasons else reasons[0]

    async def _drain(self, process: Process) -> int:
        """Wait for the end of the process; kill it after the grace period or at a second signal."""
        status = 1
        with anyio.CancelScope(shield=True):
            assert process.stdin is not None  # it is a pipe
            await process.stdin.aclose()
            with anyio.move_on_after(_GRACE_PERIOD):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._kill_at_second_signal, process)
                    await process.wait()
                    tasks.cancel_scope.cancel()
            if process.returncode is None:
                process.kill()
            status = await process.wait()
            await process.aclose()
        return status if status >= 0 else 128 - status

    async def _kill_at_second_signal(self, process: Process) -> None:
        await self._kill_requested.wait()
        process.kill()
