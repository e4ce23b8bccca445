"""The group `kubeproto`: which commands there are, and how an error becomes one line and an exit status."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import click

from ._commands import LazyCommand, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = "kubeproto"
# With this in its environment the program completes a line instead of running it.
COMPLETION: Final = "_KUBEPROTO_COMPLETE"

COMMANDS: Final = {
    "completion": LazyCommand(
        "kubeproto_cli._completion:completion", "Print what a shell needs to complete commands and options."
    ),
    "manifests": LazyCommand(
        "kubeproto_cli._manifests:manifests", "Print or write what an operator needs in a cluster."
    ),
    "serve": LazyCommand("kubeproto_cli._serve:serve", "Serve a simulated Kubernetes API on a port."),
}


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"{NAME} {version(NAME)}")
        ctx.exit()


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version,
    help="Show the version and exit.",
)  # fmt: skip
def kubeproto() -> None:
    """Tools for programs that speak Kubernetes.

    Each command has its own help: kubeproto COMMAND --help.
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command; what goes wrong for a reason outside of this program is one line on standard error."""
    if instruction := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(kubeproto, {}, NAME, COMPLETION, instruction)
    try:
        with kubeproto.make_context(NAME, list(arguments)) as context:
            try:
                return kubeproto.invoke(context) or 0
            except (click.exceptions.Exit, click.ClickException, BrokenPipeError):
                raise
            except Exception as error:
                if (reason := _reason(error)) is None:
                    raise  # a mistake of this program: its traceback belongs in a report
                _complain(f"{NAME} {context.invoked_subcommand}: {reason}")
                return 1
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else NAME
        _complain(f"{path}: {_in_a_line(error.format_message())}; see {path} --help")
        return error.exit_code
    except click.ClickException as error:
        _complain(f"{NAME}: {error.format_message()}")
        return error.exit_code


def _reason(error: Exception) -> str | None:
    """Return what to say of an error whose cause is the input, a file, a server or the installation."""
    from kubeproto import KubeprotoError

    match error:
        case ModuleNotFoundError():
            return f"the module {error.name} is missing: pip install kubeproto[cli]"
        case OSError(filename=str() as name, strerror=str() as what):
            return f"{name}: {what}"
        case KubeprotoError() | OSError() | ValueError():
            return " ".join(str(error).splitlines()) or type(error).__name__
        case _:
            return None


def _in_a_line(message: str) -> str:
    """Return a sentence as it stands behind a colon."""
    lower = message[:1].lower() if message[1:2].islower() else message[:1]
    return f"{lower}{message[1:].rstrip('.')}"


def _complain(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201
