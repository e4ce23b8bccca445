"""Random courses of a Deployment: any change may meet any state of a rollout."""

from __future__ import annotations

import random
from typing import Final

from deployment_cases import WEB, annotate, change, create, deployment, image, rolling
from workload_steps import Case, Json, Relabel, Remove, Report, RollBack, Step

_STEPS: Final = 8
RANDOM: Final = range(16)  # the seeds that are recorded


_SURGES: Final[list[int | str]] = [0, 1, 2, "25%", "50%"]
_UNAVAILABLE: Final[list[int | str]] = [0, 1, 2, "25%", "60%"]


def random_case(seed: int) -> Case:
    """Return a course that its seed determines."""
    rng = random.Random(seed)
    first = deployment(replicas=rng.randint(1, 6), strategy=_strategy(rng))
    steps: list[Step] = [create(first), Report(99)]
    steps += [_step(rng) for _ in range(_STEPS)]
    return Case(f"random-{seed}", (*steps, Report(99), Report(99), Report(99)))


def _strategy(rng: random.Random) -> Json:
    if rng.random() < 0.2:
        return {"type": "Recreate"}
    surge = rng.choice(_SURGES)
    unavailable = rng.choice(_UNAVAILABLE)
    return rolling(1, unavailable) if not surge and not unavailable else rolling(surge, unavailable)


def _step(rng: random.Random) -> Step:
    match rng.randrange(12):
        case 0 | 1 | 2:
            return image(f"i:{rng.randint(1, 4)}")
        case 3 | 4:
            return change(replicas=rng.randint(0, 9))
        case 5 | 6 | 7:
            return Report(rng.randint(1, 4))
        case 8:
            return Report(rng.randint(1, 2), rng.choice(["Running", "Failed", "Succeeded"]), ready=False)
        case 9:
            steps: list[Step] = [Remove(1), Relabel(WEB, {"app": "other"}), annotate(f"n{rng.randint(1, 3)}")]
            return rng.choice(steps)
        case 10:
            return change(paused=rng.random() < 0.5)
        case _:
            return RollBack("web", rng.randint(1, 4))
