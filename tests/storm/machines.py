"""Random events for each machine: it accepts or refuses every event, and its actions satisfy their
invariants.

Most events are possible in the current state, and some are arbitrary: then the machine either accepts the
event or raises `LocalProtocolError`, and does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random
from typing import Final, TypeAlias

from .bookkeeping import walk_finalizers, walk_own_writes, walk_recorder
from .walk_credentials import walk_credentials
from .walk_election import walk_election
from .walk_queue import walk_queue
from .walk_watching import walk_pager, walk_resync

Walking: TypeAlias = Callable[[Random], Iterator[str]]

# The number of walks for each run of whole programs, so that a million faults take each arm 1,000 times.
WALKS: Final[dict[Walking, int]] = {
    walk_resync: 8, walk_pager: 2, walk_election: 4, walk_credentials: 1, walk_queue: 9, walk_finalizers: 1,
    walk_recorder: 5, walk_own_writes: 2,
}  # fmt: skip


def play_machines(seed: int) -> list[str]:
    """Walk through each machine. Return the first finding of each."""
    findings: list[str] = []
    for walk, times in WALKS.items():
        for time in range(times):
            rng = Random(f"{seed} {walk.__name__} {time}")
            findings += [f"0 s: {walk.__name__}: {problem}" for problem in islice(walk(rng), 1)]
    return findings
