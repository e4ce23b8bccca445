"""Webhooks on a port over TLS: a served cluster calls them, certificates change, and no request is cut."""

from __future__ import annotations

import logging
import os
import ssl
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
    review,
    webhooks,
)
from webhook_scenarios import (
    Hooked,
    a_certificate_is_renewed_under_load,
    books_are_admitted_defaulted_and_refused,
    books_are_converted,
    hooked,
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

BOUND = 30.0


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    found: Backend = request.param
    return found


class Tls:
    """An authority, and the files of a certificate that it has issued."""

    def __init__(self, folder: Path) -> None:
        self.authority = trustme.CA()
        self.paths = folder / "tls.crt", folder / "tls.key"
        self.renew()

    def renew(self) -> None:
        """Issue another certificate, and put it where the old one is, as cert-manager does."""
        made = self.authority.issue_cert("127.0.0.1", "hooks.default.svc")
        parts = b"".join(part.bytes() for part in made.cert_chain_pems), made.private_key_pem.bytes()
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
async def serving(server: WebhookServer) -> AsyncGenerator[int]:
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(BOUND):
            yield await tasks.start(server.run)
        tasks.cancel_scope.cancel()


def on(backend: Backend, main: Callable[[], Awaitable[None]]) -> None:
    anyio.run(main, backend=backend)


async def exchange(stream: Any, path: str, body: bytes) -> tuple[int, bytes]:
    """One request on a connection, and its response."""
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n\r\n"
    await stream.send(head.encode() + body)
    said = b""
    while b"\r\n\r\n" not in said:
        said += await stream.receive()
    lines, _, rest = said.partition(b"\r\n\r\n")
    length = int(lines.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(rest) < length:
        rest += await stream.receive()
    return int(lines.split()[1]), rest


async def connected(port: int, tls: Tls) -> Any:
    return await anyio.connect_tcp(
        "127.0.0.1", port, tls=True, ssl_context=tls.trusted, tls_standard_compatible=False
    )


def a_book(name: str, title: str = "Moby-Dick") -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=Spec(title=title))


@asynccontextmanager
async def called(
    cluster: sim.Cluster, application: Webhooks[Book], port: int, tls: Tls
) -> AsyncGenerator[Client]:
    """A served cluster that calls the webhooks, and a client of it."""
    where = WebhookAddress(url=f"https://127.0.0.1:{port}", ca_bundle=tls.bundle)
    for configuration in application.configurations("books", where):
        cluster.put(configuration)
    async with serve(cluster) as url, HttpxTransport(Connection(server=str(url))) as transport:
        yield Client(transport)


def test_a_served_cluster_defaults_and_refuses_by_the_webhooks(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        application = Webhooks(Book).validate(check).default(fill)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        assert not server.listens
        async with serving(server) as port:
            assert (server.port, server.listens) == (port, True)
            async with called(sim.Cluster(crds=[Book]), application, port, tls) as client:
                made = await client.create(a_book("moby"))
                assert made.spec.pages == 1
                with pytest.raises(
                    kp.Invalid, match=r"denied the request: .*spec\.title: Required"
                ) as caught:
                    await client.create(a_book("blank", " "))
                details = caught.value.status.details
                assert details is not None
                assert [cause.field for cause in details.causes or ()] == ["spec.title"]
        assert not server.listens

    on(backend, main)


def test_a_certificate_is_renewed_under_load_and_no_request_is_refused(
    backend: Backend, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto.webhooks")

    async def main() -> None:
        application = Webhooks(Book).validate(check).default(fill)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        shown: list[bytes] = []

        cluster = sim.Cluster(crds=[Book])
        async with serving(server) as port, called(cluster, application, port, tls) as client:
            kept = await connected(port, tls)  # as a server keeps its connections

            async def write(worker: int) -> None:
                for number in range(10):
                    await client.create(a_book(f"b{worker}-{number}"))
                    if worker == 0 and number in (2, 5):
                        tls.renew()

            async with anyio.create_task_group() as tasks:
                for worker in range(3):
                    tasks.start_soon(write, worker)
            assert len(await client.api(Book).list()) == 30
            for stream in (kept, await connected(port, tls)):
                async with stream:
                    status, _ = await exchange(stream, VALIDATE, review(book()))
                    assert status == 200
                    ssl_object = stream.extra(TLSAttribute.ssl_object)
                    shown.append(ssl_object.getpeercert(binary_form=True))
        assert shown[0] != shown[1]

    on(backend, main)
    assert caplog.text.count("was reloaded") >= 1


@asynccontextmanager
async def simulated_server() -> AsyncGenerator[Hooked]:
    """A served cluster that calls the webhooks of an operator, which makes its certificate itself."""
    async with (
        serve(sim.Cluster()) as url,
        HttpxTransport(Connection(server=str(url))) as transport,
        hooked(transport) as here,
    ):
        yield here


def test_a_served_cluster_is_answered_by_webhooks_as_a_real_one(backend: Backend) -> None:
    async def main() -> None:
        async with simulated_server() as here:
            await books_are_admitted_defaulted_and_refused(here)
            await books_are_converted(here)

    on(backend, main)


@pytest.mark.parametrize(
    "backend", ["asyncio", pytest.param("trio", marks=pytest.mark.thorough("the same on the other loop"))]
)
def test_another_authority_takes_over_under_load_and_no_request_is_refused(backend: Backend) -> None:
    async def main() -> None:
        async with simulated_server() as here:
            await a_certificate_is_renewed_under_load(here)

    on(backend, main)


def test_uvicorn_serves_them_too(tls: Tls) -> None:
    async def main() -> None:
        application = webhooks()
        certificate, key = (str(path) for path in tls.paths)
        server = uvicorn.Server(
            uvicorn.Config(
                application, port=0, ssl_certfile=certificate, ssl_keyfile=key, lifespan="on", ws="none",
                log_config=None,
            )
        )  # fmt: skip
        with anyio.fail_after(BOUND):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve)
                while not server.started:
                    await anyio.lowlevel.checkpoint()
                port: int = server.servers[0].sockets[0].getsockname()[1]
                async with called(sim.Cluster(crds=[Book]), application, port, tls) as client:
                    assert (await client.create(a_book("moby"))).spec.pages == 1
                    with pytest.raises(kp.Invalid, match="a book has a title"):
                        await client.create(a_book("blank", " "))
                server.should_exit = True

    anyio.run(main)


def test_a_certificate_that_cannot_be_used_leaves_the_last_one(
    backend: Backend, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        files = CertificateFiles(*tls.paths)
        server = WebhookServer(webhooks(), files, port=0, host="127.0.0.1")
        async with serving(server) as port:
            good, key = (path.read_bytes() for path in tls.paths)
            for broken in (b"", good[:40], b"garbage"):
                tls.paths[0].write_bytes(broken)
                async with await connected(port, tls) as stream:
                    assert (await exchange(stream, DEFAULT, review(book())))[0] == 200
            tls.renew()
            tls.paths[1].write_bytes(key)  # of the certificate before
            async with await connected(port, tls) as stream:
                assert (await exchange(stream, DEFAULT, review(book())))[0] == 200

    on(backend, main)
    assert caplog.text.count("the last certificate stays in use") == 4
    assert "PRIVATE" not in caplog.text


def test_a_server_without_a_certificate_does_not_start(backend: Backend, tmp_path: Path) -> None:
    async def main() -> None:
        server = WebhookServer(webhooks(), CertificateFiles(tmp_path / "a", tmp_path / "b"), port=0)
        with pytest.raises(FileNotFoundError):
            await server.run()

    on(backend, main)


def test_who_shakes_no_hands_or_speaks_no_http_ends_nothing(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        server = WebhookServer(webhooks(), CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with serving(server) as port:
            for garbage in (b"", b"GET / HTTP/1.1\r\n\r\n"):
                async with await anyio.connect_tcp("127.0.0.1", port) as plain:
                    await plain.send(garbage)
            async with await connected(port, tls) as stream:
                await stream.send(b"\x00\r\n\r\n")
                assert (await stream.receive()).startswith(b"HTTP/1.1 400 ")
            async with await connected(port, tls) as stream:
                for _ in range(3):  # one connection for many calls
                    assert (await exchange(stream, DEFAULT, review(book())))[0] == 200
                assert (await exchange(stream, "/", b""))[0] == 404

    on(backend, main)


def test_webhooks_are_ready_before_the_caches_that_need_them(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        application, where = webhooks(), WebhookAddress(namespace="default", service="hooks")
        cluster = sim.Cluster(crds=[OldBook])
        cluster.put(OldBook(metadata=kp.ObjectMeta(name="old"), spec=OldSpec(title="Moby-Dick")))
        cluster.define(application.definition(where))  # the old one stays stored as it was
        cluster.advance(5)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        operator, seen = Operator(webhooks=server), list[str]()

        async def reconcile(book: Book, ctx: Context[None]) -> None:
            seen.append(book.spec.title)

        operator.add(Controller(Client(cluster.transport()), Book).run(reconcile))
        with anyio.fail_after(BOUND):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(operator.run)
                while not operator.webhooks_ready()[0]:
                    await anyio.sleep(0)
                ready, text = operator.ready()
                assert not ready
                assert "[-] cache of books" in text
                connect_webhooks(cluster, application, where)  # as a Service does with a pod that is ready
                while not seen:
                    await anyio.sleep(0.01)
                assert operator.ready()[0]
                operator.stop()
        assert seen == ["Moby-Dick"]

    on(backend, main)


def test_a_handler_that_takes_longer_than_the_server_waits_is_ended(backend: Backend, tls: Tls) -> None:
    ended: list[bool] = []

    async def slow(admission: Admission[Book]) -> None:
        try:
            await anyio.sleep(BOUND)
        finally:
            ended.append(True)

    async def main() -> None:
        application = Webhooks(Book).validate(slow)
        server = WebhookServer(application, CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with serving(server) as port, await connected(port, tls) as stream:
            assert (await exchange(stream, f"{VALIDATE}?timeout=0s", review(book())))[0] == 504

    on(backend, main)
    assert ended in ([], [True])  # with no time at all it may not even have begun


def test_a_client_that_leaves_within_a_request_leaves_no_line_in_the_log(
    backend: Backend, tls: Tls, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        server = WebhookServer(webhooks(), CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
        async with serving(server) as port, await connected(port, tls) as stream:
            head = f"POST {VALIDATE} HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n"
            await stream.send(head.encode())
            await stream.transport_stream.send_eof()
            with pytest.raises(anyio.EndOfStream):
                await stream.receive()  # the server says nothing, and closes its side

    with caplog.at_level(logging.WARNING):
        on(backend, main)
    assert caplog.text == ""


def test_a_request_that_has_come_is_answered_although_the_server_ends(backend: Backend, tls: Tls) -> None:
    async def main() -> None:
        began, go_on = anyio.Event(), anyio.Event()

        async def wait(admission: Admission[Book]) -> None:
            began.set()
            await go_on.wait()

        server = WebhookServer(
            Webhooks(Book).validate(wait), CertificateFiles(*tls.paths), port=0, host="127.0.0.1"
        )
        answers: list[int] = []
        with anyio.fail_after(BOUND):
            async with anyio.create_task_group() as outer, anyio.create_task_group() as tasks:
                port = await tasks.start(server.run)

                async def ask() -> None:
                    async with await connected(port, tls) as stream:
                        answers.append((await exchange(stream, VALIDATE, review(book())))[0])

                outer.start_soon(ask)
                await began.wait()
                tasks.cancel_scope.cancel()
                go_on.set()
        assert answers == [200]

    on(backend, main)


def test_an_operator_serves_webhooks_as_leader_or_not_and_is_ready_when_it_does(
    backend: Backend, tls: Tls
) -> None:
    async def nothing(subject: Book, ctx: Any) -> None:
        return None

    async def main() -> None:
        async with simulated(sim.Cluster(crds=[Book])) as client:
            server = WebhookServer(webhooks(), CertificateFiles(*tls.paths), port=0, host="127.0.0.1")
            operator = Operator(webhooks=server, grace=0)
            assert operator.ready() == (False, "[-] webhooks: not served\n")
            with anyio.fail_after(BOUND):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(operator.run, Controller(client, Book).run(nothing))
                    while not operator.ready()[0]:
                        await anyio.lowlevel.checkpoint()
                    assert "[+] webhooks: served" in operator.ready()[1]
                    async with await connected(server.port, tls) as stream:
                        assert (await exchange(stream, VALIDATE, review(book())))[0] == 200
                    operator.stop()
            assert not server.listens

    on(backend, main)


# In process


def test_webhooks_in_the_process_of_a_cluster_take_no_socket(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[definition_of(Book)])
        install_webhooks(cluster, Webhooks(Book).validate(check).default(fill))
        async with simulated(cluster) as client:
            assert (await client.create(a_book("moby"))).spec.pages == 1
            with pytest.raises(kp.Invalid, match="a book has a title"):
                await client.create(a_book("blank", " "))

    run(main, backend=backend)


def test_a_kind_that_webhooks_convert_is_served_in_all_its_versions_in_process(backend: Backend) -> None:
    async def main() -> None:
        cluster = sim.Cluster(crds=[definition_of(Book)])
        install_webhooks(cluster, webhooks())
        async with simulated(cluster) as client:
            old = OldBook(
                metadata=kp.ObjectMeta(name="moby"), spec=OldSpec(title="Moby-Dick", author="Herman Melville")
            )
            assert (await client.create(old)).spec.author == "Herman Melville"
            book = await client.api(Book).get("moby")
            assert book.spec.author == Name(first="Herman", last="Melville")
            book.spec.author = Name(last="Melville")
            await client.replace(book)
            shown = await client.api(OldBook).get("moby")
            assert shown.spec.author == "Melville"
            with pytest.raises(kp.ApiError, match="nobody writes no books"):
                await client.create(
                    OldBook(metadata=kp.ObjectMeta(name="x"), spec=OldSpec(title="X", author="nobody"))
                )

    run(main, backend=backend)


def test_handlers_that_wait_are_refused_in_process(backend: Backend) -> None:
    async def wait(admission: Admission[Book]) -> None:
        await anyio.sleep(1)

    cluster = sim.Cluster(crds=[Book])
    install_webhooks(cluster, Webhooks(Book).validate(wait))

    async def main() -> None:
        async with simulated(cluster) as client:
            await client.create(a_book("moby"))

    with pytest.raises(RuntimeError, match="serve it on a port"):
        run(main, backend=backend)


def test_a_handler_that_fails_in_process_is_an_error_of_the_webhook(backend: Backend) -> None:
    def broken(admission: Admission[Book]) -> None:
        raise ZeroDivisionError

    cluster = sim.Cluster(crds=[Book])
    install_webhooks(cluster, Webhooks(Book).validate(broken))

    async def main() -> None:
        async with simulated(cluster) as client:
            with pytest.raises(kp.ApiError, match="failed calling webhook"):
                await client.api(Book).create(a_book("moby"))

    run(main, backend=backend)
