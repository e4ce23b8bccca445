"""The pseudo-terminal of the tests: its size and signals are real, and its screen is that of a terminal."""

from __future__ import annotations

import sys
from typing import Final

import pytest
from terminal_screen import Screen
from terminals import Terminal

pytestmark = pytest.mark.one_python

_REPORT: Final = """
import os, signal, sys
print(sys.stdin.isatty(), sys.stdout.isatty(), os.get_terminal_size())
signal.signal(signal.SIGWINCH, lambda *_: print("now", tuple(os.get_terminal_size()), flush=True))
print("ready", flush=True)
try:
    for line in sys.stdin: print("read", line.strip(), flush=True)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_a_program_sees_a_terminal_of_the_size_and_its_changes_and_ctrl_c() -> None:
    with Terminal([sys.executable, "-c", _REPORT], rows=7, columns=60) as terminal:
        terminal.wait_for(lambda screen: "ready" in screen.text)
        assert terminal.screen.lines[0] == "True True os.terminal_size(columns=60, lines=7)"
        terminal.resize(5, 50)
        terminal.wait_for(lambda screen: "now (50, 5)" in screen.text)
        terminal.send("word\r")
        terminal.wait_for(lambda screen: "read word" in screen.text)
        terminal.send("\x03")
        assert terminal.wait() == 130


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("one\r\ntwo", ["one", "two"]),
        ("one\r\x1b[Ktwo", ["two"]),
        ("abc\rx", ["xbc"]),
        ("a\r\nb\r\nc\x1b[2A\r\x1b[Jnew", ["new"]),
        ("a\r\nb\r\nc\r\nd", ["b", "c", "d"]),
        ("12345678ab", ["12345678", "ab"]),
        ("\x1b[31mred\x1b[0m", ["red"]),
        ("a\x1b[2J\x1b[Htop", ["top"]),
        ("\x1b[2;3Hx", ["", "  x"]),
        ("abc\x1b[2Dx", ["axc"]),
    ],
)
def test_the_screen_shows_what_a_terminal_shows(output: str, lines: list[str]) -> None:
    whole, pieces = Screen(3, 8), Screen(3, 8)
    whole.feed(output)
    for character in output:
        pieces.feed(character)
    assert whole.lines == pieces.lines == lines


def test_what_leaves_at_the_top_is_kept() -> None:
    screen = Screen(2, 8)
    screen.feed("a\r\nb\r\nc")
    assert (screen.scrolled, screen.lines) == (["a"], ["b", "c"])


def test_a_sequence_that_it_does_not_know_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="was sent ESC"):
        Screen(2, 8).feed("\x1b[5q")
