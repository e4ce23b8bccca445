"""The group `kubeproto`: its commands, and the line and exit status of an error."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import click

from ._command_errors import CommandFailed, explain_error, first_error
from ._commands import Command, LazyCommand, LazyGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME: Final = "kubeproto"
# The environment variable with which a shell requests completions of a line.
COMPLETION: Final = "_KUBEPROTO_COMPLETE"

COMMANDS: Final = {
    "apply": LazyCommand(
        "kubeproto_cli._apply:apply", "Apply files, folders or standard input, by server-side apply."
    ),
    "bench": LazyCommand(
        "kubeproto_cli._bench:bench", "Measure how fast kubeproto is, beside other clients."
    ),
    "completion": LazyCommand(
        "kubeproto_cli._completion:completion",
        "Print the script by which a shell completes commands and options.",
    ),
    "crd": LazyCommand(
        "kubeproto_cli._crd:crd", "Print the definition of a custom resource, from its class."
    ),
    "diff": LazyCommand(
        "kubeproto_cli._diff:diff", "Show what applying files would change, as a unified diff."
    ),
    "doctor": LazyCommand(
        "kubeproto_cli._doctor:doctor",
        "Check the connection to a cluster, and report problems with their remedies.",
    ),
    "generate": LazyCommand(
        "kubeproto_cli._generate:generate", "Write a module of classes for custom resources."
    ),
    "logs": LazyCommand("kubeproto_cli._logs:logs", "Print the logs of pods."),
    "manifests": LazyCommand(
        "kubeproto_cli._manifests:manifests", "Print or write the manifests of an operator."
    ),
    "new": LazyCommand(
        "kubeproto_cli._new:new",
        "Create a project: an operator, its tests, its Dockerfile and its manifests.",
    ),
    "record": LazyCommand(
        "kubeproto_cli._record:record", "Record a watch with its timing, for `kubeproto replay`."
    ),
    "replay": LazyCommand(
        "kubeproto_cli._replay:replay", "Serve a file of `kubeproto record`, with its timing."
    ),
    "run": LazyCommand(
        "kubeproto_cli._run:run", "Run an operator, and restart it when one of its files changes."
    ),
    "serve": LazyCommand("kubeproto_cli._serve:serve", "Serve a simulated Kubernetes API on a port."),
    "watch": LazyCommand(
        "kubeproto_cli._watch:watch", "Show objects and their changes: a live table, or JSON lines."
    ),
}
# Commands of kubectl that a user may try with this program.
KUBECTL_COMMANDS: Final = {
    "cp": "use `kubectl cp`",
    "drain": "use `kubectl drain`",
    "exec": "use `kubectl exec`",
    "get": "use `kubectl get`, or `kubeproto watch` for a live table",
    "port-forward": "use `kubectl port-forward`",
    "wait": "use `kubectl wait`",
}


def _show_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from importlib.metadata import version

        click.echo(f"{NAME} {version(NAME)}")
        ctx.exit()


@click.group(
    cls=LazyGroup, lazy=COMMANDS, advice=KUBECTL_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version,
    help="Show the version and exit.",
)  # fmt: skip
def kubeproto() -> None:
    """Tools for programs that use the Kubernetes API.

    Each command has its own help: kubeproto COMMAND --help.
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command, and return its exit status. Errors that are not bugs are printed in one line."""
    if instruction := os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(kubeproto, {}, NAME, COMPLETION, instruction)
    try:
        with kubeproto.make_context(NAME, list(arguments)) as context:
            try:
                return kubeproto.invoke(context) or 0
            except (click.exceptions.Exit, click.UsageError):
                raise
            except BaseException as error:
                return _report_failure(context, first_error(error))
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else NAME
        _print_error(f"{path}: {_after_colon(error.format_message())}; see {path} --help")
        return error.exit_code


def _report_failure(context: click.Context, error: BaseException) -> int:
    """Print an error in one line, and return the exit status; other exceptions propagate."""
    if isinstance(error, BrokenPipeError) or (message := explain_error(error)) is None:
        raise error  # the traceback of a bug belongs in its report
    name = context.invoked_subcommand or ""
    command = kubeproto.get_command(context, name)
    status = command.failure_status if isinstance(command, Command) else 1
    if isinstance(error, CommandFailed) and error.status is not None:
        status = error.status
    _print_error(f"{NAME} {name}: {message}")
    return status


def _after_colon(message: str) -> str:
    """Return a message of click in the form that follows a colon."""
    lower = message[:1].lower() if message[1:2].islower() else message[:1]
    return f"{lower}{message[1:].rstrip('.')}"


def _print_error(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201
