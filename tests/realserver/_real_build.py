"""Builds the control plane with Go, once for each release and each state of its sources."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
RELEASES: Final = HERE / "releases"  # the modules of each older release
CACHE: Final = HERE.parent.parent / ".cache/realserver"
NEWEST: Final = "1.36"  # the release of go.mod, which is the default
PROGRAMS: Final = ("main.go", "papers.go")
DEFAULT_GO: Final = "/usr/local/go/bin/go"  # the path in Go's own instructions

# The binary does not depend on the machine and its settings.
FLAGS: Final = ("-mod=readonly", "-trimpath", "-buildvcs=false")
ENVIRONMENT: Final = {
    "GOFLAGS": "",
    "GOWORK": "off",
    "GOENV": "off",
    "GOTOOLCHAIN": "local",
    "CGO_ENABLED": "0",
}


class Unbuildable(Exception):
    """Go is missing, or the build failed."""


def build(release: str = NEWEST) -> Path:
    """Return the program; the first build takes some minutes, later ones seconds."""
    built = program(release)
    if built.exists():
        return built
    go = find_go()
    built.parent.mkdir(parents=True, exist_ok=True)
    version = "k8s.io/component-base/version"
    # Without its name in the binary, a server calls itself v0.0.0-master.
    full = kubernetes_version(release)
    major, minor = release.split(".")
    names = f"-X {version}.gitVersion={full} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    fresh = built.with_suffix(f".{os.getpid()}")
    completed = subprocess.run(
        [go, "build", f"-modfile={modules(release)}", *FLAGS,
         "-ldflags", f"-s -w {names}", "-o", str(fresh), "."],
        cwd=HERE, env={**os.environ, **ENVIRONMENT}, check=False,
    )  # fmt: skip
    if completed.returncode:
        raise Unbuildable(f"the real API server {release} could not be built; Go says above why")
    fresh.rename(built)
    return built


def program(release: str = NEWEST) -> Path:
    """Return the path of the built program."""
    return CACHE / digest(release) / "realserver"


def releases() -> tuple[str, ...]:
    """Return the releases that can be built, the oldest first."""
    return (*sorted(path.stem for path in RELEASES.glob("*.mod")), NEWEST)


def asked_release() -> str:
    """Return the release of `make real KUBERNETES=…`, or the newest."""
    return os.environ.get("KUBERNETES") or NEWEST


def modules(release: str) -> Path:
    """Return the go.mod of a release, which is beside its sums."""
    path = HERE / "go.mod" if release == NEWEST else RELEASES / f"{release}.mod"
    if not path.exists():
        raise Unbuildable(f"there is no Kubernetes {release} to build, only {', '.join(releases())}")
    return path


def find_go() -> str:
    """Return the `go` of this machine."""
    go = shutil.which("go") or shutil.which(DEFAULT_GO)
    if go is None:
        raise Unbuildable("Go is not on this machine: the real API server needs Go 1.26 (https://go.dev/dl)")
    return go


def digest(release: str = NEWEST) -> str:
    """Return a digest of the sources and settings of a build."""
    module_file = modules(release)
    sources = (module_file, module_file.with_suffix(".sum"), *(HERE / name for name in PROGRAMS))
    content = b"".join(path.read_bytes() for path in sources)
    settings = repr((FLAGS, sorted(ENVIRONMENT.items()), platform.machine(), platform.system()))
    return hashlib.sha256(content + settings.encode()).hexdigest()[:16]


def kubernetes_version(release: str = NEWEST) -> str:
    """Return the version of Kubernetes that the go.mod of a release names."""
    module_file = modules(release)
    requirement = re.search(r"^\tk8s\.io/kubernetes (v\S+)$", module_file.read_text(), re.MULTILINE)
    if requirement is None:
        raise Unbuildable(f"{module_file.name} names no k8s.io/kubernetes")
    return requirement[1]
