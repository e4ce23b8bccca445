"""What it costs to import kubeproto, beside msgspec, which it stands on, and others; and to install it."""

import os
import subprocess
import sys
from importlib.metadata import files as files_of
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks._measure import Absent, Contest, Further, Late, Probe
from benchmarks._pins import PROJECT
from benchmarks._rows import MEGABYTES, SECONDS, Goal, Row, Setting
from benchmarks._stopwatch import Children

# What a program with that client begins with.
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
# What `pip install "kubeproto[runtime,asyncio]"` installs besides kubeproto, by the names of distributions.
OURS: Final = ("msgspec", "PyYAML", "anyio", "h11", "wsproto", "idna", "typing_extensions")
PACKAGES: Final = ("kubeproto", "transports", "runtime")
_BEST_OF: Final = 5  # fresh interpreters a round
_MIB: Final = 2**20
# The clock stands around the import alone: starting Python costs the same whatever is imported, and would
# hide it. The script itself imports only what is built in: a module loaded earlier would come for free.
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
    """A probe: seconds of one import, the best of a few fresh interpreters, whose memory is remembered."""

    def __init__(self, python: Path, module: str, *, best_of: int = _BEST_OF) -> None:
        self._best_of = best_of
        self._children = Children()
        self._command = [str(python), "-c", _SCRIPT.format(module=module)]
        self._pages: list[int] = []
        # Without the bytecode that the first run leaves behind, all further ones would time the compiler.
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }

    def __call__(self) -> float:
        return min(self._once() for _ in range(self._best_of))

    def _once(self) -> float:
        with self._children.count():
            completed = subprocess.run(
                self._command, cwd=PROJECT, env=self._environment, capture_output=True, text=True, check=False
            )
        if completed.returncode:
            raise Absent((completed.stderr.strip().splitlines() or ["the interpreter said nothing"])[-1])
        took, pages = completed.stdout.split()
        if int(pages):
            self._pages.append(int(pages))
        return float(took)

    @property
    def spent(self) -> tuple[float, float] | None:
        """Seconds of CPU of an interpreter, from its start to its end."""
        return self._children.spent

    def resident(self) -> float | None:
        """MiB that the process held after the import; None where the system does not tell."""
        return median(self._pages) * os.sysconf("SC_PAGESIZE") / _MIB if self._pages else None


def kubeproto(setting: Setting) -> Contest:
    """`import kubeproto` against `import msgspec`, which is a part of it: the ratio comes near 1 at best.

    A ratio says how many times better ours is, so the goal, at most 1.5 times the cost of msgspec, is a ratio
    of 1 / 1.5 = 0.667 or more.
    """
    here = Path(sys.executable)
    empty, ours, base = (FreshImport(here, module) for module in ("sys", "kubeproto", "msgspec"))
    imports = {"kubeproto": ours, "msgspec": base}

    def peer(name: str) -> Probe:
        def make() -> Probe:
            # Theirs take up to a second each: in a quick run one interpreter a round has to do.
            best_of = setting.size(_BEST_OF, quick=1)
            imports[name] = FreshImport(setting.peers.python(name), MODULES[name], best_of=best_of)
            return imports[name]

        return Late(make)

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
    """Megabytes on the disk, with all that is needed, bytecode aside."""
    ours = sum(folder_size(PROJECT / name) for name in PACKAGES) + sum(map(distribution_size, OURS))

    def peer(name: str) -> Probe:
        def probe() -> float:
            home = setting.peers.python(name).parent.parent
            return sum(folder_size(folder) for folder in home.glob("lib/python*/site-packages")) / 1e6

        return probe

    return Contest(ours=lambda: ours / 1e6, peers={name: peer(name) for name in MODULES})


def folder_size(folder: Path) -> int:
    """Bytes of the files below a folder."""
    files = (file for file in folder.rglob("*") if file.suffix != ".pyc" and file.is_file())
    return sum(file.stat().st_size for file in files)


def distribution_size(name: str) -> int:
    """Bytes of what is installed under this name."""
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
