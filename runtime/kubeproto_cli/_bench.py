"""`kubeproto bench`: the benchmarks of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from ._command_errors import CommandFailed
from ._commands import Command

_NO_CHECKOUT: Final = (
    "the benchmarks are in the repository and not in the package: they compare with other clients, which they"
    " install and build; run this in a checkout of kubeproto after `make ready`"
)


@click.command(
    cls=Command,
    context_settings={"ignore_unknown_options": True},
    examples=[
        ("the list of benchmarks", "kubeproto bench"),
        ("one row, or all rows with a prefix, with less data", "kubeproto bench decode.pods --quick"),
        ("two runs compared", "kubeproto bench compare before.json after.json"),
    ],
)
@click.argument("arguments", nargs=-1, metavar="[NAME]...", type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> int:
    """Measure how fast kubeproto is, beside other clients.

    The same as `python -m benchmarks` in a checkout, and takes its arguments.
    """
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / "benchmarks" / "__main__.py").is_file() and (folder / "kubeproto").is_dir():
            command = [sys.executable, "-m", "benchmarks", *arguments]
            return subprocess.run(command, cwd=folder, check=False).returncode
    raise CommandFailed(_NO_CHECKOUT)
