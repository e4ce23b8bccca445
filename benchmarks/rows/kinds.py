"""The cost of the built-in kinds: importing a group version, and reading typed pods."""

import os
import subprocess
import sys
from statistics import median
from typing import Final

from benchmarks._measure import Contest, Further, MissingRequirement
from benchmarks._pins import PROJECT
from benchmarks._readers import events
from benchmarks._rows import EVENTS_PER_SECOND, MILLISECONDS, Goal, Row, Setting
from benchmarks._stopwatch import Children
from benchmarks.rows.decode import watch

_MODULES: Final = ("core_v1", "apps_v1", "batch_v1", "networking_v1", "rbac_authorization_v1")
_BEST_OF: Final = 5  # fresh interpreters a round
_SCRIPT: Final = """\
import time
import kubeproto
start = time.perf_counter()
import kubeproto.kinds.{module}
print(time.perf_counter() - start)
"""


class SlowestModule:
    """A probe of the milliseconds of the slowest module, each in fresh interpreters that have the core."""

    def __init__(self, best_of: int) -> None:
        self._best_of = best_of
        self._children = Children()
        self.figures: dict[str, list[float]] = {module: [] for module in _MODULES}
        # Without the bytecode of the first run, all further runs would measure the compiler.
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }

    def __call__(self) -> float:
        for module, figures in self.figures.items():
            figures.append(1_000 * min(self._measure_once(module) for _ in range(self._best_of)))
        return max(figures[-1] for figures in self.figures.values())

    def _measure_once(self, module: str) -> float:
        command = [sys.executable, "-c", _SCRIPT.format(module=module)]
        with self._children.count():
            completed = subprocess.run(
                command, cwd=PROJECT, env=self._environment, capture_output=True, text=True, check=False
            )
        if completed.returncode:
            raise MissingRequirement(
                (completed.stderr.strip().splitlines() or ["the interpreter said nothing"])[-1]
            )
        return float(completed.stdout)

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Return the CPU seconds of an interpreter."""
        return self._children.cpu_times

    def each(self) -> Further:
        """Return the median of each module."""
        return {"ms by module": {module: median(figures) for module, figures in self.figures.items()}}


def imports(setting: Setting) -> Contest:
    """Measure the five group versions that most programs use; the slowest counts."""
    probe = SlowestModule(setting.size(_BEST_OF, quick=2))
    return Contest(ours=probe, also=probe.each)


def typed(setting: Setting) -> Contest:
    """Measure a watch of pods with every field typed; metadata is read when it is used."""
    from kubeproto.kinds.core_v1 import Pod

    return watch(setting, "pods", events(Pod, strict=True))


ROWS: Final = (
    Row(
        "kinds.import",
        unit=MILLISECONDS,
        make=imports,
        summary="import of the slowest of five modules of kinds, beyond import kubeproto",
        goal=Goal(at_most=25.0, of="ours"),
    ),
    Row(
        "kinds.pods.typed",
        unit=EVENTS_PER_SECOND,
        make=typed,
        summary="a watch of pods, every field of spec and status typed",
        against="json.loads a line",
        goal=Goal(at_least=3.0, summary="and twice lightkube"),
    ),
)
