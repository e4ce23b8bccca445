"""Random events for each machine: it is total, and what it says keeps its promises.

Mostly an event is one that can happen in the state at hand, and now and then it is any at all: then the
machine either takes it or raises `LocalProtocolError`, nothing else, and is where it was.
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

# How often each is walked for a run of whole programs, so that a million faults take each arm 1,000 times.
WALKS: Final[dict[Walking, int]] = {
    walk_resync: 8, walk_pager: 2, walk_election: 4, walk_credentials: 1, walk_queue: 9, walk_finalizers: 1,
    walk_recorder: 5, walk_own_writes: 2,
}  # fmt: skip


def play_machines(seed: int) -> list[str]:
    """Walk through each machine; return the first finding of each."""
    found: list[str] = []
    for walk, times in WALKS.items():
        for time in range(times):
            rng = Random(f"{seed} {walk.__name__} {time}")
            found += [f"0 s: {walk.__name__}: {problem}" for problem in islice(walk(rng), 1)]
    return found
