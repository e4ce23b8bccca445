"""Other clients, each in a separate process and environment, in the versions that its file pins."""

import fcntl
import hashlib
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import IO, Any, Final

from benchmarks._measure import MissingRequirement
from benchmarks._pins import CACHE, PINS, PROJECT, requirements
from benchmarks._programs import PROGRAMS, program_path
from benchmarks._stopwatch import medians

PATIENCE: Final = 300.0  # seconds for a reply of a peer; the slowest round takes ten


class Peers:
    """The environments of this run, made at first use or found from an earlier run.

    A failure is remembered: ten rows of the same peer wait for pip once.
    """

    def __init__(self, log: Callable[[str], None], *, pins: Path = PINS, cache: Path = CACHE) -> None:
        self._log = log
        self._pins = pins
        self._cache = cache
        self._environments: dict[str, Path | MissingRequirement] = {}

    def python(self, name: str) -> Path:
        """Return the interpreter of a peer's environment; raise `MissingRequirement` if it cannot be made."""
        if name not in self._environments:
            try:
                self._environments[name] = make_environment(name, self._pins, self._cache, self._log)
            except MissingRequirement as reason:
                self._environments[name] = reason
        environment = self._environments[name]
        if isinstance(environment, MissingRequirement):
            raise environment
        return environment

    def start(self, name: str, work: str, /, **options: Any) -> AbstractContextManager["PeerProcess"]:
        """Start a peer for a work of its file, with the options of that work."""
        program = self.program(name)
        return closing(PeerProcess(program, {"work": work, **options}, name=name))

    def program(self, name: str) -> list[str]:
        """Return the command of a peer: its program in Go or Rust, or its file in Python."""
        if name in PROGRAMS:
            if not (program := program_path(name)).exists():
                raise MissingRequirement(
                    f"the program of {name} is not built: make peers builds it, where its compiler is"
                )
            return [str(program), "bench"]
        # -P: the folder contains files with the names of the packages that they import.
        return [str(self.python(name)), "-P", str(self._pins / f"{name}.py")]


def _home(name: str, pins: Path, cache: Path) -> Path:
    pinned = "\n".join(requirements(pins / f"{name}.py"))
    key = hashlib.sha256(pinned.encode() + sys.version.encode() + sys.base_prefix.encode()).hexdigest()[:12]
    return cache / f"{name}-{key}"


def environment(name: str, pins: Path, cache: Path) -> Path | None:
    """Return the interpreter of a peer's environment; None if it has not been made."""
    home = _home(name, pins, cache)
    return home / "bin" / "python" if (home / "ready").exists() else None


def make_environment(name: str, pins: Path, cache: Path, log: Callable[[str], None]) -> Path:
    """Make a peer's environment, unless it is there; its interpreter. Two processes may ask at once."""
    home = _home(name, pins, cache)
    python, ready = home / "bin" / "python", home / "ready"
    cache.mkdir(parents=True, exist_ok=True)
    with _locked(cache / f"{home.name}.lock"):
        if ready.exists():
            return python
        log(f"making the environment of {name} in {home}")
        shutil.rmtree(home, ignore_errors=True)  # an incomplete environment of an interrupted run
        _run(name, [sys.executable, "-m", "venv", "--without-pip", str(home)])
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "--disable-pip-version-check",
            "--no-input",
        ]
        if pinned := requirements(pins / f"{name}.py"):
            _run(name, [*pip, "install", "--quiet", *pinned])
        ready.touch()
    return python


def _run(name: str, command: Sequence[str]) -> None:
    completed = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if completed.returncode:
        last_lines = completed.stdout.strip().splitlines()[-3:]
        raise MissingRequirement(
            f"the environment of {name} could not be made: {' / '.join(last_lines) or 'no reason given'}"
        )


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed, or the process dies
        yield


class PeerProcess:
    """A peer process that runs a round for each JSON line, and replies with a line."""

    def __init__(
        self, command: Sequence[str], options: Any, *, name: str = "", patience: float = PATIENCE
    ) -> None:
        self._patience = patience
        self._name = name or " ".join(command[1:3])
        self._spent = list[tuple[float, float]]()
        self._process = subprocess.Popen(
            command, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
        )  # fmt: skip
        try:
            self.ask(options)
        except MissingRequirement:
            self.close()
            raise

    def ask(self, question: Any) -> Any:
        """Send a line and return the reply; raise `MissingRequirement` if the peer fails."""
        requests, answered = _pipes(self._process)
        try:
            requests.write(json.dumps(question).encode() + b"\n")
        except BrokenPipeError:
            raise MissingRequirement(f"{self._name} ended") from None
        if not select.select([answered], [], [], self._patience)[0]:
            raise MissingRequirement(f"{self._name} did not answer within {self._patience:g} s")
        line = answered.readline()
        if not line:
            raise MissingRequirement(f"{self._name} ended without an answer; what it said stands above")
        answer = json.loads(line)
        if "error" in answer:
            raise MissingRequirement(f"{self._name} failed: {answer['error']}")
        return answer

    def round(self, events: int) -> float:
        """Run a round, and return its seconds; it must receive the same number of events as kubeproto."""
        return float(self.run_round(events)["seconds"])

    def run_round(self, events: int) -> dict[str, Any]:
        """Run a round, and return its reply; it must receive the same number of events as kubeproto."""
        answer = self.ask({"round": True})
        if answer["events"] != events:
            raise MissingRequirement(f"{self._name} met {answer['events']} events, not {events}")
        if "user" in answer:
            self._spent.append((answer["user"] / events, answer["system"] / events))
        return dict(answer)

    @property
    def cpu_times(self) -> tuple[float, float] | None:
        """Return the CPU seconds for an event in user and system mode: the medians of the rounds so far."""
        return medians(self._spent)

    def close(self) -> None:
        """End the peer."""
        requests, answered = _pipes(self._process)
        self._process.kill()
        self._process.wait()
        requests.close()
        answered.close()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise ValueError("a peer is started with pipes on both ends")
    return process.stdin, process.stdout
