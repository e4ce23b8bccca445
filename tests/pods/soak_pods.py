"""The long run of what carries bytes to pods and back: a gibibyte through exec, cp and port-forward.

`make soak` runs it; ARGS="--bytes 100000000" makes it shorter. Each command is a process of its own against a
simulated cluster on a port in another. It fails if a byte is lost, or if a process ever had more than
`MOST` in memory: what it carries is not kept.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import anyio

import kubeproto_sim as sim
from kubeproto_serve import serve

MOST: Final = 128  # MiB, of which the interpreter and its modules take 60 to 80
PIECE: Final = bytes(range(256)) * 256
POD: Final[dict[str, Any]] = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "web"}]},
}  # fmt: skip
COMMAND: Final = (sys.executable, "-m", "kubeproto_cli")


# The simulated containers, in a process of their own


def pieces(size: int) -> list[int]:
    """The lengths of the pieces that make up a number of bytes."""
    return [len(PIECE)] * (size // len(PIECE)) + [size % len(PIECE)]


def handle(session: sim.CommandSession) -> int | None:
    """Write a number of bytes, swallow what comes, or be a tar with one large file."""
    command = session.command
    if command[0] == "test":
        return 0 if command[1] == "-f" else 1
    if command[0] == "swallow" or command[:2] == ("tar", "-xmf"):
        seen = [0]
        session.on_stdin = lambda data: seen.__setitem__(0, seen[0] + len(data))

        def end() -> None:
            session.write(f"{seen[0]}\n")
            session.exit()

        session.on_stdin_end = end
        return None
    size = int(command[-1])
    left = iter(pieces(size))
    if command[0] == "tar":
        info = tarfile.TarInfo(command[-1])
        info.size = size
        session.write(info.tobuf(tarfile.GNU_FORMAT))

    def write() -> None:
        length = next(left, None)
        if length is not None:
            session.write(PIECE[:length])
            return
        if command[0] == "tar":
            session.write(bytes(-size % 512 + 1024))
        session.exit()

    session.on_drained = write
    return None


def port(size: int) -> Callable[[sim.PortConnection], None]:
    """A port that sends as many bytes as it gets, at the same time, and says when it has them all."""

    def connect(connection: sim.PortConnection) -> None:
        left = iter(pieces(size))
        seen = [0]

        def take(data: bytes) -> None:
            if seen[0] == 0:
                connection.on_drained = send
            seen[0] += len(data)
            if seen[0] == size:
                connection.send(b"all")

        def send() -> None:
            length = next(left, None)
            if length is None:
                connection.on_drained = None
            else:
                connection.send(PIECE[:length])

        connection.on_data = take

    return connect


async def serve_pods(kubeconfig: Path, size: int) -> None:
    cluster = sim.Cluster()
    program = sim.Program(exec=handle, ports={80: port(size), 81: port(size)})
    cluster.nodes(ready_after=0, programs={"web": program})
    cluster.put(POD)
    cluster.settle()
    async with serve(cluster) as url:
        kubeconfig.write_text(url.kubeconfig)
        say("ready")
        await anyio.to_thread.run_sync(sys.stdin.read)


# The commands


class Measured(AbstractContextManager["Measured"]):
    """A command, and how much memory it had at most."""

    def __init__(self, environment: dict[str, str], *words: str, **streams: Any) -> None:
        self.process = subprocess.Popen([*COMMAND, *words], env=environment, **streams)
        self.words = words
        self.begun = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        if kind is not None or self.words[0] == "port-forward":
            self.process.terminate()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        most = usage.ru_maxrss / 1024
        took = time.monotonic() - self.begun
        say(f"{' '.join(self.words[:2])}: {most:.0f} MiB at most, {took:.0f} s")
        if kind is None:
            assert most < MOST, f"{self.words[0]} had {most:.0f} MiB in memory; {MOST} are permitted"
            assert self.words[0] == "port-forward" or self.process.returncode == 0, self.words


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def expected(size: int) -> int:
    found = 0
    for length in pieces(size):
        found = zlib.crc32(PIECE[:length], found)
    return found


def run_exec(environment: dict[str, str], size: int) -> None:
    with Measured(environment, "exec", "web", "--", "produce", str(size), stdout=subprocess.PIPE) as out:
        assert out.process.stdout is not None
        assert checksum(out.process.stdout.read) == (size, expected(size))
    pipe = subprocess.PIPE
    with Measured(environment, "exec", "-i", "web", "--", "swallow", stdin=pipe, stdout=pipe) as into:
        assert into.process.stdin is not None
        assert into.process.stdout is not None
        for length in pieces(size):
            into.process.stdin.write(PIECE[:length])
        into.process.stdin.close()
        assert into.process.stdout.read() == b"%d\n" % size


def run_cp(environment: dict[str, str], size: int, folder: Path) -> None:
    with Measured(environment, "cp", f"web:/{size}", str(folder / "large")):
        pass
    with (folder / "large").open("rb") as file:
        assert checksum(file.read) == (size, expected(size))
    with Measured(environment, "cp", str(folder / "large"), "web:/there"):
        pass


def run_ports(environment: dict[str, str], size: int) -> None:
    with Measured(environment, "port-forward", "web", ":80", stdout=subprocess.PIPE) as forward:
        assert forward.process.stdout is not None
        line = forward.process.stdout.readline().decode()
        with socket.create_connection(("127.0.0.1", int(line.split(":")[1].split()[0]))) as connection:

            def send() -> None:
                for length in pieces(size):
                    connection.sendall(PIECE[:length])

            sending = threading.Thread(target=send)
            sending.start()
            seen = 0
            while seen < size + len(b"all"):
                data = connection.recv(1 << 16)
                assert data, f"only {seen} bytes came"
                seen += len(data)
            sending.join()


def checksum(read: Callable[[int], bytes]) -> tuple[int, int]:
    size = found = 0
    while data := read(1 << 16):
        size, found = size + len(data), zlib.crc32(data, found)
    return size, found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--serve", type=Path)
    options, _ = parser.parse_known_args()  # what is for the other soaks
    if options.serve:
        anyio.run(serve_pods, options.serve, options.bytes)
        return 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        kubeconfig = folder / "kubeconfig"
        served = [sys.executable, __file__, "--serve", str(kubeconfig), "--bytes", str(options.bytes)]
        pipe = subprocess.PIPE
        with subprocess.Popen(served, stdin=pipe, stdout=pipe) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                assert server.stdout.readline() == b"ready\n"
                environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
                run_exec(environment, options.bytes)
                run_cp(environment, options.bytes, folder)
                run_ports(environment, options.bytes)
            finally:
                server.stdin.close()
    say(f"{options.bytes} bytes went through exec, cp and port-forward, each way, and none was lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
