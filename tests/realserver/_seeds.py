"""The seed of random requests: the same for a commit in CI, new for each run elsewhere."""

from __future__ import annotations

import os
import random

IN_CI = 3399896063  # found that a missing role is named by the resource of the request


def new_seed() -> int:
    """Return the seed, which failures report and ``KUBEPROTO_SEED`` repeats."""
    if chosen := os.environ.get("KUBEPROTO_SEED"):
        return int(chosen)
    return IN_CI if os.environ.get("CI") else random.SystemRandom().randrange(1 << 32)
