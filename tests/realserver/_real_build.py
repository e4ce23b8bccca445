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
RELEASES: Final = HERE / "releases"  # what each older release is built from
CACHE: Final = HERE.parent.parent / ".cache/realserver"
NEWEST: Final = "1.36"  # what go.mod names, and what is built unless another release is asked for
PROGRAMS: Final = ("main.go", "papers.go")
GO_OUTSIDE_THE_PATH: Final = "/usr/local/go/bin/go"  # where Go's own instructions put it

# Neither the machine nor its settings show in what is built.
FLAGS: Final = ("-mod=readonly", "-trimpath", "-buildvcs=false")
ENVIRONMENT: Final = {
    "GOFLAGS": "",
    "GOWORK": "off",
    "GOENV": "off",
    "GOTOOLCHAIN": "local",
    "CGO_ENABLED": "0",
}


class Unbuildable(Exception):
    """There is no Go, or it could not build."""


def build(release: str = NEWEST) -> Path:
    """Return the program, built if it is not there: some minutes the first time, and seconds after that."""
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
    """Where the program is once it is built."""
    return CACHE / digest(release) / "realserver"


def releases() -> tuple[str, ...]:
    """Return the releases that can be built, the oldest first."""
    return (*sorted(path.stem for path in RELEASES.glob("*.mod")), NEWEST)


def asked_release() -> str:
    """Return the release that `make real KUBERNETES=…` asks for, or the newest."""
    return os.environ.get("KUBERNETES") or NEWEST


def modules(release: str) -> Path:
    """Return the go.mod of a release; its sums lie beside it."""
    path = HERE / "go.mod" if release == NEWEST else RELEASES / f"{release}.mod"
    if not path.exists():
        raise Unbuildable(f"there is no Kubernetes {release} to build, only {', '.join(releases())}")
    return path


def find_go() -> str:
    """The `go` of this machine."""
    go = shutil.which("go") or shutil.which(GO_OUTSIDE_THE_PATH)
    if go is None:
        raise Unbuildable("Go is not on this machine: the real API server needs Go 1.26 (https://go.dev/dl)")
    return go


def digest(release: str = NEWEST) -> str:
    """Return a name for what is built from these sources here."""
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
