"""SVG pictures: bars with a line for each contender, kubeproto first; and curves of growth and of
latencies."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap
from typing import Final

_SVG: Final = "http://www.w3.org/2000/svg"
_WIDTH: Final = 720
_RIGHT: Final = 90  # width of the figures
_STEP: Final = 26
_PLOT: Final = 200  # height of the area of curves
_EDGE: Final = 60
# Maximum average width of a letter: SVG does not measure text.
_LETTER: Final = 7
_TITLE: Final = 84  # letters in a line
_NOTE: Final = 108
_COLOURS: Final = ("#1f6feb", "#cf222e", "#1a7f37", "#9a6700", "#8250df")

STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}"
    ".title{font-weight:600;font-size:15px}.small{fill:#57606a;font-size:12px}"
    ".ours{fill:#1f6feb}.other{fill:#afb8c1}.axis{fill:none;stroke:#8c959f}"
    ".grid{stroke:#8c959f;stroke-opacity:.3}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}"
    ".ours{fill:#4493f8}.other{fill:#656c76}}"
)


def bars(
    title: str, note: str, ours: Sequence[tuple[str, float]], others: Sequence[tuple[str, float]]
) -> str:
    """Return a chart of figures from zero, with kubeproto above the others."""
    figures = [*ours, *others]
    label_width = 16 + _LETTER * max(len(name) for name, _ in figures)
    longest = max(figure for _, figure in figures) or 1.0
    head, top = _head(title, note)
    lines = _opening(title, head, top + _STEP * len(figures) + 8)
    for number, (name, figure) in enumerate(figures):
        y = top + number * _STEP
        width = max(1.0, (_WIDTH - label_width - _RIGHT) * figure / longest)
        whose = "ours" if number < len(ours) else "other"
        lines += [
            f'<text x="{label_width - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>',
            f'<rect class="{whose}" x="{label_width}" y="{y}" width="{width:.1f}" height="18" rx="2"/>',
            f'<text class="small" x="{label_width + width + 6:.1f}" y="{y + 13}">{readable(figure)}</text>',
        ]
    return "\n".join([*lines, "</svg>"])


def readable(figure: float) -> str:
    """Return a figure with three significant digits."""
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.3g}"


def curves(title: str, note: str, series: Mapping[str, Sequence[tuple[str, float]]], *, log: bool) -> str:
    """Return a chart of figures over named steps, with a line for each contender, kubeproto first.

    The scale is logarithmic if `log`, because latencies in a chart may differ by a factor of a thousand.
    Otherwise it starts at zero.
    """
    names = [name for name, _ in next(iter(series.values()))]
    scale = math.log10 if log else float
    figures = [max(value, 1e-6) for line in series.values() for _, value in line]
    ticks = _powers(figures) if log else [0.0, max(figures) / 2, max(figures)]
    low, high = scale(ticks[0]), scale(ticks[-1])
    head, top = _head(title, note)
    bottom = top + _PLOT

    def height(figure: float) -> float:
        return bottom - _PLOT * (scale(figure) - low) / ((high - low) or 1.0)

    lines = _opening(title, head, bottom + 30 + _STEP * len(series))
    for tick in ticks:
        y = height(tick)
        lines += [
            f'<path class="grid" d="M{_EDGE} {y:.1f}H{_WIDTH - _EDGE}"/>',
            f'<text class="small" x="{_EDGE - 6}" y="{y + 4:.1f}" text-anchor="end">{readable(tick)}</text>',
        ]
    lines.append(f'<path class="axis" d="M{_EDGE} {top}V{bottom}H{_WIDTH - _EDGE}"/>')
    step = (_WIDTH - 2 * _EDGE) / max(1, len(names) - 1)
    for index, name in enumerate(names):
        x = _EDGE + index * step
        lines.append(
            f'<text class="small" x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{escape(name)}</text>'
        )
    for number, (name, line) in enumerate(series.items()):
        points = " ".join(
            f"{_EDGE + index * step:.0f},{height(max(value, 1e-6)):.1f}"
            for index, (_, value) in enumerate(line)
        )
        colour = _COLOURS[number % len(_COLOURS)]
        y = bottom + 40 + number * _STEP
        label = f"{name}: {readable(line[0][1])} to {readable(line[-1][1])}"
        lines += [
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{3 - bool(number)}"/>',
            f'<rect x="{_EDGE}" y="{y - 9}" width="14" height="4" fill="{colour}"/>',
            f'<text x="{_EDGE + 22}" y="{y - 2}">{escape(label)}</text>',
        ]
    return "\n".join([*lines, "</svg>"])


def _powers(figures: Sequence[float]) -> list[float]:
    """Return the powers of ten that enclose the figures."""
    least, most = int(math.log10(min(figures)) // 1), math.ceil(math.log10(max(figures)))
    return [10.0**power for power in range(least, max(most, least + 1) + 1)]


def _head(title: str, note: str) -> tuple[list[str], int]:
    """Return the lines of title and note, and the vertical position below them."""
    lines: list[str] = []
    y = 0
    for text, style, letters, step in ((title, "title", _TITLE, 20), (note, "small", _NOTE, 18)):
        for line in wrap(text, letters):
            y += step
            lines.append(f'<text class="{style}" x="0" y="{y}">{escape(line)}</text>')
    return lines, y + 20


def _opening(title: str, head: Sequence[str], height: int) -> list[str]:
    return [
        f'<svg xmlns="{_SVG}" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        *head,
    ]
