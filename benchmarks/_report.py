"""The result of a row as a line of JSON, or of a table."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from benchmarks._measure import Comparison, Result
from benchmarks._rows import Row


def as_json(row: Row, result: Result | None) -> str:
    """Return a JSON object, with null for figures that were not measured."""
    baseline = result.baseline if result else None
    ratio = baseline.ratio if baseline else None
    outcome: dict[str, Any] = {
        "name": row.name,
        "ours": result.ours if result else None,
        "unit": row.unit.name,
        "baseline": baseline.figure if baseline else None,
        "ratio": ratio,
        "spread": (baseline.spread if baseline and ratio is not None else result.span) if result else None,
        "against": row.against or None,
        "goal": str(row.goal) if row.goal else None,
        "met": row.goal.is_met_by(goal_figure(row, result)) if row.goal else None,
        "peers": dict(result.peers) if result else {},
        "also": result.also if result else {},
    }
    # Six digits: a seventh is noise in any timed figure.
    rounded = json.loads(
        msgspec.json.encode(outcome), parse_float=lambda digits: float(f"{float(digits):.6g}")
    )
    return json.dumps(rounded)


def header(rows: Iterable[Row]) -> str:
    """Return the head of a table that is wide enough for these rows."""
    return _line(_width(rows), "", "ours", "", "baseline", "ratio", "spread", "")


def as_table(row: Row, result: Result | None, rows: Iterable[Row]) -> str:
    """Return the lines of a row: a line for the row, and a line for each peer and further figure."""
    width = _width(rows)
    if not result:
        return _line(width, row.name, "-", row.unit.name, "-", "-", "not measured", "")
    baseline = result.baseline
    spread = baseline.spread if baseline and baseline.spread else result.span
    lines = [
        _line(
            width,
            row.name,
            _figure(result.ours),
            row.unit.name,
            _figure(baseline.figure if baseline else None),
            _figure(baseline.ratio if baseline else None),
            _range(spread),
            _verdict(row, result),
        )
    ]
    lines += [_peer_line(width, name, standing, row) for name, standing in result.peers.items()]
    lines += [f"  {name}: {_listed(figures)}" for name, figures in result.also.items()]
    if row.against:
        lines.append(f"  baseline: {row.against}")
    return "\n".join(lines)


def _peer_line(width: int, name: str, standing: Comparison | None, row: Row) -> str:
    if standing is None:
        return _line(width, f"  {name}", "", row.unit.name, "-", "-", "not measured", "")
    spread = _range(standing.spread) if standing.spread else ""
    return _line(
        width,
        f"  {name}",
        "",
        row.unit.name,
        _figure(standing.figure),
        _figure(standing.ratio),
        spread,
        "",
    )


def goal_figure(row: Row, result: Result | None) -> float | None:
    """Return the figure that the goal of the row is about."""
    if not row.goal or not result:
        return None
    if row.goal.of == "ours":
        return result.ours
    standing = result.baseline if row.goal.of == "ratio" else result.peers.get(row.goal.of)
    return standing.ratio if standing else None


def _verdict(row: Row, result: Result) -> str:
    if not row.goal:
        return ""
    verdict = {True: "met", False: "MISSED", None: "not measured"}[
        row.goal.is_met_by(goal_figure(row, result))
    ]
    return f"goal {row.goal}: {verdict}"


def _width(rows: Iterable[Row]) -> int:
    return max([24, *(len(row.name) for row in rows)])


def _line(
    width: int, name: str, ours: str, unit: str, baseline: str, ratio: str, spread: str, verdict: str
) -> str:
    return f"{name:{width}} {ours:>12} {unit:10} {baseline:>12} {ratio:>8} {spread:>19}  {verdict}".rstrip()


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def _range(spread: tuple[float, float]) -> str:
    return f"{_figure(spread[0])} - {_figure(spread[1])}"


def _listed(figures: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {_figure(figure)}" for name, figure in figures.items())
