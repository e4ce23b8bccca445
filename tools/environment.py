"""Makes a virtual environment from a lock file with hashes, and installs this project in it, editable.

It runs on a bare Python, so it uses only the standard library. `.ready` is written last: a folder without it
is incomplete, and is made again.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> None:
    if len(arguments) not in (1, 2):
        give_up("usage: python tools/environment.py FOLDER [LOCK]")
    folder = ROOT / arguments[0]
    lock = arguments[1] if len(arguments) == 2 else "dev.lock"
    ready = folder / ".ready"
    if ready.exists() and runs_this_python(folder):
        # It was complete once, so pip can update it. After an interruption there is no `.ready`.
        ready.unlink()
        print(f"bringing {folder.name} up to date with pyproject.toml and {lock} ...", flush=True)
    else:
        print(f"setting up {folder.name} on Python {version()}; once, it takes a minute ...", flush=True)
        make_empty(folder)
    install(folder, "--require-hashes", "-r", lock)
    # hatchling is pinned too; an isolated build would fetch the newest one.
    # Without dependencies: no distribution named kubeproto comes from an index.
    install(folder, "--no-build-isolation", "--no-deps", "-e", ".", "-e", "simulator")
    # git, ruff and pyright then ignore the folder.
    (folder / ".gitignore").write_text("*\n")
    ready.touch()


def runs_this_python(folder: Path) -> bool:
    """Return whether the environment's Python starts and has this version."""
    probe = [str(interpreter(folder)), "-c", "import sys; print(sys.version_info[:3])"]
    try:
        completed = subprocess.run(probe, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return completed.stdout.strip() == str(sys.version_info[:3])


def make_empty(folder: Path) -> None:
    if importlib.util.find_spec("venv") is None:
        give_up(f"{sys.executable} has no venv module. {advice()}")
    if folder.exists():
        shutil.rmtree(folder)
    command = [sys.executable, "-m", "venv", str(folder)]
    if not has_ensurepip():
        # Debian's Python has no ensurepip; pip from outside can still fill the folder.
        if importlib.util.find_spec("pip") is None:
            give_up(f"{sys.executable} has neither ensurepip nor pip. {advice()}")
        command.append("--without-pip")
    if subprocess.run(command, check=False).returncode != 0:
        give_up(f"`{' '.join(command)}` failed: its message stands above")


def install(folder: Path, *arguments: str) -> None:
    inside = [str(interpreter(folder)), "-m", "pip"]
    outside = [sys.executable, "-m", "pip", "--python", str(interpreter(folder))]
    pip = inside if has_ensurepip() else outside
    command = [*pip, "install", "--quiet", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, cwd=ROOT, check=False, env=clean_environment()).returncode != 0:
        give_up(
            f"pip could not install {arguments[-1]!r} into {folder.name}: its message stands above. "
            "Is PyPI in reach, and pip 22.3 or newer?"
        )


def clean_environment() -> dict[str, str]:
    """Return the environment without PYTHONPATH, which would change the packages that pip sees."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def has_ensurepip() -> bool:
    return importlib.util.find_spec("ensurepip") is not None


def interpreter(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def advice() -> str:
    return f"On Debian and Ubuntu: apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-venv"


def version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


def give_up(message: str) -> NoReturn:
    print(f"cannot set up: {message}", file=sys.stderr)
    raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
