"""A command in a container, from the side of the container: what its handler reads and writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from kubeproto import LocalProtocolError
from kubeproto.streams import PIECE, V5

from ._containers import RunningContainer

_SUCCESS: Final[dict[str, Any]] = {"metadata": {}, "status": "Success"}
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255


class CommandStreams(Struct, frozen=True):
    """The streams that a client has asked for."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


class CommandSession:
    """One exec or attach: its handler is called with it once, and then reacts to what comes.

    `command` is what is to be run, `container` where. The handler may write and exit at once, or set
    `on_stdin` and the like and continue later. `on_drained` is called when all that was written has been
    sent: for one that has much to write. A handler that returns text writes it and exits with 0, one that
    returns a number exits with that; one that returns None continues until it calls `exit`::

        def upper(session: sim.CommandSession) -> None:
            session.on_stdin = lambda data: session.write(data.upper())
            session.on_stdin_end = session.exit
    """

    def __init__(
        self, container: RunningContainer, command: tuple[str, ...], streams: CommandStreams,
        conversation: CommandConversation,
    ) -> None:  # fmt: skip
        self.container = container
        self.command = command
        self.streams = streams
        self.on_stdin: Callable[[bytes], object] | None = None
        self.on_stdin_end: Callable[[], object] | None = None
        self.on_resize: Callable[[int, int], object] | None = None
        self.on_close: Callable[[], object] | None = None
        self.on_exit: Callable[[int], object] | None = None
        self.on_drained: Callable[[], object] | None = None
        self._conversation = conversation

    def write(self, data: str | bytes) -> None:
        """Write to stdout."""
        self._conversation.send(_STDOUT, data)

    def error(self, data: str | bytes) -> None:
        """Write to stderr; with a terminal there is one stream for both."""
        self._conversation.send(_STDOUT if self.streams.tty else _STDERR, data)

    def exit(self, code: int = 0) -> None:
        """End, with this exit code."""
        if not self.ended:
            self._conversation.end(_exit_status(self.command, code))
            if self.on_exit is not None:
                self.on_exit(code)

    def fail(self, message: str) -> None:
        """End because the command could not be run at all."""
        self._conversation.end(failure_status(message))

    @property
    def ended(self) -> bool:
        """Whether it has exited, or its client has gone."""
        return self._conversation.over


CommandHandler: TypeAlias = Callable[[CommandSession], str | bytes | int | None]


class CommandConversation:
    """The messages of one exec or attach, in both directions."""

    def __init__(self, protocol: str, streams: CommandStreams) -> None:
        self.protocol = protocol
        self.wake: Callable[[], None] | None = None
        self.over = False
        self.session: CommandSession | None = None
        self.messages = 0  # that went either way
        self._streams = streams
        self._outgoing: deque[bytes] = deque()
        # A server opens each output stream with an empty message.
        if streams.stdout:
            self._outgoing.append(bytes((_STDOUT,)))
        if streams.stderr and not streams.tty:
            self._outgoing.append(bytes((_STDERR,)))

    def run(self, container: RunningContainer, command: tuple[str, ...], handler: CommandHandler) -> None:
        """Begin a session with its handler."""
        self.session = CommandSession(container, command, self._streams, self)
        result = handler(self.session)
        if isinstance(result, (str, bytes)):
            self.session.write(result)
            self.session.exit()
        elif result is not None:
            self.session.exit(result)

    # Messages to the client

    @property
    def ended(self) -> bool:
        """Whether everything was sent."""
        return self.over and not self._outgoing

    def take(self) -> bytes:
        """The next message; empty if there is none."""
        session = self.session
        if not (self._outgoing or self.over) and session is not None and session.on_drained is not None:
            session.on_drained()
        return self._outgoing.popleft() if self._outgoing else b""

    def send(self, channel: int, data: str | bytes) -> None:
        """Write to a stream, if the client has asked for it."""
        data = data.encode() if isinstance(data, str) else data
        wanted = self._streams.stdout if channel == _STDOUT else self._streams.stderr
        if self.over or not wanted:
            return
        self.messages += 1
        for at in range(0, len(data), PIECE):
            self._outgoing.append(bytes((channel,)) + data[at : at + PIECE])
        self._notify()

    def end(self, status: dict[str, Any]) -> None:
        """Report how it ended."""
        if not self.over:
            self._outgoing.append(bytes((_ERROR,)) + msgspec.json.encode(status))
            self.over = True
            self._notify()

    # Messages from the client

    def feed(self, message: bytes) -> None:
        """Take a message of the client."""
        session = self.session
        self.messages += 1
        if self.over or session is None or not message:
            return
        data = message[1:]
        match message[0]:
            case 0 if session.on_stdin is not None and data:
                session.on_stdin(data)
            case 4 if session.on_resize is not None:
                size = msgspec.json.decode(data)
                session.on_resize(size["Width"], size["Height"])
            case 255 if self.protocol == V5 and data[:1] == b"\0" and session.on_stdin_end is not None:
                session.on_stdin_end()
            case _:
                pass  # a stream that nobody reads

    def close(self) -> None:
        """The client has gone."""
        if not self.over:
            self.over = True
            if self.session is not None and self.session.on_close is not None:
                self.session.on_close()
        self._outgoing.clear()
        self._notify()

    def _notify(self) -> None:
        if self.wake is not None:
            self.wake()


def failure_status(message: str) -> dict[str, Any]:
    """The status of a command that could not be run."""
    return {
        "metadata": {}, "status": "Failure", "message": f"Internal error occurred: {message}",
        "reason": "InternalError", "details": {"causes": [{"message": message}]}, "code": 500,
    }  # fmt: skip


def _exit_status(command: tuple[str, ...], code: int) -> dict[str, Any]:
    if not 0 <= code <= 255:
        raise LocalProtocolError(f"an exit code is 0 to 255, not {code!r}")
    if code == 0:
        return _SUCCESS
    why = f"error executing command [{' '.join(command)}], exit code {code}"
    return {
        "metadata": {}, "status": "Failure",
        "message": f"command terminated with non-zero exit code: {why}", "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }  # fmt: skip


def attach(session: CommandSession) -> None:
    """Show what a container writes from now on; input goes to its log, as if the container echoed it."""
    output = session.container.output
    position = len(output.entries)

    def show() -> None:
        nonlocal position
        for entry in output.entries[position:]:
            (session.write if entry.stream == "stdout" else session.error)(entry.text)
        position = len(output.entries)
        if output.closed:
            leave()
            session.exit()

    def leave() -> None:
        if show in output.followers:
            output.followers.remove(show)

    output.followers.append(show)
    session.on_close = leave
    session.on_stdin = session.container.log
    show()
