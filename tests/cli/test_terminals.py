"""The pseudo-terminal of the tests has a real size, real signals and an emulated screen."""

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


def test_a_program_sees_the_size_of_the_terminal_its_changes_and_ctrl_c() -> None:
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
def test_the_screen_handles_control_sequences_like_a_terminal(output: str, lines: list[str]) -> None:
    whole_output_screen, screen_by_character = Screen(3, 8), Screen(3, 8)
    whole_output_screen.feed(output)
    for character in output:
        screen_by_character.feed(character)
    assert whole_output_screen.lines == screen_by_character.lines == lines


def test_lines_that_scroll_out_are_kept() -> None:
    screen = Screen(2, 8)
    screen.feed("a\r\nb\r\nc")
    assert (screen.scrolled, screen.lines) == (["a"], ["b", "c"])


def test_an_unknown_control_sequence_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="unknown sequence ESC"):
        Screen(2, 8).feed("\x1b[5q")
