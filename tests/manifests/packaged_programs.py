"""The programs whose manifests are tested: their descriptions, how to run them, and their scenarios."""

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
import program_scenarios as scenarios
from book import Book as BookOfExample
from hello_kind import Hello
from hello_webhooks import webhooks
from msgspec import Struct
from program_scenarios import Output, Scenario

from kubeproto import KubeObject
from kubeproto_runtime import Client, Operator
from kubeproto_runtime.manifests import OperatorLike
from kubeproto_runtime.webhooks import WebhookAddress, Webhooks, WebhookServer

Run = Callable[[Client, Output, WebhookServer | None], Coroutine[Any, Any, None]]


class PackagedProgram(Struct, frozen=True, kw_only=True):
    """A program and its scenario. `run` runs the program of `describe` on free ports."""

    describe: Callable[[Client], OperatorLike]
    run: Run
    scenario: Scenario
    kinds: tuple[type[KubeObject], ...]
    name: str
    namespace: str
    webhooks: Webhooks[Any] | None = None
    server: Callable[[Client, WebhookAddress], WebhookServer] | None = None
    unneeded: tuple[str, ...] = ()  # permissions that the scenario does not need

    @property
    def account(self) -> str:
        return f"system:serviceaccount:{self.namespace}:{self.name}"

    @property
    def webhook_address(self) -> WebhookAddress:
        """The address of the webhooks in the manifests."""
        return WebhookAddress(namespace=self.namespace, service=f"{self.name}-webhooks")


async def run_operator(program: OperatorLike) -> None:
    """Run an operator, or controllers without an operator."""
    if isinstance(program, Operator):
        await program.run()
    elif isinstance(program, Iterable):
        await Operator().run(*program)
    else:
        raise TypeError(f"{program!r} does not run")


def as_operator(make_operator: Callable[[Client], OperatorLike]) -> Run:
    async def run(client: Client, output: Output, server: WebhookServer | None) -> None:
        await run_operator(make_operator(client))

    return run


async def run_hello(client: Client, output: Output, server: WebhookServer | None) -> None:
    await hello.operator(client, server=server).run()


def server_of_hello(client: Client, address: WebhookAddress) -> WebhookServer:
    return hello.webhook_server(client, address, port=0)


async def run_foos(client: Client, output: Output, server: WebhookServer | None) -> None:
    client_context: AbstractAsyncContextManager[Client] = nullcontext(client)
    app = foos.application(client_context)
    async with app.router.lifespan_context(app):
        async for state in app.state.foos.states():
            output.append(state)


async def run_books(client: Client, output: Output, server: WebhookServer | None) -> None:
    await on_asyncio.report(client, output.append)


async def run_nodes(client: Client, output: Output, server: WebhookServer | None) -> None:
    await nodes.print_changes(client, output.append)


PROGRAMS: Final = {
    "echo": PackagedProgram(
        describe=echo.deployed, run=as_operator(echo.operator), scenario=scenarios.create_and_delete_an_echo,
        kinds=(echo.Echo,), name="echo-operator", namespace="echo-operator",
    ),
    "hello": PackagedProgram(
        describe=hello.deployed, run=run_hello, scenario=scenarios.create_and_delete_a_hello,
        kinds=(Hello,), name="hello-operator", namespace=scenarios.HELLO_NAMESPACE,
        webhooks=webhooks, server=server_of_hello,
        unneeded=("patch events",),  # this program repeats no Event; the librarian does
    ),
    "foos": PackagedProgram(
        describe=foos.deployed, run=run_foos, scenario=scenarios.create_a_printed_foo,
        kinds=(foos.Foo,), name="foos", namespace=scenarios.NAMESPACE_OF_FOOS,
    ),
    "books": PackagedProgram(
        describe=on_asyncio.deployed, run=run_books, scenario=scenarios.create_and_delete_a_reported_book,
        kinds=(BookOfExample,), name="books", namespace="books",
    ),
    "nodes": PackagedProgram(
        describe=nodes.deployed, run=run_nodes, scenario=scenarios.report_a_broken_node,
        kinds=(), name="nodes", namespace="nodes",
    ),
    "librarian": PackagedProgram(
        describe=librarian.operator, run=as_operator(librarian.operator),
        scenario=scenarios.create_and_delete_a_labelled_book,
        kinds=(librarian.Book,), name="librarian", namespace=librarian.NAMESPACE,
    ),
}  # fmt: skip
