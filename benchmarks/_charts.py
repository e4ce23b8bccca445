"""Bars as SVG: one contender a line, ours first, with its figure at the end of the bar."""

from collections.abc import Sequence
from html import escape
from typing import Final

_SVG: Final = "http://www.w3.org/2000/svg"
_WIDTH: Final = 720
_LEFT: Final = 190  # what the names take
_RIGHT: Final = 110  # what the figures take
_STEP: Final = 26
_TOP: Final = 58

STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}"
    ".title{font-weight:600;font-size:15px}.small{fill:#57606a;font-size:12px}"
    ".ours{fill:#1f6feb}.other{fill:#afb8c1}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}"
    ".ours{fill:#4493f8}.other{fill:#656c76}}"
)


def bars(title: str, note: str, figures: Sequence[tuple[str, float]]) -> str:
    """A chart of figures, the first of which is ours."""
    height = _TOP + _STEP * len(figures) + 8
    longest = max(figure for _, figure in figures) or 1.0
    lines = [
        f'<svg xmlns="{_SVG}" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        f'<text class="title" x="0" y="18">{escape(title)}</text>',
        f'<text class="small" x="0" y="38">{escape(note)}</text>',
    ]
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
