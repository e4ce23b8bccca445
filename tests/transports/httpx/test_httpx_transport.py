"""The parts that only httpx has: a client of the user, its errors translated, and its limits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

import anyio
import httpx
import pytest
import trio

import kubeproto as kp
from kubeproto import KubeprotoError, RawRequest
from kubeproto.config import ConfigError, Connection
from kubeproto_httpx import BlockingHttpxTransport, HttpxTransport, _blocking_transport
from kubeproto_runtime.testing import BACKENDS, Backend, run

GET: Final = RawRequest("GET", "/api/v1/pods?limit=1", (("Accept", "application/json"),))

Handler = Callable[[httpx.Request], httpx.Response]


def read(transport: BlockingHttpxTransport, request: RawRequest = GET) -> bytes:
    with transport.send(request) as incoming:
        return b"".join(incoming)


async def read_async(handler: Handler) -> bytes:
    client = httpx.AsyncClient(transport=httpx.MockTransport(handler), base_url="http://k8s/base")
    async with client, HttpxTransport(client).send(GET) as incoming:
        return b"".join([chunk async for chunk in incoming])


def read_blocking(handler: Handler) -> bytes:
    with httpx.Client(transport=httpx.MockTransport(handler), base_url="http://k8s/base") as client:
        return read(BlockingHttpxTransport(client))


def on_asyncio(handler: Handler) -> bytes:
    return asyncio.run(read_async(handler))


def on_trio(handler: Handler) -> bytes:
    return trio.run(read_async, handler)


WAYS: Final = [on_asyncio, on_trio, read_blocking]
Way = Callable[[Handler], bytes]


@pytest.mark.parametrize("way", WAYS)
def test_a_client_of_the_user_sends_the_request_to_its_base_url(way: Way) -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, stream=httpx.ByteStream(b"hello"))

    assert way(handler) == b"hello"
    assert str(requests[0].url) == "http://k8s/base/api/v1/pods?limit=1"
    assert requests[0].headers["accept"] == "application/json"


def test_a_client_of_the_user_keeps_its_authentication_and_stays_open() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"].startswith("Basic ")
        return httpx.Response(200, stream=httpx.ByteStream(b"hello"))

    client = httpx.Client(transport=httpx.MockTransport(handler), base_url="http://k8s", auth=("jane", "x"))
    with client:
        with BlockingHttpxTransport(client) as transport:
            assert read(transport) == b"hello"
        assert not client.is_closed


def test_a_client_of_the_transport_is_closed_with_it() -> None:
    transport = BlockingHttpxTransport(Connection(server="http://localhost:1"))
    transport.close()
    with pytest.raises(RuntimeError, match="closed"):
        read(transport)


ERRORS: Final = [
    (httpx.ConnectError("x"), kp.ConnectError),
    (httpx.ConnectTimeout("x"), kp.ConnectError),
    (httpx.ProxyError("407 Proxy Authentication Required"), kp.ConnectError),
    (httpx.PoolTimeout("x"), kp.ConnectError),
    (httpx.ReadTimeout("x"), kp.DeadlineExceeded),
    (httpx.WriteTimeout("x"), kp.DeadlineExceeded),
    (httpx.ReadError("x"), kp.TransportError),
    (httpx.WriteError("x"), kp.TransportError),
    (httpx.CloseError("x"), kp.TransportError),
    (httpx.RemoteProtocolError("Server disconnected without sending a response."), kp.TransportError),
    (
        httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
        kp.TransportError,
    ),
    (httpx.RemoteProtocolError("illegal status line: bytearray(b'SSH-2.0')"), kp.RemoteProtocolError),
    (httpx.LocalProtocolError("Illegal header value b'Bearer hunter2'"), kp.LocalProtocolError),
    (httpx.UnsupportedProtocol("x"), kp.LocalProtocolError),
    (ConnectionResetError(104, "Connection reset by peer"), kp.TransportError),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("httpx_error", "expected_error"), ERRORS, ids=lambda value: getattr(value, "__name__", repr(value)[:40])
)
def test_each_error_of_httpx_is_translated(
    way: Way, httpx_error: Exception, expected_error: type[KubeprotoError]
) -> None:
    tries = 0

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        raise httpx_error

    with pytest.raises(KubeprotoError) as raised:
        way(handler)
    assert type(raised.value) is expected_error
    assert str(raised.value).startswith("GET /api/v1/pods: ")
    assert "hunter2" not in str(raised.value)
    assert "SSH" not in str(raised.value)
    # A new connection was used, so the request is not sent again.
    assert tries == 1


def test_a_body_is_read_once() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(b"hello"))

    client = httpx.Client(transport=httpx.MockTransport(handler), base_url="http://k8s")
    with client, BlockingHttpxTransport(client).send(GET) as incoming:
        assert list(incoming) == [b"hello"]
        assert list(incoming) == []


class StaleConnection(httpx.AsyncBaseTransport):
    """Breaks after four seconds, as a pooled connection does; opening another one takes four seconds."""

    def __init__(self) -> None:
        self.attempts = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        trace, info = request.extensions["trace"], {"request": request}
        self.attempts += 1
        if self.attempts == 2:
            await trace("connection.connect_tcp.started", {})
            await anyio.sleep(4)
        await trace("http11.send_request_headers.started", info)
        await trace("http11.receive_response_headers.started", info)
        if self.attempts == 2:
            return httpx.Response(200, stream=httpx.ByteStream(b"hello"))
        await anyio.sleep(4)
        raise httpx.ReadError("the connection broke")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_request_that_is_sent_again_has_the_whole_time_for_its_head(backend: Backend) -> None:
    stale = StaleConnection()

    async def main() -> None:
        client = httpx.AsyncClient(transport=stale, base_url="http://k8s")
        async with client, HttpxTransport(client).send(GET, idle=5) as incoming:
            assert b"".join([chunk async for chunk in incoming]) == b"hello"

    run(main, backend=backend)
    assert stale.attempts == 2


def test_a_client_without_a_base_url_is_refused() -> None:
    with httpx.Client() as client, pytest.raises(kp.LocalProtocolError):
        read(BlockingHttpxTransport(client))


NOWHERE: Final = Connection(server="http://localhost:1")


async def upgrade(request: RawRequest) -> None:
    async with HttpxTransport(NOWHERE) as transport, transport.send(request):
        raise AssertionError("the upgrade was not refused")


def upgrade_blocking(request: RawRequest) -> None:
    with BlockingHttpxTransport(NOWHERE) as transport:
        read(transport, request)


def upgrade_on_asyncio(request: RawRequest) -> None:
    asyncio.run(upgrade(request))


@pytest.mark.parametrize("way", [upgrade_on_asyncio, upgrade_blocking])
def test_an_upgrade_over_httpx_is_refused_before_anything_is_sent(way: Callable[[RawRequest], None]) -> None:
    pods = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"), namespace="default")
    with pytest.raises(kp.LocalProtocolError, match="does not support WebSockets"):
        way(pods.exec("a", ["true"]))


def test_a_server_that_is_silent_in_the_handshake_is_a_connect_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_blocking_transport, "CONNECT_TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = Connection(server=f"https://127.0.0.1:{listening.getsockname()[1]}", insecure=True)
        with BlockingHttpxTransport(silent) as transport, pytest.raises(kp.ConnectError):
            read(transport)


def test_the_refusal_of_an_upgrade_names_transports_with_websockets() -> None:
    request = kp.Api(kp.Dynamic, resource=kp.Resource("", "v1", "Pod", "pods"), namespace="default").attach(
        "a"
    )
    with pytest.raises(kp.LocalProtocolError, match="use kubeproto_trio or kubeproto_asyncio"):
        HttpxTransport(NOWHERE).upgrade(request)
    with (
        BlockingHttpxTransport(NOWHERE) as transport,
        pytest.raises(kp.LocalProtocolError, match="use kubeproto_trio or kubeproto_asyncio"),
    ):
        transport.upgrade(request)


def test_the_key_of_a_client_does_not_stay_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pem = b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
    with pytest.raises(ConfigError):
        BlockingHttpxTransport(
            Connection(server="https://localhost:1", client_certificate=pem, client_key=pem)
        )
    assert list(tmp_path.iterdir()) == []
