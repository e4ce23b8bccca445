"""Missed goals, and rows in which another contender is better."""

import re

from benchmarks._charts import readable
from benchmarks._measure import Comparison
from benchmarks._results import Outcome, Run


def contenders(row: Outcome) -> list[tuple[str, Comparison | None]]:
    """Return the other contenders of a row, measured or not."""
    baseline = [(row.against or "baseline", row.baseline)] if row.baseline else []
    return [*baseline, *row.peers.items()]


def missed_goals(run: Run) -> list[str]:
    """Return a line for each missed goal, with its figure."""
    return [
        f"`{row.name}`: {readable(figure)}, and the goal is {row.goal}"
        for row in sorted(run.rows, key=lambda row: row.name)
        if row.met is False and (figure := goal_value(row)) is not None
    ]


def goal_value(row: Outcome) -> float | None:
    """Return the figure of a goal: ours, our ratio, or the ratio to a peer."""
    of = re.split(" [≥≤]", row.goal)[0]
    if of == "ours":
        return row.ours
    standing = row.baseline if of == "ratio" else row.peers.get(of)
    return standing.ratio if standing else None


def worse_rows(run: Run) -> list[str]:
    """Return a line for each row in which another contender is better, with our ratio."""
    lines: list[str] = []
    for row in sorted(run.rows, key=lambda row: row.name):
        ahead = [
            f"{name} {readable(standing.ratio)}"
            for name, standing in contenders(row)
            if standing and standing.ratio is not None and standing.ratio < 1
        ]
        if ahead:
            lines.append(f"`{row.name}`: {', '.join(ahead)}")
    return lines
