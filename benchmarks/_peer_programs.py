"""Peers in Go and Rust: programs built once for each state of their sources, and found after that."""

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from benchmarks._measure import Absent
from benchmarks._peers import CACHE, PINS, environment, make_environment

PYTHON_PEERS: Final = ("kubernetes", "kr8s", "lightkube", "kopf", "kopf_kr8s")


class Program(Struct, frozen=True):
    """A program in a folder of `peers`: its sources, its compiler, and where installers put that."""

    sources: tuple[str, ...]
    compiler: str
    outside_the_path: str
    arguments: tuple[str, ...]  # {target} is a folder for the compiler, {program} the file to write
    built: str = ""  # where below {target} the compiler puts the program, if it cannot be told


PROGRAMS: Final = {
    "client_go": Program(
        ("go.mod", "go.sum", "main.go"), "go", "/usr/local/go/bin/go",
        ("build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-o", "{program}", "."),
    ),
    "kube_rs": Program(
        ("Cargo.toml", "Cargo.lock", "src/main.rs"), "cargo", "~/.cargo/bin/cargo",
        ("build", "--locked", "--quiet", "--target-dir", "{target}"), "debug/kube-rs-peer",
    ),
}  # fmt: skip


def command(name: str) -> list[str] | None:
    """Return the command that runs the checks of a peer; None if `make peers` has not made it here."""
    if name in PROGRAMS:
        program = _path(name)
        return [str(program)] if program.exists() else None
    python = environment(name, PINS, CACHE)
    return [str(python), "-m", f"benchmarks.peers.{name}_checks"] if python else None


def make(name: str, say: Callable[[str], None]) -> None:
    """Make a peer, unless it is there; raises `Absent` when it cannot be made."""
    if name in PROGRAMS:
        _build(name, PROGRAMS[name], say)
    else:
        make_environment(name, PINS, CACHE, say)


def _path(name: str) -> Path:
    content = b"".join((PINS / name / source).read_bytes() for source in PROGRAMS[name].sources)
    told = repr((PROGRAMS[name].arguments, platform.machine(), platform.system()))
    digest = hashlib.sha256(content + told.encode()).hexdigest()[:12]
    return CACHE / f"{name}-{digest}" / "peer"


def _build(name: str, program: Program, say: Callable[[str], None]) -> None:
    path = _path(name)
    if path.exists():
        return
    compiler = shutil.which(program.compiler) or shutil.which(Path(program.outside_the_path).expanduser())
    if compiler is None:
        raise Absent(f"{program.compiler} is not on this machine, and builds the peer {name}")
    say(f"building {name} into {path}: some minutes when nothing of it was built before")
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh, target = path.with_suffix(f".{os.getpid()}"), CACHE / name
    _compile(name, [compiler, *(one.format(program=fresh, target=target) for one in program.arguments)])
    if program.built:
        shutil.copy2(target / program.built, fresh)
    fresh.rename(path)


def _compile(name: str, arguments: Sequence[str]) -> None:
    done = subprocess.run(
        arguments,
        cwd=PINS / name,
        env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
        check=False,
    )
    if done.returncode:
        raise Absent(f"{name} could not be built; the compiler says above why")


def main() -> int:
    """Make all peers that this machine can make."""
    missing = 0
    for name in (*PYTHON_PEERS, *PROGRAMS):
        try:
            make(name, print)
        except Absent as reason:
            missing += 1
            print(f"{name}: {reason}")
        else:
            print(f"{name}: ready")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
