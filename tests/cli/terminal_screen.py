"""An emulated screen: the part of a VT100 that the commands use."""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b[78=>]")
_UNFINISHED: Final = re.compile(r"\x1b(\[[?\d;]*)?$")


class Screen:
    """Lines of characters and a cursor. An unknown control sequence raises `AssertionError`."""

    def __init__(self, rows: int, columns: int) -> None:
        self.rows, self.columns = rows, columns
        self.row = self.column = 0
        self.scrolled: list[str] = []  # lines that scrolled out at the top
        self._cells: list[list[str]] = [[" "] * columns for _ in range(rows)]
        self._unprocessed = ""
        self._main_screen = (self._cells, 0, 0)

    @property
    def lines(self) -> list[str]:
        """The visible lines without trailing spaces, and without empty lines at the bottom."""
        visible_lines = ["".join(row).rstrip() for row in self._cells]
        while visible_lines and not visible_lines[-1]:
            visible_lines.pop()
        return visible_lines

    @property
    def text(self) -> str:
        """The visible lines, joined."""
        return "\n".join(self.lines)

    def resize(self, rows: int, columns: int) -> None:
        """Change the size: truncate lines instead of wrapping them, and keep the cursor's line visible."""
        scrolled_count = max(0, self.row - rows + 1)
        visible_rows = self._cells[scrolled_count : scrolled_count + rows]
        self.scrolled += ["".join(row).rstrip() for row in self._cells[:scrolled_count]]
        self._cells = [(row + [" "] * columns)[:columns] for row in visible_rows]
        self._cells += [[" "] * columns for _ in range(rows - len(visible_rows))]
        self.rows, self.columns = rows, columns
        self.row, self.column = self.row - scrolled_count, min(self.column, columns - 1)

    def feed(self, output: str) -> None:
        """Process the output of a program, which may end in the middle of a control sequence."""
        output = self._unprocessed + output
        unfinished = _UNFINISHED.search(output)
        self._unprocessed = output[unfinished.start() :] if unfinished else ""
        output = output[: unfinished.start()] if unfinished else output
        index = 0
        while index < len(output):
            control = _CONTROL.match(output, index)
            if control is None:
                self._process_character(output[index])
                index += 1
            else:
                if control[2]:
                    self._execute(control[1], control[2])
                index = control.end()

    def _process_character(self, character: str) -> None:
        match character:
            case "\n":
                self._move_down()
            case "\r":
                self.column = 0
            case "\b":
                self.column = max(0, self.column - 1)
            case "\a":
                pass
            case _ if character.isprintable():
                if self.column == self.columns:  # a terminal wraps only when the next character arrives
                    self.column = 0
                    self._move_down()
                self._cells[self.row][self.column] = character
                self.column += 1
            case _:
                raise AssertionError(f"the screen received the unknown character {character!r}")

    def _move_down(self) -> None:
        if self.row < self.rows - 1:
            self.row += 1
            return
        self.scrolled.append("".join(self._cells.pop(0)).rstrip())
        self._cells.append([" "] * self.columns)

    def _execute(self, parameters: str, final_byte: str) -> None:
        numbers = [int(parameter) if parameter.isdigit() else 0 for parameter in parameters.split(";")]
        count = max(1, numbers[0])
        match final_byte:
            case "h" | "l" if parameters == "?1049":
                self._switch_screen(alternate=final_byte == "h")
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
                raise AssertionError(
                    f"the screen received the unknown sequence ESC [ {parameters} {final_byte}"
                )

    def _switch_screen(self, *, alternate: bool) -> None:
        """Show the alternate screen, which is empty at first, or restore the main screen."""
        if alternate:
            self._main_screen = (self._cells, self.row, self.column)
            self._cells = [[" "] * self.columns for _ in range(self.rows)]
        else:
            cells, self.row, self.column = self._main_screen
            self._cells = [[" "] * self.columns for _ in range(self.rows)]
            for row, visible_rows in enumerate(cells[: self.rows]):
                self._cells[row] = (visible_rows + [" "] * self.columns)[: self.columns]

    def _clear_line(self) -> None:
        self._cells[self.row][self.column :] = [" "] * (self.columns - self.column)
