"""The command line as a process against a simulated cluster on a port: in a pipe, and on a terminal."""

from __future__ import annotations

import importlib
import io
import os
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from terminals import Terminal

from kubeproto_cli import main

if TYPE_CHECKING:
    from collections.abc import Generator

    from kubeproto_serve import SimServer
    from kubeproto_sim import Cluster

PROGRAM: Final = (sys.executable, "-m", "kubeproto_cli")
# A process of 100 ms needs no garbage collector, and its threads would only get in each other's way.
KUBECTL_SETTINGS: Final = {"GOGC": "off", "GOMAXPROCS": "1"}
# What a test's machine may have set, and would change what is printed or which server is meant.
_OTHERS: Final = ("NO_COLOR", "FORCE_COLOR", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "COLUMNS", "LINES")


def call_in(
    folder: Path, *words: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, in a folder. What it imports from there is forgotten afterwards."""
    imported = set(sys.modules)
    importlib.invalidate_caches()  # the files of a test are younger than what is known of their folder
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name in _OTHERS:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = main(words)
    for name in set(sys.modules) - imported:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]
    return subprocess.CompletedProcess(words, status, *map(_written, (out, err)))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


class CommandLine:
    """Commands that find the server in ``$KUBECONFIG``, as a user's do."""

    def __init__(self, server: SimServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(server.kubeconfig)
        clean = {name: value for name, value in os.environ.items() if name not in _OTHERS}
        self.environment = {**clean, "KUBECONFIG": str(self.kubeconfig), "HOME": str(folder)}

    @property
    def cluster(self) -> Cluster:
        """The cluster; `server.call` changes it between two requests."""
        return self.server.cluster

    def run(
        self, *words: str, stdin: str = "", status: int | None = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, in pipes; a status that was not expected fails the test."""
        done = subprocess.run(
            [*PROGRAM, *words], input=stdin, capture_output=True, text=True, check=False, cwd=self.folder,
            env={**self.environment, **environment},
        )  # fmt: skip
        assert status is None or done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    def call(
        self, *words: str, stdin: str = "", status: int | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in this process, a tenth of the time: for what is not about a process."""
        done = call_in(self.folder, *words, stdin=stdin, KUBECONFIG=str(self.kubeconfig), **environment)
        assert status is None or done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done

    def kubectl(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run the same by kubectl, to compare."""
        return subprocess.run(
            ["kubectl", *words], input=stdin, capture_output=True, text=True, check=False, cwd=self.folder,
            env={**self.environment, **KUBECTL_SETTINGS},
        )  # fmt: skip

    @contextmanager
    def start(self, *words: str, **environment: str) -> Generator[subprocess.Popen[str]]:
        """Start a command in pipes; it is killed at the end of the block if it still runs."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [*PROGRAM, *words], stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=self.folder,
            env={**self.environment, **environment},
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def terminal(self, *words: str, rows: int = 24, columns: int = 80, **environment: str) -> Terminal:
        """Start a command on a terminal."""
        return Terminal(
            [*PROGRAM, *words], rows=rows, columns=columns, environment={**self.environment, **environment}
        )
