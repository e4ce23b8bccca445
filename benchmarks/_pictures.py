"""The pictures of the README: decoded pods and reconciles in a second, by client."""

from typing import Final

from benchmarks._charts import bars
from benchmarks._results import Outcome, Run

# The bars of kubeproto, and the rows that measured them. The other bars are those of the last of these rows.
_DECODE: Final = {
    "metadata alone": "decode.pods.metadata",
    "typed when used": "decode.pods.view",
    "every field typed": "decode.pods.typed",
}
_CONTROLLER: Final = "controller.throughput"
# The results of clients that do not type every field.
_MAKES: Final = {
    "json.loads a line": "json.loads (dicts)",
    "kr8s": "kr8s (dicts)",
    "pykube_ng": "pykube-ng (dicts)",
    "kubesdk": "kubesdk (types what is read)",
}


def draw_pictures(run: Run) -> dict[str, tuple[str, str]]:
    """Return the pictures by name, each with its caption, if their rows were measured."""
    rows = {row.name: row for row in run.rows}
    pictures: dict[str, tuple[str, str]] = {}
    if all(name in rows for name in _DECODE.values()):
        pictures["decode"] = _decode({depth: rows[name] for depth, name in _DECODE.items()})
    if _CONTROLLER in rows:
        pictures["controller"] = _controller(rows[_CONTROLLER])
    return pictures


def _decode(rows: dict[str, Outcome]) -> tuple[str, str]:
    typed = rows["every field typed"]
    title = "Pods of a watch, 5.8 KB each, decoded in a second"
    note = "objects a second on one core, more is better; others type every field where nothing else is said"
    ours = [(f"kubeproto, {depth}", row.ours) for depth, row in rows.items()]
    return bars(title, note, ours, _others(typed)), title


def _controller(row: Outcome) -> tuple[str, str]:
    title = "Empty reconciles of 19,000 custom resources, from the socket on"
    note = "reconciles a second, more is better"
    return bars(title, note, [("kubeproto", row.ours)], _others(row)), title


def _others(row: Outcome) -> list[tuple[str, float]]:
    """Return the other contenders of a row, the fastest first."""
    standings = {row.against: row.baseline, **row.peers}
    bars_of_others = [
        (_MAKES.get(name, name), standing.figure) for name, standing in standings.items() if standing
    ]
    return sorted(bars_of_others, key=lambda pair: pair[1], reverse=row.more_is_better)
