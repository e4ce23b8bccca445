"""Webhooks on a port over TLS: calls from a served cluster, renewed certificates, and completed requests."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
import uvicorn
from anyio.streams.tls import TLSAttribute
from webhook_rig import (
    DEFAULT,
    VALIDATE,
    Book,
    Name,
    OldBook,
    OldSpec,
    Spec,
    book,
    check,
    fill,
    make_webhooks,
    review,
)
from webhook_scenarios import (
    ServerWithWebhooks,
    admit_default_and_refuse_books,
    convert_books,
    renew_a_certificate_under_load,
    run_webhooks,
)

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import Connection
from kubeproto.crd import definition_of
from kubeproto_httpx import HttpxTransport
from kubeproto_runtime import Client, Context, Controller, Operator
from kubeproto_runtime.testing import BACKENDS, Backend, connect_webhooks, install_webhooks, run, simulated
from kubeproto_runtime.webhooks import Admission, CertificateFiles, WebhookAddress, Webhooks, WebhookServer
from kubeproto_serve import serve

TIMEOUT = 30.0


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    backend_name: Backend = request.param
    return backend_name


class Tls:
    """An authority, and the files of a certificate from it."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.paths = folder / "tls.crt", folder / "tls.key"
        self.renew()

    def renew(self) -> None:
        """Issue another certificate, and replace the files of the old certificate like cert-manager."""
        issued = self.authority.issue_cert("127.0.0.1", "hooks.default.svc")
        parts = b"".join(part.bytes() for part in issued.cert_chain_pems), issued.private_key_pem.bytes()
        for path, part in zip(self.paths, parts, strict=True):
            new = path.with_suffix(".new")
            new.write_bytes(part)
            os.replace(new, path)

    @property
    def bundle(self) -> bytes:
        return self.authority.cert_pem.bytes()

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata=self.bundle.decode())


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    return Tls(tmp_path)


@asynccontextmanager
async def run_server(server: WebhookServer) -> AsyncGenerator[int]:
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(TIMEOUT):
            yield await tasks.start(server.run)
        tasks.cancel_scope.cancel()


def run_on(backend: Backend, main: Callable[[], Awaitable[None]]) -> None:
    anyio.run(main, backend=backend)


async def exchange(stream: Any, path: str, body: bytes) -> tuple[int, bytes]:
    """Send a request on a connection, and return the status and body of the response."""
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
    await stream.send(head.encode() + body)
    received = b""
    while b"\r\n\r\n" not in received:
        received += await stream.receive()
    lines, _, response_body = received.partition(b"\r\n\r\n")
    length = int(lines.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(response_body) < length:
        response_body += await stream.receive()
    return int(lines.split()[1]), response_body


async def connect(port: int, tls: Tls) -> Any:
    return await anyio.connect_tcp(
        "127.0.0.1", port, tls=True, ssl_context=tls.trusted, tls_standard_compatible=False
    )


def make_book(name: str, title: str = "Moby-Dick") -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=Spec(title=title))


@asynccontextmanager
async def serve_cluster(
    cluster: sim.Cluster, application: Webhooks[Book], port: int, tls: Tls
) -> AsyncGenerator[Client]:
    """Serve a cluster that calls the webhooks, and yield a client of the cluster."""
    address = WebhookAddress(url=f"https://127.0.0.1:{port}", ca_bundle=tls.bundle)
    for configuration in application.configurations("books", address):
        cluster.put(configuration)
    async with serve(cluster) as url, HttpxTransport(Connection(server=str(url))) as transport:
        yield Client(transport)


def test_a_served_cluster_calls_defaulting_and_validating_webhooks(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        application = Webhooks(Book).validate(check).default(fill)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        assert not server.listens
        async with run_server(server) as port:
            assert (server.port, server.listens) == (port, True)
            async with serve_cluster(sim.Cluster(crds=[Book]), application, port, tls) as client:
                created = await client.create(make_book("moby"))
                assert created.spec.pages == 1
                with pytest.raises(
                    kp.Invalid, match=r"denied the request: .*spec\.title: Required"
                ) as raised:
                    await client.create(make_book("blank", " "))
                details = raised.value.status.details
                assert details is not None
                assert [cause.field for cause in details.causes or ()] == ["spec.title"]
        assert not server.listens

    run_on(backend, main)


def test_a_certificate_is_renewed_under_load_and_no_request_is_refused(
    backend: Backend, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto.webhooks")

    async def main() -> None:
        application = Webhooks(Book).validate(check).default(fill)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        peer_certificates: list[bytes] = []

        cluster = sim.Cluster(crds=[Book])
        async with run_server(server) as port, serve_cluster(cluster, application, port, tls) as client:
            open_connection = await connect(port, tls)  # a server reuses its connections

            async def write(worker: int) -> None:
                for number in range(10):
                    await client.create(make_book(f"b{worker}-{number}"))
                    if worker == 0 and number in (2, 5):
                        tls.renew()

            async with anyio.create_task_group() as tasks:
                for worker in range(3):
                    tasks.start_soon(write, worker)
            assert len(await client.api(Book).list()) == 30
            for stream in (open_connection, await connect(port, tls)):
                async with stream:
                    status, _ = await exchange(stream, VALIDATE, review(book()))
                    assert status == 200
                    ssl_object = stream.extra(TLSAttribute.ssl_object)
                    peer_certificates.append(ssl_object.getpeercert(binary_form=True))
        assert peer_certificates[0] != peer_certificates[1]

    run_on(backend, main)
    assert caplog.text.count("was reloaded") >= 1


@asynccontextmanager
async def simulated_server() -> AsyncGenerator[ServerWithWebhooks]:
    """Serve a cluster that calls the webhooks of an operator, which issues its own certificate."""
    async with (
        serve(sim.Cluster()) as url,
        HttpxTransport(Connection(server=str(url))) as transport,
        run_webhooks(transport) as hooks,
    ):
        yield hooks


def test_a_served_cluster_calls_webhooks_like_a_real_server(backend: Backend) -> None:
    async def main() -> None:
        async with simulated_server() as hooks:
            await admit_default_and_refuse_books(hooks)
            await convert_books(hooks)

    run_on(backend, main)


@pytest.mark.parametrize(
    "backend", ["asyncio", pytest.param("trio", marks=pytest.mark.thorough("the same on the other loop"))]
)
def test_an_authority_is_replaced_under_load_and_no_request_is_refused(backend: Backend) -> None:
    async def main() -> None:
        async with simulated_server() as hooks:
            await renew_a_certificate_under_load(hooks)

    run_on(backend, main)


def test_uvicorn_serves_webhooks(tls: Tls) -> None:
    async def main() -> None:
        application = make_webhooks()
        certificate, key = (str(path) for path in tls.paths)
        server = uvicorn.Server(
            uvicorn.Config(
                application, port=0, ssl_certfile=certificate, ssl_keyfile=key, lifespan="on", ws="none",
                log_config=None,
            )
        )  # fmt: skip
        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve)
                while not server.started:
                    await anyio.lowlevel.checkpoint()
                port: int = server.servers[0].sockets[0].getsockname()[1]
                async with serve_cluster(sim.Cluster(crds=[Book]), application, port, tls) as client:
                    assert (await client.create(make_book("moby"))).spec.pages == 1
                    with pytest.raises(kp.Invalid, match="a book has a title"):
                        await client.create(make_book("blank", " "))
                server.should_exit = True

    anyio.run(main)


def test_an_unusable_certificate_does_not_replace_the_last_valid_certificate(
    backend: Backend, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        files = CertificateFiles(*tls.paths)
        server = WebhookServer(make_webhooks(), files, port=0, host="127.0.0.1")
        async with run_server(server) as port:
            valid_certificate, key = (path.read_bytes() for path in tls.paths)
            for fail_review in (b"", valid_certificate[:40], b"garbage"):
                tls.paths[0].write_bytes(fail_review)
                async with await connect(port, tls) as stream:
                    assert (await exchange(stream, DEFAULT, review(book())))[0] == 200
            tls.renew()
            tls.paths[1].write_bytes(key)  # the key of the previous certificate
            async with await connect(port, tls) as stream:
                assert (await exchange(stream, DEFAULT, review(book())))[0] == 200

    run_on(backend, main)
    assert caplog.text.count("the previous certificate is served") == 4
    assert "PRIVATE" not in caplog.text


def test_a_server_without_a_certificate_does_not_start(backend: Backend, tmp_path: Path) -> None:
    async def main() -> None:
        server = WebhookServer(make_webhooks(), CertificateFiles(tmp_path / "a", tmp_path / "b"), port=0)
        with pytest.raises(FileNotFoundError):
            await server.run()

    run_on(backend, main)


def test_clients_without_tls_or_http_do_not_stop_the_server(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        server = WebhookServer(make_webhooks(), CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with run_server(server) as port:
            for garbage in (b"", b"GET / HTTP/1.1\r\n\r\n"):
                async with await anyio.connect_tcp("127.0.0.1", port) as plain:
                    await plain.send(garbage)
            async with await connect(port, tls) as stream:
                await stream.send(b"\x00\r\n\r\n")
                assert (await stream.receive()).startswith(b"HTTP/1.1 400 ")
            async with await connect(port, tls) as stream:
                for _ in range(3):  # the connection stays open for several calls
                    assert (await exchange(stream, DEFAULT, review(book())))[0] == 200
                assert (await exchange(stream, "/", b""))[0] == 404

    run_on(backend, main)


def test_webhooks_are_ready_before_the_caches_that_depend_on_them(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        application, address = make_webhooks(), WebhookAddress(namespace="default", service="hooks")
        cluster = sim.Cluster(crds=[OldBook])
        cluster.put(OldBook(metadata=kp.ObjectMeta(name="old"), spec=OldSpec(title="Moby-Dick")))
        cluster.define(application.definition(address))  # the old book stays stored in the old version
        cluster.advance(5)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        operator, titles = Operator(webhooks=server), list[str]()

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            titles.append(book.spec.title)

        operator.add(Controller(Client(cluster.transport()), Book).run(reconcile))
        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run)
                while not operator.webhooks_ready()[0]:
                    await anyio.sleep(0)
                ready, text = operator.ready()
                assert not ready
                assert "[-] cache of books" in text
                connect_webhooks(cluster, application, address)  # a Service routes to ready pods
                while not titles:
                    await anyio.sleep(0.01)
                assert operator.ready()[0]
                operator.stop()
        assert titles == ["Moby-Dick"]

    run_on(backend, main)


def test_a_handler_is_cancelled_at_the_timeout_of_the_server(backend: Backend, tls: Tls) -> None:
    cancellations: list[bool] = []

    async def slow(admission: Admission[Book]) -> None:
        try:
            await anyio.sleep(TIMEOUT)
        finally:
            cancellations.append(True)

    async def main() -> None:
        application = Webhooks(Book).validate(slow)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with run_server(server) as port, await connect(port, tls) as stream:
            assert (await exchange(stream, f"{VALIDATE}?timeout=0s", review(book())))[0] == 504

    run_on(backend, main)
    assert cancellations in ([], [True])  # the timeout of 0 s may end the call before the handler starts


def test_a_longer_timeout_of_the_server_is_limited(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(admission: Admission[Book]) -> None:
        loop = asyncio.get_running_loop()
        loop_time = loop.time
        monkeypatch.setattr(loop, "time", lambda: loop_time() + 30)
        await anyio.sleep(60)

    async def main() -> None:
        application = Webhooks(Book).validate(slow)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with anyio.create_task_group() as tasks:
            port: int = await tasks.start(server.run)
            with anyio.fail_after(30 + 5):
                async with await connect(port, tls) as stream:
                    assert (await exchange(stream, f"{VALIDATE}?timeout=99s", review(book())))[0] == 504
            tasks.cancel_scope.cancel()

    anyio.run(main)


def test_a_handler_that_blocks_its_thread_beyond_its_timeout_is_refused_and_logged(
    backend: Backend, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    """The timeout cannot cancel the handler; its result arrives too late."""

    def block(admission: Admission[Book]) -> None:
        end = time.monotonic() + 0.01
        while time.monotonic() < end:
            pass

    async def main() -> None:
        application = Webhooks(Book).validate(block)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with run_server(server) as port, await connect(port, tls) as stream:
            assert (await exchange(stream, f"{VALIDATE}?timeout=0s", review(book())))[0] == 504
            assert (await exchange(stream, f"{VALIDATE}?timeout=30s", review(book())))[0] == 200

    run_on(backend, main)
    assert "a handler blocked the event loop for 0.01" in caplog.text
    assert "let anyio.to_thread.run_sync do what blocks" in caplog.text


def test_a_client_that_disconnects_during_a_request_is_not_logged(
    backend: Backend, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        server = WebhookServer(make_webhooks(), CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with run_server(server) as port, await connect(port, tls) as stream:
            head = f"POST {VALIDATE} HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n"
            await stream.send(head.encode())
            await stream.transport_stream.send_eof()
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()  # the server closes the connection without a response

    with caplog.at_level(logging.WARNING):
        run_on(backend, main)
    assert caplog.text == ""


def test_a_received_request_is_answered_during_shutdown(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        handler_started, may_continue = anyio.Event(), anyio.Event()

        async def wait(admission: Admission[Book]) -> None:
            handler_started.set()
            await may_continue.wait()

        server = WebhookServer(
            Webhooks(Book).validate(wait), CertificateFiles(*tls.paths), port=0, host="127.0.0.1"
        )
        statuses: list[int] = []
        with anyio.fail_after(TIMEOUT):
            async with anyio.create_task_group() as outer, anyio.create_task_group() as tasks:
                port = await tasks.start(server.run)

                async def call_webhook() -> None:
                    async with await connect(port, tls) as stream:
                        statuses.append((await exchange(stream, VALIDATE, review(book())))[0])

                outer.start_soon(call_webhook)
                await handler_started.wait()
                tasks.cancel_scope.cancel()
                may_continue.set()
        assert statuses == [200]

    run_on(backend, main)


def test_an_operator_serves_webhooks_without_being_leader(backend: Backend, tls: Tls) -> None:
    async def do_nothing(subject: Book, ctx: Any) -> None:
        return None

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            server = WebhookServer(make_webhooks(), CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
            operator = Operator(webhooks=server, grace=0)
            assert operator.ready() == (False, "[-] webhooks: not served\n")
            with anyio.fail_after(TIMEOUT):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run, Controller(client, Book).run(do_nothing))
                    while not operator.ready()[0]:
                        await anyio.lowlevel.checkpoint()
                    assert "[+] webhooks: served" in operator.ready()[1]
                    async with await connect(server.port, tls) as stream:
                        assert (await exchange(stream, VALIDATE, review(book())))[0] == 200
                    operator.stop()
            assert not server.listens

    run_on(backend, main)


# In process


def test_installed_webhooks_are_called_in_process_without_a_socket(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[definition_of(Book)])
        install_webhooks(cluster, Webhooks(Book).validate(check).default(fill))
        async with simulated(cluster) as client:
            assert (await client.create(make_book("moby"))).spec.pages == 1
            with pytest.raises(kp.Invalid, match="a book has a title"):
                await client.create(make_book("blank", " "))

    run(main, backend=backend)


def test_installed_webhooks_convert_between_all_versions_of_a_kind(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[definition_of(Book)])
        install_webhooks(cluster, make_webhooks())
        async with simulated(cluster) as client:
            old = OldBook(
                metadata=kp.ObjectMeta(name="moby"), spec=OldSpec(title="Moby-Dick", author="Herman Melville")
            )
            assert (await client.create(old)).spec.author == "Herman Melville"
            book = await client.api(Book).get("moby")
            assert book.spec.author == Name(first="Herman", last="Melville")
            book.spec.author = Name(last="Melville")
            await client.replace(book)
            old_book = await client.api(OldBook).get("moby")
            assert old_book.spec.author == "Melville"
            with pytest.raises(kp.ApiError, match="nobody writes no books"):
                await client.create(
                    OldBook(metadata=kp.ObjectMeta(name="x"), spec=OldSpec(title="X", author="nobody"))
                )

    run(main, backend=backend)


def test_handlers_that_wait_are_refused_as_installed_webhooks(backend: Backend) -> None:
    async def wait(admission: Admission[Book]) -> None:
        await anyio.sleep(1)

    cluster = sim.Cluster(crds=[Book])
    install_webhooks(cluster, Webhooks(Book).validate(wait))

    async def main() -> None:
        async with simulated(cluster) as client:
            await client.create(make_book("moby"))

    with pytest.raises(RuntimeError, match="serve it on a port"):
        run(main, backend=backend)


def test_an_error_in_an_installed_handler_is_reported_as_a_failed_webhook(backend: Backend) -> None:
    def fail_review(admission: Admission[Book]) -> None:
        raise ZeroDivisionError

    cluster = sim.Cluster(crds=[Book])
    install_webhooks(cluster, Webhooks(Book).validate(fail_review))

    async def main() -> None:
        async with simulated(cluster) as client:
            with pytest.raises(kp.ApiError, match="failed calling webhook"):
                await client.api(Book).create(make_book("moby"))

    run(main, backend=backend)
