"""A small shell in memory, which `kubectl exec` runs unless a test sets a handler.

It supports words in quotes, ``$NAME`` and ``$?``, ``;``, ``&&``, ``||``, pipes, ``>`` and ``>>`` into the
files of the container, and a dozen commands. It has no loops, jobs or wildcards: a test that needs those sets
a handler.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final, TypeAlias

from ._container_archives import pack, unpack
from ._container_files import absolute, children, is_folder, remove_file

if TYPE_CHECKING:
    from ._container_commands import CommandSession
    from ._running_container import RunningContainer

_VARIABLE: Final = re.compile(r"\$(\w+|\?|\{\w+\})")
_SHELLS: Final = ("sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash")
_NOT_FOUND: Final = 127
ShellSteps: TypeAlias = Generator[float, None, int]
"""A running command: it yields the seconds that it sleeps, and returns its exit code."""


class ShellCommand:
    """A command: its words, its input and its output."""

    def __init__(
        self, container: RunningContainer, words: list[str], stdin: bytes,
        write: Callable[[bytes], None], error: Callable[[bytes], None],
    ) -> None:  # fmt: skip
        self.container = container
        self.words = words
        self.stdin = stdin
        self.write = write
        self._error = error

    def fail(self, message: str, code: int = 1) -> int:
        """Write an error message, and return the exit code."""
        self._error(f"{self.words[0]}: {message}\n".encode())
        return code

    def path(self, text: str) -> str:
        """Return the path of a file of the container."""
        return absolute(text)


def shell(session: CommandSession) -> None:
    """Handle an exec: run its command, or read commands from stdin if it is a shell without a command."""
    words = list(session.command)
    if _is_interactive(words):
        _InteractiveShell(session)
        return
    reads_stdin = session.streams.stdin and _reads_stdin(words)
    if reads_stdin and words == ["cat"]:
        session.on_stdin, session.on_stdin_end = session.write, session.exit
        return
    if not reads_stdin:
        _ShellRunner(session).run(_run(session, words, b""), session.exit)
        return
    chunks: list[bytes] = []
    session.on_stdin = chunks.append
    session.on_stdin_end = lambda: _ShellRunner(session).run(
        _run(session, words, b"".join(chunks)), session.exit
    )


def _is_interactive(words: list[str]) -> bool:
    return not words or (words[0] in _SHELLS and words[1:] in ([], ["-i"], ["-l"]))


def _reads_stdin(words: list[str]) -> bool:
    return words[0] in ("cat", "tar", "tee", *_SHELLS)


class _ShellRunner:
    """Runs a sequence of commands, and continues after each sleep."""

    def __init__(self, session: CommandSession) -> None:
        self._session = session

    def run(self, steps: ShellSteps, on_done: Callable[[int], object]) -> None:
        """Run until the end or the next sleep."""
        if self._session.ended:
            steps.close()
            return
        try:
            seconds = next(steps)
        except StopIteration as stop:
            on_done(stop.value)
        else:
            self._session.container.later(seconds, lambda: self.run(steps, on_done))


class _InteractiveShell:
    """A shell that reads its commands line by line."""

    def __init__(self, session: CommandSession) -> None:
        self._session = session
        self._line = b""
        self._code = 0
        self._is_busy = False
        self._is_input_over = False
        session.on_stdin, session.on_stdin_end = self._on_input, self._on_input_end
        self._prompt()

    def _prompt(self) -> None:
        if self._session.streams.tty:
            self._session.write("/ # ")

    def _on_input(self, data: bytes) -> None:
        if self._session.streams.tty:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            self._session.write(data.replace(b"\n", b"\r\n"))  # a terminal echoes its input
        self._line += data
        self._run_lines()

    def _on_input_end(self) -> None:
        self._is_input_over = True
        self._run_lines()

    def _run_lines(self) -> None:
        while not self._is_busy and not self._session.ended:
            line, newline, remainder = self._line.partition(b"\n")
            if not newline and not (self._is_input_over and line):
                if self._is_input_over:
                    self._session.exit(self._code)
                return
            self._line = remainder
            self._is_busy = True
            steps = _run_script(self._session, line.decode("utf-8", "replace"), b"", self._code)
            _ShellRunner(self._session).run(steps, self._on_line_done)

    def _on_line_done(self, code: int) -> None:
        self._is_busy = False
        self._code = code
        if not self._session.ended:
            self._prompt()
            self._run_lines()


# Scripts and pipelines


class _Exit(Exception):
    """A script has called `exit`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _run(session: CommandSession, words: list[str], stdin: bytes) -> ShellSteps:
    if words[0] in _SHELLS:
        if words[1] == "-c" and len(words) > 2:
            return (yield from _run_script(session, words[2], stdin, 0))
        session.error(f"{words[0]}: {words[1]}: only -c is known here\n")
        return 2
    return (
        yield from _run_command(ShellCommand(session.container, words, stdin, session.write, session.error))
    )


def _run_script(session: CommandSession, text: str, stdin: bytes, code: int) -> ShellSteps:
    """Run commands that are joined by ``;``, ``&&`` and ``||``."""
    try:
        words = _words(text)
    except ValueError as error:
        session.error(f"sh: syntax error: {error}\n")
        return 2
    is_skipped = False
    start = 0
    try:
        while start < len(words):
            end = next((i for i in range(start, len(words)) if words[i] in (";", "&&", "||")), len(words))
            if not is_skipped and end > start:
                code = yield from _run_pipeline(session, words[start:end], stdin, code)
            separator = words[end] if end < len(words) else ";"
            is_skipped = (separator == "&&" and code != 0) or (separator == "||" and code == 0)
            start = end + 1
    except _Exit as request:
        session.exit(request.code)
        return request.code
    return code


def _words(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    return list(lexer)


def _run_pipeline(session: CommandSession, words: list[str], stdin: bytes, code: int) -> ShellSteps:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(_expand_variables(word, session.container, code))
    data = stdin
    for index, command in enumerate(parts):
        is_last = index == len(parts) - 1
        output: list[bytes] = []
        redirection, command, is_append = _split_redirection(command)
        if not command:
            continue
        write = session.write if is_last and redirection is None else output.append
        if command[0] == "exit":
            raise _Exit(int(command[1]) if len(command) > 1 and command[1].isdigit() else code)
        code = yield from _run_command(ShellCommand(session.container, command, data, write, session.error))
        data = b"".join(output)
        if redirection is not None:
            files, path = session.container.files, absolute(redirection)
            files[path] = (files.get(path, b"") if is_append else b"") + data
            data = b""
    return code


def _split_redirection(words: list[str]) -> tuple[str | None, list[str], bool]:
    """Return the file that a command writes to, the command without it, and whether it appends."""
    for index, word in enumerate(words):
        if word in (">", ">>") and index + 1 < len(words):
            return words[index + 1], words[:index] + words[index + 2 :], word == ">>"
    return None, words, False


def _expand_variables(word: str, container: RunningContainer, code: int) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1].strip("{}")
        if name == "?":
            return str(code)
        return {"HOSTNAME": container.pod, **container.env}.get(name, "")

    return _VARIABLE.sub(value, word)


# Commands


def _run_command(call: ShellCommand) -> ShellSteps:
    name = call.words[0].rpartition("/")[2]
    if name == "sleep":
        try:
            yield float(call.words[1])
        except (IndexError, ValueError):
            return call.fail("a number of seconds is needed")
        return 0
    run = _COMMANDS.get(name)
    if run is None:
        return call.fail("not found", _NOT_FOUND)
    return run(call)


def _echo(call: ShellCommand) -> int:
    words = call.words[1:]
    end = "" if words[:1] == ["-n"] else "\n"
    call.write((" ".join(words[1:] if not end else words) + end).encode())
    return 0


def _cat(call: ShellCommand) -> int:
    code = 0
    for name in call.words[1:] or ["-"]:
        if name == "-":
            call.write(call.stdin)
        elif (data := call.container.files.get(call.path(name))) is not None:
            call.write(data)
        else:
            code = call.fail(f"can't open '{name}': No such file or directory")
    return code


def _ls(call: ShellCommand) -> int:
    code = 0
    for name in [word for word in call.words[1:] if not word.startswith("-")] or ["/"]:
        path = call.path(name)
        if path in call.container.files:
            call.write(f"{name}\n".encode())
        elif is_folder(call.container.files, path):
            call.write("".join(f"{child}\n" for child in children(call.container.files, path)).encode())
        else:
            code = call.fail(f"{name}: No such file or directory")
    return code


def _env(call: ShellCommand) -> int:
    variables = {"HOSTNAME": call.container.pod, **call.container.env}
    if call.words[0].endswith("printenv") and len(call.words) > 1:
        if call.words[1] not in variables:
            return 1
        call.write(f"{variables[call.words[1]]}\n".encode())
        return 0
    call.write("".join(f"{name}={value}\n" for name, value in variables.items()).encode())
    return 0


def _test(call: ShellCommand) -> int:
    """Run ``test -d PATH``, ``-f`` for a file, or ``-e`` for either."""
    if len(call.words) != 3 or call.words[1] not in ("-d", "-e", "-f"):
        return call.fail("only -d, -e and -f are known here", 2)
    path = call.path(call.words[2])
    is_file, is_directory = path in call.container.files, is_folder(call.container.files, path)
    return 0 if {"-d": is_directory, "-e": is_file or is_directory, "-f": is_file}[call.words[1]] else 1


def _touch(call: ShellCommand) -> int:
    for name in call.words[1:]:
        call.container.files.setdefault(call.path(name), b"")
    return 0


def _mkdir(call: ShellCommand) -> int:
    for name in call.words[1:]:
        if not name.startswith("-"):
            call.container.files.setdefault(call.path(name) + "/", b"")
    return 0


def _rm(call: ShellCommand) -> int:
    force = any(word.startswith("-") and "f" in word for word in call.words[1:])
    for name in [word for word in call.words[1:] if not word.startswith("-")]:
        if not remove_file(call.container.files, call.path(name)) and not force:
            return call.fail(f"can't remove '{name}': No such file or directory")
    return 0


def _tee(call: ShellCommand) -> int:
    for name in call.words[1:]:
        call.container.files[call.path(name)] = call.stdin
    call.write(call.stdin)
    return 0


def _tar(call: ShellCommand) -> int:
    """Run the calls of `kubectl cp`: ``tar cf - PATH…`` and ``tar -xmf - -C FOLDER``."""
    words = call.words[1:]
    flags = words[0].lstrip("-") if words else ""
    names: list[str] = []
    folder, remaining = "/", iter(words[1:])
    for word in remaining:
        if word == "-C":
            folder = next(remaining, "/")
        elif word != "-" and not word.startswith("--"):
            names.append(word)
    try:
        if "x" in flags:
            unpack(call.container.files, call.stdin, call.path(folder))
            return 0
        if "c" in flags:
            paths = [(absolute(name, folder), name.strip("/")) for name in names]
            call.write(pack(call.container.files, paths, call.container.now))
            return 0
    except ValueError as error:
        return call.fail(str(error), 2)
    return call.fail("only c and x are known here", 2)


def _text(template: str) -> Callable[[ShellCommand], int]:
    def run(call: ShellCommand) -> int:
        call.write(template.format(call.container).encode())
        return 0

    return run


_COMMANDS: Final[dict[str, Callable[[ShellCommand], int]]] = {
    "cat": _cat,
    "echo": _echo,
    "env": _env,
    "false": lambda call: 1,
    "hostname": _text("{0.pod}\n"),
    "ls": _ls,
    "mkdir": _mkdir,
    "printenv": _env,
    "pwd": _text("/\n"),
    "rm": _rm,
    "tar": _tar,
    "tee": _tee,
    "test": _test,
    "touch": _touch,
    "true": lambda call: 0,
    "whoami": _text("root\n"),
}
