"""The page `docs/speed.md`: a template with the figures of a run."""

import re
from pathlib import Path
from typing import Final

from benchmarks._results import Outcome, Run

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "speed.md"
_TEXT: Final = Path(__file__).with_name("speed.template.md")

# A placeholder is the ratio to the baseline `{decode.pods.view}` or to a peer `{decode.pods.typed/kube-rs}`,
# a figure of a contender `{serve.start=ours}`, or the CPU time for an event `{controller.throughput!kopf}`.
# It may have a format: `{controller.rss=ours:.0f}`.
_FIGURE: Final = re.compile(r"\{([\w.]+)(?:([/=!])([^}:]+))?(?::([^}]+))?\}")
_CPU: Final = "µs of CPU an event"


class IncompleteRun(Exception):
    """A run lacks a figure of the page; the message names the figure."""


def speed_page(run: Run, text: str | None = None) -> str:
    """Return the page with the figures of the run.

    Raise `IncompleteRun` if a figure is missing, or the run was quick.
    """
    if run.quick:
        raise IncompleteRun("the run was quick, and the page has the figures of a full one")
    rows = {row.name: row for row in run.rows}

    def figure(placeholder: re.Match[str]) -> str:
        name, operator, contender, form = placeholder.groups()
        value = _value(rows[name], operator or "/", contender) if name in rows else None
        if value is None:
            raise IncompleteRun(f"the run has no {placeholder[0]}")
        return format(value, form) if form else _written(value)

    return _FIGURE.sub(figure, _TEXT.read_text() if text is None else text)


def _value(row: Outcome, operator: str, contender: str | None) -> float | None:
    if operator == "!":
        return row.also.get(_CPU, {}).get("the baseline" if contender == row.against else contender or "")
    if contender == "ours":
        return row.ours
    standing = row.baseline if contender in (None, row.against) else row.peers.get(contender or "")
    if standing is None:
        return None
    return standing.ratio if operator == "/" else standing.figure


def _written(value: float) -> str:
    """Return two or three digits: rounds differ in the third."""
    if value >= 100:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.1f}" if value >= 5 else f"{value:.2f}"
