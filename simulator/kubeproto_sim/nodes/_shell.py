"""A small shell in memory: what `kubectl exec` runs unless a test sets a handler.

It knows words in quotes, ``$NAME`` and ``$?``, ``;``, ``&&``, ``||``, pipes, ``>`` and ``>>`` into the files
of the container, and a dozen commands. It has no loops, jobs or wildcards: a test that needs those sets a
handler.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final, TypeAlias

from ._archives import pack, unpack
from ._files import absolute, children, is_folder, remove_file

if TYPE_CHECKING:
    from ._commands import CommandSession
    from ._containers import RunningContainer

_VARIABLE: Final = re.compile(r"\$(\w+|\?|\{\w+\})")
_SHELLS: Final = ("sh", "bash", "ash", "/bin/sh", "/bin/bash", "/bin/ash")
_NOT_FOUND: Final = 127
# A command yields the seconds that it sleeps, and returns its exit code.
Course: TypeAlias = Generator[float, None, int]


class Call:
    """One command that is being run: its words, what it reads, and what it writes."""

    def __init__(
        self, container: RunningContainer, words: list[str], stdin: bytes,
        write: Callable[[bytes], None], error: Callable[[bytes], None],
    ) -> None:  # fmt: skip
        self.container = container
        self.words = words
        self.stdin = stdin
        self.write = write
        self._error = error

    def fail(self, why: str, code: int = 1) -> int:
        """Write why the command failed."""
        self._error(f"{self.words[0]}: {why}\n".encode())
        return code

    def path(self, text: str) -> str:
        """A path as the files of the container are named."""
        return absolute(text)


def shell(session: CommandSession) -> None:
    """Run a command, as the handler of an exec; a shell without a command reads commands from stdin."""
    words = list(session.command)
    if _is_interactive(words):
        _Terminal(session)
        return
    reads = session.streams.stdin and _reads_stdin(words)
    if reads and words == ["cat"]:
        session.on_stdin, session.on_stdin_end = session.write, session.exit
        return
    if not reads:
        _Runner(session).run(_run(session, words, b""), session.exit)
        return
    pieces: list[bytes] = []
    session.on_stdin = pieces.append
    session.on_stdin_end = lambda: _Runner(session).run(_run(session, words, b"".join(pieces)), session.exit)


def _is_interactive(words: list[str]) -> bool:
    return not words or (words[0] in _SHELLS and words[1:] in ([], ["-i"], ["-l"]))


def _reads_stdin(words: list[str]) -> bool:
    return words[0] in ("cat", "tar", "tee", *_SHELLS)


class _Runner:
    """Runs a sequence of commands, and continues when a sleep is over."""

    def __init__(self, session: CommandSession) -> None:
        self._session = session

    def run(self, course: Course, done: Callable[[int], object]) -> None:
        """Continue until the end or the next sleep."""
        if self._session.ended:
            course.close()
            return
        try:
            pause = next(course)
        except StopIteration as end:
            done(end.value)
        else:
            self._session.container.later(pause, lambda: self.run(course, done))


class _Terminal:
    """A shell that reads its commands line by line."""

    def __init__(self, session: CommandSession) -> None:
        self._session = session
        self._line = b""
        self._code = 0
        self._busy = False
        self._ended = False
        session.on_stdin, session.on_stdin_end = self._read, self._end
        self._prompt()

    def _prompt(self) -> None:
        if self._session.streams.tty:
            self._session.write("/ # ")

    def _read(self, data: bytes) -> None:
        if self._session.streams.tty:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            self._session.write(data.replace(b"\n", b"\r\n"))  # a terminal shows what is typed
        self._line += data
        self._go_on()

    def _end(self) -> None:
        self._ended = True
        self._go_on()

    def _go_on(self) -> None:
        while not self._busy and not self._session.ended:
            line, end, rest = self._line.partition(b"\n")
            if not end and not (self._ended and line):
                if self._ended:
                    self._session.exit(self._code)
                return
            self._line = rest
            self._busy = True
            course = _script(self._session, line.decode("utf-8", "replace"), b"", self._code)
            _Runner(self._session).run(course, self._done)

    def _done(self, code: int) -> None:
        self._busy = False
        self._code = code
        if not self._session.ended:
            self._prompt()
            self._go_on()


# Scripts


class _Exit(Exception):
    """The script calls `exit`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def _run(session: CommandSession, words: list[str], stdin: bytes) -> Course:
    if words[0] in _SHELLS:
        if words[1] == "-c" and len(words) > 2:
            return (yield from _script(session, words[2], stdin, 0))
        session.error(f"{words[0]}: {words[1]}: only -c is known here\n")
        return 2
    return (yield from _command(Call(session.container, words, stdin, session.write, session.error)))


def _script(session: CommandSession, text: str, stdin: bytes, code: int) -> Course:
    """Run commands that are joined by ``;``, ``&&`` and ``||``."""
    try:
        words = _words(text)
    except ValueError as error:
        session.error(f"sh: syntax error: {error}\n")
        return 2
    skip = False
    at = 0
    try:
        while at < len(words):
            end = next((i for i in range(at, len(words)) if words[i] in (";", "&&", "||")), len(words))
            if not skip and end > at:
                code = yield from _pipeline(session, words[at:end], stdin, code)
            joint = words[end] if end < len(words) else ";"
            skip = (joint == "&&" and code != 0) or (joint == "||" and code == 0)
            at = end + 1
    except _Exit as wanted:
        session.exit(wanted.code)
        return wanted.code
    return code


def _words(text: str) -> list[str]:
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|>")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    return list(lexer)


def _pipeline(session: CommandSession, words: list[str], stdin: bytes, code: int) -> Course:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(_expanded(word, session.container, code))
    data = stdin
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        output: list[bytes] = []
        target, part, appends = _target(part)
        if not part:
            continue
        write = session.write if last and target is None else output.append
        if part[0] == "exit":
            raise _Exit(int(part[1]) if len(part) > 1 and part[1].isdigit() else code)
        code = yield from _command(Call(session.container, part, data, write, session.error))
        data = b"".join(output)
        if target is not None:
            files, path = session.container.files, absolute(target)
            files[path] = (files.get(path, b"") if appends else b"") + data
            data = b""
    return code


def _target(words: list[str]) -> tuple[str | None, list[str], bool]:
    """Where a command writes to, the command without that, and whether it appends."""
    for at, word in enumerate(words):
        if word in (">", ">>") and at + 1 < len(words):
            return words[at + 1], words[:at] + words[at + 2 :], word == ">>"
    return None, words, False


def _expanded(word: str, container: RunningContainer, code: int) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1].strip("{}")
        if name == "?":
            return str(code)
        return {"HOSTNAME": container.pod, **container.env}.get(name, "")

    return _VARIABLE.sub(value, word)


# Commands


def _command(call: Call) -> Course:
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


def _echo(call: Call) -> int:
    words = call.words[1:]
    end = "" if words[:1] == ["-n"] else "\n"
    call.write((" ".join(words[1:] if not end else words) + end).encode())
    return 0


def _cat(call: Call) -> int:
    code = 0
    for name in call.words[1:] or ["-"]:
        if name == "-":
            call.write(call.stdin)
        elif (data := call.container.files.get(call.path(name))) is not None:
            call.write(data)
        else:
            code = call.fail(f"can't open '{name}': No such file or directory")
    return code


def _ls(call: Call) -> int:
    code = 0
    for name in [word for word in call.words[1:] if not word.startswith("-")] or ["/"]:
        path = call.path(name)
        if path in call.container.files:
            call.write(f"{name}\n".encode())
        elif is_folder(call.container.files, path):
            call.write("".join(f"{one}\n" for one in children(call.container.files, path)).encode())
        else:
            code = call.fail(f"{name}: No such file or directory")
    return code


def _env(call: Call) -> int:
    shown = {"HOSTNAME": call.container.pod, **call.container.env}
    if call.words[0].endswith("printenv") and len(call.words) > 1:
        if call.words[1] not in shown:
            return 1
        call.write(f"{shown[call.words[1]]}\n".encode())
        return 0
    call.write("".join(f"{name}={value}\n" for name, value in shown.items()).encode())
    return 0


def _test(call: Call) -> int:
    """``test -d PATH``, and the same for a file and for either."""
    if len(call.words) != 3 or call.words[1] not in ("-d", "-e", "-f"):
        return call.fail("only -d, -e and -f are known here", 2)
    path = call.path(call.words[2])
    file, folder = path in call.container.files, is_folder(call.container.files, path)
    return 0 if {"-d": folder, "-e": file or folder, "-f": file}[call.words[1]] else 1


def _touch(call: Call) -> int:
    for name in call.words[1:]:
        call.container.files.setdefault(call.path(name), b"")
    return 0


def _mkdir(call: Call) -> int:
    for name in call.words[1:]:
        if not name.startswith("-"):
            call.container.files.setdefault(call.path(name) + "/", b"")
    return 0


def _rm(call: Call) -> int:
    force = any(word.startswith("-") and "f" in word for word in call.words[1:])
    for name in [word for word in call.words[1:] if not word.startswith("-")]:
        if not remove_file(call.container.files, call.path(name)) and not force:
            return call.fail(f"can't remove '{name}': No such file or directory")
    return 0


def _tee(call: Call) -> int:
    for name in call.words[1:]:
        call.container.files[call.path(name)] = call.stdin
    call.write(call.stdin)
    return 0


def _tar(call: Call) -> int:
    """As `kubectl cp` calls it: ``tar cf - PATH…`` and ``tar -xmf - -C FOLDER``."""
    words = call.words[1:]
    flags = words[0].lstrip("-") if words else ""
    names: list[str] = []
    folder, rest = "/", iter(words[1:])
    for word in rest:
        if word == "-C":
            folder = next(rest, "/")
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


def _text(words: str) -> Callable[[Call], int]:
    def run(call: Call) -> int:
        call.write(words.format(call.container).encode())
        return 0

    return run


_COMMANDS: Final[dict[str, Callable[[Call], int]]] = {
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
