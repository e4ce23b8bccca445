"""The rows by name, and the setting in which a row is measured."""

import pkgutil
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from importlib import import_module
from typing import Any, TypeVar

import msgspec

from benchmarks import rows
from benchmarks._measure import Contest, Unit
from benchmarks._peers import Peers

T = TypeVar("T")

# Prefixes of the figures that a report draws: distributions, and curves over the number of objects.
LATENCY = "latency of"
GROWTH = "growth in"

SECONDS = Unit("s")
MILLISECONDS = Unit("ms")
KILOBYTES = Unit("KB")
MEGABYTES = Unit("MB")
OBJECTS_PER_SECOND = Unit("objects/s", more_is_better=True)
EVENTS_PER_SECOND = Unit("events/s", more_is_better=True)


class Goal(msgspec.Struct, frozen=True):
    """A goal for the ratio of a row, its own figure (`of="ours"`), or the ratio to a peer (`of=NAME`)."""

    at_least: float | None = None
    at_most: float | None = None
    of: str = "ratio"
    summary: str = ""

    def __str__(self) -> str:
        least = [f"{self.of} ≥ {self.at_least:g}"] if self.at_least is not None else []
        most = [f"{self.of} ≤ {self.at_most:g}"] if self.at_most is not None else []
        remark = [f"({self.summary})"] if self.summary else []
        return " ".join(least + most + remark)

    def is_met_by(self, figure: float | None) -> bool | None:
        """Return whether `figure` reaches the goal, or None if it was not measured."""
        if figure is None:
            return None
        enough = self.at_least is None or figure >= self.at_least
        return enough and (self.at_most is None or figure <= self.at_most)


class Setting:
    """The setting of a measurement: the amount of data, the peers, and resources to close afterwards."""

    def __init__(
        self, *, quick: bool, peers: Peers, stack: ExitStack, shared: dict[str, Any] | None = None
    ) -> None:
        self.quick = quick
        self.peers = peers
        self.shared = {} if shared is None else shared  # data that rows of a run leave for later rows
        self._stack = stack

    def size(self, full: int, quick: int) -> int:
        """Return the number of objects to make."""
        return quick if self.quick else full

    def enter_context(self, resource: AbstractContextManager[T]) -> T:
        """Enter a context manager that is left after the row."""
        return self._stack.enter_context(resource)


class Row(msgspec.Struct, frozen=True):
    """A row: `summary` describes it, `against` is the baseline, and `make` builds data and contenders."""

    name: str
    unit: Unit
    make: Callable[[Setting], Contest]
    summary: str
    against: str = ""
    goal: Goal | None = None
    once: bool = False  # one round without a warm-up, for measurements that take a minute and hardly vary
    limit: str = ""  # the row with the maximum of this machine, in the same unit


class UnknownNames(Exception):
    """Names of no row and no group of rows."""


def all_rows() -> tuple[Row, ...]:
    """Return the rows of all modules in `benchmarks.rows`, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(rows.__path__))
    all_rows: list[Row] = []
    for name in names:
        all_rows.extend(import_module(f"{rows.__name__}.{name}").ROWS)
    return tuple(sorted(all_rows, key=lambda row: row.name))


def select(names: Iterable[str], among: Iterable[Row]) -> tuple[Row, ...]:
    """Return the selected rows, each once, in the order of the names: a row, or all rows below a prefix."""
    among = tuple(among)
    chosen: dict[str, Row] = {}
    unknown: list[str] = []
    for name in names:
        exact = [row for row in among if name in (row.name, "all")]
        selected = exact or [row for row in among if row.name.startswith(f"{name}.")]
        chosen.update((row.name, row) for row in selected)
        if not selected:
            unknown.append(name)
    if unknown:
        raise UnknownNames(", ".join(unknown))
    return tuple(chosen.values())
