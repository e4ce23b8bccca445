"""A command in a container, as its handler sees it: the streams that it reads and writes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from kubeproto import LocalProtocolError
from kubeproto.streams import MAX_DATA, V5

from ._running_container import RunningContainer

_SUCCESS: Final[dict[str, Any]] = {"metadata": {}, "status": "Success"}
_STDOUT, _STDERR, _ERROR = 1, 2, 3


class CommandStreams(Struct, frozen=True):
    """The streams that a client has requested."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


class CommandSession:
    """An exec or attach: its handler is called once with the session, and reacts to the client afterwards.

    `command` contains the words of the command, `container` runs it. The handler may write and exit at once,
    or set `on_stdin` and the other callbacks and continue later. `on_drained` is called when all output has
    been sent, for a handler that writes a lot. A handler that returns text writes it and exits with 0; a
    handler that returns a number exits with it; after None the command continues until it calls `exit`::

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
        """Write to stderr; a terminal has one stream for both."""
        self._conversation.send(_STDOUT if self.streams.tty else _STDERR, data)

    def exit(self, code: int = 0) -> None:
        """End the command with an exit code."""
        if not self.ended:
            self._conversation.end(_exit_status(self.command, code))
            if self.on_exit is not None:
                self.on_exit(code)

    def fail(self, message: str) -> None:
        """End the command because it could not be run."""
        self._conversation.end(failure_status(message))

    @property
    def ended(self) -> bool:
        """Whether the command has exited, or its client has disconnected."""
        return self._conversation.is_over


CommandHandler: TypeAlias = Callable[[CommandSession], str | bytes | int | None]


class CommandConversation:
    """The messages of an exec or attach, in both directions."""

    def __init__(self, protocol: str, streams: CommandStreams) -> None:
        self.protocol = protocol
        self.wake: Callable[[], None] | None = None
        self.is_over = False
        self.session: CommandSession | None = None
        self.message_count = 0  # in both directions
        self._streams = streams
        self._outgoing: deque[bytes] = deque()
        # A server opens each output stream with an empty message.
        if streams.stdout:
            self._outgoing.append(bytes((_STDOUT,)))
        if streams.stderr and not streams.tty:
            self._outgoing.append(bytes((_STDERR,)))

    def run(self, container: RunningContainer, command: tuple[str, ...], handler: CommandHandler) -> None:
        """Start a session with its handler."""
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
        return self.is_over and not self._outgoing

    def take(self) -> bytes:
        """Return the next message; empty if there is none."""
        session = self.session
        if not (self._outgoing or self.is_over) and session is not None and session.on_drained is not None:
            session.on_drained()
        return self._outgoing.popleft() if self._outgoing else b""

    def send(self, channel: int, data: str | bytes) -> None:
        """Write to a stream, if the client has requested it."""
        data = data.encode() if isinstance(data, str) else data
        is_requested = self._streams.stdout if channel == _STDOUT else self._streams.stderr
        if self.is_over or not is_requested:
            return
        self.message_count += 1
        for start in range(0, len(data), MAX_DATA):
            self._outgoing.append(bytes((channel,)) + data[start : start + MAX_DATA])
        self._notify()

    def end(self, status: dict[str, Any]) -> None:
        """Send the final status of the command."""
        if not self.is_over:
            self._outgoing.append(bytes((_ERROR,)) + msgspec.json.encode(status))
            self.is_over = True
            self._notify()

    # Messages from the client

    def feed(self, message: bytes) -> None:
        """Pass a message of the client to the session."""
        session = self.session
        self.message_count += 1
        if self.is_over or session is None or not message:
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
                pass  # no handler reads this stream

    def close(self) -> None:
        """End the session: the client has disconnected."""
        if not self.is_over:
            self.is_over = True
            if self.session is not None and self.session.on_close is not None:
                self.session.on_close()
        self._outgoing.clear()
        self._notify()

    def _notify(self) -> None:
        if self.wake is not None:
            self.wake()


def failure_status(message: str) -> dict[str, Any]:
    """Return the status of a command that could not be run."""
    return {
        "metadata": {}, "status": "Failure", "message": f"Internal error occurred: {message}",
        "reason": "InternalError", "details": {"causes": [{"message": message}]}, "code": 500,
    }  # fmt: skip


def _exit_status(command: tuple[str, ...], code: int) -> dict[str, Any]:
    if not 0 <= code <= 255:
        raise LocalProtocolError(f"an exit code is 0 to 255, not {code!r}")
    if code == 0:
        return _SUCCESS
    cause = f"error executing command [{' '.join(command)}], exit code {code}"
    return {
        "metadata": {}, "status": "Failure",
        "message": f"command terminated with non-zero exit code: {cause}", "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }  # fmt: skip


def attach(session: CommandSession) -> None:
    """Send the further output of a container; input is written to its log, as if the container echoed it."""
    output = session.container.output
    position = len(output.entries)

    def send_output() -> None:
        nonlocal position
        for entry in output.entries[position:]:
            (session.write if entry.stream == "stdout" else session.error)(entry.text)
        position = len(output.entries)
        if output.closed:
            stop_following()
            session.exit()

    def stop_following() -> None:
        if send_output in output.followers:
            output.followers.remove(send_output)

    output.followers.append(send_output)
    session.on_close = stop_following
    session.on_stdin = session.container.log
    send_output()
