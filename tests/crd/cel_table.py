"""The table of docs/cel.md: the outcome of each rule here and on a real server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

VERDICTS: Final = Path(__file__).parent / "cel_verdicts.json"
DOCS: Final = Path(__file__).parent.parent.parent / "docs" / "cel.md"
HEAD: Final = "| Topic | Rule | Here | On a server |\n|---|---|---|---|\n"


def key(row: Any) -> str:
    """Return the identity of a row: its rule, schema and value."""
    value = row[3]
    json_value = [value.value, value.old] if hasattr(value, "old") else value
    return f"{row[2]} over {json.dumps(row[1], sort_keys=True)}: {json.dumps(json_value, sort_keys=True)}"


def verdicts() -> dict[str, str]:
    """Return the outcome of each row on the server."""
    recorded: dict[str, str] = json.loads(VERDICTS.read_text())
    return recorded


def lines(rows: list[Any]) -> str:
    """Return the lines of the table."""
    server_verdicts = verdicts()
    table = HEAD
    for row in rows:
        topic, _, rule, _, end = row
        here = end if end in ("passed", "failed") else f"not evaluated: {end}"
        escaped = rule.replace("|", "\\|")
        table += f"| {topic} | `{escaped}` | {here} | {server_verdicts[key(row)]} |\n"
    return table


def write(rows: list[Any]) -> None:
    """Replace the table at the end of the page."""
    introduction = DOCS.read_text().partition("| Topic |")[0]
    DOCS.write_text(introduction + lines(rows))
