"""Credentials against a server that checks them, over real sockets and TLS, with each transport."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
import trustme
from credential_rig import Clock, Script, credential
from test_connect_files import jwt

import kubeproto as kp
from kubeproto.config import Config, Connection, Identity, Oidc
from kubeproto_asyncio import AsyncioTransport
from kubeproto_httpx import BlockingHttpxTransport, HttpxTransport
from kubeproto_runtime.blocking import BlockingAuthorizedTransport
from kubeproto_runtime.credentials import AuthorizedTransport
from kubeproto_trio import TrioTransport

CA: Final = trustme.CA()
PEM: Final = CA.cert_pem.bytes()


class Cluster:
    """Responds with the user of a request, by certificate and token. `/realm` issues tokens."""

    def __init__(self) -> None:
        self.accepted = {""}
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            connection: ssl.SSLSocket

            def do_GET(self) -> None:
                self._respond(
                    *cluster.respond(self.path, self.headers.get("Authorization", ""), self.connection)
                )

            def do_POST(self) -> None:
                form = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._respond(*cluster.redeem(self.path, form))

            def _respond(self, status: int, value: object) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 # as the base class
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(cadata=PEM.decode())
        with CA.issue_cert("localhost").private_key_and_cert_chain_pem.tempfile() as path:
            context.load_cert_chain(path)
        context.verify_mode = ssl.CERT_OPTIONAL
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def respond(self, path: str, authorization: str, connection: ssl.SSLSocket) -> tuple[int, object]:
        if path == "/realm/.well-known/openid-configuration":
            return 200, {"token_endpoint": f"{self.url}/realm/token"}
        if authorization not in self.accepted:
            return 401, {"kind": "Status", "status": "Failure", "reason": "Unauthorized", "code": 401}
        certificate: Any = connection.getpeercert() or {"subject": ()}
        names = {key: value for pairs in certificate["subject"] for key, value in pairs}
        return 200, [names.get("commonName", ""), authorization]

    def redeem(self, path: str, form: str) -> tuple[int, object]:
        if path != "/realm/token" or "refresh_token=refresh-1" not in form:
            return 404, {}
        return 200, {"id_token": jwt(5000.0), "refresh_token": "refresh-2"}


@pytest.fixture
def cluster() -> Generator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()


SendRequest = Callable[[], Awaitable[list[str]]]
Scenario = Callable[[SendRequest], Awaitable[None]]
RunScenario = Callable[[Config, Clock, Scenario], None]

TRANSPORTS: Final = {
    "asyncio": (AsyncioTransport, "asyncio"),
    "trio": (TrioTransport, "trio"),
    "httpx on asyncio": (HttpxTransport, "asyncio"),
    "httpx on trio": (HttpxTransport, "trio"),
    "blocking httpx": (BlockingHttpxTransport, "asyncio"),
}


@pytest.fixture(params=TRANSPORTS)
def run_scenario(request: pytest.FixtureRequest) -> RunScenario:
    """Run a scenario over each transport. It gets a function that sends a request."""
    opener, loop = TRANSPORTS[request.param]

    def run(config: Config, clock: Clock, scenario: Scenario) -> None:
        whoami = kp.RawRequest("GET", "/whoami")

        async def blocking() -> None:
            openers: Any = opener
            with BlockingAuthorizedTransport(config, openers, clock=clock) as transport:

                async def send() -> list[str]:
                    with transport.send(whoami, timeout=30) as incoming:
                        return read(incoming.status, b"".join(incoming))

                await scenario(send)

        async def asynchronous() -> None:
            openers: Any = opener
            async with AuthorizedTransport(config, openers, clock=clock) as transport:

                async def send() -> list[str]:
                    async with transport.send(whoami, timeout=30) as incoming:
                        return read(incoming.status, b"".join([chunk async for chunk in incoming]))

                await scenario(send)

        anyio.run(blocking if opener is BlockingHttpxTransport else asynchronous, backend=loop)

    return run


def read(status: int, body: bytes) -> list[str]:
    return list(json.loads(body)) if status == 200 else [str(status)]


def config_of(cluster: Cluster, **identity: Any) -> Config:
    return Config(connection=Connection(server=cluster.url, ca=PEM), identity=Identity(**identity))


def test_a_client_certificate_and_its_replacement_are_used(
    cluster: Cluster, run_scenario: RunScenario, tmp_path: Path
) -> None:
    certificate, key, clock = tmp_path / "c.pem", tmp_path / "k.pem", Clock()

    def issue(name: str) -> None:
        issued = CA.issue_cert("ann@example.test", common_name=name)
        certificate.write_bytes(issued.cert_chain_pems[0].bytes())
        key.write_bytes(issued.private_key_pem.bytes())

    async def scenario(send: SendRequest) -> None:
        issue("ann")
        assert await send() == ["ann", ""]
        issue("beth")
        assert await send() == ["ann", ""]
        clock.now += 61
        assert await send() == ["beth", ""]

    run_scenario(config_of(cluster, certificate_file=str(certificate), key_file=str(key)), clock, scenario)


def test_a_refused_token_is_renewed_once(cluster: Cluster, run_scenario: RunScenario, tmp_path: Path) -> None:
    script = Script(tmp_path, credential(token="t$N"))
    clock = Clock()
    cluster.accepted = {"Bearer t2"}

    async def scenario(send: SendRequest) -> None:
        assert await send() == ["", "Bearer t2"]
        assert await send() == ["", "Bearer t2"]
        cluster.accepted = {"Bearer t9"}
        clock.now += 100
        assert await send() == ["401"]

    run_scenario(Config(connection=config_of(cluster).connection, identity=script.identity), clock, scenario)
    assert len(script.pids) == 3


def test_a_login_is_renewed_at_a_provider_below_a_path(cluster: Cluster, run_scenario: RunScenario) -> None:
    cluster.accepted = {f"Bearer {jwt(5000.0)}"}
    oidc = Oidc(
        issuer=f"{cluster.url}/realm", client_id="kubectl", id_token=jwt(0), refresh_token="refresh-1", ca=PEM
    )

    async def scenario(send: SendRequest) -> None:
        assert await send() == ["", f"Bearer {jwt(5000.0)}"]

    run_scenario(config_of(cluster, oidc=oidc), Clock(), scenario)
