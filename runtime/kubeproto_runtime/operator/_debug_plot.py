"""The plot of the debug page: keys that are due, and runs that failed, over the last minutes, as an SVG."""

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
    """Return the legend and the plot; a sentence if there is nothing to plot yet."""
    if len(samples) < 2:
        return '<p class="dim">The first samples come in a few seconds.</p>'
    end = samples[-1].at
    most = max(1, *(max(one.due, one.ended, one.failed) for one in samples))
    lines = [
        ("--good", [(one.at, one.ended) for one in samples]),
        ("--second", [(one.at, one.failed) for one in samples]),
        ("--first", [(one.at, one.due) for one in samples]),
    ]
    drawn = "".join(
        f'<polyline points="{_points(points, end, most)}" fill="none" stroke="var({colour})"'
        ' stroke-width="1.8" stroke-linejoin="round"/>'
        for colour, points in lines
    )
    return f"""{_LEGEND}<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"
 aria-label="keys due, runs and failures of the last ten minutes">{_grid(most)}{drawn}</svg>"""


def _grid(most: int) -> str:
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
        f'<text x="{_LEFT - 6}" y="{_TOP + 4}" text-anchor="end">{most:,}</text>'
        f'<text x="{_LEFT - 6}" y="{base + 4}" text-anchor="end">0</text>'
    )
    return lines + times + counts


def _x(ago: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * max(0.0, 1 + ago / _SPAN)


def _points(points: Sequence[tuple[float, int]], end: float, most: int) -> str:
    height = _HEIGHT - _TOP - _BOTTOM
    return " ".join(f"{_x(at - end):.1f},{_TOP + height * (1 - value / most):.1f}" for at, value in points)
