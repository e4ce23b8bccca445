"""Commands, logs and ports of simulated pods through a port, with the client's transports on both loops."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import kubeproto_sim as sim
from kubeproto import ApiError, TransportError
from kubeproto.kinds.core_v1 import Pod
from kubeproto.streams import Exited, Stdout
from kubeproto_runtime import Client, connect
from kubeproto_serve import Limits, Security, self_signed, serve

Work = Callable[[Client, sim.Nodes], Awaitable[None]]
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
       "spec": {"containers": [{"name": "web", "image": "nginx"}]}}  # fmt: skip


@pytest.fixture(params=["asyncio", "trio"])
def through_a_port(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    def run(work: Work, *, tls: bool = False, limits: Limits | None = None, **options: Any) -> None:
        async def main() -> None:
            with anyio.fail_after(60):
                async with _served(tmp_path, self_signed() if tls else None, limits, options) as (
                    client,
                    nodes,
                ):
                    await work(client, nodes)

        anyio.run(main, backend=request.param)

    return run


@asynccontextmanager
async def _served(
    folder: Path, security: Security | None, limits: Limits | None, options: dict[str, Any]
) -> AsyncGenerator[tuple[Client, sim.Nodes]]:
    cluster = sim.Cluster()
    nodes = cluster.nodes(ready_after=0, **options)
    cluster.put(POD)
    cluster.settle()
    async with serve(cluster, security=security, limits=limits) as url:
        (folder / "config").write_text(url.kubeconfig)
        async with connect(kubeconfig=folder / "config") as client:
            yield client, nodes


@pytest.mark.parametrize("tls", [False, True])
def test_a_command_runs_with_stdin_and_an_exit_code(
    through_a_port: Callable[..., None], *, tls: bool
) -> None:
    async def work(client: Client, _: sim.Nodes) -> None:
        async with client.api(Pod).exec("web", ["sh"], stdin=True) as process:
            await process.write(b"echo hello\nexit 3\n")
            assert await anext(process) == Stdout(b"hello\n")
            assert (await process.wait()).code == 3

    through_a_port(work, tls=tls)


def test_a_command_carries_a_mebibyte_in_both_directions(through_a_port: Callable[..., None]) -> None:
    data = bytes(range(256)) * 4096

    async def work(client: Client, _: sim.Nodes) -> None:
        received = b""
        async with client.api(Pod).exec("web", ["cat"], stdin=True) as process:

            async def write() -> None:
                await process.write(data)
                await process.end_stdin()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(write)
                async for event in process:
                    if isinstance(event, Exited):
                        assert event.code == 0
                        break
                    received += event.data
        assert received == data

    through_a_port(work)


def test_a_command_outlives_the_limits_of_idle_connections(through_a_port: Callable[..., None]) -> None:
    async def work(client: Client, _: sim.Nodes) -> None:
        async with client.api(Pod).exec("web", ["sleep", "0.6"]) as process:
            assert (await process.wait()).code == 0

    through_a_port(work, limits=Limits(idle=0.1, stalled=0.2))


def test_a_log_is_followed_to_the_end_of_its_container(through_a_port: Callable[..., None]) -> None:
    async def work(client: Client, nodes: sim.Nodes) -> None:
        async with client.api(Pod).follow_log("web") as lines:
            assert await anext(lines) == b"start"
            nodes.log("web", "more\n")
            assert await anext(lines) == b"more"
            nodes.exit("web")
            assert [line async for line in lines] == []

    through_a_port(work, programs={"nginx": sim.Program(log="start\n")})


def test_attaching_and_ports_work_through_a_port(through_a_port: Callable[..., None]) -> None:
    async def work(client: Client, nodes: sim.Nodes) -> None:
        async with client.api(Pod).attach("web", stdin=True) as process:
            await process.write(b"typed\n")
            assert await anext(process) == Stdout(b"typed\n")
        async with client.api(Pod).port_forward("web", [80, 81]) as ports:
            await ports[81].send(b"x" * 100_000)
            await ports[80].send(b"hi")
            assert await ports[80].receive() == b"hi"
            received = b""
            while len(received) < 100_000:
                received += await ports[81].receive()
        async with client.api(Pod).port_forward("web", [80]) as ports:
            nodes.exit("web")
            assert await ports[80].receive() == b""

    through_a_port(work)


def test_a_refused_upgrade_is_an_error_and_a_broken_handler_closes_the_socket(
    through_a_port: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(session: sim.CommandSession) -> None:
        def fail(data: bytes) -> None:
            raise ValueError("a bug of the test")

        session.on_stdin = fail

    async def work(client: Client, _: sim.Nodes) -> None:
        with pytest.raises(ApiError, match="container other is not valid"):
            async with client.api(Pod).exec("web", ["true"], container="other"):
                pass
        async with client.api(Pod).exec("web", ["true"], stdin=True) as process:
            await process.write(b"x")
            with pytest.raises(TransportError, match="without sending the command's exit status"):
                await process.wait()

    through_a_port(work, programs={"nginx": sim.Program(exec=broken)})
    assert "a handler of the simulated cluster failed" in caplog.text


def test_a_server_that_stops_closes_its_websockets(tmp_path: Path) -> None:
    async def main() -> None:
        with anyio.fail_after(60):
            cluster = sim.Cluster()
            cluster.nodes(ready_after=0)
            cluster.put(POD)
            cluster.settle()
            async with serve(cluster) as url:
                (tmp_path / "config").write_text(url.kubeconfig)
                async with (
                    connect(kubeconfig=tmp_path / "config") as client,
                    client.api(Pod).exec("web", ["cat"], stdin=True) as process,
                ):
                    await process.write(b"x")
                    assert await anext(process) == Stdout(b"x")

    anyio.run(main)
