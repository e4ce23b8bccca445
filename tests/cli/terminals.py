"""A program on a pseudo-terminal: the screen, pressed keys, and a change of the window's size.

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

# Ctrl-C and a change of the size become signals only if the terminal is the controlling terminal. Python
# refuses to fork while threads run, such as the simulator's, so a second program runs `login_tty`.
_LOGIN_PROGRAM: Final = "import os, sys; os.login_tty(0); os.execvp(sys.argv[1], sys.argv[1:])"
TIMEOUT: Final = 120.0  # seconds until a test fails; no passing test waits so long


class Terminal:
    """A program on a terminal. The end of the block kills it."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        rows: int = 24,
        columns: int = 80,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.screen = Screen(rows, columns)
        self.output = ""  # everything that the program has written, with color sequences
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_open = True
        self._master, slave = pty.openpty()
        try:
            self._set_size(rows, columns)
            self.process = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", _LOGIN_PROGRAM, *command],
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env={**(os.environ if environment is None else environment), "TERM": "xterm-256color"},
            )
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        try:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait()
        finally:
            os.close(self._master)

    def wait_for(self, condition: Callable[[Screen], bool]) -> None:
        """Read until the screen meets a condition; after `TIMEOUT` fail with the screen in the message."""
        deadline = time.monotonic() + TIMEOUT
        while not condition(self.screen):
            assert self._read(deadline), (
                f"the condition is not met:\n{self.screen.text}\n---\n{self.output[-2000:]!r}"
            )

    def send(self, keys: str) -> None:
        """Press keys: ``\\x03`` is Ctrl-C, ``\\x04`` the end of the input."""
        os.write(self._master, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Change the size of the window, which sends SIGWINCH to the program."""
        self.screen.resize(rows, columns)
        self._set_size(rows, columns)

    def wait(self) -> int:
        """Read until the program exits, and return its exit status."""
        deadline = time.monotonic() + TIMEOUT
        while self._read(deadline):
            pass
        assert not self._is_open, f"the program has not exited:\n{self.screen.text}"
        return self.process.wait(TIMEOUT)

    def _read(self, deadline: float) -> bool:
        """Read output; return False at its end, and if none arrived before the deadline."""
        if (
            not self._is_open
            or not select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))[0]
        ):
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # EIO on Linux: the last program closed the terminal
            data = b""
        self._is_open = bool(data)
        text = self._decoder.decode(data, final=not data)
        self.output += text
        self.screen.feed(text)
        return self._is_open

    def _set_size(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
