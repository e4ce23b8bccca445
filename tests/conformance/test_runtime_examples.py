"""The example programs on either server: the Echo operator's whole life, and books in three forms."""

from __future__ import annotations

import json
from typing import Any

import blocking
import echo
import on_asyncio
import on_trio
import pytest
from book import Book, BookSpec
from echo import Echo, EchoSpec
from sniffio import current_async_library

import kubeproto as kp
from conformance.client import Client as Asking
from conformance.runtime_interface import Rig, beside, rig, until
from conformance.servers import Server, Simulated
from kubeproto.crd import definition_of
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto_runtime import BlockingClient, Client, conditions

__all__ = ["rig"]


def test_an_echo_gets_its_finalizer_then_its_deployment_and_takes_it_along_when_it_goes(rig: Rig) -> None:
    async def main(client: Client) -> None:
        echoes, deployments = client.api(Echo), client.api(Deployment)
        held: list[list[str]] = []

        async def watch_what_comes_first() -> None:
            await deployments.wait_for("canyon", conditions.exists(), timeout=60)
            held.append((await echoes.get("canyon")).metadata.finalizers)

        async with beside(lambda: echo.controller(client), watch_what_comes_first):
            spec = EchoSpec(replicas=2)
            await echoes.create(Echo(metadata=kp.ObjectMeta(name="canyon"), spec=spec))
            made = await deployments.wait_for("canyon", lambda one: one.spec.replicas == 2)
            assert [owner.name for owner in made.metadata.owner_references] == ["canyon"]
            await until(lambda: held)
            assert held == [["echoes.example.com/finalizer"]]
            await until(lambda: has_pods(client, 2))

            await echoes.merge_patch("canyon", {"spec": {"replicas": 4}})
            await deployments.wait_for("canyon", lambda one: one.spec.replicas == 4)
            await until(lambda: has_pods(client, 4))

            foreign = await deployments.merge_patch("canyon", {"spec": {"replicas": 1}})
            undone = await deployments.wait_for("canyon", lambda one: one.spec.replicas == 4)
            assert int(undone.metadata.generation or 0) > int(foreign.metadata.generation or 0)

            await echoes.delete("canyon")
            await echoes.wait_for("canyon", conditions.deleted())
            assert await deployments.get_or_none("canyon") is None
            await until(lambda: has_pods(client, 0))

    async def has_pods(client: Client, count: int) -> bool:
        return await rig.pods(client, "canyon") == count

    rig.run(main, Echo)


def test_books_are_told_as_they_come_change_and_go(rig: Rig) -> None:
    async def main(client: Client) -> None:
        books, lines = client.api(Book), Lines(rig.namespace)
        await books.create(a_book("moby", f"Moby-Dick [{rig.namespace}]"))
        report = on_trio.report if current_async_library() == "trio" else on_asyncio.report
        async with beside(lambda: report(client, lines.hear)):
            await until(lambda: ALL_THERE in lines.heard)
            await books.create(a_book("typee", f"Typee [{rig.namespace}]"))
            await books.merge_patch("typee", {"spec": {"authors": ["Herman Melville"]}})
            await books.delete("moby")
            await until(lambda: len(lines.heard) == len(STORY))
        assert lines.heard == STORY

    rig.run(main, Book)


def test_books_are_told_to_a_program_without_an_event_loop(server: Server, client: Asking) -> None:
    """Who hears of one thing does the next, for the program that listens is the only one that runs."""
    client.define(json.loads(kp.encode(definition_of(Book))))
    books = f"/apis/example.technosophos.com/v1/namespaces/{client.namespace}/books"
    lines = Lines(client.namespace)

    def book(name: str, title: str) -> Any:
        return json.loads(kp.encode(a_book(name, f"{title} [{client.namespace}]")))

    def hear(line: object) -> None:
        before = len(lines.heard)
        lines.hear(line)
        match lines.heard[before:]:
            case ["added: Typee"]:
                client.merge(f"{books}/typee", {"spec": {"authors": ["Herman Melville"]}})
            case [other] if other == ALL_THERE:
                client.create(books, book("typee", "Typee"))
            case ["modified: Typee, by Herman Melville"]:
                client.ask("DELETE", f"{books}/moby")
            case ["deleted: Moby-Dick"]:
                raise Told
            case _:
                pass

    client.create(books, book("moby", "Moby-Dick"))
    with pytest.raises(Told):
        blocking.report(blocking_client(server), hear)
    assert lines.heard == STORY


ALL_THERE = "these were all there are; waiting for changes"
STORY = [
    "added: Moby-Dick",
    ALL_THERE,
    "added: Typee",
    "modified: Typee, by Herman Melville",
    "deleted: Moby-Dick",
]


class Told(Exception):
    """The story has come to its end."""


class Lines:
    """What is said of the books of one namespace: in others of the real server, other tests have theirs."""

    def __init__(self, namespace: str) -> None:
        self.heard: list[str] = []
        self._mark = f" [{namespace}]"

    def hear(self, line: object) -> None:
        said = str(line)
        if self._mark in said or said == ALL_THERE:
            self.heard.append(said.replace(self._mark, ""))


def a_book(name: str, title: str) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=BookSpec(title=title))


def blocking_client(server: Server) -> BlockingClient:
    if isinstance(server, Simulated):
        cluster = server.cluster
        return BlockingClient(server.transport, clock=lambda: cluster.now, sleep=server.wait)
    return BlockingClient(server.transport)
