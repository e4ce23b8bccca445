"""A simulated cluster on a port: its responses to clients, its limits, and the effects of closed
connections.
"""

from __future__ import annotations

import base64
import json
import logging
import socket
import ssl
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import trio.testing
import trustme

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.crd import definition_of
from kubeproto.kinds.authentication_v1 import SelfSubjectReview
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_runtime import Client, connect
from kubeproto_serve import Limits, Security, certificate_files, read_token_file, self_signed, serve

Main = Callable[[], Awaitable[None]]


@pytest.fixture(params=["asyncio", "trio"])
def on_loop(request: pytest.FixtureRequest) -> Callable[[Main], None]:
    def run(main: Main) -> None:
        async def limited() -> None:
            with anyio.fail_after(60):
                await main()

        anyio.run(limited, backend=request.param)

    return run


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=kp.ObjectMeta(name=name), data=data)


async def exchange(url: str, request: bytes) -> bytes:
    """Send bytes, and read until the server closes or has responded to a request that demands a close."""
    host, _, port = url.rpartition("/")[2].rpartition(":")
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(request)
        response = b""
        try:
            while True:
                response += await stream.receive()
        except anyio.EndOfStream:
            return response


def get(target: str, *headers: str) -> bytes:
    lines = [f"GET {target} HTTP/1.1", "Host: h", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode()


async def wait_until(condition: Callable[[], bool]) -> None:
    while not condition():
        await anyio.lowlevel.checkpoint()


def test_the_client_reads_writes_and_watches(on_loop: Callable[[Main], None], tmp_path: Path) -> None:
    async def main() -> None:
        async with serve(sim.Cluster()) as url:
            (tmp_path / "config").write_text(url.kubeconfig)
            async with connect(kubeconfig=tmp_path / "config") as client:
                maps = client.api(ConfigMap, namespace="default")
                created = await maps.create(config_map("a", x="1"))
                watch = maps.requests.watch(resource_version=created.metadata.resource_version)
                async with client.open(watch) as events:
                    await maps.merge_patch("a", {"data": {"x": "2"}})
                    async for [event] in events:
                        assert isinstance(event, kp.Modified)
                        assert event.object.data == {"x": "2"}
                        break
                assert [item.metadata.name for item in await maps.list()] == ["a"]
                await maps.delete("a")
                with pytest.raises(kp.NotFound):
                    await maps.get("a")

    on_loop(main)


def test_a_watch_ends_in_the_cluster_when_its_client_disconnects(on_loop: Callable[[Main], None]) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        async with serve(cluster) as url:
            host, _, port = url.rpartition("/")[2].rpartition(":")
            async with await anyio.connect_tcp(host, int(port)) as stream:
                await stream.send(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: h\r\n\r\n")
                await stream.receive()
                assert len(cluster.watches) == 1
            await wait_until(lambda: not cluster.watches)

    on_loop(main)


def test_a_server_that_stops_ends_watches_with_a_last_chunk(on_loop: Callable[[Main], None]) -> None:
    async def main() -> None:
        cluster, responses = sim.Cluster(), list[bytes]()

        async def watch(url: str) -> None:
            responses.append(await exchange(url, get("/api/v1/pods?watch=1")))

        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks, serve(cluster) as url:
                tasks.start_soon(watch, url)
                await wait_until(lambda: bool(cluster.watches))
        assert responses[0].endswith(b"\r\n0\r\n\r\n")

    on_loop(main)


def test_an_internal_error_is_a_500_and_affects_no_other_request(
    on_loop: Callable[[Main], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        respond = cluster.respond

        def failing(request: kp.RawRequest, *more: Any) -> sim.ServerResponse:
            if "boom" in request.target:
                raise ZeroDivisionError("inside")
            return respond(request, *more)

        cluster.respond = failing  # type: ignore[method-assign, assignment]
        async with serve(cluster) as url:
            with caplog.at_level(logging.ERROR, "kubeproto.serve"):
                response = await exchange(url, get("/api/v1/boom?token=s3cret"))
            assert response.startswith(b"HTTP/1.1 500 ")
            assert json.loads(response.partition(b"\r\n\r\n")[2])["reason"] == "InternalError"
            assert "failed on GET /api/v1/boom" in caplog.text
            assert "s3cret" not in caplog.text
            assert (await exchange(url, get("/healthz"))).endswith(b"ok")

    on_loop(main)


def test_clients_get_the_configured_faults(on_loop: Callable[[Main], None]) -> None:
    async def main() -> None:
        cluster = sim.Cluster()
        script: list[sim.Fault] = [sim.Throttle(), sim.LoseResponse(), sim.Cut(after=40), sim.Html()]
        faults = sim.Faults(cluster, script=script)
        async with serve(cluster, faults=faults) as url:
            assert (await exchange(url, get("/api/v1/namespaces"))).startswith(b"HTTP/1.1 429 ")
            body = b'{"metadata":{"name":"lost"}}'
            post = b"POST /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(body)
            assert await exchange(url, post + body) == b""
            assert cluster.get("v1/Namespace", "lost") is not None
            truncated = await exchange(url, get("/api/v1/namespaces"))
            assert len(truncated.partition(b"\r\n\r\n")[2]) == 40
            assert (await exchange(url, get("/api/v1/namespaces"))).startswith(b"HTTP/1.1 502 ")

    on_loop(main)


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: h\r\nA: " + b"x" * 3000, 431),
        (b"POST /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n" + b"x" * 9999, 413),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400),
    ],
)
def test_a_too_long_request_is_refused_and_the_next_client_is_served(
    on_loop: Callable[[Main], None], request_: bytes, status: int
) -> None:
    async def main() -> None:
        async with serve(sim.Cluster(), limits=Limits(head=2000, body=5000)) as url:
            assert (await exchange(url, request_)).startswith(b"HTTP/1.1 %d " % status)
            assert (await exchange(url, get("/livez"))).endswith(b"ok")

    on_loop(main)


def test_connections_over_the_limit_get_a_refusal(on_loop: Callable[[Main], None]) -> None:
    async def main() -> None:
        async with serve(sim.Cluster(), limits=Limits(connections=1)) as url:
            host, _, port = url.rpartition("/")[2].rpartition(":")
            async with await anyio.connect_tcp(host, int(port)) as first:
                await first.send(b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
                await first.receive()
                assert (await exchange(url, get("/healthz"))).startswith(b"HTTP/1.1 503 ")

    on_loop(main)


def test_a_client_that_sends_a_request_slowly_loses_its_connection(
    on_loop: Callable[[Main], None],
) -> None:
    async def main() -> None:
        async with serve(sim.Cluster(), limits=Limits(request=0.2)) as url:
            host, _, port = url.rpartition("/")[2].rpartition(":")
            async with await anyio.connect_tcp(host, int(port)) as stream:
                await stream.send(
                    b"POST /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n"
                )

                async def send_slowly() -> None:
                    while True:
                        await stream.send(b"x")
                        await anyio.sleep(0.01)

                with pytest.raises(anyio.BrokenResourceError):
                    await send_slowly()

    on_loop(main)


def test_a_stalled_reader_delays_no_other_client_and_loses_its_watch(
    on_loop: Callable[[Main], None],
) -> None:
    async def main() -> None:
        cluster = sim.Cluster(window=50)
        async with serve(cluster, limits=Limits(stalled=0.2)) as url:
            host, _, port = url.rpartition("/")[2].rpartition(":")
            slow = socket.socket()
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with slow:
                slow.connect((host, int(port)))
                slow.sendall(b"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: h\r\n\r\n")
                await wait_until(lambda: bool(cluster.watches))
                number = 0
                while cluster.watches:  # until the buffers of the socket are full, and 0.2 s more
                    cluster.put(config_map("big", x=str(number) + "x" * 500_000))
                    number += 1
                    assert (await exchange(url, get("/healthz"))).endswith(b"ok")

    on_loop(main)


async def status_of(url: str, *headers: str) -> int:
    return int((await exchange(url, get("/api/v1/namespaces", *headers)))[9:12])


def test_a_server_with_tokens_requires_a_token(on_loop: Callable[[Main], None]) -> None:
    async def main() -> None:
        security = Security(tokens={"s3cret": "admin"})
        assert "s3cret" not in repr(security)
        async with serve(sim.Cluster(), security=security) as url:
            assert await status_of(url) == 401
            assert await status_of(url, "Authorization: Bearer wrong") == 401
            assert await status_of(url, "Authorization: Bearer s3cret") == 200

    on_loop(main)


def test_a_port_with_roles_authenticates_its_administrator_users_and_service_accounts(
    on_loop: Callable[[Main], None],
) -> None:
    async def main() -> None:
        users = read_token_file('al1ce,alice,7,"dev,ops"\n\nb0b,bob,8\n')
        assert users == {"al1ce": sim.User("alice", "7", ("dev", "ops")), "b0b": sim.User("bob", "8")}
        with pytest.raises(ValueError, match="line 1 of the token file"):
            read_token_file("al1ce,alice\n")
        cluster = sim.Cluster(authorization="RBAC", tokens=users)
        async with serve(cluster, security=Security(tokens={"s3cret": "admin"})) as url:
            assert await status_of(url) == 403
            assert await status_of(url, "Authorization: Bearer wrong") == 401
            assert await status_of(url, "Authorization: Bearer al1ce") == 403
            assert await status_of(url, "Authorization: Bearer s3cret") == 200

    on_loop(main)


def test_a_client_certificate_names_its_user_and_groups(
    on_loop: Callable[[Main], None], tmp_path: Path
) -> None:
    async def main() -> None:
        cluster = sim.Cluster(authorization="RBAC")
        async with serve(cluster, security=self_signed(certificates=True)) as url:
            (tmp_path / "config").write_text(url.kubeconfig)
            async with connect(kubeconfig=tmp_path / "config") as client:
                review = await client.api(SelfSubjectReview).create(SelfSubjectReview())
                assert review.status is not None
                info = review.status.user_info
                assert info is not None
                assert (info.username, info.groups) == (
                    "kubernetes-admin", ["system:masters", "system:authenticated"],
                )  # fmt: skip

    on_loop(main)


@pytest.mark.parametrize("target", ["/openapi/v2", "/api/v1/namespaces?watch=true"])
def test_a_client_that_reads_no_responses_can_send_little(
    on_loop: Callable[[Main], None], target: str
) -> None:
    requests = f"GET {target} HTTP/1.1\r\nHost: h\r\n\r\n".encode() * 10_000
    max_sent = 64 * 1024 * 1024  # the buffers of both sockets, and those of the server

    def send_requests(client: socket.socket) -> int:
        sent = 0
        with suppress(TimeoutError):
            while sent < max_sent:
                sent += client.send(requests)
        return sent

    async def main() -> None:
        async with serve(sim.Cluster()) as url:
            address = ("127.0.0.1", int(url.rpartition(":")[2]))
            with socket.create_connection(address, timeout=1) as client:
                client.send(requests)  # before the server accepts the connection
                assert await anyio.to_thread.run_sync(send_requests, client) < max_sent

    on_loop(main)


def test_a_token_of_the_cluster_replaces_the_certificate_of_a_client(
    on_loop: Callable[[Main], None], tmp_path: Path
) -> None:
    authority = trustme.CA()
    server_certificate = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(tmp_path / "ca.crt")
    server_certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    pem = str(tmp_path / "server.pem")
    security = certificate_files(
        pem, pem, client_authority=str(tmp_path / "ca.crt"), requires_certificate=False
    )

    async def main() -> None:
        cluster = sim.Cluster(tokens={"s3cret": sim.User("alice")})
        async with serve(cluster, security=security) as url:
            port = int(url.rpartition(":")[2])
            context = ssl.create_default_context(cadata=authority.cert_pem.bytes().decode())
            for header, status in ((b"", 401), (b"Authorization: Bearer s3cret\r\n", 200)):
                stream = await anyio.connect_tcp(
                    "127.0.0.1", port, tls=True, ssl_context=context, tls_standard_compatible=False
                )
                async with stream:
                    await stream.send(b"GET /version HTTP/1.1\r\nHost: h\r\n" + header + b"\r\n")
                    assert (await stream.receive()).startswith(b"HTTP/1.1 %d " % status)

    on_loop(main)


@pytest.mark.parametrize("certificates", [False, True])
def test_a_server_makes_certificates_that_a_strict_client_accepts(
    on_loop: Callable[[Main], None], certificates: bool, tmp_path: Path
) -> None:
    async def main() -> None:
        async with serve(sim.Cluster(), security=self_signed(certificates=certificates)) as url:
            assert url.startswith("https://")
            (tmp_path / "config").write_text(url.kubeconfig)
            async with connect(kubeconfig=tmp_path / "config") as client:
                assert isinstance(client, Client)
                await client.api(ConfigMap, namespace="default").create(config_map("a"))
            config: dict[str, Any] = json.loads(url.kubeconfig)
            authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
            context = ssl.create_default_context(cadata=base64.b64decode(authority).decode())
            context.verify_flags |= ssl.VERIFY_X509_STRICT
            port = int(url.rpartition(":")[2])
            stream = await anyio.connect_tcp(
                "localhost", port, tls=True, ssl_context=context, tls_standard_compatible=False
            )
            async with stream:
                await stream.send(get("/api/v1/namespaces"))
                response = await stream.receive()
                assert response.startswith(b"HTTP/1.1 %d " % (401 if certificates else 200))

    on_loop(main)


def test_the_clock_of_the_cluster_is_real_time(on_loop: Callable[[Main], None]) -> None:
    async def main() -> None:
        cluster, finished = sim.Cluster(), anyio.Event()
        async with serve(cluster):
            cluster.later(0.05, finished.set)
            await finished.wait()

    on_loop(main)


def test_objects_have_the_time_of_their_request_also_after_a_silence() -> None:
    clock = trio.testing.MockClock(rate=1.0)

    async def main() -> None:
        cluster = sim.Cluster()
        async with serve(cluster) as url:
            start = cluster.now
            clock.jump(300)
            body = b'{"metadata":{"name":"late"}}'
            post = b"POST /api/v1/namespaces HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %d"
            await exchange(url, post % len(body) + b"\r\n\r\n" + body)
            namespace = cluster.get("v1/Namespace", "late")
            assert namespace is not None
            stamp = datetime.fromisoformat(namespace["metadata"]["creationTimestamp"])
            assert stamp.timestamp() >= int(start) + 300

    anyio.run(main, backend="trio", backend_options={"clock": clock})


class PageSpec(kp.Fields):
    text: str


class Page(kp.Object[PageSpec, None], group="serving.example.io", version="v1", plural="pages"):
    """A page."""


def test_a_kind_that_is_defined_over_the_port_is_soon_served(
    on_loop: Callable[[Main], None], tmp_path: Path
) -> None:
    async def main() -> None:
        async with serve(sim.Cluster()) as url:
            (tmp_path / "config").write_text(url.kubeconfig)
            async with connect(kubeconfig=tmp_path / "config") as client:
                body = definition_of(Page).to_json().encode()
                target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
                head = f"POST {target} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n"
                await exchange(url, f"{head}Connection: close\r\n\r\n".encode() + body)
                # No other event occurs: only the time of each request can end the initialization.
                while not (await exchange(url, get("/apis/serving.example.io/v1/pages"))).startswith(
                    b"HTTP/1.1 200"
                ):
                    pass
                pages = client.api(Page, namespace="default")
                created = await pages.create(Page(metadata=kp.ObjectMeta(name="a"), spec=PageSpec(text="x")))
                assert created.spec.text == "x"

    on_loop(main)


def test_metrics_count_requests_and_watches(on_loop: Callable[[Main], None]) -> None:
    async def main() -> None:
        async with serve(sim.Cluster()) as url:
            await exchange(url, get("/api/v1/nothing"))
            response = (await exchange(url, get("/metrics"))).decode()
            assert 'apiserver_request_total{method="GET",code="404"} 1\n' in response
            assert 'apiserver_longrunning_requests{verb="WATCH"} 0\n' in response

    on_loop(main)


TEST = """
import urllib.request


def test_over_a_port(sim_server, sim_cluster):
    sim_server.call(sim_cluster.namespace, "here")
    with urllib.request.urlopen(f"{sim_server.url}/api/v1/namespaces/here") as answer:
        assert answer.status == 200
"""


def test_a_fixture_starts_a_server_for_tests_of_any_program(tmp_path: Path) -> None:
    (tmp_path / "test_port.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "--rootdir", ".", "-q", "-p", "no:cacheprovider"]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in completed.stdout, completed.stdout + completed.stderr


def test_a_server_imports_cryptography_and_websockets_only_when_it_needs_them() -> None:
    """Importing both would double the time until the first response."""
    program = """
import sys, kubeproto_sim, kubeproto_serve, kubeproto_serve._port_server
print(sorted({"cryptography", "wsproto", "cel_expr_python", "trio"} & set(sys.modules)))
"""
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"
