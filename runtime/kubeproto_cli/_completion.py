"""`kubeproto completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from ._commands import Command

_SHELLS: Final = ("bash", "fish", "zsh")


@click.command(
    cls=Command,
    examples=[
        ("for this session of bash", "source <(kubeproto completion bash)"),
        ("for zsh, in ~/.zshrc", "source <(kubeproto completion zsh)"),
        ("for fish", "kubeproto completion fish > ~/.config/fish/completions/kubeproto.fish"),
    ],
)
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print what a shell needs to complete commands and options."""
    from ._main import COMPLETION, NAME, kubeproto

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(found(kubeproto, {}, NAME, COMPLETION).source())
