"""The debug page: a `DebugState` as an HTML document, which loads no other file and runs no script.

It reloads itself, and uses the colour scheme of the browser, light or dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from ._debug_plot import plot

if TYPE_CHECKING:
    from ._debug_state import CacheState, ControllerState, DebugState

_REFRESH: Final = 5  # seconds

_STYLE: Final = """
:root { color-scheme: light dark; --text: #1c2430; --dim: #5c6675; --line: #d9dee6; --back: #ffffff;
  --panel: #f5f7fa; --good: #1a7f4b; --bad: #c0392b; --first: #2f6fd0; --second: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e8ee; --dim: #9aa5b4; --line: #333c49;
  --back: #14181e; --panel: #1c222a; --good: #4cc38a; --bad: #ff7b6b; --first: #6ea8fe; --second: #ff7b6b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.25rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; align-items: baseline; }
h1 { font-size: 1.35rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: .95rem; margin: 1rem 0 .35rem; }
.dim { color: var(--dim); } .good { color: var(--good); } .bad { color: var(--bad); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .5rem;
  margin: .5rem 0; }
.facts div { background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
  padding: .45rem .6rem; }
.facts dt { color: var(--dim); font-size: .8rem; } .facts dd { margin: 0; font-size: 1.1rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; }
th { font-weight: 600; font-size: .8rem; color: var(--dim); }
th, td { text-align: left; padding: .4rem .65rem; border-bottom: 1px solid var(--line); vertical-align: top; }
tr:last-child td { border-bottom: 0; } td.number, th.number { text-align: right; white-space: nowrap; }
td, dd { font-variant-numeric: tabular-nums; } td.key { font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: .85rem; overflow-wrap: anywhere; min-width: 9rem; }
td.wide { min-width: 13rem; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; } svg text { fill: var(--dim); font-size: 11px; }
.legend { display: flex; flex-wrap: wrap; gap: 1rem; font-size: .85rem; } .legend i { display: inline-block;
  width: .8rem; height: .2rem; margin-right: .35rem; vertical-align: middle; }
a { color: var(--first); }
@media (max-width: 40rem) { svg text { font-size: 20px; } svg polyline { stroke-width: 3; } }
"""


def debug_page(state: DebugState) -> str:
    """Return the HTML of the page."""
    return "".join(
        (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="refresh" content="{_REFRESH}"><title>{escape(_title(state))}</title>',
            f"<style>{_STYLE}</style></head><body>",
            *_render_header(state),
            *(part for controller in state.controllers for part in _render_controller(controller)),
            *_render_caches(state.caches),
            "</body></html>",
        )
    )


def _title(state: DebugState) -> str:
    return ", ".join(controller.name for controller in state.controllers) or "an operator without controllers"


def _render_header(state: DebugState) -> Iterable[str]:
    yield f"<header><h1>{escape(_title(state))}</h1>"
    yield f'<span class="dim">{escape(state.program)}, up {_format_duration(state.uptime)}</span>'
    if state.election:
        leader = "leads" if state.leads else f"follows {state.leader or 'nobody'}"
        colour = "good" if state.leads else "dim"
        yield f'<span class="{colour}">{escape(state.election)}: {escape(leader)}</span>'
    yield '<a href="/debug.json">JSON</a></header>'
    yield "<h2>The last minutes</h2>"
    yield plot(state.history)


def _render_controller(controller: ControllerState) -> Iterable[str]:
    waiting = "" if controller.synced else ' <span class="bad">waits for its caches</span>'
    yield f"<h2>Controller {escape(controller.name)}{waiting}</h2>"
    yield f'<p class="dim">{escape(controller.resource)}</p><dl class="facts">'
    figures = {
        "due": f"{controller.due:,}",
        "oldest due for": _format_short(controller.oldest),
        "delayed": f"{controller.delayed:,}",
        "running": f"{controller.running} of {controller.concurrency}",
        "longest run now": _format_short(controller.longest_run),
        "reconciled": f"{controller.reconciled:,}",
        "failed": f"{controller.failed:,}",
        "conflicts": f"{controller.conflicts:,}",
    }
    yield from (f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in figures.items())
    yield "</dl>"
    yield from _render_failing_keys(controller)
    if controller.slowest:
        yield "<h3>Slowest reconciles</h3>"
        rows = [
            (run.key, _format_short(run.seconds), f"{_format_duration(run.seconds_ago)} ago")
            for run in controller.slowest
        ]
        yield from _render_table(("key", "#took", "#ended"), rows)


def _render_failing_keys(controller: ControllerState) -> Iterable[str]:
    if not controller.failing:
        return
    more = f" and {controller.failing_more:,} more" if controller.failing_more else ""
    yield f"<h3>Keys that fail <span class='dim'>{len(controller.failing)}{more}</span></h3>"
    rows = [
        (
            key.key,
            key.error,
            str(key.attempt),
            f"{_format_duration(key.seconds_ago)} ago",
            "waits for a change" if key.retried_in is None else f"in {_format_duration(key.retried_in)}",
        )
        for key in controller.failing
    ]
    yield from _render_table(("key", "*last error", "#attempt", "#failed", "#retried"), rows)


def _render_caches(caches: Sequence[CacheState]) -> Iterable[str]:
    yield "<h2>Caches and their watches</h2>"
    if not caches:
        yield '<p class="dim">none</p>'
        return
    rows = [
        (
            cache.name,
            cache.state,
            "in sync" if cache.live else cache.reason,
            f"{cache.objects:,}" if cache.synced else "not synced",
            _format_size(cache.size),
            cache.version or "none",
            "never" if cache.silent is None else f"{_format_duration(cache.silent)} ago",
            str(cache.failures),
        )
        for cache in caches
    ]
    headings = ("kind", "state", "*sync status", "#objects", "#size", "#version", "#last byte", "#failures")
    yield from _render_table(headings, rows)


def _render_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """Yield a table. A # begins the heading of a column of numbers, a * that of a column of sentences.

    The first column has keys.
    """
    classes = ["key", *({"#": "number", "*": "wide"}.get(heading[:1], "") for heading in headings[1:])]
    yield '<div class="scroll"><table><thead><tr>'
    for name, heading in zip(classes, headings, strict=True):
        yield f'<th class="{name}">{escape(heading.lstrip("#*"))}</th>'
    yield "</tr></thead><tbody>"
    for row in rows:
        yield "<tr>"
        for name, cell in zip(classes, row, strict=True):
            yield f'<td class="{name}">{escape(cell)}</td>'
        yield "</tr>"
    yield "</tbody></table></div>"


def _format_short(seconds: float) -> str:
    """Format a duration that is usually below a second."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else _format_duration(seconds)


def _format_duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds_left = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds_left} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} days"


def _format_size(size: int) -> str:
    for unit, unit_size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= unit_size:
            return f"{size / unit_size:.1f} {unit}"
    return f"{size} B"
