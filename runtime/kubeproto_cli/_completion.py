"""`kubeproto completion`: the script by which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ._commands import Command


@click.command(
    cls=Command,
    examples=[
        ("for this session of bash", "source <(kubeproto completion bash)"),
        ("for zsh, in ~/.zshrc", "source <(kubeproto completion zsh)"),
        ("for fish", "kubeproto completion fish > ~/.config/fish/completions/kubeproto.fish"),
    ],
)
@click.argument("shell", type=click.Choice(["bash", "fish", "zsh"]))
def completion(shell: str) -> None:
    """Print the script by which a shell completes commands and options."""
    from ._main import COMPLETION, NAME, kubeproto

    shell_class = get_completion_class(shell)
    assert shell_class is not None  # click supports each choice
    click.echo(shell_class(kubeproto, {}, NAME, COMPLETION).source())
