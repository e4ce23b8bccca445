"""What it costs to start a command: the help, and a list of pods from a server, beside kubectl."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import kubeproto_sim as sim
from benchmarks._measure import Absent, Contest, Further, Late, Probe
from benchmarks._rows import MILLISECONDS, Goal, Row, Setting
from benchmarks._stopwatch import Children
from kubeproto_serve import serving

_BEST_OF: Final = 3  # fresh processes a round
_SECOND: Final = 1000.0  # milliseconds


class FreshCommand:
    """A probe: milliseconds from the start of a process to its end, the best of a few."""

    def __init__(self, *command: str, **environment: str) -> None:
        self._command = command
        self._children = Children()
        # As the import row: with the bytecode that the first run leaves behind.
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self._environment = clean | environment

    def __call__(self) -> float:
        return min(self._once() for _ in range(_BEST_OF))

    @property
    def spent(self) -> tuple[float, float] | None:
        """Seconds of CPU of a process, from its start to its end."""
        return self._children.spent

    def _once(self) -> float:
        start = time.perf_counter()
        with self._children.one():
            done = subprocess.run(self._command, env=self._environment, capture_output=True, check=False)
        took = time.perf_counter() - start
        if done.returncode:
            raise Absent(done.stderr.decode().strip() or f"{self._command[0]} failed")
        return took * _SECOND


def _kubectl(*words: str, **environment: str) -> Probe:
    def make() -> Probe:
        found = shutil.which("kubectl")
        if found is None:
            raise Absent("kubectl is not on this machine")
        return FreshCommand(found, *words, **environment)

    return Late(make)


def start(setting: Setting) -> Contest:
    """`kubeproto --help` against `import click`: what a command costs that does nothing yet."""
    ours = FreshCommand(sys.executable, "-m", "kubeproto_cli", "--help")
    base = FreshCommand(sys.executable, "-c", "import click")
    empty = FreshCommand(sys.executable, "-c", "pass")

    def also() -> Further:
        return {"ms of an empty interpreter": {"python": empty()}}

    return Contest(ours=ours, baseline=base, peers={"kubectl": _kubectl("--help")}, also=also)


def get(setting: Setting) -> Contest:
    """`kubeproto get pods` and `kubectl get pods`, of a served cluster with a hundred pods."""
    cluster = sim.Cluster()
    for number in range(100):
        cluster.put({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"web-{number}", "namespace": "default"},
            "spec": {"containers": [{"name": "main", "image": "web:1"}]},
        })  # fmt: skip
    server = setting.keep(serving(cluster))
    folder = Path(setting.keep(tempfile.TemporaryDirectory()))
    (folder / "config").write_text(server.kubeconfig)
    environment = {"KUBECONFIG": str(folder / "config"), "HOME": str(folder)}
    return Contest(
        ours=FreshCommand(sys.executable, "-m", "kubeproto_cli", "get", "pods", **environment),
        baseline=FreshCommand(
            sys.executable, "-c", "import kubeproto_runtime, kubeproto_asyncio", **environment
        ),
        peers={"kubectl": _kubectl("get", "pods", **environment)},
    )


ROWS: Final = (
    Row(
        "cli.start",
        unit=MILLISECONDS,
        make=start,
        says="kubeproto --help as a process, beside kubectl --help",
        against="import click in a process",
        goal=Goal(at_most=150.0, of="ours", says="milliseconds on a machine that does nothing else"),
    ),
    Row(
        "cli.get",
        unit=MILLISECONDS,
        make=get,
        says="kubeproto get pods of a served cluster as a process, beside kubectl",
        against="the imports that it needs in a process",
    ),
)
