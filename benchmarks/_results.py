"""A run as a file, for `compare` and `report`."""

import os
import platform
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from benchmarks._measure import Comparison, Result
from benchmarks._pins import PINS, pinned_peers
from benchmarks._report import goal_figure
from benchmarks._rows import Row

_OURS: Final = ("msgspec", "h11", "trio", "httpx", "anyio")


class Outcome(msgspec.Struct, frozen=True):
    """The result of a row: medians, and the minimum and maximum of the rounds."""

    name: str
    summary: str = msgspec.field(name="says")
    unit: str
    more_is_better: bool
    ours: float
    span: tuple[float, float]
    against: str = ""
    baseline: Comparison | None = None
    peers: Mapping[str, Comparison | None] = {}
    also: Mapping[str, Mapping[str, float | None]] = {}
    goal: str = ""
    met: bool | None = None
    limit: str = ""
    took: float = 0.0  # seconds, with all preparations
    measured: str = ""  # the time; a file may contain rows of several runs

    @property
    def group(self) -> str:
        """Return the first word of the name."""
        return self.name.partition(".")[0]


class IncompatibleRuns(Exception):
    """Two runs that cannot share a file; the message gives the reason and the remedy."""


class Run(msgspec.Struct, frozen=True):
    """The results of a run, or of several runs of the same kind, and their machine."""

    started: str = msgspec.field(name="began")
    quick: bool
    machine: Mapping[str, str]
    versions: Mapping[str, str]
    rows: tuple[Outcome, ...]

    def save(self, path: Path) -> None:
        """Write the run to a file."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    def with_rows_of(self, fresh: "Run") -> "Run":
        """Return this run with the rows of `fresh` in place of the old rows."""
        rows = {row.name: row for row in self.rows} | {row.name: row for row in fresh.rows}
        versions = {**self.versions, **fresh.versions}
        ordered = tuple(rows[name] for name in sorted(rows))
        return msgspec.structs.replace(self, rows=ordered, versions=versions)

    def check_compatible(self, fresh: "Run") -> None:
        """Raise `IncompatibleRuns` unless rows of `fresh` fit: quick or full, machine, versions."""
        if self.quick != fresh.quick:
            ours, other = ("a quick run", "a full one") if self.quick else ("a full run", "a quick one")
            raise IncompatibleRuns(f"it holds {ours}, and this would be {other}")
        both = ((self.machine, fresh.machine), (self.versions, fresh.versions))
        changed = [
            f"{name} was {old[name]} and is {new[name]}"
            for old, new in both
            for name in sorted(old.keys() & new.keys())
            if old[name] != new[name]
        ]
        if changed:
            raise IncompatibleRuns(", ".join(changed))


def load(path: Path) -> Run:
    """Read a run; raise ValueError with the name of an unreadable file."""
    try:
        run = msgspec.json.decode(path.read_bytes(), type=Run)
    except (OSError, msgspec.MsgspecError) as error:
        raise ValueError(f"{path} is not a file of results: {error}") from error
    dated = (row if row.measured else msgspec.structs.replace(row, measured=run.started) for row in run.rows)
    return msgspec.structs.replace(run, rows=tuple(dated))


def outcome_of(row: Row, result: Result, took: float = 0.0, *, measured: str = "") -> Outcome:
    """Return the result of a row for a file."""
    return Outcome(
        name=row.name,
        summary=row.summary,
        unit=row.unit.name,
        more_is_better=row.unit.more_is_better,
        ours=result.ours,
        span=result.span,
        against=row.against,
        baseline=result.baseline,
        peers=result.peers,
        also=result.also,
        goal=str(row.goal) if row.goal else "",
        met=row.goal.is_met_by(goal_figure(row, result)) if row.goal else None,
        limit=row.limit,
        took=round(took, 1),
        measured=measured,
    )


def format_minute(moment: datetime) -> str:
    """Return a time in the format of results."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def run_of(rows: tuple[Outcome, ...], *, quick: bool, started: datetime) -> Run:
    """Return a run on this machine."""
    return Run(
        started=format_minute(started), quick=quick, machine=_machine(),
        versions={**{name: version(name) for name in _OURS}, **_pinned()}, rows=rows,
    )  # fmt: skip


def _machine() -> dict[str, str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def _processor() -> str:
    try:
        model = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        model = None
    return model[1] if model else platform.processor() or platform.machine()


def _pinned() -> dict[str, str]:
    """Return the pinned versions of the peers."""
    versions: dict[str, str] = {}
    for peer, requirements in pinned_peers(PINS).items():
        for name, _, pinned in (requirement.partition("==") for requirement in requirements):
            if re.sub("[-.]", "_", name).lower() in (peer, *peer.split("_")):
                versions[name] = pinned
    for path in sorted(PINS.rglob("go.mod")):
        pattern = r"^\s*(k8s\.io/client-go|sigs\.k8s\.io/controller-runtime) (v\S+)"
        versions |= dict(re.findall(pattern, path.read_text(), re.MULTILINE))
    for path in sorted(PINS.rglob("Cargo.lock")):
        versions |= {
            f"{name} (Rust)": requirement for name, requirement in _crates(path.read_text()) if name == "kube"
        }
    return versions


def _crates(lock: str) -> list[tuple[str, str]]:
    return re.findall(r'^name = "([^"]+)"\nversion = "([^"]+)"', lock, re.MULTILINE)
