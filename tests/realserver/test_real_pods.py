"""Merged logs, copies and forwarded ports through the real API server to a kubelet and back."""

from __future__ import annotations

import os
import socketserver
import threading
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path

import anyio
import pytest
from interrupting import InterruptingTransport

from kubeproto_runtime import Client, connect
from kubeproto_runtime.pods import CopyError, copy_from, copy_to, forward_ports, read_logs
from realserver import RealServer

from ._real_kubelet import LINES, POD, a_node, write_log

_WITHIN = 120.0
Work = Callable[[Client], Awaitable[None]]


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


class _EchoServer(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def node(real_server: RealServer, tmp_path: Path) -> Generator[Path]:
    """Yield the folder and the log of a kubelet; all ports of its pod echo."""
    with _EchoServer(("127.0.0.1", 0), _Echo) as echo:
        thread = threading.Thread(target=echo.serve_forever)
        thread.start()
        try:
            with a_node(real_server, tmp_path, echo.server_address[1]):
                yield tmp_path
        finally:
            echo.shutdown()
            thread.join()


@pytest.fixture(params=["asyncio", "trio"])
def through_the_server(
    request: pytest.FixtureRequest, node: Path, real_server: RealServer
) -> Callable[[Work], None]:
    def run(work: Work) -> None:
        async def main() -> None:
            with anyio.fail_after(_WITHIN):
                async with connect(kubeconfig=real_server.kubeconfig, context="admin") as client:
                    await work(client)

        anyio.run(main, backend=request.param)

    return run


def test_each_line_of_a_followed_log_arrives_once_in_spite_of_disconnects(
    through_the_server: Callable[[Work], None], node: Path
) -> None:
    async def work(client: Client) -> None:
        expected = [*LINES]
        client.transport = interrupting = InterruptingTransport(client.transport, 7, 1200)
        read_lines: list[str] = []
        async with read_logs(client, POD, follow=True) as lines:
            for round_ in range(6):
                while len(read_lines) < len(expected):
                    line = await anext(lines)
                    read_lines.append(line.text.decode())
                fresh = [f"line {len(expected) + number}" for number in range(7)]
                write_log(node, fresh, begin=len(expected))
                expected += fresh if round_ < 5 else []
        assert read_lines == expected
        assert interrupting.interruptions > 3

    through_the_server(work)


def test_a_folder_is_copied_to_a_pod_and_back(through_the_server: Callable[[Work], None], node: Path) -> None:
    async def work(client: Client) -> None:
        (node / "mine" / "sub").mkdir(parents=True)
        (node / "mine" / "large").write_bytes(os.urandom(3_000_000))
        (node / "mine" / "sub" / "link").symlink_to("../large")
        # The container is this machine.
        uploaded = await copy_to(client, POD, node / "mine", str(node / "there"))
        assert (uploaded.files, uploaded.bytes) == (2, 3_000_000)
        assert (node / "there" / "sub" / "link").read_bytes() == (node / "mine" / "large").read_bytes()
        downloaded = await copy_from(client, POD, str(node / "there"), node / "back")
        assert (downloaded.files, downloaded.bytes) == (2, 3_000_000)
        assert (node / "back" / "sub" / "link").read_bytes() == (node / "mine" / "large").read_bytes()
        with pytest.raises(CopyError, match=r"tar in Pod default/served ended with 2: .*No such file"):
            await copy_from(client, POD, str(node / "none"), node / "none")

    through_the_server(work)


def test_forwarded_ports_carry_bytes_in_both_directions(through_the_server: Callable[[Work], None]) -> None:
    async def work(client: Client) -> None:
        async with forward_ports(client, POD, [":80", ":81"]) as forwarded:
            for port in forwarded.ports:
                async with await anyio.connect_tcp(port.host, port.local) as stream:
                    await stream.send(b"x" * 300_000)
                    received = 0
                    while received < 300_000:
                        received += len(await stream.receive())

    through_the_server(work)
