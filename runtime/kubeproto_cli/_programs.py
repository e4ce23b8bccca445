"""What the containers of images do on simulated nodes, as a YAML file says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from pathlib import Path

    from kubeproto_sim import Program


class _ImageProgram(Struct, forbid_unknown_fields=True, kw_only=True):
    """What a file can say of an image: `kubeproto_sim.Program` without its functions."""

    log: str = ""
    takes: float | None = None
    code: int = 0
    ready_after: float | None = None
    unpullable: str = ""
    files: dict[str, str] = {}


def read_programs(path: Path) -> dict[str, Program]:
    """Return the programs of a file by image."""
    from kubeproto_sim import Program

    try:
        programs = msgspec.yaml.decode(path.read_bytes(), type=dict[str, _ImageProgram])
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        raise ValueError(f"{path}: {error}") from error
    return {image: Program(**msgspec.structs.asdict(one)) for image, one in programs.items()}
