"""The checks of all peers, and `make peers`, which installs them."""

from collections.abc import Callable

from benchmarks._measure import MissingRequirement
from benchmarks._peers import environment, make_environment
from benchmarks._pins import CACHE, PINS, pinned_peers
from benchmarks._programs import PROGRAMS, build, program_path


def command(name: str) -> list[str] | None:
    """Return the command that runs the checks of a peer, or None if `make peers` has not installed it."""
    if name in PROGRAMS:
        program = program_path(name)
        return [str(program)] if program.exists() else None
    python = environment(name, PINS, CACHE)
    return [str(python), "-m", f"benchmarks.peers.{name}_checks"] if python else None


def make(name: str, log: Callable[[str], None]) -> None:
    """Install a peer if it is missing; raise `MissingRequirement` on failure."""
    if name in PROGRAMS:
        build(name, log)
    else:
        make_environment(name, PINS, CACHE, log)


def main() -> int:
    """Install all peers that this machine can install."""
    missing = 0
    for name in (*pinned_peers(PINS), *PROGRAMS):
        try:
            make(name, print)
        except MissingRequirement as reason:
            missing += 1
            print(f"{name}: {reason}")
        else:
            print(f"{name}: ready")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
