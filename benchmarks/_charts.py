"""Pictures as SVG: bars, one contender a line, ours first; and curves, of growth and of latencies."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

_SVG: Final = "http://www.w3.org/2000/svg"
_WIDTH: Final = 720
_LEFT: Final = 190  # what the names take
_RIGHT: Final = 110  # what the figures take
_STEP: Final = 26
_TOP: Final = 58
_PLOT: Final = 200  # the height of what curves are drawn in
_EDGE: Final = 40
_COLOURS: Final = ("#1f6feb", "#cf222e", "#1a7f37", "#9a6700", "#8250df")

STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}"
    ".title{font-weight:600;font-size:15px}.small{fill:#57606a;font-size:12px}"
    ".ours{fill:#1f6feb}.other{fill:#afb8c1}.axis{fill:none;stroke:#8c959f}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}"
    ".ours{fill:#4493f8}.other{fill:#656c76}}"
)


def bars(title: str, note: str, figures: Sequence[tuple[str, float]]) -> str:
    """A chart of figures, the first of which is ours."""
    height = _TOP + _STEP * len(figures) + 8
    longest = max(figure for _, figure in figures) or 1.0
    lines = _opening(title, note, height)
    for number, (name, figure) in enumerate(figures):
        y = _TOP + number * _STEP
        width = max(1.0, (_WIDTH - _LEFT - _RIGHT) * figure / longest)
        whose = "other" if number else "ours"
        lines += [
            f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{whose}" x="{_LEFT}" y="{y}" width="{width:.1f}" height="18" rx="2"/>',
            f'<text class="small" x="{_LEFT + width + 6:.1f}" y="{y + 13}">{readable(figure)}</text>',
        ]
    return "\n".join([*lines, "</svg>"])


def readable(figure: float) -> str:
    """A figure with three digits that mean something."""
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.3g}"


def curves(title: str, note: str, series: Mapping[str, Sequence[tuple[str, float]]], *, log: bool) -> str:
    """A chart of figures over steps that have names, a line for each contender, the first of which is ours.

    On a logarithmic scale if `log`: latencies of one chart may differ by a thousand.
    """
    names = [name for name, _ in next(iter(series.values()))]
    scale = math.log10 if log else float
    values = [scale(max(one, 1e-6)) for line in series.values() for _, one in line]
    low, high = (min(values), max(values)) if log else (0.0, max(values))
    bottom = _TOP + _PLOT
    height = bottom + 30 + _STEP * len(series)
    lines = [
        *_opening(title, note, height),
        f'<path class="axis" d="M{_EDGE} {_TOP}V{bottom}H{_WIDTH - _EDGE}"/>',
    ]
    step = (_WIDTH - 2 * _EDGE) / max(1, len(names) - 1)
    for at, name in enumerate(names):
        x = _EDGE + at * step
        lines.append(
            f'<text class="small" x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{escape(name)}</text>'
        )
    for number, (name, line) in enumerate(series.items()):
        share = [(scale(max(one, 1e-6)) - low) / ((high - low) or 1.0) for _, one in line]
        points = " ".join(
            f"{_EDGE + at * step:.0f},{bottom - _PLOT * one:.1f}" for at, one in enumerate(share)
        )
        colour = _COLOURS[number % len(_COLOURS)]
        y = bottom + 40 + number * _STEP
        said = f"{name}: {readable(line[0][1])} to {readable(line[-1][1])}"
        lines += [
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{3 - bool(number)}"/>',
            f'<rect x="{_EDGE}" y="{y - 9}" width="14" height="4" fill="{colour}"/>',
            f'<text x="{_EDGE + 22}" y="{y - 2}">{escape(said)}</text>',
        ]
    return "\n".join([*lines, "</svg>"])


def _opening(title: str, note: str, height: int) -> list[str]:
    return [
        f'<svg xmlns="{_SVG}" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="0" y="18">{escape(title)}</text>',
        f'<text class="small" x="0" y="38">{escape(note)}</text>',
    ]
