"""Two runs beside each other: what changed beyond noise."""

import math

from benchmarks._results import Outcome, Run

Range = tuple[float, float]


def compare(before: Run, after: Run) -> str:
    """A line for each row of either run: the figures, how many times better it became, and the verdict."""
    old = {one.name: one for one in before.rows}
    new = {one.name: one for one in after.rows}
    lines = [f"{'':24} {'before':>12} {'after':>12} {'better':>8}  verdict"]
    for name in sorted(old | new):
        if name not in old or name not in new:
            where = "before" if name in old else "after"
            lines.append(f"{name:24} measured {where} alone")
            continue
        lines.append(_line(old[name], new[name]))
    lines.append(f"before: {_described(before)}")
    lines.append(f"after:  {_described(after)}")
    return "\n".join(lines)


def _line(old: Outcome, new: Outcome) -> str:
    factor, certain = change(old, new)
    verdict = ("better" if factor > 1 else "WORSE") if certain else "within the noise"
    figures = f"{old.ours:>12.6g} {new.ours:>12.6g}"
    return f"{old.name:24} {figures} {factor:>8.3g}  {verdict}, {old.unit}, by {_measure(old, new)}"


def change(old: Outcome, new: Outcome) -> tuple[float, bool]:
    """How many times better a row became, and whether that is more than its rounds differ among each other.

    The ratio to a baseline of the same run is compared where there is one, because a machine that is slower
    today is slower for both.
    """
    before, after = _ratio(old), _ratio(new)
    if before and after:
        return after[0] / before[0], _apart(before[1], after[1])
    better, worse = (new.ours, old.ours) if old.more_is_better else (old.ours, new.ours)
    factor = better / worse if worse else math.inf if better else 1.0  # a figure may be nothing at all
    return factor, _apart(old.span, new.span)


def _ratio(one: Outcome) -> tuple[float, Range] | None:
    baseline = one.baseline
    if baseline is None or baseline.ratio is None or baseline.spread is None:
        return None
    return baseline.ratio, baseline.spread


def _measure(old: Outcome, new: Outcome) -> str:
    return "ratio" if _ratio(old) and _ratio(new) else "figure"


def _apart(one: Range, other: Range) -> bool:
    return one[1] < other[0] or other[1] < one[0]


def _described(run: Run) -> str:
    quick = ", quick" if run.quick else ""
    return f"{run.began}{quick}; {', '.join(run.machine.values())}"
