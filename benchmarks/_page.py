"""The report of a run: Markdown, a page of HTML that needs nothing else, and the pictures of the README."""

from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Final

from benchmarks._charts import bars, curves, readable
from benchmarks._measure import Standing
from benchmarks._results import Outcome, Run
from benchmarks._rows import GROWTH, LATENCY

GROUPS: Final = {
    "cache": "Caches",
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
# What the README shows.
PICTURES: Final = {"decode": "decode.pods.metadata", "controller": "controller.throughput"}
_STYLE: Final = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:760px;margin:2rem auto;"
    "padding:0 1rem}svg{width:100%;height:auto;margin:1rem 0}table{border-collapse:collapse;width:100%;"
    "font-size:13px;display:block;overflow-x:auto}td,th{padding:.25rem .6rem;text-align:left;"
    "border-bottom:1px solid #8884}td.n{text-align:right;font-variant-numeric:tabular-nums}"
)


def write_report(run: Run, into: Path) -> list[Path]:
    """Write all of it; the files."""
    into.mkdir(parents=True, exist_ok=True)
    files = {"README.md": markdown(run), "index.html": page(run)}
    files |= {f"{name}.svg": chart(row) + "\n" for name, row in pictured(run).items()}
    for name, text in files.items():
        (into / name).write_text(text)
    return [into / name for name in files]


def pictured(run: Run) -> dict[str, Outcome]:
    """The rows that get a picture of their own, as far as they were measured."""
    rows = {row.name: row for row in run.rows}
    return {name: rows[row] for name, row in PICTURES.items() if row in rows}


def contenders(row: Outcome) -> list[tuple[str, Standing | None]]:
    """The others in a row, whether they were measured or not."""
    baseline = [(row.against or "baseline", row.baseline)] if row.baseline else []
    return [*baseline, *row.peers.items()]


def chart(row: Outcome) -> str:
    """The bars of a row."""
    figures = [(name, other.figure) for name, other in contenders(row) if other]
    better = "more" if row.more_is_better else "less"
    return bars(row.says, f"{row.unit}, {better} is better", [("kubeproto", row.ours), *figures])


def markdown(run: Run) -> str:
    """A table for each group."""
    lines = ["# Benchmarks", "", *_introduction(run), ""]
    for group, rows in groups(run):
        lines += [
            f"## {group}",
            "",
            "| row | ours | beside | theirs | times better | from, to |",
            "|---|---|---|---|---|---|",
        ]
        for row in rows:
            name = f"`{row.name}` {row.says}"
            ours = f"{readable(row.ours)} {row.unit}{share(run, row)}"
            for cells in _others(row) or [("", "", "", "")]:
                lines.append("| " + " | ".join((name, ours, *cells)) + " |")
                name = ours = ""
        lines += ["", *(f"- `{row.name}`: {line}" for row in rows for line in further(row)), ""]
    for name, row in pictured(run).items():
        lines += [f"![{row.says}]({name}.svg)", ""]
    return "\n".join(lines)


def page(run: Run) -> str:
    """One self-contained page: a chart and a table for each row."""
    body = ["<h1>Benchmarks</h1>", *(f"<p>{escape(line)}</p>" for line in _introduction(run) if line)]
    for group, rows in groups(run):
        body.append(f"<h2>{escape(group)}</h2>")
        for row in rows:
            body += [f'<h3 id="{row.name}">{escape(row.name)}</h3>', chart(row), *drawn(row), _table(row)]
            body += [
                f"<p>{escape(line)}</p>" for line in (share(run, row).strip(" ()"), *further(row)) if line
            ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>kubeproto: benchmarks</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def share(run: Run, row: Outcome) -> str:
    """How much of what the machine can do is reached, if that was measured in the same run."""
    limits = [one.ours for one in run.rows if one.name == row.limit and row.more_is_better]
    return f" ({100 * row.ours / limits[0]:.0f} % of `{row.limit}`)" if limits and limits[0] else ""


def drawn(row: Outcome) -> list[str]:
    """The curves of a row: latencies by their share, and growth by the number of objects."""
    found: list[str] = []
    spread: dict[str, list[tuple[str, float]]] = {}
    for name, figures in row.also.items():
        if name.startswith(LATENCY):
            for who, figure in figures.items():
                if figure is not None:
                    spread.setdefault(who, []).append((name.removeprefix(LATENCY).strip(), figure))
        if name.startswith(GROWTH):
            line = [(f"{int(count):,}", figure) for count, figure in figures.items() if figure is not None]
            found.append(curves(row.says, name.removeprefix(GROWTH).strip(), {"kubeproto": line}, log=False))
    if spread:
        found.append(curves(row.says, "ms, of so many, on a logarithmic scale", spread, log=True))
    return found


def further(row: Outcome) -> list[str]:
    """What else came out, a line each; what is drawn is left out."""
    return [
        f"{name}: {', '.join(f'{who} {readable(one)}' for who, one in figures.items() if one is not None)}"
        for name, figures in row.also.items()
        if not name.startswith((LATENCY, GROWTH))
    ]


def groups(run: Run) -> Iterator[tuple[str, list[Outcome]]]:
    """The rows of each group, under its title."""
    for group, rows in groupby(sorted(run.rows, key=lambda row: row.name), key=lambda row: row.group):
        yield GROUPS.get(group, group), list(rows)


def _introduction(run: Run) -> list[str]:
    machine = ", ".join(f"{name} {value}" for name, value in run.machine.items())
    versions = ", ".join(f"{name} {value}" for name, value in run.versions.items())
    quick = " Less data than in a full run." if run.quick else ""
    return [
        f"Measured {run.began}.{quick} Medians of interleaved rounds; times better above 1 is a win of ours.",
        f"The machine: {machine}.",
        f"Versions: {versions}.",
    ]


def _others(row: Outcome) -> list[tuple[str, str, str, str]]:
    found: list[tuple[str, str, str, str]] = []
    for name, other in contenders(row):
        if other is None:
            found.append((name, "not measured", "", ""))
            continue
        ratio = readable(other.ratio) if other.ratio is not None else ""
        spread = f"{readable(other.spread[0])} to {readable(other.spread[1])}" if other.spread else ""
        found.append((name, readable(other.figure), ratio, spread))
    return found


def _table(row: Outcome) -> str:
    head = "<tr><th>beside</th><th>theirs</th><th>times better</th><th>from, to</th></tr>"
    cells = "".join(
        "<tr>"
        + "".join(f'<td class="{"n" if at else ""}">{escape(cell)}</td>' for at, cell in enumerate(line))
        + "</tr>"
        for line in _others(row)
    )
    verdict = {True: "met", False: "missed", None: "not measured"}[row.met]
    goal = f"<p>Goal: {escape(row.goal)}; {verdict}.</p>" if row.goal else ""
    return (f"<table>{head}{cells}</table>" if cells else "") + goal
