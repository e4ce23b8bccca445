"""The tables of states and actions of the resync machine name those that it has."""

from __future__ import annotations

import re
from typing import get_args

from pages_shown import ROOT

from kubeproto.watching import resync


def first_cells(page: str, head: str) -> list[str]:
    """The first column of the table that begins with this cell."""
    [table] = re.findall(rf"^\| {head} \|.*\n\|[-|]+\n((?:\|.*\n)+)", (ROOT / page).read_text(), re.MULTILINE)
    return [line.split("|")[1] for line in table.splitlines()]


def test_the_table_for_drivers_has_each_action() -> None:
    named = [
        name
        for cell in first_cells("docs/guides/machines.md", "action")
        for name in re.findall(r"`(\w+)`", cell)
    ]
    assert sorted(named) == sorted(action.__name__ for action in get_args(resync.Action))


def test_the_table_of_states_has_each_state() -> None:
    named = [cell.strip() for cell in first_cells("docs/explanation/resync.md", "state")]
    assert sorted(named) == sorted(state.__name__ for state in get_args(resync.State))
