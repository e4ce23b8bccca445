"""`shrink`: reduce a failed run to the parts that it needs, and describe it in words."""

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
    """Return the type of a finding, without the times, names and versions of its run."""
    return _PARTICULAR.sub("…", violation)[:80]


def shrink(
    outcome: Outcome, *, runs: int = 200, on_smaller: Callable[[Outcome], None] | None = None
) -> Outcome:
    """Return the smallest run with the same failure, within a number of runs.

    `on_smaller` is called with each smaller run on the way, which may take minutes.
    """
    kind = kind_of(outcome.violations[0])
    best, remaining_runs = outcome, runs

    def fails(plan: Plan) -> bool:
        nonlocal best, remaining_runs
        if remaining_runs <= 0:
            return False
        remaining_runs -= 1
        outcome_ = play(plan)
        if any(kind_of(violation) == kind for violation in outcome_.violations):
            best = outcome_
            if on_smaller is not None:
                on_smaller(outcome_)
            return True
        return False

    failure_time = float(outcome.violations[0].split(" ", 1)[0])
    for end in (failure_time + 1.0, failure_time + 60.0):
        shorter = [planned for planned in best.plan.events if planned.time < end]
        if end < best.plan.duration and fails(replace(best.plan, duration=end, events=tuple(shorter))):
            break
    _remove_parts(best.plan.events, lambda events: fails(replace(best.plan, events=tuple(events))))
    _remove_parts(best.struck, lambda faults: fails(replace(best.plan, only=frozenset(faults))))
    for users in range(best.plan.users):
        if fails(replace(best.plan, users=users)):
            break
    _remove_parts(best.plan.events, lambda events: fails(replace(best.plan, events=tuple(events))))
    return play(best.plan, keep=True)


def _remove_parts(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> None:
    """Omit halves, then quarters, and so on, as long as the run still fails (Zeller's ddmin)."""
    size = max(1, len(items) // 2)
    while items:
        for start in range(0, len(items), size):
            remainder = [*items[:start], *items[start + size :]]
            if fails(remainder):
                items = remainder
                break
        else:
            if size == 1:
                return
            size = max(1, size // 2)


def in_words(outcome: Outcome, lines: int = 60) -> str:
    """Return a description of a run: its parts, the faults before the end, and the findings."""
    plan = outcome.plan
    programs = f"{plan.replicas} replicas, {len(plan.followers)} followers, {plan.users} users"
    text = [
        f"seed {plan.seed} on {plan.backend}, {plan.duration:g} s: {programs}; {plan.modes}",
        f"{len(plan.events)} happenings and {len(outcome.struck)} faults of requests",
        *(f"  {planned.time:10.3f}  {planned.happening}" for planned in plan.events),
    ]
    if lines:
        lines_shown = [
            line for line in outcome.transcript if "!!" in line or "happens" in line or "FOUND" in line
        ]
        first = next((index for index, line in enumerate(lines_shown) if "FOUND" in line), len(lines_shown))
        text += ["the end of the transcript:", *lines_shown[max(0, first - lines) : first + 1]]
    findings = [f"  {violation}" for violation in outcome.violations[:5]] or ["  nothing"]
    return "\n".join([*text, "found:", *findings])
