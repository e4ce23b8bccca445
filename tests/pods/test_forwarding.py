"""Ports that forward to pods of a served cluster: many connections, pods that are replaced, errors of
each.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.core_v1 import Pod
from kubeproto_runtime import Client, connect
from kubeproto_runtime.pods import ForwardingError, forward_ports
from kubeproto_runtime.pods._port_pairs import parse_port, pod_port
from kubeproto_serve import serve

Work = Callable[[Client, sim.Cluster], Awaitable[None]]
LABELS = {"app": "shop"}


def pod(name: str) -> dict[str, Any]:
    ports = [{"name": "http", "containerPort": 8080}]
    containers = [{"name": "app", "image": "app", "ports": ports}]
    metadata = {"name": name, "labels": LABELS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


def greeting(connection: sim.PortConnection) -> None:
    """Send the name of the pod and the port, then return the received bytes."""
    connection.send(f"{connection.pod}:{connection.port} ")
    connection.on_data = connection.send


SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "shop"},
    "spec": {"selector": LABELS, "ports": [{"port": 80, "targetPort": "http"}]},
}  # fmt: skip


@pytest.fixture(params=["asyncio", "trio"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Work], None]:
    def run(work: Work) -> None:
        async def main() -> None:
            cluster = sim.Cluster()
            cluster.nodes(
                ready_after=0,
                ends_after=0,
                programs={"app": sim.Program(ports={8080: greeting, 9090: greeting})},
            )
            cluster.put(pod("web-0"))
            cluster.put(SERVICE)
            cluster.settle()
            with anyio.fail_after(100):
                async with serve(cluster) as url:
                    (tmp_path / "config").write_text(url.kubeconfig)
                    async with connect(kubeconfig=tmp_path / "config") as client:
                        await work(client, cluster)

        anyio.run(main, backend=request.param)

    return run


async def received(stream: anyio.abc.ByteStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += await stream.receive()
    return data


def test_many_connections_run_concurrently(served: Callable[[Work], None]) -> None:
    async def work(client: Client, _: sim.Cluster) -> None:
        async with forward_ports(client, "svc/shop", [":80"]) as forwarded:
            (port,) = forwarded.ports
            assert (port.host, port.remote, forwarded.pod) == ("127.0.0.1", "80", "web-0")

            async def talk(number: int) -> None:
                async with await anyio.connect_tcp(port.host, port.local) as stream:
                    assert await received(stream, 11) == b"web-0:8080 "
                    data = b"%d" % number * 50_000
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(stream.send, data)
                        assert await received(stream, len(data)) == data

            async with anyio.create_task_group() as tasks:
                for number in range(8):
                    tasks.start_soon(talk, number)

    served(work)


def test_another_pod_takes_over_when_a_pod_is_deleted(served: Callable[[Work], None]) -> None:
    async def work(client: Client, cluster: sim.Cluster) -> None:
        async with forward_ports(client, "svc/shop", [":80"]) as forwarded:
            (port,) = forwarded.ports
            async with await anyio.connect_tcp(port.host, port.local) as stream:
                assert await received(stream, 11) == b"web-0:8080 "
                await client.api(Pod).delete("web-0", grace_period=0)
                with pytest.raises(anyio.EndOfStream):
                    await stream.receive()  # the client gets an error, and does not hang
            async with await anyio.connect_tcp(port.host, port.local) as stream:
                # while the client waits
                await client.api(Pod).create(kp.decode(kp.encode(pod("web-1")), Pod))
                assert await received(stream, 11) == b"web-1:8080 "
            assert forwarded.pod == "web-1"

    served(work)


def test_an_error_affects_only_its_connection(served: Callable[[Work], None]) -> None:
    async def work(client: Client, _: sim.Cluster) -> None:
        errors: list[ForwardingError] = []
        async with forward_ports(
            client, "pod/web-0", [":9090", ":7777"], on_error=errors.append
        ) as forwarded:
            good, bad = forwarded.ports
            async with await anyio.connect_tcp(bad.host, bad.local) as stream:
                with pytest.raises(anyio.EndOfStream):
                    await stream.receive()
            async with await anyio.connect_tcp(good.host, good.local) as stream:
                assert await received(stream, 11) == b"web-0:9090 "
        assert [error.port for error in errors] == [bad]
        assert "Pod default/web-0" in str(errors[0])
        assert "connection refused" in str(errors[0])

    served(work)


def test_a_client_that_closed_its_side_still_receives_the_response(served: Callable[[Work], None]) -> None:
    async def work(client: Client, _: sim.Cluster) -> None:
        async with forward_ports(client, "web-0", [":8080"]) as forwarded:
            (port,) = forwarded.ports
            async with await anyio.connect_tcp(port.host, port.local) as stream:
                await stream.send(b"x" * 300_000)
                await stream.send_eof()
                assert len(await received(stream, 300_011)) == 300_011

    served(work)


def test_a_used_port_and_a_target_without_pods_are_refused(served: Callable[[Work], None]) -> None:
    async def work(client: Client, _: sim.Cluster) -> None:
        async with forward_ports(client, "web-0", [":8080"]) as forwarded:
            used_port = forwarded.ports[0].local
            with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{used_port}"):
                async with forward_ports(client, "web-0", [":9090", f"{used_port}:8080"]):
                    pass
        with pytest.raises(
            kp.KubeprotoError, match="pods with app=none in default: none of its pods is running"
        ):
            async with forward_ports(client, "", [":80"], selector="app=none", within=0):
                pass
        with pytest.raises(kp.InvalidRequest, match="Service shop has no port 81; it has 80"):
            async with forward_ports(client, "svc/shop", [":81"]):
                pass

    served(work)


@pytest.mark.parametrize(
    ("text", "local", "remote"),
    [(80, 80, "80"), ("80", 80, "80"), ("8080:80", 8080, "80"), (":80", 0, "80"), ("8080:http", 8080, "http"),
     ("http", 0, "http"), ("0:80", 0, "80")],
)  # fmt: skip
def test_a_port_is_read_as_by_kubectl(text: int | str, local: int, remote: str) -> None:
    pair = parse_port(text)
    assert (pair.local, pair.remote) == (local, remote)


@pytest.mark.parametrize(
    "text", ["", ":", "a:80", "80:", "70000:80", "80:70000", "-1:80", "80:0", "1:2:3", 0]
)
def test_an_invalid_port_is_refused(text: int | str) -> None:
    with pytest.raises(kp.InvalidRequest, match="is not a port: expected 80"):
        parse_port(text)


def test_a_port_of_a_service_or_by_name_is_resolved_to_that_of_the_pod() -> None:
    headless = {"kind": "Service", "spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": 8080}]}}
    service: dict[str, Any] = {
        "kind": "Service", "metadata": {"name": "shop"},
        "spec": {"ports": [{"port": 80, "name": "web", "targetPort": "http"}, {"port": 81}]},
    }  # fmt: skip
    pod_ = pod("web-0")
    assert [pod_port(service, pod_, port) for port in ("80", "web", "81")] == [8080, 8080, 81]
    assert pod_port(headless, pod_, "80") == 80
    assert [pod_port({}, pod_, port) for port in ("http", "5")] == [8080, 5]
    with pytest.raises(kp.InvalidRequest, match="Pod web-0 has no port 'grpc'; its named ports are http"):
        pod_port({}, pod_, "grpc")
