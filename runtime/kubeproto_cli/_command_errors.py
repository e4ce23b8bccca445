"""Errors of the input, of a server or of the installation, and the line that is printed for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class CommandFailed(click.ClickException):
    """A command failed. `message` is printed, and `status` is the exit status.

    Without a status, the exit status is the command's `failure_status`.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def first_error(error: BaseException) -> BaseException:
    """Return the first error of a group; Ctrl-C and a closed pipe take precedence."""
    errors = list(_flatten(error))
    for single_error in errors:
        if isinstance(single_error, KeyboardInterrupt | BrokenPipeError):
            return single_error
    return errors[0]


def _flatten(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group and of the groups in it."""
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from _flatten(member)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield error


def explain_error(error: BaseException) -> str | None:
    """Return the problem and its remedy in one line; None for a bug of this program."""
    from kubeproto import KubeprotoError

    match error:
        case click.ClickException():
            return error.format_message()
        case ModuleNotFoundError(name="kubeproto_sim" | "kubeproto_serve"):
            return "the simulated server is not installed: pip install 'kubeproto[cli,serve]'"
        case ModuleNotFoundError():
            return f"the module {error.name} is missing: pip install kubeproto[cli]"
        case OSError(filename=str() as name, strerror=str() as problem):
            return f"{name}: {problem}"
        case KubeprotoError() | OSError() | ValueError():
            message = " ".join(str(error).splitlines()) or type(error).__name__
            remedy = _remedy_for(error)
            return f"{message}; {remedy}" if remedy else message
        case _:
            return None


def _remedy_for(error: Exception) -> str:
    """Return the remedy for a user at a terminal; empty if the message of the error contains it."""
    from kubeproto import ConnectError, DeadlineExceeded, Forbidden, Unauthorized
    from kubeproto.config import ConfigError, CredentialsError

    match error:
        case Unauthorized() | CredentialsError():
            return "log in again, or choose another --context or --user"
        case Forbidden():
            return "ask an administrator for this permission, or act as another user: --as, --context"
        case ConnectError():
            return "check that the server runs, and that --context is the intended one"
        case DeadlineExceeded():
            return "allow more time: --request-timeout"
        case ConfigError() if str(error).startswith("there is no kubeconfig"):
            return "choose one with --kubeconfig or $KUBECONFIG"
        case _:
            return ""
