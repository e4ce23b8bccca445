"""What a terminal shows after some output: as much of a VT100 as programs here use."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b[78=>]")
_UNFINISHED: Final = re.compile(r"\x1b(\[[?\d;]*)?$")


class Screen:
    """Lines of characters and a cursor. What it does not know is an error: a test is to notice."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.row = self.column = 0
        self.scrolled: list[str] = []  # lines that have left at the top
        self._cells: list[list[str]] = [[" "] * columns for _ in range(rows)]
        self._rest = ""
        self._first = (self._cells, 0, 0)

    @property
    def lines(self) -> list[str]:
        """What can be seen, without blanks at the ends, and without empty lines at the bottom."""
        shown = ["".join(row).rstrip() for row in self._cells]
        while shown and not shown[-1]:
            shown.pop()
        return shown

    @property
    def text(self) -> str:
        """The same as one text."""
        return "\n".join(self.lines)

    def resize(self, rows: int, columns: int) -> None:
        """Take another size: lines are cut and not wrapped again, and the cursor's line stays in sight."""
        above = max(0, self.row - rows + 1)
        kept = self._cells[above : above + rows]
        self.scrolled += ["".join(row).rstrip() for row in self._cells[:above]]
        self._cells = [(row + [" "] * columns)[:columns] for row in kept]
        self._cells += [[" "] * columns for _ in range(rows - len(kept))]
        self.rows, self.columns = rows, columns
        self.row, self.column = self.row - above, min(self.column, columns - 1)

    def feed(self, output: str) -> None:
        """Take what a program has written; a sequence may be cut anywhere."""
        output = self._rest + output
        cut = _UNFINISHED.search(output)
        self._rest = output[cut.start() :] if cut else ""
        output = output[: cut.start()] if cut else output
        at = 0
        while at < len(output):
            control = _CONTROL.match(output, at)
            if control is None:
                self._put(output[at])
                at += 1
            else:
                if control[2]:
                    self._obey(control[1], control[2])
                at = control.end()

    def _put(self, character: str) -> None:
        match character:
            case "\n":
                self._down()
            case "\r":
                self.column = 0
            case "\b":
                self.column = max(0, self.column - 1)
            case "\a":
                pass
            case _ if character.isprintable():
                if self.column == self.columns:  # a terminal wraps when the next character comes
                    self.column = 0
                    self._down()
                self._cells[self.row][self.column] = character
                self.column += 1
            case _:
                raise AssertionError(f"a terminal was sent {character!r}")

    def _down(self) -> None:
        if self.row < self.rows - 1:
            self.row += 1
            return
        self.scrolled.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append([" "] * self.columns)

    def _obey(self, given: str, what: str) -> None:
        numbers = [int(word) if word.isdigit() else 0 for word in given.split(";")]
        count = max(1, numbers[0])
        match what:
            case "h" | "l" if given == "?1049":
                self._switch(second=what == "h")
            case "m" | "h" | "l":
                pass
            case "A":
                self.row = max(0, self.row - count)
            case "B":
                self.row = min(self.rows - 1, self.row + count)
            case "C":
                self.column = min(self.columns - 1, self.column + count)
            case "D":
                self.column = max(0, self.column - count)
            case "G":
                self.column = count - 1
            case "H":
                self.row, self.column = count - 1, max(1, numbers[-1] if len(numbers) > 1 else 1) - 1
            case "J" if numbers[0] == 2:
                self._cells = [[" "] * self.columns for _ in range(self.rows)]
            case "J" if numbers[0] == 0:
                self._clear_line()
                self._cells[self.row + 1 :] = [[" "] * self.columns for _ in range(self.rows - self.row - 1)]
            case "K" if numbers[0] == 0:
                self._clear_line()
            case _:
                raise AssertionError(f"a terminal was sent ESC [ {given} {what}")

    def _switch(self, *, second: bool) -> None:
        """Show the second screen, which begins empty, or the first one as it was left."""
        if second:
            self._first = (self._cells, self.row, self.column)
            self._cells = [[" "] * self.columns for _ in range(self.rows)]
        else:
            cells, self.row, self.column = self._first
            self._cells = [[" "] * self.columns for _ in range(self.rows)]
            for row, kept in enumerate(cells[: self.rows]):
                self._cells[row] = (kept + [" "] * self.columns)[: self.columns]

    def _clear_line(self) -> None:
        self._cells[self.row][self.column :] = [" "] * (self.columns - self.column)
