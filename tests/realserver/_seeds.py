"""The seed of random questions: in CI the same commit asks the same, elsewhere each run asks others."""

from __future__ import annotations

import os
import random

IN_CI = 3399896063  # once found that a missing role is named by the resource of the request


def new_seed() -> int:
    """A number that decides what is asked; a failure says it, and ``KUBEPROTO_SEED`` repeats it."""
    if chosen := os.environ.get("KUBEPROTO_SEED"):
        return int(chosen)
    return IN_CI if os.environ.get("CI") else random.SystemRandom().randrange(1 << 32)
