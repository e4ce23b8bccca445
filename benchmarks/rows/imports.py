"""The cost of importing kubeproto, compared with msgspec and other clients, and of installing it."""

import os
import subprocess
import sys
from importlib.metadata import files as files_of
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks._measure import Contest, DeferredProbe, Further, MissingRequirement, Probe
from benchmarks._pins import PROJECT
from benchmarks._rows import MEGABYTES, SECONDS, Goal, Row, Setting
from benchmarks._stopwatch import Children

# Imports of a program with that client.
MODULES: Final = {
    "lightkube": "lightkube",
    "kubernetes": "kubernetes.client",
    "kubernetes_asyncio": "kubernetes_asyncio.client",
    "kr8s": "kr8s",
    "cloudcoil": "cloudcoil.client",
    "kubesdk": "kubesdk",
    "pykube_ng": "pykube",
    "kopf": "kopf",
}
# Distributions that `pip install "kubeproto[runtime,asyncio]"` installs besides kubeproto.
OURS: Final = ("msgspec", "PyYAML", "anyio", "h11", "wsproto", "idna", "typing_extensions")
PACKAGES: Final = ("kubeproto", "transports", "runtime")
_BEST_OF: Final = 5  # fresh interpreters in a round
_MIB: Final = 2**20
# The clock measures only the import: starting Python costs the same in each case, and would hide it. The
# script itself imports only built-in modules: a module that was loaded earlier would cost nothing.
_SCRIPT: Final = """\
import time
start = time.perf_counter()
import {module}
took = time.perf_counter() - start
try:
    with open("/proc/self/statm", "rb") as file:
        pages = int(file.read().split()[1])
except OSError:
    pages = 0
print(took, pages)
"""


class FreshImport:
    """A probe of the seconds of an import, the best of a few fresh interpreters, whose memory is noted."""

    def __init__(self, python: Path, module: str, *, best_of: int = _BEST_OF) -> None:
        self._best_of = best_of
        self._children = Children()
        self._command = [str(python), "-c", _SCRIPT.format(module=module)]
        self._pages: list[int] = []
        # Without the bytecode of the first run, all further runs would measure the compiler.
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }

    def __call__(self) -> float:
        return min(self._measure_once() for _ in range(self._best_of))

    def _measure_once(self) -> float:
        with self._children.count():
            completed = subprocess.run(
                self._command, cwd=PROJECT, env=self._environment, capture_output=True, text=True, check=False
            )
        if completed.returncode:
            raise MissingRequirement(
                (completed.stderr.strip().splitlines() or ["the interpreter said nothing"])[-1]
            )
        took, pages = completed.stdout.split()
        if int(pages):
            self._pages.append(int(pages))
        return float(took)

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Return the CPU seconds of an interpreter."""
        return self._children.cpu_times

    def resident(self) -> float | None:
        """Return the MiB of the process after the import, or None if the system does not report it."""
        return median(self._pages) * os.sysconf("SC_PAGESIZE") / _MIB if self._pages else None


def kubeproto(setting: Setting) -> Contest:
    """Compare `import kubeproto` with `import msgspec`.

    kubeproto itself imports msgspec, so the ratio (msgspec/kubeproto) is below 1. The goal, at most 1.5 times
    the cost of msgspec, is a ratio of 1 / 1.5 = 0.667 or more.
    """
    interpreter = Path(sys.executable)
    empty, ours, base = (FreshImport(interpreter, module) for module in ("sys", "kubeproto", "msgspec"))
    imports = {"kubeproto": ours, "msgspec": base}

    def peer(name: str) -> Probe:
        def make() -> Probe:
            # Their imports take up to a second each, so a quick run starts one interpreter in a round.
            best_of = setting.size(_BEST_OF, quick=1)
            imports[name] = FreshImport(setting.peers.python(name), MODULES[name], best_of=best_of)
            return imports[name]

        return DeferredProbe(make)

    def memory() -> Further:
        empty()
        baseline = empty.resident()
        resident = {name: probe.resident() for name, probe in imports.items()}
        beyond = {
            name: None if mib is None or baseline is None else mib - baseline
            for name, mib in resident.items()
        }
        return {"resident MiB beyond an empty interpreter": beyond}

    peers = {name: peer(name) for name in MODULES}
    return Contest(ours=ours, baseline=base, peers=peers, also=memory)


def size(setting: Setting) -> Contest:
    """Return the megabytes on disk, with all dependencies and without bytecode."""
    ours = sum(folder_size(PROJECT / name) for name in PACKAGES) + sum(map(distribution_size, OURS))

    def peer(name: str) -> Probe:
        def probe() -> float:
            home = setting.peers.python(name).parent.parent
            return sum(folder_size(folder) for folder in home.glob("lib/python*/site-packages")) / 1e6

        return probe

    return Contest(ours=lambda: ours / 1e6, peers={name: peer(name) for name in MODULES})


def folder_size(folder: Path) -> int:
    """Return the total size of the files in a folder, in bytes."""
    files = (file for file in folder.rglob("*") if file.suffix != ".pyc" and file.is_file())
    return sum(file.stat().st_size for file in files)


def distribution_size(name: str) -> int:
    """Return the bytes of an installed package."""
    files = (Path(str(file.locate())) for file in files_of(name) or () if file.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if file.exists())


ROWS: Final = (
    Row(
        "install.size",
        unit=MEGABYTES,
        make=size,
        summary="what is on the disk after installing [runtime,asyncio], with all that it needs",
    ),
    Row(
        "import.kubeproto",
        unit=SECONDS,
        make=kubeproto,
        summary="import kubeproto in a fresh interpreter, beside the other clients",
        against="import msgspec",
        goal=Goal(at_least=0.667, summary="at most 1.5 times import msgspec"),
    ),
)
