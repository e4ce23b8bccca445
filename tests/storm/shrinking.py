"""`shrink`: a run that failed, with everything left out that it does not take, and told in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from .episode import Outcome, play
from .plan import Plan

T = TypeVar("T")

_PARTICULAR = re.compile(r"\d[\d.]*|'[^']*'|(?:default|other)/\w+|\{.*")


def kind_of(violation: str) -> str:
    """What a finding is about, without the times, names and versions of one run."""
    return _PARTICULAR.sub("…", violation)[:80]


def shrink(
    outcome: Outcome, *, runs: int = 200, on_smaller: Callable[[Outcome], None] | None = None
) -> Outcome:
    """Return the smallest run that was found within so many runs, which fails in the same way.

    `on_smaller` is called with each smaller one on the way there, which may take minutes.
    """
    wanted = kind_of(outcome.violations[0])
    best, left = outcome, runs

    def fails(plan: Plan) -> bool:
        nonlocal best, left
        if left <= 0:
            return False
        left -= 1
        found = play(plan)
        if any(kind_of(one) == wanted for one in found.violations):
            best = found
            if on_smaller is not None:
                on_smaller(found)
            return True
        return False

    at = float(outcome.violations[0].split(" ", 1)[0])
    for end in (at + 1.0, at + 60.0):
        shorter = [one for one in best.plan.events if one.at < end]
        if end < best.plan.duration and fails(replace(best.plan, duration=end, events=tuple(shorter))):
            break
    _fewer(best.plan.events, lambda events: fails(replace(best.plan, events=tuple(events))))
    _fewer(best.struck, lambda faults: fails(replace(best.plan, only=frozenset(faults))))
    for users in range(best.plan.users):
        if fails(replace(best.plan, users=users)):
            break
    _fewer(best.plan.events, lambda events: fails(replace(best.plan, events=tuple(events))))
    return play(best.plan, keep=True)


def _fewer(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> None:
    """Leave out halves, then quarters, and so on, as long as it still fails (Zeller's ddmin)."""
    size = max(1, len(items) // 2)
    while items:
        for start in range(0, len(items), size):
            rest = [*items[:start], *items[start + size :]]
            if fails(rest):
                items = rest
                break
        else:
            if size == 1:
                return
            size = max(1, size // 2)


def in_words(outcome: Outcome, lines: int = 60) -> str:
    """A run as people read it: what it consists of, what went wrong before the end, and what was found."""
    plan = outcome.plan
    programs = f"{plan.replicas} replicas, {len(plan.followers)} followers, {plan.users} users"
    text = [
        f"seed {plan.seed} on {plan.backend}, {plan.duration:g} s: {programs}; {plan.modes}",
        f"{len(plan.events)} happenings and {len(outcome.struck)} faults of requests",
        *(f"  {one.at:10.3f}  {one.what}" for one in plan.events),
    ]
    if lines:
        shown = [line for line in outcome.transcript if "!!" in line or "happens" in line or "FOUND" in line]
        first = next((at for at, line in enumerate(shown) if "FOUND" in line), len(shown))
        text += ["the end of the transcript:", *shown[max(0, first - lines) : first + 1]]
    found = [f"  {one}" for one in outcome.violations[:5]] or ["  nothing"]
    return "\n".join([*text, "found:", *found])
