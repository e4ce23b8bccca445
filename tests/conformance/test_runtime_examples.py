"""The example programs on either server: the complete life of the Echo operator, and books in three forms."""

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
from conformance.runtime_interface import Rig, poll_until, rig, running_beside
from conformance.servers import Server, Simulated
from kubeproto.crd import definition_of
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto_runtime import BlockingClient, Client, conditions

__all__ = ["rig"]


def test_an_echo_gets_its_finalizer_then_its_deployment_and_is_deleted_with_it(rig: Rig) -> None:
    async def main(client: Client) -> None:
        echoes, deployments = client.api(Echo), client.api(Deployment)
        finalizer_lists: list[list[str]] = []

        async def watch_what_comes_first() -> None:
            await deployments.wait_for("canyon", conditions.exists(), timeout=60)
            finalizer_lists.append((await echoes.get("canyon")).metadata.finalizers)

        async with running_beside(lambda: echo.controller(client), watch_what_comes_first):
            spec = EchoSpec(replicas=2)
            await echoes.create(Echo(metadata=kp.ObjectMeta(name="canyon"), spec=spec))
            created = await deployments.wait_for("canyon", lambda obj: obj.spec.replicas == 2)
            assert [owner.name for owner in created.metadata.owner_references] == ["canyon"]
            await poll_until(lambda: finalizer_lists)
            assert finalizer_lists == [["echoes.example.com/finalizer"]]
            await poll_until(lambda: has_pods(client, 2))

            await echoes.merge_patch("canyon", {"spec": {"replicas": 4}})
            await deployments.wait_for("canyon", lambda obj: obj.spec.replicas == 4)
            await poll_until(lambda: has_pods(client, 4))

            foreign = await deployments.merge_patch("canyon", {"spec": {"replicas": 1}})
            undone = await deployments.wait_for("canyon", lambda obj: obj.spec.replicas == 4)
            assert int(undone.metadata.generation or 0) > int(foreign.metadata.generation or 0)

            await echoes.delete("canyon")
            await echoes.wait_for("canyon", conditions.deleted())
            assert await deployments.get_or_none("canyon") is None
            await poll_until(lambda: has_pods(client, 0))

    async def has_pods(client: Client, count: int) -> bool:
        return await rig.pods(client, "canyon") == count

    rig.run(main, Echo)


def test_added_changed_and_deleted_books_are_printed(rig: Rig) -> None:
    async def main(client: Client) -> None:
        books, lines = client.api(Book), Lines(rig.namespace)
        await books.create(make_book("moby", f"Moby-Dick [{rig.namespace}]"))
        report = on_trio.report if current_async_library() == "trio" else on_asyncio.report
        async with running_beside(lambda: report(client, lines.record_line)):
            await poll_until(lambda: ALL_THERE in lines.printed)
            await books.create(make_book("typee", f"Typee [{rig.namespace}]"))
            await books.merge_patch("typee", {"spec": {"authors": ["Herman Melville"]}})
            await books.delete("moby")
            await poll_until(lambda: len(lines.printed) == len(STORY))
        assert lines.printed == STORY

    rig.run(main, Book)


def test_books_are_printed_by_a_program_without_an_event_loop(server: Server, client: Asking) -> None:
    """Each printed line triggers the next change, because the listening program is the only running
    program.
    """
    client.define(json.loads(kp.encode(definition_of(Book))))
    books = f"/apis/example.technosophos.com/v1/namespaces/{client.namespace}/books"
    lines = Lines(client.namespace)

    def book(name: str, title: str) -> Any:
        return json.loads(kp.encode(make_book(name, f"{title} [{client.namespace}]")))

    def record_line(line: object) -> None:
        previous_count = len(lines.printed)
        lines.record_line(line)
        match lines.printed[previous_count:]:
            case ["added: Typee"]:
                client.merge(f"{books}/typee", {"spec": {"authors": ["Herman Melville"]}})
            case [other] if other == ALL_THERE:
                client.create(books, book("typee", "Typee"))
            case ["modified: Typee, by Herman Melville"]:
                client.fetch("DELETE", f"{books}/moby")
            case ["deleted: Moby-Dick"]:
                raise AllPrinted
            case _:
                pass

    client.create(books, book("moby", "Moby-Dick"))
    with pytest.raises(AllPrinted):
        blocking.report(blocking_client(server), record_line)
    assert lines.printed == STORY


ALL_THERE = "these were all there are; waiting for changes"
STORY = [
    "added: Moby-Dick",
    ALL_THERE,
    "added: Typee",
    "modified: Typee, by Herman Melville",
    "deleted: Moby-Dick",
]


class AllPrinted(Exception):
    """All expected lines were printed."""


class Lines:
    """The printed lines about the books of a single namespace: other tests use other namespaces of the real
    server.
    """

    def __init__(self, namespace: str) -> None:
        self.printed: list[str] = []
        self._title_suffix = f" [{namespace}]"

    def record_line(self, line: object) -> None:
        text = str(line)
        if self._title_suffix in text or text == ALL_THERE:
            self.printed.append(text.replace(self._title_suffix, ""))


def make_book(name: str, title: str) -> Book:
    return Book(metadata=kp.ObjectMeta(name=name), spec=BookSpec(title=title))


def blocking_client(server: Server) -> BlockingClient:
    if isinstance(server, Simulated):
        cluster = server.cluster
        return BlockingClient(server.transport, clock=lambda: cluster.now, sleep=server.wait)
    return BlockingClient(server.transport)
