"""The long run of the transfers to and from pods: a gibibyte through `exec`, copies and forwarded ports.

`make soak` runs it; ARGS="--bytes 100000000" makes it shorter. Each transfer is a process of its own against
a simulated cluster on a port in another process. A transfer fails if a byte is lost, or if its process ever
used more than `MAX_MEMORY`: it must not retain the bytes that it carries.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import anyio

import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import Pod
from kubeproto.streams import Stdout
from kubeproto_runtime import Client, connect
from kubeproto_runtime.pods import copy_from, copy_to, forward_ports
from kubeproto_serve import serve

MAX_MEMORY: Final = 128  # MiB, of which the interpreter and its modules take 60 to 80
CHUNK: Final = bytes(range(256)) * 256
POD: Final[dict[str, Any]] = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "web"}]},
}  # fmt: skip


def chunk_sizes(size: int) -> Iterator[int]:
    """Yield the sizes of the chunks that make up a number of bytes."""
    yield from repeat(len(CHUNK), size // len(CHUNK))
    yield size % len(CHUNK)


def print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


# The simulated containers, in their own process


def run_command(session: sim.CommandSession) -> int | None:
    """Write a number of bytes, count the bytes of standard input, or act as a tar with a single large
    file.
    """
    command = session.command
    if command[0] == "test":
        return 0 if command[1] == "-f" else 1
    if command[0] == "count" or command[:2] == ("tar", "-xmf"):
        count_stdin(session)
        return None
    size = int(command[-1])
    sizes = chunk_sizes(size)
    if command[0] == "tar":
        info = tarfile.TarInfo(command[-1])
        info.size = size
        session.write(info.tobuf(tarfile.GNU_FORMAT))

    def write_chunk() -> None:
        chunk_size = next(sizes, None)
        if chunk_size is not None:
            session.write(CHUNK[:chunk_size])
            return
        if command[0] == "tar":
            session.write(bytes(-size % 512 + 1024))
        session.exit()

    session.on_drained = write_chunk
    return None


def count_stdin(session: sim.CommandSession) -> None:
    """Count the bytes of standard input, and print their number at its end."""
    count = 0

    def add(data: bytes) -> None:
        nonlocal count
        count += len(data)

    def report() -> None:
        session.write(f"{count}\n")
        session.exit()

    session.on_stdin, session.on_stdin_end = add, report


def echo_port(size: int) -> Callable[[sim.PortConnection], None]:
    """Return a port that sends back as many bytes as it receives, and "all" when it has received all
    bytes.
    """

    def connect_port(connection: sim.PortConnection) -> None:
        sizes = chunk_sizes(size)
        count = 0

        def receive(data: bytes) -> None:
            nonlocal count
            if count == 0:
                connection.on_drained = send_chunk
            count += len(data)
            if count == size:
                connection.send(b"all")

        def send_chunk() -> None:
            chunk_size = next(sizes, None)
            if chunk_size is None:
                connection.on_drained = None
            else:
                connection.send(CHUNK[:chunk_size])

        connection.on_data = receive

    return connect_port


async def serve_pods(kubeconfig: Path, size: int) -> None:
    cluster = sim.Cluster()
    cluster.nodes(ready_after=0, programs={"web": sim.Program(exec=run_command, ports={80: echo_port(size)})})
    cluster.put(POD)
    cluster.settle()
    async with serve(cluster) as server:
        kubeconfig.write_text(server.kubeconfig)
        print_line("ready")
        await anyio.to_thread.run_sync(sys.stdin.read)


# The transfers, each in its own process


async def read_stdout(client: Client, size: int, file: Path) -> None:
    checksum = Checksum()
    async with client.api(Pod).exec("web", ["produce", str(size)]) as process:
        async for event in process:
            if isinstance(event, Stdout):
                checksum.add(event.data)
    checksum.check(size)


async def write_stdin(client: Client, size: int, file: Path) -> None:
    async with client.api(Pod).exec("web", ["count"], stdin=True) as process:
        for chunk_size in chunk_sizes(size):
            await process.write(CHUNK[:chunk_size])
        await process.end_stdin()
        output = b"".join([event.data async for event in process if isinstance(event, Stdout)])
    assert output == b"%d\n" % size


async def copy_out(client: Client, size: int, file: Path) -> None:
    await copy_from(client, "web", f"/{size}", file)
    checksum = Checksum()
    with file.open("rb") as copied:
        while data := copied.read(len(CHUNK)):
            checksum.add(data)
    checksum.check(size)


async def copy_in(client: Client, size: int, file: Path) -> None:
    copied = await copy_to(client, "web", file, "/copy")
    assert copied.bytes == size


async def forward(client: Client, size: int, file: Path) -> None:
    async with forward_ports(client, "web", [":80"]) as forwarded:
        (port,) = forwarded.ports
        async with (
            await anyio.connect_tcp(port.host, port.local) as stream,
            anyio.create_task_group() as tasks,
        ):

            async def send() -> None:
                for chunk_size in chunk_sizes(size):
                    await stream.send(CHUNK[:chunk_size])

            tasks.start_soon(send)
            missing = size + len(b"all")
            while missing:
                missing -= len(await stream.receive())


class Checksum:
    """The number of bytes, and their checksum."""

    def __init__(self) -> None:
        self._size = self._crc = 0

    def add(self, data: bytes) -> None:
        self._size, self._crc = self._size + len(data), zlib.crc32(data, self._crc)

    def check(self, size: int) -> None:
        crc = 0
        for chunk_size in chunk_sizes(size):
            crc = zlib.crc32(CHUNK[:chunk_size], crc)
        assert (self._size, self._crc) == (size, crc)


Transfer = Callable[[Client, int, Path], Awaitable[None]]
# `copy_in` sends the file that `copy_out` has written.
TRANSFERS: Final[dict[str, Transfer]] = {
    function.__name__: function for function in (read_stdout, write_stdin, copy_out, copy_in, forward)
}


async def transfer(name: str, kubeconfig: Path, size: int) -> None:
    async with connect(kubeconfig=kubeconfig) as client:
        await TRANSFERS[name](client, size, kubeconfig.with_name("large"))


def measure(name: str, command: list[str]) -> None:
    """Run a transfer, and check the peak memory of its process."""
    start = time.monotonic()
    process = subprocess.Popen([*command, "--transfer", name])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    memory = usage.ru_maxrss / 1024
    print_line(f"{name}: {memory:.0f} MiB at most, {time.monotonic() - start:.0f} s")
    assert process.returncode == 0, name
    assert memory < MAX_MEMORY, f"{name} had {memory:.0f} MiB in memory; {MAX_MEMORY} are permitted"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--kubeconfig", type=Path)
    parser.add_argument("--transfer", choices=TRANSFERS)
    options, _ = parser.parse_known_args()  # the other options belong to the other soaks
    if options.transfer:
        anyio.run(transfer, options.transfer, options.kubeconfig, options.bytes)
        return 0
    if options.kubeconfig:
        anyio.run(serve_pods, options.kubeconfig, options.bytes)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = str(Path(folder, "kubeconfig"))
        command = [sys.executable, __file__, "--kubeconfig", kubeconfig, "--bytes", str(options.bytes)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                assert server.stdout.readline() == b"ready\n"
                for name in TRANSFERS:
                    measure(name, command)
            finally:
                server.stdin.close()
    print_line(f"{options.bytes} bytes went through exec, copies and forwarded ports, and none was lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
