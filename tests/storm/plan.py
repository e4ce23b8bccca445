"""The plan that a seed determines: the cluster, its programs, the faults and their rates, and the
happenings.
"""

from __future__ import annotations

from random import Random
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

import kubeproto_sim as sim

Backend: TypeAlias = Literal["asyncio", "trio"]

DURATION: Final = 1800.0  # seconds of storm; the calm after it is additional

Happening: TypeAlias = Literal[
    "restart", "compaction", "backup", "lag", "replica lag", "conflicting writer", "lease deleted",
    "lease stolen", "clock jump", "pause", "kill", "network down", "slow handlers", "failing handlers",
]  # fmt: skip
HAPPENINGS: Final[tuple[Happening, ...]] = (
    "restart", "compaction", "backup", "lag", "replica lag", "conflicting writer", "lease deleted",
    "lease stolen", "clock jump", "pause", "kill", "network down", "slow handlers", "failing handlers",
)  # fmt: skip
# An operator runs in two of three storms, and a backup is restored in a third of them.
OFTEN: Final[dict[Happening, int]] = {
    "backup": 3, "lease deleted": 2, "lease stolen": 2, "clock jump": 2, "kill": 2, "pause": 3,
}  # fmt: skip
OF_OPERATORS: Final = frozenset(
    ("lease deleted", "lease stolen", "clock jump", "pause", "kill", "slow handlers", "failing handlers")
)


class Planned(Struct, frozen=True, rename={"time": "at", "happening": "what"}):
    """A happening in the cluster or a program, and a number that determines its details."""

    time: float
    happening: Happening
    draw: int


class FollowerPlan(Struct, frozen=True):
    """A program that follows a single kind."""

    kind: Literal["books", "shelves", "configmaps", "books metadata"]
    namespace: str  # "" for all namespaces
    selector: str
    page_size: int
    streaming: bool
    first: Literal["0", ""]


class Plan(Struct, frozen=True, kw_only=True):
    """A run. `only` and `events` omit faults and happenings, for shrinking; None omits none."""

    seed: int
    backend: Backend
    duration: float
    modes: sim.Modes
    window: int
    garbage: float  # seconds after which objects without an owner are collected
    replicas: int
    rates: tuple[float, ...]  # of the replicas' clocks
    credentials: Literal["none", "oidc", "file", "exec"]
    followers: tuple[FollowerPlan, ...]
    users: int
    pace: float  # mean seconds between two requests of a user
    objects: int
    share: float  # the share of requests with a fault
    besides: float  # the share of these with a further fault in transit
    events: tuple[Planned, ...]
    only: frozenset[tuple[str, int]] | None = None


def draw(seed: int, *, backend: Backend | None = None, duration: float = DURATION) -> Plan:
    """Return the plan of a seed."""
    rng = Random(seed)
    drawn: Backend = "trio" if rng.random() < 0.2 else "asyncio"
    replicas = rng.choice((0, 0, 1, 2, 2, 3))
    expiry_forms: tuple[Literal["in-stream", "http-expired", "http-gone"], ...] = (
        "in-stream", "in-stream", "http-expired", "http-gone",
    )  # fmt: skip
    end_bookmark_forms: tuple[Literal["true", "missing", "false", "without-version"], ...] = (
        "true", "true", "true", "missing", "false", "without-version",
    )  # fmt: skip
    large: tuple[Literal["reason", "cause-message", "message"], ...] = ("reason", "cause-message", "message")
    modes = sim.Modes(
        streaming_lists=rng.random() < 0.7,
        watch_cache=rng.random() < 0.85,
        bookmarks=rng.random() < 0.9,
        end_mark=rng.choice(end_bookmark_forms),
        gone=rng.choice(expiry_forms),
        too_large=rng.choice(large),
        compress_watches=rng.random() < 0.15,
        old_bookmarks=rng.random() < 0.1,
    )
    share = rng.choice((0.4, 0.7, 0.85, 0.9, 0.95, 0.97))
    if share < 0.8:
        duration /= 2.0  # most requests of such a run succeed, and cost as much as the failed ones
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
    return tuple(Planned(round(time, 3), rng.choice(kinds), rng.getrandbits(32)) for time in times)


def write(plan: Plan) -> bytes:
    """Return a plan as a file stores it: a run with a finding is repeated even after the meaning of seeds has
    changed.
    """
    return msgspec.json.format(msgspec.json.encode(plan, order="sorted"), indent=1) + b"\n"


def read(data: bytes) -> Plan:
    """Return the plan of a file."""
    return msgspec.json.decode(data, type=Plan)
