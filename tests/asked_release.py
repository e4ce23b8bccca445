"""The tested release of Kubernetes: the newest one, or that of the environment variable KUBERNETES."""

from __future__ import annotations

import os
from typing import Final

NEWEST: Final = "1.36"
RELEASE: Final = os.environ.get("KUBERNETES") or NEWEST
# Releases that have a feature gate on by default; for shards, releases where the tests turn it on.
GATES: Final = {
    "CustomResourceFieldSelectors": ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36"),
    "ShardedListAndWatch": ("1.36",),
    "WatchList": ("1.32", "1.34", "1.35", "1.36"),
}


def number(release: str) -> tuple[int, ...]:
    """Return a release as numbers that can be compared."""
    return tuple(map(int, release.split(".")))


def is_on(gate: str) -> bool:
    """Return whether the release has a feature gate on."""
    return RELEASE in GATES[gate]


def is_asked(since: str = NEWEST, *, gate: str = "") -> bool:
    """Return whether a test with this mark applies to the tested release."""
    return is_on(gate) if gate else number(RELEASE) >= number(since)
