"""What a server does with webhooks, as scenarios that the simulated and the real one go through alike.

The operator under test makes its certificate itself, for 127.0.0.1, where the server calls it.
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
from webhook_rig import Book, Name, OldBook, OldSpec, Spec, webhooks

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
BOUND: Final = 120.0
# After this many seconds more days pass: a decision may need a look at what was published before.
AGAIN: Final = 2.0
DAY: Final = timedelta(days=1)
LIFETIMES: Final = {"authority": 90.0, "leaf": 60.0, "overlap": 60.0, "settle": 1.0}  # days
WITHIN: Final = re.compile(r"timeout=(\d+)s")
DENIED: Final = 'admission webhook "validate.books.webhooks.test" denied the request: '


class Noting(WebhookApplication):
    """Webhooks that note the newest time limit with which each of their paths was called."""

    def __init__(self) -> None:
        super().__init__(webhooks())
        self.limits: dict[str, int] = {}

    async def respond(self, method: str, target: str, body: bytes) -> Any:
        if found := WITHIN.search(target):
            path = target.partition("?")[0]
            self.limits[path] = max(self.limits.get(path, 0), int(found[1]))
        return await super().respond(method, target, body)


class Hooked(Struct):
    """A server that calls webhooks, the webhooks, and the clock by which their certificate is renewed."""

    client: Client
    application: Noting
    managed: ManagedCertificates
    now: datetime
    limit: int = 10  # the Kubernetes default

    async def call_with_what_stands_there(self) -> None:
        """Return once the server calls by the configurations as they are now.

        Each call says its time limit, which changes here: a client that has seen it has seen all before.
        """
        self.limit += 1
        for api in self.configurations():
            await api.update("books", self._set_limit)
        for path in self.application.paths:
            while "convert" not in path and self.application.limits.get(path, 0) < self.limit:
                await anyio.lowlevel.checkpoint()  # others write meanwhile

    def _set_limit(self, found: Any) -> None:
        for webhook in found.webhooks:
            webhook.timeout_seconds = self.limit

    async def authorities(self, number: int) -> None:
        """Return once there are so many authorities in each configuration."""
        for api in self.configurations():
            await api.wait_for("books", lambda found: certificates(found) == {number})

    def configurations(self) -> list[BoundApi[Any]]:
        kinds = MutatingWebhookConfiguration, ValidatingWebhookConfiguration
        return [self.client.api(kind) for kind in kinds]


def certificates(configuration: Any) -> set[int]:
    """How many authorities each webhook of a configuration trusts."""
    bundles = [webhook.client_config.ca_bundle or b"" for webhook in configuration.webhooks]
    return {bundle.count(b"BEGIN CERTIFICATE") for bundle in bundles}


@asynccontextmanager
async def hooked(transport: Transport) -> AsyncGenerator[Hooked]:
    """Webhooks of an operator, as a server calls them; afterwards nothing of them is left on the server."""
    application, client = Noting(), Client(transport)
    shipped = application.manifests("books", WebhookAddress(url="https://127.0.0.1"))
    # Far enough back that each certificate is good by the clock of TLS, whatever the test has time do.
    begun = datetime.now(UTC) - 40 * DAY
    made: list[Hooked] = []
    lifetimes = {name: days * DAY.total_seconds() for name, days in LIFETIMES.items()}
    managed = ManagedCertificates(
        Client(transport, wall_clock=lambda: made[0].now), WebhookAddress(url="https://127.0.0.1"),
        secret="hooks", configurations=shipped, lifetimes=Lifetimes(**lifetimes),
    )  # fmt: skip
    made.append(Hooked(client, application, managed, begun))
    server = WebhookServer(application, managed, port=0, host="127.0.0.1")
    operator = Operator(webhooks=server, grace=0)
    with anyio.fail_after(BOUND):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(operator.run)
            while not server.listens:
                await anyio.lowlevel.checkpoint()
            for one in application.manifests("books", WebhookAddress(url=f"https://127.0.0.1:{server.port}")):
                await client.create(one)
            try:
                await in_force(made[0])
                yield made[0]
            finally:
                with anyio.CancelScope(shield=True):
                    operator.stop()
                    await removed(client, shipped)


async def removed(client: Client, shipped: list[kp.KubeObject]) -> None:
    await client.api(Secret).delete("hooks")
    for one in shipped:
        await client.api(type(one)).delete(one.metadata.name)
    await client.api(CustomResourceDefinition).wait_for(NAME, conditions.deleted())


async def in_force(here: Hooked) -> None:
    """Return once the server serves books, and trusts and calls their webhooks, also the converting one."""
    await here.client.api(CustomResourceDefinition).wait_for(NAME, conditions.established())
    await here.authorities(1)
    blank = OldBook(metadata=kp.ObjectMeta(name="try"), spec=OldSpec(title=" "))
    while True:
        try:
            if (await here.client.create(book("try"), dry_run=True)).spec.pages == 1:
                await here.client.create(blank, dry_run=True)
        except kp.Invalid as error:
            if "a book has a title" in error.status.message:
                return
        except kp.ApiError:
            pass  # it does not know the kind yet, or the authority
        await anyio.sleep(0.05)


def book(name: str, title: str = "Moby-Dick", isbn: str = "") -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=Spec(title=title, isbn=isbn))


# The scenarios


async def books_are_admitted_defaulted_and_refused(here: Hooked) -> None:
    client = here.client
    moby = await client.create(book("moby", isbn="1"))
    assert (moby.spec.pages, moby.spec.isbn) == (1, "1")
    moby.spec.isbn = "2"
    with pytest.raises(kp.Invalid) as caught:
        await client.replace(moby)
    status = caught.value.status
    why = 'Book.webhooks.test "moby" is invalid: spec.isbn: Forbidden: a book keeps its number'
    assert (status.code, status.reason, status.message) == (422, "Invalid", DENIED + why)
    assert status.details is not None
    assert [(cause.field, cause.reason) for cause in status.details.causes or ()] == [
        ("spec.isbn", "FieldValueForbidden")
    ]
    stored = await client.refresh(moby)
    assert (stored.spec.isbn, stored.metadata.generation) == ("1", 1)
    await client.delete(stored)


async def books_are_converted(here: Hooked) -> None:
    books, old = here.client.api(Book), here.client.api(OldBook)
    melville = OldSpec(title="Moby-Dick", author="Herman Melville")
    async with old.follow() as events:
        made = await old.create(OldBook(metadata=kp.ObjectMeta(name="moby"), spec=melville))
        assert made.spec == melville
        async for event in events:
            assert isinstance(event, kp.Added)
            assert event.object.spec == melville
            break
    stored = await books.get("moby")
    # The webhook has filled in the pages of a Book in v2; v1, in which it was sent, has no pages.
    assert (stored.spec.author, stored.spec.pages) == (Name(first="Herman", last="Melville"), None)
    assert stored.metadata.uid == made.metadata.uid
    stored.spec.author = Name(first="H.", last="Melville")
    await books.replace(stored)
    assert [one.spec.author for one in await old.list()] == ["H. Melville"]
    # The validating webhook is for v2, and is asked about v1 all the same.
    with pytest.raises(kp.Invalid, match="a book has a title"):
        await old.create(OldBook(metadata=kp.ObjectMeta(name="blank"), spec=OldSpec(title=" ")))
    nobody = OldSpec(title="Ulysses", author="nobody")
    with pytest.raises(kp.ApiError, match="nobody writes no books"):
        await old.create(OldBook(metadata=kp.ObjectMeta(name="none"), spec=nobody))
    await books.delete("moby")


async def a_certificate_is_renewed_under_load(here: Hooked) -> None:
    """Another authority takes over while three clients write; a refused request would end them."""
    written = [0, 0, 0]

    async def write(worker: int) -> None:
        while True:
            await here.client.create(book(f"b{worker}"), dry_run=True)
            written[worker] += 1

    async def all_write_again() -> None:
        before = list(written)
        while not all(now > then for now, then in zip(written, before, strict=True)):
            await anyio.lowlevel.checkpoint()

    async def advance(days: float, done: Callable[[Secret], bool]) -> Secret:
        """Let time pass for the operator until its Secret is so; what has changed wakes it."""
        while True:
            here.now += days * DAY
            await here.call_with_what_stands_there()
            await all_write_again()
            with anyio.move_on_after(AGAIN):
                return await here.client.api(Secret).wait_for("hooks", done)

    async with anyio.create_task_group() as load:
        for worker in range(len(written)):
            load.start_soon(write, worker)
        first = await here.client.api(Secret).get("hooks")
        await advance(30.1, lambda secret: part(secret, "ca.crt").count(b"BEGIN CERTIFICATE") == 2)
        await here.authorities(2)
        await here.call_with_what_stands_there()
        await all_write_again()
        by_a = await here.client.api(Secret).get("hooks")
        assert part(by_a, "tls.crt") != part(first, "tls.crt")  # fresh, before the key of its authority goes
        context = here.managed.context()
        await advance(1.1, lambda secret: part(secret, "tls.crt") != part(by_a, "tls.crt"))
        while here.managed.context() is context:
            await anyio.lowlevel.checkpoint()
        await all_write_again()
        last = await advance(1.1, lambda secret: part(secret, "ca.crt").count(b"BEGIN CERTIFICATE") == 1)
        assert part(last, "ca.crt") != part(first, "ca.crt")
        await here.authorities(1)
        await here.call_with_what_stands_there()
        await all_write_again()
        load.cancel_scope.cancel()


def part(secret: Secret, name: str) -> bytes:
    return (secret.data or {})[name]
