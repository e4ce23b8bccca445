"""What a seed decides: the cluster, the programs on it, the faults and their rates, and what happens when."""

from __future__ import annotations

from random import Random
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

import kubeproto_sim as sim

Backend: TypeAlias = Literal["asyncio", "trio"]

DURATION: Final = 1800.0  # seconds of storm; the calm after it comes on top

Happening: TypeAlias = Literal[
    "restart", "compaction", "backup", "lag", "replica lag", "conflicting writer", "lease deleted",
    "lease stolen", "clock jump", "pause", "kill", "network down", "slow handlers", "failing handlers",
]  # fmt: skip
HAPPENINGS: Final[tuple[Happening, ...]] = (
    "restart", "compaction", "backup", "lag", "replica lag", "conflicting writer", "lease deleted",
    "lease stolen", "clock jump", "pause", "kill", "network down", "slow handlers", "failing handlers",
)  # fmt: skip
# What needs an operator happens in two runs of three, and a backup is restored once in three times.
OFTEN: Final[dict[Happening, int]] = {
    "backup": 3, "lease deleted": 2, "lease stolen": 2, "clock jump": 2, "kill": 2, "pause": 3,
}  # fmt: skip
OF_OPERATORS: Final = frozenset(
    ("lease deleted", "lease stolen", "clock jump", "pause", "kill", "slow handlers", "failing handlers")
)


class Planned(Struct, frozen=True):
    """Something that happens in the cluster or to a program, and a number that says how much of it."""

    at: float
    what: Happening
    draw: int


class FollowerPlan(Struct, frozen=True):
    """A program that follows one kind."""

    kind: Literal["books", "shelves", "configmaps", "books metadata"]
    namespace: str  # "" for all
    selector: str
    page_size: int
    streaming: bool
    first: Literal["0", ""]


class Plan(Struct, frozen=True, kw_only=True):
    """One run. `only` and `events` leave out faults and happenings, for shrinking; None leaves out none."""

    seed: int
    backend: Backend
    duration: float
    modes: sim.Modes
    window: int
    garbage: float  # seconds after which what has no owner any more is collected
    replicas: int
    rates: tuple[float, ...]  # of the replicas' clocks
    credentials: Literal["none", "oidc", "file", "exec"]
    followers: tuple[FollowerPlan, ...]
    users: int
    pace: float  # mean seconds between two requests of a user
    objects: int
    share: float  # of all requests, those that meet a fault
    besides: float  # of these, those that meet another one on their way
    events: tuple[Planned, ...]
    only: frozenset[tuple[str, int]] | None = None


def draw(seed: int, *, backend: Backend | None = None, duration: float = DURATION) -> Plan:
    """The run that a seed decides."""
    rng = Random(seed)
    drawn: Backend = "trio" if rng.random() < 0.2 else "asyncio"
    replicas = rng.choice((0, 0, 1, 2, 2, 3))
    gone: tuple[Literal["in-stream", "http-expired", "http-gone"], ...] = (
        "in-stream", "in-stream", "http-expired", "http-gone",
    )  # fmt: skip
    marks: tuple[Literal["true", "missing", "false", "without-version"], ...] = (
        "true", "true", "true", "missing", "false", "without-version",
    )  # fmt: skip
    large: tuple[Literal["reason", "cause-message", "message"], ...] = ("reason", "cause-message", "message")
    modes = sim.Modes(
        streaming_lists=rng.random() < 0.7,
        watch_cache=rng.random() < 0.85,
        bookmarks=rng.random() < 0.9,
        end_mark=rng.choice(marks),
        gone=rng.choice(gone),
        too_large=rng.choice(large),
        compress_watches=rng.random() < 0.15,
        old_bookmarks=rng.random() < 0.1,
    )
    share = rng.choice((0.4, 0.7, 0.85, 0.9, 0.95, 0.97))
    if share < 0.8:
        duration /= 2.0  # most requests of such a run succeed, and cost as much as those that do not
    return Plan(
        seed=seed,
        backend=backend or drawn,
        duration=duration,
        modes=modes,
        window=rng.choice((5, 50, 10_000)),
        garbage=rng.choice((0.5, 3.0, 20.0)),
        replicas=replicas,
        rates=tuple(rng.choice((1.0, 1.0, 0.9, 1.1, 1.3)) for _ in range(3)),
        credentials=rng.choice(("none", "none", "none", "oidc", "file", "exec")),
        followers=tuple(_follower(rng) for _ in range(rng.randint(2, 6) if replicas else rng.randint(5, 10))),
        users=rng.randint(1, 3),
        pace=rng.choice((0.5, 2.0, 5.0)),
        objects=rng.choice((2, 5, 9)),
        share=share,
        besides=rng.choice((0.3, 0.7, 0.95)),
        events=_events(rng, duration, replicas),
    )


def _follower(rng: Random) -> FollowerPlan:
    kinds: tuple[Literal["books", "shelves", "configmaps", "books metadata"], ...] = (
        "books", "books", "shelves", "configmaps", "books metadata",
    )  # fmt: skip
    firsts: tuple[Literal["0", ""], ...] = ("0", "")
    return FollowerPlan(
        rng.choice(kinds),
        rng.choice(("", "", "default", "other")),
        rng.choice(("", "", "tier=gold")),
        rng.choice((0, 0, 1, 2, 3)),
        rng.random() < 0.7,
        rng.choice(firsts),
    )


def _events(rng: Random, duration: float, replicas: int) -> tuple[Planned, ...]:
    kinds: list[Happening] = [
        kind for kind in HAPPENINGS for _ in range(OFTEN.get(kind, 1)) if replicas or kind not in OF_OPERATORS
    ]
    count = int(duration / rng.choice((15, 30, 60)))
    times = sorted(rng.uniform(5.0, duration) for _ in range(count))
    return tuple(Planned(round(at, 3), rng.choice(kinds), rng.getrandbits(32)) for at in times)


def write(plan: Plan) -> bytes:
    """A plan as a file keeps it: a run that was found once is made again whatever seeds mean by then."""
    return msgspec.json.format(msgspec.json.encode(plan, order="sorted"), indent=1) + b"\n"


def read(data: bytes) -> Plan:
    """A plan from a file."""
    return msgspec.json.decode(data, type=Plan)
