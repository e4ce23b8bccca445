"""Scenarios of webhooks that run against the simulated server and against a real server.

The operator under test issues its own certificate for 127.0.0.1, where the server calls it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import anyio
import pytest
from msgspec import Struct
from webhook_rig import Book, Name, OldBook, OldSpec, Spec, make_webhooks

import kubeproto as kp
from kubeproto.control.certificates import Lifetimes
from kubeproto.crd import CustomResourceDefinition
from kubeproto.kinds.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from kubeproto.kinds.core_v1 import Secret
from kubeproto.wire import Transport
from kubeproto_runtime import Client, Operator, conditions
from kubeproto_runtime.client import BoundApi
from kubeproto_runtime.webhooks import ManagedCertificates, WebhookAddress, WebhookApplication, WebhookServer

NAME: Final = f"{Book.resource.plural}.{Book.resource.group}"
TIMEOUT: Final = 120.0
# Seconds until the clock advances again: a decision may depend on bundles that were published before.
STEP_TIMEOUT: Final = 2.0
DAY: Final = timedelta(days=1)
LIFETIMES: Final = {"authority": 90.0, "leaf": 60.0, "overlap": 60.0, "propagation": 1.0}  # days
TIMEOUT_PARAMETER: Final = re.compile(r"timeout=(\d+)s")
DENIED: Final = 'admission webhook "validate.books.webhooks.test" denied the request: '


class RecordingWebhooks(WebhookApplication):
    """Webhooks that record the latest timeout with which the server called each path."""

    def __init__(self) -> None:
        super().__init__(make_webhooks())
        self.limits: dict[str, int] = {}

    async def respond(self, method: str, target: str, body: bytes) -> Any:
        if timeout_match := TIMEOUT_PARAMETER.search(target):
            path = target.partition("?")[0]
            self.limits[path] = max(self.limits.get(path, 0), int(timeout_match[1]))
        return await super().respond(method, target, body)


class ServerWithWebhooks(Struct):
    """A client of a server that calls webhooks, the webhooks, and the clock of their certificates."""

    client: Client
    application: RecordingWebhooks
    managed: ManagedCertificates
    now: datetime
    limit: int = 10  # the Kubernetes default

    async def wait_for_current_configurations(self) -> None:
        """Return once the server uses the current configurations.

        Each call contains the timeout of its configuration. This method changes the timeout: a server that
        uses the new timeout uses all earlier changes too.
        """
        self.limit += 1
        for api in self.configurations():
            await api.update("books", self._set_limit)
        for path in self.application.paths:
            while "convert" not in path and self.application.limits.get(path, 0) < self.limit:
                await anyio.lowlevel.checkpoint()  # other tasks write meanwhile

    def _set_limit(self, configuration: Any) -> None:
        for webhook in configuration.webhooks:
            webhook.timeout_seconds = self.limit

    async def wait_for_authorities(self, number: int) -> None:
        """Return once each configuration contains this number of authorities."""
        for api in self.configurations():
            await api.wait_for("books", lambda configuration: authority_counts(configuration) == {number})

    def configurations(self) -> list[BoundApi[Any]]:
        kinds = MutatingWebhookConfiguration, ValidatingWebhookConfiguration
        return [self.client.api(kind) for kind in kinds]


def authority_counts(configuration: Any) -> set[int]:
    """Return the numbers of authorities that the webhooks of a configuration trust."""
    bundles = [webhook.client_config.ca_bundle or b"" for webhook in configuration.webhooks]
    return {bundle.count(b"BEGIN CERTIFICATE") for bundle in bundles}


@asynccontextmanager
async def run_webhooks(transport: Transport) -> AsyncGenerator[ServerWithWebhooks]:
    """Run an operator with webhooks, and remove its objects from the server afterwards."""
    application, client = RecordingWebhooks(), Client(transport)
    shipped = application.manifests("books", WebhookAddress(url="https://127.0.0.1"))
    # The clock starts in the past: each certificate is valid for TLS although the test advances the clock.
    start = datetime.now(UTC) - 40 * DAY
    servers: list[ServerWithWebhooks] = []
    lifetimes = {name: days * DAY.total_seconds() for name, days in LIFETIMES.items()}
    managed = ManagedCertificates(
        Client(transport, wall_clock=lambda: servers[0].now), WebhookAddress(url="https://127.0.0.1"),
        secret="hooks", configurations=shipped, lifetimes=Lifetimes(**lifetimes),
    )  # fmt: skip
    servers.append(ServerWithWebhooks(client, application, managed, start))
    server = WebhookServer(application, managed, port=0, host="127.0.0.1")
    operator = Operator(webhooks=server, grace=0)
    with anyio.fail_after(TIMEOUT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run)
            while not server.listens:
                await anyio.lowlevel.checkpoint()
            for obj in application.manifests("books", WebhookAddress(url=f"https://127.0.0.1:{server.port}")):
                await client.create(obj)
            try:
                await wait_until_called(servers[0])
                yield servers[0]
            finally:
                with anyio.CancelScope(shield=True):
                    operator.stop()
                    await remove_manifests(client, shipped)


async def remove_manifests(client: Client, shipped: list[kp.KubeObject]) -> None:
    await client.api(Secret).delete("hooks")
    for obj in shipped:
        await client.api(type(obj)).delete(obj.metadata.name)
    await client.api(CustomResourceDefinition).wait_for(NAME, conditions.deleted())


async def wait_until_called(hooks: ServerWithWebhooks) -> None:
    """Return once the server serves books, and calls all their webhooks."""
    await hooks.client.api(CustomResourceDefinition).wait_for(NAME, conditions.established())
    await hooks.wait_for_authorities(1)
    blank_book = OldBook(metadata=kp.ObjectMeta(name="try"), spec=OldSpec(title=" "))
    while True:
        try:
            if (await hooks.client.create(book("try"), dry_run=True)).spec.pages == 1:
                await hooks.client.create(blank_book, dry_run=True)
        except kp.Invalid as error:
            if "a book has a title" in error.status.message:
                return
        except kp.ApiError:
            pass  # the server does not know the kind or the authority yet
        await anyio.sleep(0.05)


def book(name: str, title: str = "Moby-Dick", isbn: str = "") -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=Spec(title=title, isbn=isbn))


# The scenarios


async def admit_default_and_refuse_books(hooks: ServerWithWebhooks) -> None:
    client = hooks.client
    moby = await client.create(book("moby", isbn="1"))
    assert (moby.spec.pages, moby.spec.isbn) == (1, "1")
    moby.spec.isbn = "2"
    with pytest.raises(kp.Invalid) as raised:
        await client.replace(moby)
    status = raised.value.status
    expected_message = 'Book.webhooks.test "moby" is invalid: spec.isbn: Forbidden: a book keeps its number'
    assert (status.code, status.reason, status.message) == (422, "Invalid", DENIED + expected_message)
    assert status.details is not None
    assert [(cause.field, cause.reason) for cause in status.details.causes or ()] == [
        ("spec.isbn", "FieldValueForbidden")
    ]
    stored = await client.refresh(moby)
    assert (stored.spec.isbn, stored.metadata.generation) == ("1", 1)
    await client.delete(stored)


async def convert_books(hooks: ServerWithWebhooks) -> None:
    books, old = hooks.client.api(Book), hooks.client.api(OldBook)
    melville = OldSpec(title="Moby-Dick", author="Herman Melville")
    async with old.follow() as events:
        servers = await old.create(OldBook(metadata=kp.ObjectMeta(name="moby"), spec=melville))
        assert servers.spec == melville
        async for event in events:
            assert isinstance(event, kp.Added)
            assert event.object.spec == melville
            break
    stored = await books.get("moby")
    # The webhook sets the pages of a Book in v2; the object was sent in v1, which has no pages.
    assert (stored.spec.author, stored.spec.pages) == (Name(first="Herman", last="Melville"), None)
    assert stored.metadata.uid == servers.metadata.uid
    stored.spec.author = Name(first="H.", last="Melville")
    await books.replace(stored)
    assert [book.spec.author for book in await old.list()] == ["H. Melville"]
    # The server calls the validating webhook of v2 for v1 too.
    with pytest.raises(kp.Invalid, match="a book has a title"):
        await old.create(OldBook(metadata=kp.ObjectMeta(name="blank"), spec=OldSpec(title=" ")))
    nobody = OldSpec(title="Ulysses", author="nobody")
    with pytest.raises(kp.ApiError, match="nobody writes no books"):
        await old.create(OldBook(metadata=kp.ObjectMeta(name="none"), spec=nobody))
    await books.delete("moby")


async def renew_a_certificate_under_load(hooks: ServerWithWebhooks) -> None:
    """Replace the authority while three clients write; a refused request would fail the test."""
    write_counts = [0, 0, 0]

    async def write(worker: int) -> None:
        while True:
            await hooks.client.create(book(f"b{worker}"), dry_run=True)
            write_counts[worker] += 1

    async def wait_for_all_writers() -> None:
        previous_counts = list(write_counts)
        while not all(
            current_count > previous_count
            for current_count, previous_count in zip(write_counts, previous_counts, strict=True)
        ):
            await anyio.lowlevel.checkpoint()

    async def advance(days: float, condition: Callable[[Secret], bool]) -> Secret:
        """Advance the operator's clock until its Secret meets a condition; changes wake the operator."""
        while True:
            hooks.now += days * DAY
            await hooks.wait_for_current_configurations()
            await wait_for_all_writers()
            with anyio.move_on_after(STEP_TIMEOUT):
                return await hooks.client.api(Secret).wait_for("hooks", condition)

    async with anyio.create_task_group() as load:
        for worker in range(len(write_counts)):
            load.start_soon(write, worker)
        first = await hooks.client.api(Secret).get("hooks")
        await advance(30.1, lambda secret: secret_value(secret, "ca.crt").count(b"BEGIN CERTIFICATE") == 2)
        await hooks.wait_for_authorities(2)
        await hooks.wait_for_current_configurations()
        await wait_for_all_writers()
        reissued = await hooks.client.api(Secret).get("hooks")
        assert secret_value(reissued, "tls.crt") != secret_value(
            first, "tls.crt"
        )  # reissued before the old authority is removed
        context = hooks.managed.context()
        await advance(
            1.1, lambda secret: secret_value(secret, "tls.crt") != secret_value(reissued, "tls.crt")
        )
        while hooks.managed.context() is context:
            await anyio.lowlevel.checkpoint()
        await wait_for_all_writers()
        last = await advance(
            1.1, lambda secret: secret_value(secret, "ca.crt").count(b"BEGIN CERTIFICATE") == 1
        )
        assert secret_value(last, "ca.crt") != secret_value(first, "ca.crt")
        await hooks.wait_for_authorities(1)
        await hooks.wait_for_current_configurations()
        await wait_for_all_writers()
        load.cancel_scope.cancel()


def secret_value(secret: Secret, name: str) -> bytes:
    return (secret.data or {})[name]
