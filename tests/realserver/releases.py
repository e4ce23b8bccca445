"""Writes the modules of a control plane of each release: ``python -m realserver.releases 1.33``.

A release of Kubernetes names its staging modules by folders of its repository; each is also published as a
module of its own, as v0.33.13 for v1.33.13. Everything else has the version that the release requires. Go
then adds further modules, and their hashes. The newest patch release with complete modules is taken: the
module proxy lacks some.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from ._real_build import ENVIRONMENT, HERE, RELEASES, Unbuildable, find_go

_KUBERNETES: Final = "k8s.io/kubernetes"
_MODULE: Final = "kubeproto.test/realserver"


def main(releases: list[str]) -> int:
    for release in releases:
        version = newest_complete(release)
        RELEASES.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{release}.mod"
            path.write_text(go_mod(version))
            _go("list", f"-modfile={path}", "-mod=mod", "-deps", ".")
            # Only now, because a missing module ends it.
            for file in (path, path.with_suffix(".sum")):
                shutil.copy(file, RELEASES)
        print(f"releases/{release}.mod: {version}")  # noqa: T201
    return 0


def newest_complete(release: str) -> str:
    """Return the newest version of a release with complete modules, such as v1.33.13 of 1.33."""
    versions = _go("list", "-m", "-versions", _KUBERNETES).split()
    numbers = [
        int(candidate.rpartition(".")[2])
        for candidate in versions
        if re.fullmatch(rf"v{release}\.\d+", candidate)
    ]
    # The list is incomplete, so each number up to the highest is tried.
    for number in range(max(numbers, default=-1), -1, -1):
        version = f"v{release}.{number}"
        missing = missing_modules(version)
        if not missing:
            return version
        print(f"{version} cannot be built: {', '.join(missing)} cannot be had", file=sys.stderr)  # noqa: T201
    raise Unbuildable(f"there is no Kubernetes {release} all of whose modules can be had")


def missing_modules(version: str) -> list[str]:
    """Return the staging modules of a version that the module proxy lacks."""
    missing = unavailable([f"{_KUBERNETES}@{version}"])
    if missing:
        return missing
    return unavailable([f"{module}@{staging_version(version)}" for module in staging_modules(version)])


def unavailable(required: list[str]) -> list[str]:
    """Return the modules among these that the module proxy lacks."""
    completed = subprocess.run(
        [find_go(), "mod", "download", "-json", *required], cwd=HERE, env={**os.environ, **ENVIRONMENT},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False,
    )  # fmt: skip
    decoder, text, missing = json.JSONDecoder(), completed.stdout.strip(), list[str]()
    while text:
        module, end = decoder.raw_decode(text)
        if "Error" in module:
            missing.append(module["Path"])
        text = text[end:].lstrip()
    return missing


def go_mod(version: str) -> str:
    """Return a go.mod for a control plane of this version of Kubernetes."""
    go_mod_of_kubernetes = their_go_mod(version)
    staging = staging_version(version)
    staged = staging_modules(version)
    required = {
        requirement["Path"]: requirement["Version"] for requirement in go_mod_of_kubernetes["Require"]
    }
    required |= dict.fromkeys(staged, staging)
    required[_KUBERNETES] = version
    godebug = "".join(
        f"godebug {requirement['Key']}={requirement['Value']}\n"
        for requirement in go_mod_of_kubernetes.get("Godebug") or ()
    )
    lines = "".join(f"\t{name} {requirement}\n" for name, requirement in sorted(required.items()))
    replaced = "".join(f"\t{name} => {name} {staging}\n" for name in staged)
    go = go_mod_of_kubernetes["Go"]
    return f"module {_MODULE}\n\ngo {go}\n\n{godebug}\nrequire (\n{lines})\n\nreplace (\n{replaced})\n"


def their_go_mod(version: str) -> dict[str, Any]:
    """Return the go.mod of Kubernetes itself, as Go reads it."""
    downloaded = json.loads(_go("mod", "download", "-json", f"{_KUBERNETES}@{version}"))
    parsed: dict[str, Any] = json.loads(_go("mod", "edit", "-json", downloaded["GoMod"]))
    return parsed


def staging_modules(version: str) -> list[str]:
    """Return the modules in the repository of Kubernetes itself."""
    return sorted(replacement["Old"]["Path"] for replacement in their_go_mod(version)["Replace"])


def staging_version(version: str) -> str:
    """Return the version of the staging modules: v0.33.13 for v1.33.13."""
    return f"v0.{version.partition('.')[2]}"


def _go(*arguments: str) -> str:
    completed = subprocess.run(
        [find_go(), *arguments], cwd=HERE, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE,
        text=True, check=False,
    )  # fmt: skip
    if completed.returncode:
        raise Unbuildable(f"go {arguments[0]} failed; Go says above why")
    return completed.stdout


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Unbuildable as error:
        sys.exit(str(error))
