"""Connections to a pod on a node: reads of its logs, commands in its containers, its ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from .._rejections import bad_request
from ._container_commands import (
    CommandConversation,
    CommandHandler,
    CommandSession,
    CommandStreams,
    attach,
    failure_status,
)
from ._container_logs import LogBuffer, LogQuery, LogStream
from ._container_programs import Behaviour, Program, program_of
from ._kubelets import PodRun
from ._pod_ports import PortConversation, PortHandler, PortMessages
from ._pod_values import Running, Waiting
from ._port_tunnels import TunnelConversation
from ._running_container import RunningContainer

# A kubelet ends a command that has been silent for this long (--streaming-connection-idle-timeout).
_IDLE_TIMEOUT: Final = 4 * 3600.0
_KILLED: Final = 137


def open_log(run: PodRun, pod: str, name: str, query: LogQuery, *, previous: bool) -> LogStream:
    """Open the log of a container; raise `Rejection` with the message of a kubelet if that fails."""
    container = next(container for container in run.state.containers if container.name == name)
    if previous:
        if (previous_log := run.previous.get(name)) is None:
            raise bad_request(f'previous terminated container "{name}" in pod "{pod}" not found')
        return LogStream(previous_log, query)
    current = run.containers.get(name)
    if current is None:
        reason = container.state.reason if isinstance(container.state, Waiting) else ""
        raise bad_request(f'container "{name}" in pod "{pod}" is waiting to start: {reason}')
    return LogStream(current.output, query)


def open_command(
    behaviour: Behaviour, run: PodRun, name: str, streams: CommandStreams, protocol: str,
    command: tuple[str, ...] | None,
) -> CommandConversation:  # fmt: skip
    """Run a command in a container, or attach to the container if there is no command."""
    container = run.containers.get(name)
    running_names = [each.name for each in run.state.containers if isinstance(each.state, Running)]
    if container is None or name not in running_names:
        message = f'unable to upgrade connection: container not found ("{name}")'
        return failed_command(protocol, streams, message)
    conversation = CommandConversation(protocol, streams)
    program = program_of(behaviour, container.image)
    if command is None:
        main: list[str] = [*container.spec.get("command", []), *container.spec.get("args", [])]
        conversation.run(container, tuple(main) or ("sh",), _attach_handler(program, container, streams))
    else:
        conversation.run(container, command, program.exec or _shell())
    if not conversation.is_over:
        _end_with_container(container.output, conversation, lambda: _kill(conversation))
        _end_when_idle(container, conversation)
    return conversation


def failed_command(protocol: str, streams: CommandStreams, message: str) -> CommandConversation:
    """Return the conversation about a command that cannot be run."""
    conversation = CommandConversation(protocol, streams)
    conversation.end(failure_status(message))
    return conversation


def open_ports(
    behaviour: Behaviour, run: PodRun, pod: str, namespace: str, ports: Sequence[int] | None
) -> PortConversation | TunnelConversation:
    """Connect to ports of a pod: those of the program of its first main container.

    Without `ports` the client names them later, in a tunnel.
    """
    names = [
        container.name
        for container in run.state.containers
        if container.role == "main" and container.name in run.containers
    ]
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
        _end_with_container(container.output, conversation, conversation.close)
    return conversation


def _shell() -> CommandHandler:
    # Imported late: few simulated clusters run a command, and the import costs 8 ms.
    from ._container_shell import shell

    return shell


def _attach_handler(program: Program, container: RunningContainer, streams: CommandStreams) -> CommandHandler:
    if program.attach is not None:
        return program.attach
    if not (container.spec.get("stdin") and streams.stdin):
        return attach
    # Such a container runs an interactive shell, and ends when the shell does.
    return _run_main_shell


def _run_main_shell(session: CommandSession) -> None:
    session.on_exit = session.container.exit
    _shell()(session)


def _kill(conversation: CommandConversation) -> None:
    if conversation.session is not None:
        conversation.session.exit(_KILLED)


def _end_with_container(
    output: LogBuffer, conversation: CommandConversation | PortMessages, end: Callable[[], None]
) -> None:
    """End a conversation when its container ends."""

    def check() -> None:
        if output.closed and not conversation.ended:
            end()
        if output.closed or conversation.ended:
            output.followers.remove(check)

    output.followers.append(check)


def _end_when_idle(container: RunningContainer, conversation: CommandConversation) -> None:
    def check(previous_count: int) -> None:
        if conversation.is_over:
            return
        if conversation.message_count == previous_count:
            conversation.end(failure_status("the connection was idle for too long"))
            return
        schedule_check()

    def schedule_check() -> None:
        count = conversation.message_count
        container.later(_IDLE_TIMEOUT, lambda: check(count))

    schedule_check()
