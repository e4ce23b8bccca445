"""Commands with examples in their help, and a group that imports a command when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Command(click.Command):
    """A command whose help ends with examples: pairs of a purpose and a command line.

    `failure_status` is the exit status of an error that has no status of its own.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[tuple[str, str]] = (),
        failure_status: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.examples = tuple(examples)
        self.failure_status = failure_status

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples. Their lines are never wrapped, so that they can be copied."""
        if not self.examples:
            return
        with formatter.section("Examples"):
            for index, (purpose, line) in enumerate(self.examples):
                formatter.write("\n" if index else "")
                formatter.write(f"{'':{formatter.current_indent}}# {purpose}\n")
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class LazyCommand(NamedTuple):  # not a Struct: importing msgspec costs as much as importing click
    """A command that is imported when it is called: its import path and its line in the list of commands."""

    path: str  # module:name
    summary: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, name = self.path.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


class LazyGroup(click.Group):
    """A group that has the names and summaries of its commands, and imports a command when it is called.

    So ``kubeproto --help`` imports no command. `advice` has the advice for commands of other programs.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, LazyCommand], advice: Mapping[str, str], **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self.lazy = lazy
        self.advice = advice

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name. The error for a command of another program names that program."""
        # A shell that completes a line calls this too, and must not get an error.
        if not ctx.resilient_parsing and (advice := self.advice.get(args[0])):
            ctx.fail(f"there is no command '{args[0]}': {advice}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        command = self.lazy.get(cmd_name)
        return None if command is None else command.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.lazy[name].summary) for name in self.list_commands(ctx)])
