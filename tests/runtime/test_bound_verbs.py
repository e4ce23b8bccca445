"""The verbs of a client are those of the core, with the same parameters, and send the same requests."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, assert_type

import anyio
import pytest
from virtual_time import Book, BookSpec, Go, Said, Scripted, book, go, library, scripted

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds import autoscaling_v1
from kubeproto.kinds.core_v1 import Pod, ServiceAccount
from kubeproto.objects import RunsContainers, Scale
from kubeproto.requests import Subresource, Tables
from kubeproto.wire import UpgradeRequest
from kubeproto_runtime import Client
from kubeproto_runtime.client import BoundApi, BoundSubresource, BoundTables
from kubeproto_runtime.testing import simulated

__all__ = ["go"]


def public_names(cls: type[Any]) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def parameters(cls: type[Any], name: str) -> list[tuple[str, Any, Any]] | str:
    attribute = inspect.getattr_static(cls, name)
    if isinstance(attribute, property):
        return "property"
    verb = getattr(cls, name)
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in inspect.signature(verb).parameters.values()
    ]


@pytest.mark.parametrize(
    ("bound", "core"), [(BoundApi, kp.Api), (BoundSubresource, Subresource), (BoundTables, Tables)]
)
def test_no_verb_is_missing_and_the_parameters_are_those_of_the_core(
    bound: type[Any], core: type[Any]
) -> None:
    missing = public_names(core) - public_names(bound)
    # `follow` replaces `watch`; a single watch is opened by `client.open`.
    assert missing == {"api", "include_object"} if core is Tables else missing <= {"watch"}
    for name in public_names(core) & public_names(bound) - {"api", "include_object"}:
        assert parameters(bound, name) == parameters(core, name), name


def test_a_verb_has_the_docstring_of_the_core() -> None:
    bound: Any = BoundApi
    core: Any = kp.Api
    for name in ("get", "evict", "exec", "follow_log"):
        assert getattr(bound, name).__doc__ == getattr(core, name).__doc__
        assert getattr(bound, name).__qualname__ == f"BoundApi.{name}"


class Widget(kp.Object[dict[str, Any], dict[str, Any]], group="example.com", version="v1", plural="widgets",
             definition=kp.Definition(scale=Scale(".spec.replicas", ".status.replicas"))):  # fmt: skip
    """A kind with a scale."""


def test_each_verb_works_on_a_server(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.define(Widget)
        async with simulated(cluster) as client:
            books = client.api(Book)
            created = await books.create(book(pages=100))
            assert_type(created, Book)
            created.spec.pages = 200
            assert (await books.replace(created)).spec.pages == 200
            assert (await books.merge_patch("moby", {"spec": {"pages": 300}})).spec.pages == 300
            operations = [{"op": "replace", "path": "/spec/pages", "value": 400}]
            assert (await books.json_patch("moby", operations)).spec.pages == 400
            applied = await books.apply(book("emma", title="Emma"), field_manager="m")
            assert applied.spec.title == "Emma"
            with pytest.raises(kp.UnsupportedMediaType):
                await books.strategic_patch("moby", {"spec": {"pages": 1}})
            assert [item.metadata.name for item in (await books.list()).items] == ["emma", "moby"]
            status = await books.status.merge_patch("moby", {"status": {"read": 3}})
            assert status.status is not None
            assert (await books.status.get("moby")).status == status.status
            table = await books.as_table().list(limit=10)
            assert [row.cells[0] for row in table.rows] == ["emma", "moby"]
            assert len((await books.as_table().get("moby")).rows) == 1
            await books.delete("emma")
            await books.delete_collection()
            assert (await books.list()).items == []

            widgets = client.api(Widget)
            await widgets.create(Widget(metadata=kp.ObjectMeta(name="w"), spec={"replicas": 1}))
            scale = await widgets.scale.get("w")
            assert_type(scale, autoscaling_v1.Scale)
            assert (await widgets.scale.merge_patch("w", {"spec": {"replicas": 3}})).spec is not None
            assert (await widgets.get("w")).spec == {"replicas": 3}

    go(main)


def test_requests_for_pods_and_tokens_are_sent_as_the_core_builds_them(go: Go) -> None:

    async def main() -> None:
        success = (
            200,
            (("Content-Type", "application/json"),),
            b'{"kind":"Status","apiVersion":"v1","status":"Success"}',
        )
        client, wire = scripted(success)
        pods = client.api(Pod)
        assert (await pods.evict("web-0", uid="u")).success
        assert (await pods.bind("web-0", "node-1")).success
        assert [request.target.rpartition("/")[2] for _, request in wire.asked] == ["eviction", "binding"]

        text = (("Content-Type", "text/plain"),)
        client, wire = scripted((200, text, b"one\ntwo"))
        assert await client.api(Pod).log("web-0", tail_lines=2) == "one\ntwo"
        assert wire.asked[0][1].target.endswith("/pods/web-0/log?tailLines=2")

        token = b'{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{"audiences":[]},'
        token += b'"status":{"token":"t","expirationTimestamp":"2026-01-01T00:00:00Z"}}'
        client, wire = scripted((201, success[1], token))
        response = await client.api(ServiceAccount).create_token("default")
        assert response.status is not None
        assert wire.asked[0][1].target.endswith("/serviceaccounts/default/token")

    go(main)


def test_the_lines_of_a_log_arrive_when_they_are_written(go: Go) -> None:
    class Written(Said):
        async def __anext__(self) -> bytes:
            await anyio.sleep(1)
            return await super().__anext__()

    class Writing(Scripted):
        @asynccontextmanager
        async def send(
            self, request: kp.RawRequest, *, timeout: float | None = None, idle: float | None = None
        ) -> AsyncGenerator[Said]:
            written = Written(200, (("Content-Type", "text/plain"),), b"")
            written.pieces = [b"ree", b"one\ntwo\nth"]
            yield written

    async def main() -> None:
        lines: list[tuple[float, bytes]] = []
        async with Client(Writing()).api(Pod).follow_log("web-0", container="c") as log:
            async for line in log:
                lines.append((anyio.current_time(), line))
        assert lines == [(1.0, b"one"), (1.0, b"two"), (3.0, b"three")]

    go(main)


def test_a_refused_log_raises_the_error_of_the_server(go: Go) -> None:
    async def main() -> None:
        async with simulated(sim.Cluster()) as client, client.api(Pod).follow_log("web-0") as log:
            with pytest.raises(kp.NotFound):
                await anext(log)

    go(main)


def test_an_opened_watch_returns_a_list_of_events_for_each_chunk(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        cluster.put(book())
        async with simulated(cluster) as client:
            cluster.later(5, lambda: cluster.put(book("emma", title="Emma")))
            names: list[str] = []
            request = client.requests(Book).watch(send_initial_events=True, timeout_seconds=10)
            async with client.open(request) as events:
                async for batch in events:
                    names += [event.object.metadata.name for event in batch if isinstance(event, kp.Added)]
            assert names == ["moby", "emma"]
            assert anyio.current_time() == 10

    go(main)


def test_exec_runs_a_command_over_a_transport_with_websockets(go: Go) -> None:
    class Socket:
        protocol = "v5.channel.k8s.io"

        def __init__(self) -> None:
            self.sent: list[bytes] = []
            self.messages = [b"\x01hello\n", b'\x03{"kind":"Status","status":"Success"}']

        async def receive(self) -> bytes | None:
            return self.messages.pop(0) if self.messages else None

        async def send(self, message: bytes) -> None:
            self.sent.append(message)

    class Upgrading(Scripted):
        socket = Socket()

        @asynccontextmanager
        async def upgrade(
            self, request: UpgradeRequest, *, timeout: float | None = None, idle: float | None = None
        ) -> AsyncGenerator[Socket]:
            self.timeouts.append(timeout)
            self.asked.append((anyio.current_time(), request))
            yield self.socket

    async def main() -> None:
        transport = Upgrading()
        transport.socket = Socket()
        async with Client(transport).api(Pod).exec("web-0", ["cat"], stdin=True) as process:
            await process.write(b"hello\n")
            output = [event async for event in process]
        assert transport.socket.sent == [b"\x00hello\n"]
        assert process.exited is not None
        assert process.exited.code == 0
        assert len(output) == 2
        assert transport.timeouts == [60.0]
        assert "command=cat" in transport.asked[0][1].target

    go(main)


def test_pg_14_pages_are_requested_only_when_they_are_read(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for number in range(10):
            cluster.put(book(f"b{number}"))
        async with simulated(cluster) as client:
            cluster.log.clear()
            sizes = [len(page.items) async for page in client.api(Book).pages(limit=4)]
            assert sizes == [4, 4, 2]
            assert len(cluster.log) == 3
            cluster.log.clear()
            async for item in client.api(Book, namespace=kp.ALL).items(limit=4):
                if item.metadata.name == "b3":
                    break
            assert len(cluster.log) == 1

    go(main)


def test_pg_14_on_expired_decides_whether_a_list_fails_or_continues(go: Go) -> None:
    async def main() -> None:
        cluster = library()
        for number in range(6):
            cluster.put(book(f"b{number}"))
        async with simulated(cluster) as client:
            items = client.api(Book).items(limit=4, on_expired="fail")
            names = [(await anext(items)).metadata.name for _ in range(4)]
            assert names == ["b0", "b1", "b2", "b3"]
            cluster.put(book("z"))
            cluster.compact()
            for _ in range(2):  # the iteration cannot continue after the error
                with pytest.raises(kp.Gone):
                    await anext(items)
            names = list[str]()
            async for item in client.api(Book).items(limit=4):
                names.append(item.metadata.name)
                cluster.put(book("y"))
                cluster.compact()
            assert names == ["b0", "b1", "b2", "b3", "b4", "b5", "y", "z"]

    go(main)


def test_a_missing_object_is_none_and_a_missing_kind_is_an_error(go: Go) -> None:
    async def main() -> None:
        async with simulated(library()) as client:
            assert await client.api(Book).get_or_none("moby") is None
            with pytest.raises(kp.NotFound):
                await client.api(Widget).get_or_none("moby")

    go(main)


def test_a_class_of_pods_without_a_spec_has_the_verb_log(go: Go) -> None:
    class PodMetadata(RunsContainers, version="v1", kind="Pod", plural="pods"):
        """A pod by its metadata."""

    async def main() -> None:
        client, _ = scripted((200, (), b"x"))
        assert await client.api(PodMetadata).log("a") == "x"
        assert await client.api(kp.Metadata[PodMetadata]).log("a") == "x"

    go(main)


def test_types_of_the_results_of_a_client() -> None:
    async def check_types(books: BoundApi[Book], pods: BoundApi[Pod]) -> None:
        assert_type(await books.get("a"), Book)
        assert_type(await books.get_or_none("a"), Book | None)
        assert_type(await books.list(), kp.ObjectList[Book])
        assert_type(await books.delete("a"), Book | kp.Status)
        assert_type(books.status, BoundSubresource[Book])
        assert_type(await books.status.get("a"), Book)
        assert_type(await pods.log("a"), str)
        async for page in books.pages():
            assert_type(page, kp.ObjectList[Book])
        async with pods.follow_log("a") as lines:
            async for line in lines:
                assert_type(line, bytes)
        async with books.client.open(books.requests.watch()) as events:
            async for batch in events:
                assert_type(batch, list[kp.WatchEvent[Book]])

    assert inspect.iscoroutinefunction(check_types)
    assert BookSpec(title="t").authors == []
