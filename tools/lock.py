"""Pins the newest versions that both pyproject.toml allow, in dev.lock and docs.lock: `make lock`.

A lock serves every platform and every Python from 3.11 on, with all hashes. The distributions of this
repository are not in the requirements, so their names are not requested from an index.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
LOCAL: Final = "kubeproto"
COMPILE: Final = (
    "pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate",
    "--no-header", "--quiet", "--upgrade",
)  # fmt: skip


def main(uv: str) -> int:
    root = read_project("pyproject.toml")
    simulator = read_project("simulator/pyproject.toml")
    for group in ("dev", "docs"):
        requirements = [*required(root), *required(simulator), *root["dependency-groups"][group]]
        external = [text for text in requirements if not text.startswith(LOCAL)]
        command = [uv, *COMPILE, "--output-file", f"{group}.lock", "-"]
        completed = subprocess.run(command, cwd=ROOT, input="\n".join(external), text=True, check=False)
        if completed.returncode:
            return completed.returncode
    print("dev.lock and docs.lock are written; `make check` and `make docs` install their versions")
    return 0


def read_project(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


def required(pyproject: dict[str, Any]) -> list[str]:
    """Return the dependencies of a project with all of its extras."""
    project = pyproject["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    return [*project["dependencies"], *(text for extra in extras.values() for text in extra)]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
