"""What a run did not reach: goals that were missed, and rows in which another is better than ours."""

import re

from benchmarks._charts import readable
from benchmarks._measure import Standing
from benchmarks._results import Outcome, Run


def contenders(row: Outcome) -> list[tuple[str, Standing | None]]:
    """The others in a row, whether they were measured or not."""
    baseline = [(row.against or "baseline", row.baseline)] if row.baseline else []
    return [*baseline, *row.peers.items()]


def missed(run: Run) -> list[str]:
    """A line for each goal that was missed, with the figure that was reached."""
    return [
        f"`{row.name}`: {readable(figure)}, and the goal is {row.goal}"
        for row in sorted(run.rows, key=lambda row: row.name)
        if row.met is False and (figure := reached(row)) is not None
    ]


def reached(row: Outcome) -> float | None:
    """The figure that the goal of a row is about: ours, our ratio, or the ratio to a peer."""
    of = re.split(" [≥≤]", row.goal)[0]
    if of == "ours":
        return row.ours
    standing = row.baseline if of == "ratio" else row.peers.get(of)
    return standing.ratio if standing else None


def behind(run: Run) -> list[str]:
    """A line for each row in which another one is better, with how many times as good ours is."""
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
