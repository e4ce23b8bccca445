"""A program on a pseudo-terminal: what it shows, keys for it, another size of the window.

::

    with Terminal([sys.executable, "-m", "kubeproto_cli", "watch", "pods"]) as terminal:
        terminal.wait_for(lambda screen: "web" in screen.text)
        terminal.resize(10, 40)
        terminal.send("\\x03")  # Ctrl-C
        assert terminal.wait() == 130
"""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self

from terminal_screen import Screen

# The terminal has to be the controlling one, for Ctrl-C and a change of its size to become signals. Python
# refuses to fork where threads run, as that of a served simulator, so a second program takes it.
_TAKE: Final = "import os, sys; os.login_tty(0); os.execvp(sys.argv[1], sys.argv[1:])"
PATIENCE: Final = 120.0  # seconds, after which a test has failed; nothing waits for them


class Terminal:
    """A program that believes a person to sit in front of it. Leaving the block ends it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        rows: int = 24,
        columns: int = 80,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.screen = Screen(rows, columns)
        self.output = ""  # everything that it has written, with the colors
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = True
        self._ours, theirs = pty.openpty()
        try:
            self._set_size(rows, columns)
            self.process = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", _TAKE, *command],
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                env={**(os.environ if environment is None else environment), "TERM": "xterm-256color"},
            )
        except BaseException:
            os.close(self._ours)
            raise
        finally:
            os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
        finally:
            os.close(self._ours)

    def wait_for(self, holds: Callable[[Screen], bool]) -> None:
        """Read until something holds for what is shown; if it never does, the test fails and shows it."""
        until = time.monotonic() + PATIENCE
        while not holds(self.screen):
            assert self._read(until), f"it has not come:\n{self.screen.text}\n---\n{self.output[-2000:]!r}"

    def send(self, keys: str) -> None:
        """Press keys: ``\\x03`` is Ctrl-C, ``\\x04`` the end of the input."""
        os.write(self._ours, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the window; the program is sent SIGWINCH."""
        self.screen.resize(rows, columns)
        self._set_size(rows, columns)

    def wait(self) -> int:
        """Read all until the program has ended, and return its exit status."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        assert not self._open, f"it has not ended:\n{self.screen.text}"
        return self.process.wait(PATIENCE)

    def _read(self, until: float) -> bool:
        """Read a piece; False if there will be none, or none came in time."""
        if not self._open or not select.select([self._ours], [], [], max(0.0, until - time.monotonic()))[0]:
            return False
        try:
            piece = os.read(self._ours, 65536)
        except OSError:  # what Linux says when the last program has left the terminal
            piece = b""
        self._open = bool(piece)
        text = self._decoder.decode(piece, final=not piece)
        self.output += text
        self.screen.feed(text)
        return self._open

    def _set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
