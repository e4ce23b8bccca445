"""Builds the control plane with Go, once for each state of its sources."""

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
CACHE: Final = HERE.parent.parent / ".cache/realserver"
SOURCES: Final = ("go.mod", "go.sum", "main.go", "papers.go")
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


def build() -> Path:
    """The program, built if it is not there. It takes some minutes the first time, and seconds after that."""
    built = program()
    if built.exists():
        return built
    go = find_go()
    built.parent.mkdir(parents=True, exist_ok=True)
    version = "k8s.io/component-base/version"
    # Without its name in the binary, a server calls itself v0.0.0-master.
    release = kubernetes_release()
    major, minor, _ = release.removeprefix("v").split(".")
    names = f"-X {version}.gitVersion={release} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    fresh = built.with_suffix(f".{os.getpid()}")
    done = subprocess.run(
        [go, "build", *FLAGS, "-ldflags", f"-s -w {names}", "-o", str(fresh), "."],
        cwd=HERE, env={**os.environ, **ENVIRONMENT}, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Unbuildable("the real API server could not be built; Go says above why")
    fresh.rename(built)
    return built


def program() -> Path:
    """Where the program is once it is built."""
    return CACHE / digest() / "realserver"


def find_go() -> str:
    """The `go` of this machine."""
    go = shutil.which("go") or shutil.which(GO_OUTSIDE_THE_PATH)
    if go is None:
        raise Unbuildable("Go is not on this machine: the real API server needs Go 1.26 (https://go.dev/dl)")
    return go


def digest() -> str:
    """A name for what is built from these sources here."""
    content = b"".join((HERE / name).read_bytes() for name in SOURCES)
    told = repr((FLAGS, sorted(ENVIRONMENT.items()), platform.machine(), platform.system()))
    return hashlib.sha256(content + told.encode()).hexdigest()[:16]


def kubernetes_release() -> str:
    """The version of Kubernetes that go.mod names."""
    found = re.search(r"^\tk8s\.io/kubernetes (v\S+)$", (HERE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise Unbuildable("go.mod names no k8s.io/kubernetes")
    return found[1]
