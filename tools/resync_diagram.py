"""Draws the resync machine from the arrows in its docstring, which a test compares with its transition table.

`make pages` writes docs/explanation/resync.svg.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Final

TARGET: Final = Path(__file__).parents[1] / "docs" / "explanation" / "resync.svg"
ARROW: Final = re.compile(r"^ +(\w+) ─+ (\w+) ─+► (\w+(?:, \w+)*)$", re.MULTILINE)

# Each state goes to Idle when it is paused, to Ended when it is stopped, and stays or lists again when it is
# refreshed: the caption describes these arrows.
UNDRAWN_EVENTS: Final = frozenset(("Paused", "Stopped", "Refreshed"))
POSITIONS: Final = {
    "Idle": (80, 200),
    "Asking": (300, 70),
    "Streaming": (560, 70),
    "Lagging": (820, 70),
    "Listing": (300, 330),
    "Opening": (560, 330),
    "Watching": (820, 330),
    "Ended": (690, 460),
}
WIDTH, HEIGHT = 110, 40
_BEND: Final = 26  # distance between two arrows of the same states
_STYLE: Final = (
    "rect{fill:#eef3fb;stroke:#33558b;stroke-width:1.5}path{fill:none;stroke:#555;stroke-width:1.2}"
    "text{font:14px sans-serif;text-anchor:middle;fill:#111}.event{font-size:11px;fill:#33558b;"
    "paint-order:stroke;stroke:#fff;stroke-width:4px}svg{background:#fff}"
)

_TIP: Final = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" style="fill:#555;stroke:none"/></marker>'
)


def edges(doc: str) -> dict[tuple[str, str], list[str]]:
    """Return the events that lead from each state to the next, in the order of the docstring."""
    events_of: dict[tuple[str, str], list[str]] = {}
    for state, event, states in ARROW.findall(doc):
        for next_state in states.split(", "):
            if event not in UNDRAWN_EVENTS:
                events_of.setdefault((state, next_state), []).append(event)
    return events_of


def svg(doc: str) -> str:
    """Return the diagram."""
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 940 510" role="img">',
        "<title>The states of the resync machine, and the events that lead from one to another</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_TIP}</defs>",
    ]
    for (state, next_state), events in edges(doc).items():
        lines += _loop(state, events) if state == next_state else _arrow(state, next_state, events)
    for state, (x, y) in POSITIONS.items():
        box = f'x="{x - WIDTH // 2}" y="{y - HEIGHT // 2}" width="{WIDTH}" height="{HEIGHT}" rx="8"'
        lines += (f"<rect {box}/>", f'<text x="{x}" y="{y + 5}">{state}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _arrow(state: str, next_state: str, events: list[str]) -> tuple[str, str]:
    (x1, y1), (x2, y2) = POSITIONS[state], POSITIONS[next_state]
    distance = math.hypot(x2 - x1, y2 - y1)
    across, along = (y2 - y1) / distance, (x2 - x1) / distance
    bend = _BEND * (1.0 + distance / 400)
    middle = (x1 + x2) / 2 - across * -bend, (y1 + y2) / 2 - along * bend
    start, end = _edge_point((x1, y1), middle), _edge_point((x2, y2), middle)
    top = tuple(
        (first + second) / 4 + curved / 2 for first, second, curved in zip(start, end, middle, strict=True)
    )
    path = f'd="M{_format_point(start)} Q{_format_point(middle)} {_format_point(end)}" marker-end="url(#tip)"'
    return f"<path {path}/>", _label(top, events)


def _loop(state: str, events: list[str]) -> tuple[str, ...]:
    x, y = POSITIONS[state]
    up = -1 if y < 200 else 1
    base, top = y + up * HEIGHT / 2, y + up * (HEIGHT / 2 + 34)
    path = f'd="M{x - 16} {base} C{x - 30} {top} {x + 30} {top} {x + 16} {base}" marker-end="url(#tip)"'
    return f"<path {path}/>", _label((x, top + (0 if up < 0 else 4)), events)


def _edge_point(center: tuple[float, float], towards: tuple[float, float]) -> tuple[float, float]:
    """Return the point at which a line from the center of a box crosses its edge."""
    dx, dy = towards[0] - center[0], towards[1] - center[1]
    share = min(WIDTH / 2 / abs(dx) if dx else math.inf, HEIGHT / 2 / abs(dy) if dy else math.inf)
    return center[0] + dx * share, center[1] + dy * share


def _label(point: tuple[float, ...], events: list[str]) -> str:
    return f'<text class="event" x="{point[0]:.0f}" y="{point[1] + 4:.0f}">{", ".join(events)}</text>'


def _format_point(point: tuple[float, float]) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"
