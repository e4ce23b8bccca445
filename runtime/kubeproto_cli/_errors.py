"""Errors of the input, of a server or of the installation, and the line that each becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class CommandFailed(click.ClickException):
    """A command did not succeed: standard error gets this line, and the shell this exit status.

    Without one, it is that of failures of the command.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def first_error(error: BaseException) -> BaseException:
    """Return the error that counts in a group: Ctrl-C and a closed pipe take precedence."""
    leaves = list(_leaves(error))
    for one in leaves:
        if isinstance(one, KeyboardInterrupt | BrokenPipeError):
            return one
    return leaves[0]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from _leaves(one)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield error


def reason_of(error: BaseException) -> str | None:
    """Return what went wrong and what to do about it; None for a bug of this program."""
    from kubeproto import KubeprotoError

    match error:
        case click.ClickException():
            return error.format_message()
        case ModuleNotFoundError(name="kubeproto_sim" | "kubeproto_serve"):
            return "the simulated server is not installed: pip install 'kubeproto[cli,serve]'"
        case ModuleNotFoundError():
            return f"the module {error.name} is missing: pip install kubeproto[cli]"
        case OSError(filename=str() as name, strerror=str() as what):
            return f"{name}: {what}"
        case KubeprotoError() | OSError() | ValueError():
            said = " ".join(str(error).splitlines()) or type(error).__name__
            advice = _advice(error)
            return f"{said}; {advice}" if advice else said
        case _:
            return None


def _advice(error: Exception) -> str:
    """Return what a user at a terminal can do; empty if the error itself says so."""
    from kubeproto import ConnectError, DeadlineExceeded, Forbidden, Unauthorized
    from kubeproto.config import ConfigError, CredentialsError

    match error:
        case Unauthorized() | CredentialsError():
            return "log in again, or choose another --context or --user"
        case Forbidden():
            return "ask for this right, or act as somebody else: --as, --context"
        case ConnectError():
            return "check that the server runs, and that the --context is the one that you mean"
        case DeadlineExceeded():
            return "give it more time: --request-timeout"
        case ConfigError() if str(error).startswith("there is no kubeconfig"):
            return "name one: --kubeconfig, or $KUBECONFIG"
        case _:
            return ""
