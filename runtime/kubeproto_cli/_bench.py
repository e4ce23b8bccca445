"""`kubeproto bench`: the benchmarks of a checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from ._commands import Command
from ._errors import CommandFailed

_MARK: Final = Path("benchmarks", "__main__.py")
_WHERE: Final = (
    "the benchmarks are in the repository and not in the package: they compare with other clients, which they"
    " install and build; run this in a checkout of kubeproto, where `make ready` has installed what they need"
)


@click.command(
    cls=Command,
    context_settings={"ignore_unknown_options": True},
    examples=[
        ("what can be measured", "kubeproto bench"),
        ("one row, or all rows below a prefix, with less data", "kubeproto bench decode.pods --quick"),
        ("two runs compared", "kubeproto bench compare before.json after.json"),
    ],
)
@click.argument("arguments", nargs=-1, metavar="[NAME]...", type=click.UNPROCESSED)
def bench(arguments: tuple[str, ...]) -> int:
    """Measure how fast kubeproto is, beside other clients.

    The same as `python -m benchmarks` in a checkout, and takes its arguments.
    """
    checkout = next((one for one in (Path.cwd(), *Path.cwd().parents) if (one / _MARK).is_file()), None)
    if checkout is None or not (checkout / "kubeproto").is_dir():
        raise CommandFailed(_WHERE)
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=checkout, check=False
    ).returncode
