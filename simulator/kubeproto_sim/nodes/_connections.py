"""Connections to a pod on a node: reads of its logs, commands in its containers, its ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from .._rejections import bad_request
from ._commands import (
    CommandConversation,
    CommandHandler,
    CommandSession,
    CommandStreams,
    attach,
    failure_status,
)
from ._containers import LogBuffer, RunningContainer
from ._kubelets import PodRun
from ._logs import LogQuery, LogStream
from ._pod_values import Running, Waiting
from ._ports import PortConversation, PortHandler, PortMessages
from ._programs import Behaviour, Program, program_of
from ._tunnels import TunnelConversation

# A kubelet ends a command that has been silent for this long (--streaming-connection-idle-timeout).
IDLE: Final = 4 * 3600.0
_KILLED: Final = 137


def open_log(run: PodRun, pod: str, name: str, query: LogQuery, *, previous: bool) -> LogStream:
    """Open the log of a container; or a refusal, as a kubelet words it."""
    container = next(one for one in run.state.containers if one.name == name)
    if previous:
        if (kept := run.previous.get(name)) is None:
            raise bad_request(f'previous terminated container "{name}" in pod "{pod}" not found')
        return LogStream(kept, query)
    current = run.containers.get(name)
    if current is None:
        reason = container.state.reason if isinstance(container.state, Waiting) else ""
        raise bad_request(f'container "{name}" in pod "{pod}" is waiting to start: {reason}')
    return LogStream(current.output, query)


def open_command(
    behaviour: Behaviour, run: PodRun, name: str, streams: CommandStreams, protocol: str,
    command: tuple[str, ...] | None,
) -> CommandConversation:  # fmt: skip
    """Run a command in a container; without one, attach to it."""
    container = run.containers.get(name)
    running = any(one.name == name and isinstance(one.state, Running) for one in run.state.containers)
    if container is None or not running:
        why = f'unable to upgrade connection: container not found ("{name}")'
        return failed_command(protocol, streams, why)
    conversation = CommandConversation(protocol, streams)
    program = program_of(behaviour, container.image)
    if command is None:
        main: list[str] = [*container.spec.get("command", []), *container.spec.get("args", [])]
        conversation.run(container, tuple(main) or ("sh",), _attach(program, container, streams))
    else:
        conversation.run(container, command, program.exec or _shell())
    if not conversation.over:
        _end_with(container.output, conversation, lambda: _kill(conversation))
        _end_when_idle(container, conversation)
    return conversation


def failed_command(protocol: str, streams: CommandStreams, why: str) -> CommandConversation:
    """Return the conversation about a command that cannot be run."""
    conversation = CommandConversation(protocol, streams)
    conversation.end(failure_status(why))
    return conversation


def open_ports(
    behaviour: Behaviour, run: PodRun, pod: str, namespace: str, ports: Sequence[int] | None
) -> PortConversation | TunnelConversation:
    """Connect to ports of a pod: those of the program of its first container.

    Without `ports` the client names them later, in a tunnel.
    """
    names = [one.name for one in run.state.containers if one.role == "main" and one.name in run.containers]
    container = run.containers[names[0]] if names else None
    handlers: Mapping[int, PortHandler] | None = {}
    if container is not None:
        handlers = program_of(behaviour, container.image).ports
    conversation: PortConversation | TunnelConversation
    if ports is None:
        conversation = TunnelConversation(pod, namespace, handlers)
    else:
        conversation = PortConversation(pod, namespace, ports, handlers)
    if container is not None:
        _end_with(container.output, conversation, conversation.close)
    return conversation


def _shell() -> CommandHandler:
    from ._shell import shell

    return shell


def _attach(program: Program, container: RunningContainer, streams: CommandStreams) -> CommandHandler:
    if program.attach is not None:
        return program.attach
    if not (container.spec.get("stdin") and streams.stdin):
        return attach
    # Such a container runs an interactive shell, and ends when the shell does.
    shell = _shell()
    return lambda session: _run_main(shell, session.container, session)


def _run_main(shell: CommandHandler, container: RunningContainer, session: CommandSession) -> None:
    session.on_exit = container.exit
    shell(session)


def _kill(conversation: CommandConversation) -> None:
    if conversation.session is not None:
        conversation.session.exit(_KILLED)


def _end_with(
    output: LogBuffer, conversation: CommandConversation | PortMessages, end: Callable[[], None]
) -> None:
    """End a conversation when its container ends."""

    def look() -> None:
        if output.closed and not conversation.ended:
            end()
        if output.closed or conversation.ended:
            output.followers.remove(look)

    output.followers.append(look)


def _end_when_idle(container: RunningContainer, conversation: CommandConversation) -> None:
    def look(said: int) -> None:
        if conversation.over:
            return
        if conversation.messages == said:
            conversation.end(failure_status("the connection was idle for too long"))
            return
        count = conversation.messages
        container.later(IDLE, lambda: look(count))

    container.later(IDLE, lambda: look(conversation.messages))
