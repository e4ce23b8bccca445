"""A control plane in a folder: it can be started, killed, restarted as the same server, and stopped."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from msgspec.structs import replace

from kubeproto.config import (
    Connection,
    Credentials,
    Identity,
    Overrides,
    RequiredFiles,
    UnreadableFile,
    credentials,
    infer,
)

from ._real_build import asked_release, build

# Features that tests need and that a release has off by default.
GATES: Final = {"1.36": ("ShardedListAndWatch=true",)}
PATIENCE: Final = 20.0  # seconds to stop, before it is killed
WANTED: Final[credentials.Event] = credentials.CredentialsRequested()
# Below the ports of outgoing connections, which could take the port while the server starts or is down; a
# connection to an unused port of its own range could even reach itself.
PORTS: Final = range(20_000, 32_000)
_started: Final = itertools.count()


class RealServer:
    """A running control plane with the users "admin", "nobody" without rights, and "robot" by certificate.

    It ends with this process at the latest. A client of `connection` reaches it again after a `restart`: the
    port, the certificates and the objects are the same.
    """

    def __init__(
        self, folder: Path, *, watch_cache: bool = True, flags: tuple[str, ...] = (), release: str = ""
    ) -> None:
        self.folder = folder.resolve()
        self.release = release or asked_release()
        self.kubeconfig = self.folder / "kubeconfig"
        self.port = 0
        gates = ",".join(GATES.get(self.release, ()))
        self._options = (f"-watch-cache={str(watch_cache).lower()}", f"-feature-gates={gates}", "--", *flags)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def process(self) -> int:
        """Return the id of its process while it runs."""
        if self._process is None:
            raise RuntimeError("it does not run")
        return self._process.pid

    @property
    def log(self) -> Path:
        """Return the log of the components."""
        return self.folder / "log"

    @property
    def connection(self) -> Connection:
        """Return the connection of "admin"."""
        return self.connection_for("admin")

    def connection_for(self, user: str) -> Connection:
        """Return the connection of a user, read from its kubeconfig as any client reads it."""
        overrides = Overrides(path=str(self.kubeconfig), context=user)
        files: dict[str, bytes | UnreadableFile] = {}
        while isinstance(config := infer({}, files, overrides), RequiredFiles):
            files |= {path: Path(path).read_bytes() for path in config.paths}
        user_credentials = _credentials(config.identity)
        authorization = (
            (("Authorization", user_credentials.authorization),) if user_credentials.authorization else ()
        )
        return replace(config.connection_for(user_credentials), headers=authorization)

    def start(self) -> None:
        """Start, also after `kill`: with the same objects at the same address."""
        if self._process is not None:
            raise RuntimeError("it runs already")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = self.port or _free_port()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [_program(self.release), f"-folder={self.folder}", f"-port={self.port}", *self._options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        try:
            self._wait_for_reply("ready")
        except BaseException:
            self.kill()
            raise

    def compact(self) -> int:
        """Compact the history of etcd, and return the compacted revision."""
        self._tell("compact")
        return int(self._wait_for_reply("compacted"))

    def kill(self) -> None:
        """Kill the process with SIGKILL, as in a crash. Stored objects stay."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            _bury(process)

    def restart(self) -> None:
        """Kill the process and start it again."""
        self.kill()
        self.start()

    def stop(self) -> None:
        """Stop the process, if it runs."""
        if self._process is None:
            return
        try:
            self._tell("stop")
            self._process.wait(PATIENCE)
        except (OSError, subprocess.TimeoutExpired):
            pass
        finally:
            self.kill()

    def _tell(self, command: str) -> None:
        self._pipe("stdin").write(f"{command}\n".encode())
        self._pipe("stdin").flush()

    def _wait_for_reply(self, keyword: str) -> str:
        # The process replies or ends, so no time limit is needed.
        line: bytes = self._pipe("stdout").readline()
        received, _, value = line.decode().strip().partition(" ")
        if received != keyword:
            raise RuntimeError(
                f"it said {line!r} instead of {keyword!r}; {self.log} ends so:\n{self._last_words()}"
            )
        return value

    def _pipe(self, name: str) -> IO[Any]:
        pipe = getattr(self._process, name, None)
        if pipe is None:
            raise RuntimeError("it does not run")
        stream: IO[Any] = pipe
        return stream

    def _last_words(self) -> str:
        size = self.log.stat().st_size
        with self.log.open("rb") as log:
            log.seek(max(0, size - 3000), os.SEEK_SET)
            return log.read().decode(errors="replace")


def start(folder: Path, *, watch_cache: bool = True, flags: tuple[str, ...] = ()) -> RealServer:
    """Start a control plane in a folder; `flags` go to kube-apiserver."""
    server = RealServer(folder, watch_cache=watch_cache, flags=flags)
    server.start()
    return server


def _free_port() -> int:
    """Return an unused port; concurrent servers get different ports."""
    offset = (os.getpid() * 16 + next(_started)) % len(PORTS)
    for port in itertools.chain(PORTS[offset:], PORTS[:offset]):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"there is no free port between {PORTS.start} and {PORTS.stop}")


def _program(release: str) -> Path:
    """Return the program of a release, which `make real` has built, or build it now."""
    chosen = os.environ.get("KUBEPROTO_REAL")
    return Path(chosen) if chosen and release == asked_release() else build(release)


def _credentials(identity: Identity) -> Credentials:
    """Return the credentials of this identity, from the machine that all clients use."""
    state, event = credentials.begin(identity, now=0.0), WANTED
    while True:
        state, actions = credentials.step(state, event, 0.0)
        event = WANTED
        for action in actions:
            match action:
                case credentials.UseCredentials(user_credentials):
                    return user_credentials
                case credentials.ReadFiles(paths):
                    event = credentials.FilesRead(tuple(Path(path).read_bytes() for path in paths))
                case _:
                    assert isinstance(action, credentials.Wait), action


def _bury(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    for pipe in (process.stdin, process.stdout):
        # The buffer may contain a last command that nobody will read.
        with suppress(BrokenPipeError):
            if pipe is not None:
                pipe.close()
