"""Peers in Go and Rust: programs that are built once for each state of their sources."""

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks._measure import MissingRequirement
from benchmarks._pins import CACHE, PINS


class Program(Struct, frozen=True):
    """A program in a folder of `peers`: its sources, its compiler, and the usual place of the compiler."""

    sources: tuple[str, ...]
    compiler: str
    outside_the_path: str
    arguments: tuple[str, ...]  # {target} is a folder for the compiler, {program} the file to write
    built: str = ""  # the program's path below {target}, if the compiler chooses it


PROGRAMS: Final = {
    "client_go": Program(
        ("go.mod", "go.sum", "main.go", "bench.go"), "go", "/usr/local/go/bin/go",
        ("build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", "{program}", "."),
    ),
    "kube_rs": Program(
        ("Cargo.toml", "Cargo.lock", "src/main.rs", "src/bench.rs"), "cargo", "~/.cargo/bin/cargo",
        ("build", "--release", "--locked", "--quiet", "--target-dir", "{target}"), "release/kube-rs-peer",
    ),
}  # fmt: skip


def program_path(name: str) -> Path:
    """Return the path of a peer's program after its build."""
    content = b"".join((PINS / name / source).read_bytes() for source in PROGRAMS[name].sources)
    identity = repr((PROGRAMS[name].arguments, platform.machine(), platform.system()))
    digest = hashlib.sha256(content + identity.encode()).hexdigest()[:12]
    return CACHE / f"{name}-{digest}" / "peer"


def build(name: str, log: Callable[[str], None]) -> None:
    """Build the program of a peer if it is missing; raise `MissingRequirement` if that is impossible."""
    program, path = PROGRAMS[name], program_path(name)
    if path.exists():
        return
    compiler = shutil.which(program.compiler) or shutil.which(Path(program.outside_the_path).expanduser())
    if compiler is None:
        raise MissingRequirement(f"{program.compiler} is not on this machine, and builds the peer {name}")
    log(f"building {name} into {path}: some minutes when nothing of it was built before")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh, target = path.with_suffix(f".{os.getpid()}"), CACHE / name
    _compile(
        name, [compiler, *(argument.format(program=fresh, target=target) for argument in program.arguments)]
    )
    if program.built:
        shutil.copy2(target / program.built, fresh)
    fresh.rename(path)


def _compile(name: str, arguments: Sequence[str]) -> None:
    completed = subprocess.run(
        arguments,
        cwd=PINS / name,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
        check=False,
    )
    if completed.returncode:
        raise MissingRequirement(f"{name} could not be built; the compiler says above why")
