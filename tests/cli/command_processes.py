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
# kubectl runs for 100 ms: it needs no garbage collector, and more threads make it slower.
KUBECTL_SETTINGS: Final = {"GOGC": "off", "GOMAXPROCS": "1"}
# Variables of the test machine that would change the output or the choice of the server.
_UNSET_VARIABLES: Final = (
    "NO_COLOR",
    "FORCE_COLOR",
    "KUBECONFIG",
    "KUBERNETES_SERVICE_HOST",
    "COLUMNS",
    "LINES",
)


def call_in(
    folder: Path, *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process and in a folder, and unload the modules that it imported from there."""
    imported = set(sys.modules)
    importlib.invalidate_caches()  # the import system may have cached the folder's listing
    stdout_stream, stderr_stream = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(stdout_stream),
        redirect_stderr(stderr_stream),
    ):
        for name in _UNSET_VARIABLES:
            patch.delenv(name, raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "path", [*sys.path])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        status = main(arguments)
    for name in set(sys.modules) - imported:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]
    return subprocess.CompletedProcess(arguments, status, *map(_text_of, (stdout_stream, stderr_stream)))


def _text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


class CommandLine:
    """Commands that find the server in ``$KUBECONFIG``, like the commands of a user."""

    def __init__(self, server: SimServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(server.kubeconfig)
        clean = {name: value for name, value in os.environ.items() if name not in _UNSET_VARIABLES}
        self.environment = {**clean, "KUBECONFIG": str(self.kubeconfig), "HOME": str(folder)}

    @property
    def cluster(self) -> Cluster:
        """The cluster; `server.call` changes it between two requests."""
        return self.server.cluster

    def run(
        self, *arguments: str, stdin: str = "", status: int | None = 0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command with pipes until it exits; an unexpected status fails the test."""
        result = subprocess.run(
            [*PROGRAM, *arguments], input=stdin, capture_output=True, text=True, check=False, cwd=self.folder,
            env={**self.environment, **environment},
        )  # fmt: skip
        assert status is None or result.returncode == status, (
            result.returncode,
            result.stdout,
            result.stderr,
        )
        return result

    def call(
        self, *arguments: str, stdin: str = "", status: int | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in this process, which takes a tenth of the time of `run`."""
        result = call_in(self.folder, *arguments, stdin=stdin, KUBECONFIG=str(self.kubeconfig), **environment)
        assert status is None or result.returncode == status, (
            result.returncode,
            result.stdout,
            result.stderr,
        )
        return result

    def kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run kubectl with these arguments, for a comparison."""
        return subprocess.run(
            ["kubectl", *arguments], input=stdin, capture_output=True, text=True, check=False,
            cwd=self.folder, env={**self.environment, **KUBECTL_SETTINGS},
        )  # fmt: skip

    @contextmanager
    def start(self, *arguments: str, **environment: str) -> Generator[subprocess.Popen[str]]:
        """Start a command with pipes, and kill it at the end of the block if it still runs."""
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [*PROGRAM, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=self.folder,
            env={**self.environment, **environment},
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.kill()

    def terminal(self, *arguments: str, rows: int = 24, columns: int = 80, **environment: str) -> Terminal:
        """Start a command on a terminal."""
        return Terminal(
            [*PROGRAM, *arguments],
            rows=rows,
            columns=columns,
            environment={**self.environment, **environment},
        )
