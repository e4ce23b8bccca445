"""The cost of starting a command, compared with kubectl."""

import os
import shutil
import subprocess
import sys
import time
from typing import Final

from benchmarks._measure import Contest, DeferredProbe, Further, MissingRequirement, Probe
from benchmarks._rows import MILLISECONDS, Goal, Row, Setting
from benchmarks._stopwatch import Children

_BEST_OF: Final = 3  # fresh processes in a round
_SECOND: Final = 1000.0  # milliseconds


class FreshCommand:
    """A probe of the milliseconds from the start of a process to its end, the best of a few."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self._children = Children()
        # With the bytecode of the first run, as in the import row.
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }

    def __call__(self) -> float:
        return min(self._measure_once() for _ in range(_BEST_OF))

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Return the CPU seconds of a process."""
        return self._children.cpu_times

    def _measure_once(self) -> float:
        start = time.perf_counter()
        with self._children.count():
            completed = subprocess.run(self._command, env=self._environment, capture_output=True, check=False)
        seconds = time.perf_counter() - start
        if completed.returncode:
            raise MissingRequirement(completed.stderr.decode().strip() or f"{self._command[0]} failed")
        return seconds * _SECOND


def _kubectl(*words: str) -> Probe:
    def make() -> Probe:
        path = shutil.which("kubectl")
        if path is None:
            raise MissingRequirement("kubectl is not on this machine")
        return FreshCommand(path, *words)

    return DeferredProbe(make)


def start(setting: Setting) -> Contest:
    """Compare `kubeproto --help` with `import click`: the cost of a command before it begins its work."""
    ours = FreshCommand(sys.executable, "-m", "kubeproto_cli", "--help")
    base = FreshCommand(sys.executable, "-c", "import click")
    empty = FreshCommand(sys.executable, "-c", "pass")

    def also() -> Further:
        return {"ms of an empty interpreter": {"python": empty()}}

    return Contest(ours=ours, baseline=base, peers={"kubectl": _kubectl("--help")}, also=also)


ROWS: Final = (
    Row(
        "cli.start",
        unit=MILLISECONDS,
        make=start,
        summary="kubeproto --help as a process, beside kubectl --help",
        against="import click in a process",
        goal=Goal(at_most=150.0, of="ours", summary="milliseconds on a machine that does nothing else"),
    ),
)
