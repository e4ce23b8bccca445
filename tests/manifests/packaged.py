"""The programs whose manifests are tested: how each is described, how it runs, and what people do with it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

import echo
import foos
import hello
import librarian
import nodes
import on_asyncio
import stories
from book import Book as BookOfExample
from hello_kind import Hello
from hello_webhooks import webhooks
from msgspec import Struct
from stories import Said, Story

from kubeproto import KubeObject
from kubeproto_runtime import Client, Operator
from kubeproto_runtime.manifests import OperatorLike
from kubeproto_runtime.webhooks import WebhookAddress, Webhooks, WebhookServer

Run = Callable[[Client, Said, WebhookServer | None], Coroutine[Any, Any, None]]


class Packaged(Struct, frozen=True, kw_only=True):
    """A program and its story. `run` is what `describe` describes, at ports that are free."""

    describe: Callable[[Client], OperatorLike]
    run: Run
    story: Story
    kinds: tuple[type[KubeObject], ...]
    name: str
    namespace: str
    webhooks: Webhooks[Any] | None = None
    server: Callable[[Client, WebhookAddress], WebhookServer] | None = None
    needless: tuple[str, ...] = ()  # rights that its story does not show the need of

    @property
    def account(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def where(self) -> WebhookAddress:
        """WebhookAddress its manifests have the webhooks called."""
        return WebhookAddress(namespace=self.namespace, service=f"{self.name}-webhooks")


async def operated(made: OperatorLike) -> None:
    """Run an operator, whatever a program calls so."""
    if isinstance(made, Operator):
        await made.run()
    elif isinstance(made, Iterable):
        await Operator().run(*made)
    else:
        raise TypeError(f"{made!r} does not run")


def as_operator(make: Callable[[Client], OperatorLike]) -> Run:
    async def run(client: Client, said: Said, server: WebhookServer | None) -> None:
        await operated(make(client))

    return run


async def run_hello(client: Client, said: Said, server: WebhookServer | None) -> None:
    await hello.operator(client, server=server).run()


def server_of_hello(client: Client, where: WebhookAddress) -> WebhookServer:
    return hello.webhook_server(client, where, port=0)


async def run_foos(client: Client, said: Said, server: WebhookServer | None) -> None:
    connected: AbstractAsyncContextManager[Client] = nullcontext(client)
    app = foos.application(connected)
    async with app.router.lifespan_context(app):
        async for state in app.state.foos.states():
            said.append(state)


async def run_books(client: Client, said: Said, server: WebhookServer | None) -> None:
    await on_asyncio.report(client, said.append)


async def run_nodes(client: Client, said: Said, server: WebhookServer | None) -> None:
    await nodes.inform(client, said.append)


PROGRAMS: Final = {
    "echo": Packaged(
        describe=echo.deployed, run=as_operator(echo.operator), story=stories.a_canyon_comes_and_goes,
        kinds=(echo.Echo,), name="echo-operator", namespace="echo-operator",
    ),
    "hello": Packaged(
        describe=hello.deployed, run=run_hello, story=stories.a_hello_comes_and_goes,
        kinds=(Hello,), name="hello-operator", namespace=stories.NAMESPACE_OF_HELLO,
        webhooks=webhooks, server=server_of_hello,
        needless=("patch events",),  # no Event of this one repeats; the librarian's do
    ),
    "foos": Packaged(
        describe=foos.deployed, run=run_foos, story=stories.a_foo_is_shown,
        kinds=(foos.Foo,), name="foos", namespace=stories.NAMESPACE_OF_FOOS,
    ),
    "books": Packaged(
        describe=on_asyncio.deployed, run=run_books, story=stories.a_book_is_told_of,
        kinds=(BookOfExample,), name="books", namespace="books",
    ),
    "nodes": Packaged(
        describe=nodes.deployed, run=run_nodes, story=stories.a_node_breaks,
        kinds=(), name="nodes", namespace="nodes",
    ),
    "librarian": Packaged(
        describe=librarian.operator, run=as_operator(librarian.operator),
        story=stories.a_labelled_book_comes_and_goes,
        kinds=(librarian.Book,), name="librarian", namespace=librarian.NAMESPACE,
    ),
}  # fmt: skip
