"""Comparison of two runs: changes beyond the noise."""

import math

from benchmarks._results import Outcome, Run

Range = tuple[float, float]


def compare(old_run: Run, new_run: Run) -> str:
    """Return a line for each row: the figures, the factor of improvement, and the verdict."""
    old = {row.name: row for row in old_run.rows}
    new = {row.name: row for row in new_run.rows}
    lines = [f"{'':24} {'before':>12} {'after':>12} {'better':>8}  verdict"]
    for name in sorted(old | new):
        if name not in old or name not in new:
            only_run = "before" if name in old else "after"
            lines.append(f"{name:24} measured {only_run} alone")
            continue
        lines.append(_line(old[name], new[name]))
    lines.append(f"before: {_described(old_run)}")
    lines.append(f"after:  {_described(new_run)}")
    return "\n".join(lines)


def _line(old: Outcome, new: Outcome) -> str:
    factor, certain = change(old, new)
    verdict = ("better" if factor > 1 else "WORSE") if certain else "within the noise"
    figures = f"{old.ours:>12.6g} {new.ours:>12.6g}"
    return f"{old.name:24} {figures} {factor:>8.3g}  {verdict}, {old.unit}, by {_measure(old, new)}"


def change(old: Outcome, new: Outcome) -> tuple[float, bool]:
    """Return the factor by which a row improved, and whether it exceeds the differences between rounds.

    If the run has a baseline, the ratios to it are compared, because a slower machine is slower for both.
    """
    old_ratio, new_ratio = _ratio(old), _ratio(new)
    if old_ratio and new_ratio:
        return new_ratio[0] / old_ratio[0], _apart(old_ratio[1], new_ratio[1])
    better, worse = (new.ours, old.ours) if old.more_is_better else (old.ours, new.ours)
    factor = better / worse if worse else math.inf if better else 1.0  # a figure may be zero
    return factor, _apart(old.span, new.span)


def _ratio(outcome: Outcome) -> tuple[float, Range] | None:
    baseline = outcome.baseline
    if baseline is None or baseline.ratio is None or baseline.spread is None:
        return None
    return baseline.ratio, baseline.spread


def _measure(old: Outcome, new: Outcome) -> str:
    return "ratio" if _ratio(old) and _ratio(new) else "figure"


def _apart(first: Range, second: Range) -> bool:
    return first[1] < second[0] or second[1] < first[0]


def _described(run: Run) -> str:
    quick = ", quick" if run.quick else ""
    return f"{run.started}{quick}; {', '.join(run.machine.values())}"
