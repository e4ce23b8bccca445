"""The release of Kubernetes that the tests ask: the newest, or what KUBERNETES says in the environment."""

from __future__ import annotations

import os
from typing import Final

NEWEST: Final = "1.36"
RELEASE: Final = os.environ.get("KUBERNETES") or NEWEST
# The releases that have a feature gate on by default; for shards, where the tests turn it on.
GATES: Final = {
    "CustomResourceFieldSelectors": ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36"),
    "ShardedListAndWatch": ("1.36",),
    "WatchList": ("1.32", "1.34", "1.35", "1.36"),
}


def number(release: str) -> tuple[int, ...]:
    """1.30 as what can be compared."""
    return tuple(map(int, release.split(".")))


def is_on(gate: str) -> bool:
    """Whether the release has a feature gate on."""
    return RELEASE in GATES[gate]


def is_asked(since: str = NEWEST, *, gate: str = "") -> bool:
    """Whether a test marked so is one of the release that is asked."""
    return is_on(gate) if gate else number(RELEASE) >= number(since)
