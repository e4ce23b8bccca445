"""The plot of the debug page, an SVG: due keys, runs and failures over the last ten minutes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ._debug_state import Sample

_WIDTH, _HEIGHT = 720, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 8, 12, 20  # for the labels
_SPAN: Final = 600.0  # seconds

_LEGEND: Final = (
    '<div class="legend"><span><i style="background:var(--first)"></i>keys due</span>'
    '<span><i style="background:var(--good)"></i>runs</span>'
    '<span><i style="background:var(--second)"></i>failures</span>'
    '<span class="dim">runs and failures between two samples, five seconds apart</span></div>'
)


def plot(samples: Sequence[Sample]) -> str:
    """Return the legend and the plot; before the second sample, a sentence."""
    if len(samples) < 2:
        return '<p class="dim">The first samples are taken in a few seconds.</p>'
    end = samples[-1].time
    maximum = max(1, *(max(sample.due, sample.finished, sample.failed) for sample in samples))
    lines = [
        ("--good", [(sample.time, sample.finished) for sample in samples]),
        ("--second", [(sample.time, sample.failed) for sample in samples]),
        ("--first", [(sample.time, sample.due) for sample in samples]),
    ]
    polylines = "".join(
        f'<polyline points="{_points(points, end, maximum)}" fill="none" stroke="var({colour})"'
        ' stroke-width="1.8" stroke-linejoin="round"/>'
        for colour, points in lines
    )
    return f"""{_LEGEND}<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"
 aria-label="keys due, runs and failures of the last ten minutes">{_grid(maximum)}{polylines}</svg>"""


def _grid(maximum: int) -> str:
    base, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    lines = "".join(
        f'<line x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}" stroke="var(--line)"/>' for y in (_TOP, base)
    )
    times = "".join(
        f'<text x="{_x(-60.0 * minutes):.0f}" y="{_HEIGHT - 5}" text-anchor="{anchor}">{text}</text>'
        for minutes, text, anchor in (
            (10, "10 min ago", "start"),
            (5, "5 min ago", "middle"),
            (0, "now", "end"),
        )
    )
    counts = (
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{maximum:,}</text>'
        f'<text x="{_LEFT - 6}" y="{base + 4}" text-anchor="end">0</text>'
    )
    return lines + times + counts


def _x(seconds: float) -> float:
    """Return the x coordinate of a time, given in negative seconds before now."""
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * max(0.0, 1 + seconds / _SPAN)


def _points(points: Sequence[tuple[float, int]], end: float, maximum: int) -> str:
    height = _HEIGHT - _TOP - _BOTTOM
    return " ".join(
        f"{_x(time - end):.1f},{_TOP + height * (1 - value / maximum):.1f}" for time, value in points
    )
