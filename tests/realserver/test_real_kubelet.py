"""Logs, commands, attached output and ports go through the real API server to a kubelet and back."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from kubeproto import ApiError
from kubeproto.kinds.core_v1 import Pod
from kubeproto.streams import Exited, Stderr, Stdout
from kubeproto_runtime import Client, connect
from realserver import RealServer

from ._real_kubelet import LINES, POD, a_node

_WITHIN = 120.0
Work = Callable[[Client], Awaitable[None]]


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


class _EchoServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture(scope="module")
def served_pod(real_server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """Yield a pod with a kubelet whose ports echo, and the kubeconfig of its server."""
    with _EchoServer(("127.0.0.1", 0), _Echo) as echo:
        thread = threading.Thread(target=echo.serve_forever)
        thread.start()
        try:
            with a_node(real_server, tmp_path_factory.mktemp("kubelet"), echo.server_address[1]):
                yield real_server.kubeconfig
        finally:
            echo.shutdown()
            thread.join()


@pytest.fixture(params=["asyncio", "trio"])
def through_the_server(request: pytest.FixtureRequest, served_pod: Path) -> Callable[[Work], None]:
    def run(work: Work) -> None:
        async def main() -> None:
            with anyio.fail_after(_WITHIN):
                async with connect(kubeconfig=served_pod, context="admin") as client:
                    await work(client)

        anyio.run(main, backend=request.param)

    return run


async def output(process: Any) -> tuple[bytes, bytes, int | None]:
    """Return the output of a command and its exit code."""
    out, err = bytearray(), bytearray()
    async for event in process:
        match event:
            case Stdout(data=data):
                out += data
            case Stderr(data=data):
                err += data
            case Exited(code=code):
                return bytes(out), bytes(err), code
            case _:
                pass
    return bytes(out), bytes(err), None


def test_a_log_is_read_and_followed(through_the_server: Callable[[Work], None]) -> None:
    async def work(client: Client) -> None:
        pods = client.api(Pod)
        assert (await pods.log(POD)).splitlines() == list(LINES)
        assert (await pods.log(POD, tail_lines=1)).splitlines() == [LINES[-1]]
        async with pods.follow_log(POD) as lines:
            assert [await anext(lines) for _ in LINES] == [line.encode() for line in LINES]
        with pytest.raises(ApiError, match="container other is not valid"):
            await pods.log(POD, container="other")

    through_the_server(work)


def test_a_command_writes_to_both_streams_and_ends_with_its_code(
    through_the_server: Callable[[Work], None],
) -> None:
    async def work(client: Client) -> None:
        command = ["sh", "-c", "echo out; echo err >&2; exit 3"]
        async with client.api(Pod).exec(POD, command) as process:
            assert await output(process) == (b"out\n", b"err\n", 3)
        async with client.api(Pod).exec(POD, ["no-such-program"]) as process:
            assert (await process.wait()).code != 0

    through_the_server(work)


def test_a_command_reads_its_input_until_the_end(
    through_the_server: Callable[[Work], None],
) -> None:
    data = bytes(range(256)) * 4096

    async def work(client: Client) -> None:
        async with client.api(Pod).exec(POD, ["cat"], stdin=True) as process:

            async def write() -> None:
                await process.write(data)
                await process.end_stdin()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write)
                out, err, code = await output(process)
                assert (out == data, err, code) == (True, b"", 0)

    through_the_server(work)


def test_attach_carries_output_and_input_of_a_container(
    through_the_server: Callable[[Work], None],
) -> None:
    async def work(client: Client) -> None:
        async with client.api(Pod).attach(POD, stdin=True) as process:
            await process.write(b"typed\n")
            await process.end_stdin()
            out, err, _ = await output(process)
        assert (out.decode().splitlines(), err) == ([*LINES, "typed"], b"")

    through_the_server(work)


def test_forwarded_ports_carry_bytes_in_both_directions_concurrently(
    through_the_server: Callable[[Work], None],
) -> None:
    async def work(client: Client) -> None:
        async with client.api(Pod).port_forward(POD, [80, 81]) as ports:
            await ports[81].send(b"x" * 300_000)
            await ports[80].send(b"hi")
            assert await ports[80].receive() == b"hi"
            heard = b""
            while len(heard) < 300_000:
                heard += await ports[81].receive()
            assert heard == b"x" * 300_000

    through_the_server(work)


def test_a_command_without_streams_is_refused_after_the_upgrade(
    through_the_server: Callable[[Work], None],
) -> None:
    async def work(client: Client) -> None:
        request = client.requests(Pod).exec(POD, ["true"])
        for path in ("exec?command=true", "exec?command=true&tty=true&stderr=true", "attach"):
            target = f"{request.target.partition('/exec?')[0]}/{path}"
            messages: list[bytes] = []
            async with client.upgrade(replace(request, target=target)) as socket:
                while (message := await socket.receive()) is not None:
                    messages.append(bytes(message))
            text = b"unable to upgrade connection: you must specify at least 1 of stdin, stdout, stderr"
            assert text in messages[-1]

    through_the_server(work)
