"""The report of a run: Markdown, a self-contained page of HTML, and the pictures of the README."""

from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final

from benchmarks._charts import bars, curves, readable
from benchmarks._pictures import draw_pictures
from benchmarks._results import Outcome, Run
from benchmarks._rows import GROWTH, LATENCY
from benchmarks._verdicts import contenders, missed_goals, worse_rows

GROUPS: Final = {
    "cache": "Caches",
    "cli": "The command line",
    "controller": "Controllers",
    "decode": "Decoding",
    "import": "Import",
    "install": "Installation",
    "kinds": "Built-in kinds",
    "limits": "Limits of the machine",
    "list": "Long lists",
    "live": "Live watches over a socket",
    "serve": "The served simulator",
    "sim": "The simulator in process",
    "verbs": "Verbs",
}
_STYLE: Final = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;"
    "padding:0 1rem}svg{width:100%;height:auto;margin:1rem 0}table{border-collapse:collapse;width:100%;"
    "font-size:13px;display:block;overflow-x:auto}td,th{padding:.25rem .6rem;text-align:left;"
    "border-bottom:1px solid #8884}td.n{text-align:right;font-variant-numeric:tabular-nums}"
)


def write_report(run: Run, into: Path) -> list[Path]:
    """Write the report, and return its files."""
    into.mkdir(parents=True, exist_ok=True)
    files = {"README.md": markdown(run), "index.html": page(run)}
    files |= {f"{name}.svg": picture + "\n" for name, (picture, _) in draw_pictures(run).items()}
    for name, text in files.items():
        (into / name).write_text(text)
    return [into / name for name in files]


def chart(row: Outcome) -> list[str]:
    """Return the bars of a row with several contenders."""
    figures = [(name, other.figure) for name, other in contenders(row) if other]
    if not figures:
        return []
    better = "more" if row.more_is_better else "less"
    return [bars(row.summary, f"{row.unit}, {better} is better", [("kubeproto", row.ours)], figures)]


def markdown(run: Run) -> str:
    """Return the report in Markdown: a table for each group."""
    lines = ["# Benchmarks", "", *_introduction(run), ""]
    for name, (_, summary) in draw_pictures(run).items():
        lines += [f"![{summary}]({name}.svg)", ""]
    for title, items in verdicts(run):
        lines += [f"## {title}", "", *(f"- {line}" for line in items), ""]
    for group, rows in groups(run):
        lines += [
            f"## {group}",
            "",
            "| row | ours | beside | theirs | times better | from, to | measured |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in rows:
            name = f"`{row.name}` {row.summary}"
            ours = f"{readable(row.ours)} {row.unit}{share(run, row)}"
            measured = row.measured
            for cells in _others(row) or [("", "", "", "")]:
                lines.append("| " + " | ".join((name, ours, *cells, measured)) + " |")
                name = ours = measured = ""
        lines += ["", *(f"- `{row.name}`: {line}" for row in rows for line in further_figures(row)), ""]
    return "\n".join(lines)


def page(run: Run) -> str:
    """Return the report as a self-contained page: a chart and a table for each row."""
    body = ["<h1>Benchmarks</h1>", *(f"<p>{escape(line)}</p>" for line in _introduction(run) if line)]
    body += [picture for picture, _ in draw_pictures(run).values()]
    for title, items in verdicts(run):
        listed = "".join(f"<li>{escape(line.replace('`', ''))}</li>" for line in items)
        body.append(f"<h2>{escape(title)}</h2><ul>{listed}</ul>")
    for group, rows in groups(run):
        body.append(f"<h2>{escape(group)}</h2>")
        for row in rows:
            body += [
                f'<h3 id="{row.name}">{escape(row.name)}</h3>',
                *chart(row),
                *draw_curves(row),
                _table(row),
            ]
            body += [
                f"<p>{escape(line)}</p>"
                for line in (share(run, row).strip(" ()"), *further_figures(row))
                if line
            ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>kubeproto: benchmarks</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def verdicts(run: Run) -> list[tuple[str, list[str]]]:
    """Yield the summaries that precede all figures: rows in which others are better, and missed goals."""
    verdicts_by_title = (
        ("Where others are better (1 would be as good)", worse_rows(run)),
        ("Goals that were missed", missed_goals(run)),
    )
    return [(title, lines) for title, lines in verdicts_by_title if lines]


def share(run: Run, row: Outcome) -> str:
    """Return the share of the machine's maximum that a row reaches, if both were measured in the run."""
    limits = [limit_row.ours for limit_row in run.rows if limit_row.name == row.limit and row.more_is_better]
    return f" ({100 * row.ours / limits[0]:.0f} % of `{row.limit}`)" if limits and limits[0] else ""


def draw_curves(row: Outcome) -> list[str]:
    """Return the curves of a row: latencies by their share, and growth by the number of objects."""
    pictures: list[str] = []
    spread: dict[str, list[tuple[str, float]]] = {}
    for name, figures in row.also.items():
        if name.startswith(LATENCY):
            for contender, figure in figures.items():
                if figure is not None:
                    spread.setdefault(contender, []).append((name.removeprefix(LATENCY).strip(), figure))
        if name.startswith(GROWTH):
            line = [(f"{int(count):,}", figure) for count, figure in figures.items() if figure is not None]
            pictures.append(
                curves(row.summary, name.removeprefix(GROWTH).strip(), {"kubeproto": line}, log=False)
            )
    if spread:
        pictures.append(curves(row.summary, "ms, of so many, on a logarithmic scale", spread, log=True))
    return pictures


def further_figures(row: Outcome) -> list[str]:
    """Return a line for each additional figure that is not drawn."""
    return [
        f"{name}: "
        + ", ".join(f"{who} {readable(value)}" for who, value in figures.items() if value is not None)
        for name, figures in row.also.items()
        if not name.startswith((LATENCY, GROWTH))
    ]


def groups(run: Run) -> Iterator[tuple[str, list[Outcome]]]:
    """Yield the rows of each group with its title."""
    for group, rows in groupby(sorted(run.rows, key=lambda row: row.name), key=lambda row: row.group):
        yield GROUPS.get(group, group), list(rows)


def _introduction(run: Run) -> list[str]:
    machine = ", ".join(f"{name} {value}" for name, value in run.machine.items())
    versions = ", ".join(f"{name} {value}" for name, value in run.versions.items())
    quick = " Less data than in a full run." if run.quick else ""
    times = sorted({run.started, *(row.measured for row in run.rows if row.measured)})
    when = " to ".join(dict.fromkeys((times[0], times[-1])))
    return [
        f"Measured {when}.{quick} Medians of interleaved rounds; times better above 1 is a win of ours.",
        f"The machine: {machine}.",
        f"Versions: {versions}.",
    ]


def _others(row: Outcome) -> list[tuple[str, str, str, str]]:
    cells: list[tuple[str, str, str, str]] = []
    for name, other in contenders(row):
        if other is None:
            cells.append((name, "not measured", "", ""))
            continue
        ratio = readable(other.ratio) if other.ratio is not None else ""
        spread = f"{readable(other.spread[0])} to {readable(other.spread[1])}" if other.spread else ""
        cells.append((name, readable(other.figure), ratio, spread))
    return cells


def _table(row: Outcome) -> str:
    head = "<tr><th>beside</th><th>theirs</th><th>times better</th><th>from, to</th></tr>"
    cells = "".join(
        "<tr>"
        + "".join(
            f'<td class="{"n" if column else ""}">{escape(cell)}</td>' for column, cell in enumerate(line)
        )
        + "</tr>"
        for line in _others(row)
    )
    verdict = {True: "met", False: "missed", None: "not measured"}[row.met]
    goal = f" Goal: {escape(row.goal)}; {verdict}." if row.goal else ""
    summary = f"<p>{escape(row.summary)}: <strong>{readable(row.ours)} {escape(row.unit)}</strong>.{goal}"
    when = f" Measured {escape(row.measured)}." if row.measured else ""
    return f"{summary}{when}</p>" + (f"<table>{head}{cells}</table>" if cells else "")
