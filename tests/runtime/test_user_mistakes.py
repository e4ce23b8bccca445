"""The error of each beginner's mistake is one sentence with the mistake and the remedy."""

from __future__ import annotations

import importlib
import json
import logging
from pathlib import Path
from typing import Any

import anyio
import pytest
from virtual_time import Go, go

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.config import Config, ConfigError, Connection, Identity
from kubeproto.requests import version
from kubeproto.wire import NO_RETRIES
from kubeproto_runtime import Client, Operator, connect, connect_blocking
from kubeproto_runtime.testing import simulated, simulated_blocking

__all__ = ["go"]


class BookSpec(kp.Fields):
    title: str = ""


class Book(kp.Object[BookSpec, None], group="example.com", version="v1"):
    """A book."""


# Kinds


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("pods", r"'pods' is the name of a kind, not its class: use client.resource"),
        (
            BookSpec,
            r"BookSpec is not a kind: .*\. Use the class that has it as its spec, class Book",
        ),
        (Book(spec=BookSpec()), r"this is an object, not the class of a kind: use Api\(Book\)"),
        (7, "7 is not a kind"),
    ],
    ids=str,
)
def test_a_value_that_is_not_a_kind_is_named_in_the_error(kind: Any, message: str) -> None:
    with simulated_blocking(sim.Cluster()) as client, pytest.raises(kp.InvalidRequest, match=message):
        client.api(kind)
    with pytest.raises(kp.InvalidRequest, match=message):
        kp.Api(kind, resource=Book.resource)


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        (
            {"scope": "Cluster"},
            "scope= is not a class keyword of a kind; write namespaced=False",
        ),
        ({"shortNames": ["bk"]}, r'shortNames= is not .*; write short_names=\("bk",\)'),
        ({"api_version": "a/v1"}, r'write group="example.com", version="v1"'),
        (
            {"plurals": "books"},
            "plurals= is not a class keyword of a kind; a kind takes group, version,",
        ),
    ],
    ids=str,
)
def test_the_error_of_an_unknown_class_keyword_suggests_the_right_one(
    keyword: dict[str, Any], message: str
) -> None:
    base: Any = kp.Object
    meta: Any = type(Book)
    with pytest.raises(TypeError, match=f"^class Wrong: .*{message}"):
        meta("Wrong", (base,), {}, group="example.com", version="v1", **keyword)


def test_the_docstring_of_object_documents_all_class_keywords() -> None:
    documented = kp.Object.__doc__ or ""
    keywords = "group version kind plural singular namespaced short_names categories subresources verbs"
    for keyword in (*keywords.split(), "definition"):
        assert f"``{keyword}``" in documented


# Connecting


def test_the_error_of_an_unentered_context_shows_how_to_enter_it() -> None:
    forgotten: Any = connect()
    with pytest.raises(AttributeError, match=r"connect\(\) itself has no 'api': write `async with"):
        forgotten.api(Book)
    with (
        pytest.raises(TypeError, match=r"connect\(\) itself needs `async with`, or"),
        forgotten,
    ):
        pass

    async def misuse() -> None:
        unentered: Any = connect()
        with pytest.raises(TypeError, match=r"connect\(\) itself cannot be awaited: write `async with"):
            await unentered
        blocking: Any = connect_blocking()
        with pytest.raises(TypeError, match=r"connect_blocking\(\) itself needs `with`, and"):
            async with blocking:
                pass

    anyio.run(misuse)
    unentered_blocking: Any = connect_blocking()
    with pytest.raises(AttributeError, match=r"connect_blocking\(\) itself has no 'api': write `with"):
        unentered_blocking.api(Book)


LOOPS = [("asyncio", "trio"), ("trio", "asyncio")]


@pytest.mark.needs("trio", "h11")
@pytest.mark.parametrize(("created_on", "used_on"), LOOPS)
def test_a_client_of_another_event_loop_raises_an_error(created_on: str, used_on: str) -> None:
    config = Config(connection=Connection(server="http://127.0.0.1:1"), identity=Identity())
    message = f"this client belongs to {created_on}, and {used_on} runs here: call connect"

    async def use(client: Client) -> None:
        with pytest.raises(kp.LocalProtocolError, match=message):
            await client.api(Book).get("moby")

    async def make() -> None:
        async with connect(config=config) as client:
            await anyio.to_thread.run_sync(lambda: anyio.run(use, client, backend=used_on))

    anyio.run(make, backend=created_on)


@pytest.mark.needs("trio", "h11")
@pytest.mark.parametrize(("event_loop", "used_on"), LOOPS)
def test_a_transport_of_another_event_loop_raises_an_error(event_loop: str, used_on: str) -> None:
    module = importlib.import_module(f"kubeproto_{event_loop}")
    transport: Any = getattr(module, f"{event_loop.title()}Transport")(
        Connection(server="http://127.0.0.1:1")
    )

    async def use() -> None:
        with pytest.raises(kp.LocalProtocolError, match=f"needs {event_loop}, which is not running"):
            async with transport.send(kp.RawRequest("GET", "/")):
                pass

    anyio.run(use, backend=used_on)


def test_the_error_of_a_missing_kubeconfig_names_its_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = tmp_path / "gone"
    monkeypatch.setenv("KUBECONFIG", str(missing))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    message = (
        f"there is no kubeconfig: KUBECONFIG is {missing}, and no such file exists, and this is not a pod"
    )
    with pytest.raises(ConfigError, match=message), connect_blocking():
        pass


# Messages of a server


def test_a_warning_of_the_server_names_the_request_and_the_object(caplog: pytest.LogCaptureFixture) -> None:
    cluster = sim.Cluster(crds=[Book])
    with simulated_blocking(cluster) as client:
        manifest = {
            "apiVersion": "example.com/v1",
            "kind": "Book",
            "metadata": {"name": "moby"},
            "spec": {"pags": 1},
        }
        client.create(kp.parse_manifest(json.dumps(manifest))[0], field_validation="Warn")
    [line] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert line.startswith(
        "POST /apis/example.com/v1/namespaces/default/books: Book.example.com default/moby: "
    )
    assert 'unknown field "spec.pags"' in line


def test_the_missing_streaming_lists_of_a_server_are_detected_and_logged_once(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto")

    async def main() -> None:
        cluster = sim.Cluster(crds=[Book], modes=sim.Modes(streaming_lists=False))
        async with simulated(cluster) as client:
            for _ in range(3):
                async with client.api(Book).follow() as events:
                    assert isinstance(await anext(events), kp.Bookmark)
        assert count_streaming_lists(cluster) == 1

    go(main)
    assert [
        (record.levelname, record.getMessage()[:40])
        for record in caplog.records
        if record.name.startswith("kubeproto")
    ] == [("INFO", "this server has no streaming lists, like")]


def test_a_blocking_client_detects_missing_streaming_lists_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubeproto")
    cluster = sim.Cluster(crds=[Book], modes=sim.Modes(streaming_lists=False))
    with simulated_blocking(cluster) as client:
        for _ in range(3):
            with client.api(Book).follow() as events:
                assert isinstance(next(events), kp.Bookmark)
    assert count_streaming_lists(cluster) == 1
    assert [record.levelname for record in caplog.records if record.name.startswith("kubeproto")] == ["INFO"]


def count_streaming_lists(cluster: sim.Cluster) -> int:
    return sum("sendInitialEvents" in exchange.request.target for exchange in cluster.log)


def test_the_metrics_of_a_connected_client_name_its_host() -> None:
    config = Config(connection=Connection(server="http://127.0.0.1:1/cluster"), identity=Identity())

    async def main() -> None:
        async with connect(config=config) as client:

            async def work() -> None:
                with pytest.raises(kp.ConnectError):
                    await client.fetch(version(), retries=NO_RETRIES)
                operator.stop()

            operator = Operator()
            await operator.run(work)
            assert 'code="<error>",host="127.0.0.1:1",method="GET"} 1\n' in operator.metrics()

    anyio.run(main)
