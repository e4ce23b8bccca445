"""Each mistake of somebody new gets one sentence that names the mistake and the remedy."""

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
    ("kind", "said"),
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
def test_what_is_not_a_kind_is_refused_by_name(kind: Any, said: str) -> None:
    with simulated_blocking(sim.Cluster()) as client, pytest.raises(kp.InvalidRequest, match=said):
        client.api(kind)
    with pytest.raises(kp.InvalidRequest, match=said):
        kp.Api(kind, resource=Book.resource)


@pytest.mark.parametrize(
    ("keyword", "said"),
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
def test_an_unknown_class_keyword_is_refused_with_the_one_that_was_meant(
    keyword: dict[str, Any], said: str
) -> None:
    base: Any = kp.Object
    meta: Any = type(Book)
    with pytest.raises(TypeError, match=f"^class Wrong: .*{said}"):
        meta("Wrong", (base,), {}, group="example.com", version="v1", **keyword)


def test_the_class_keywords_stand_in_the_documentation_of_object() -> None:
    documented = kp.Object.__doc__ or ""
    keywords = "group version kind plural singular namespaced short_names categories subresources verbs"
    for keyword in (*keywords.split(), "definition"):
        assert f"``{keyword}``" in documented


# Connecting


def test_a_context_that_was_not_entered_says_how() -> None:
    forgotten: Any = connect()
    with pytest.raises(AttributeError, match=r"connect\(\) itself has no 'api': write `async with"):
        forgotten.api(Book)
    with (
        pytest.raises(TypeError, match=r"connect\(\) itself needs `async with`, or"),
        forgotten,
    ):
        pass

    async def awaited() -> None:
        awaited: Any = connect()
        with pytest.raises(TypeError, match=r"connect\(\) itself cannot be awaited: write `async with"):
            await awaited
        blocking: Any = connect_blocking()
        with pytest.raises(TypeError, match=r"connect_blocking\(\) itself needs `with`, and"):
            async with blocking:
                pass

    anyio.run(awaited)
    also: Any = connect_blocking()
    with pytest.raises(AttributeError, match=r"connect_blocking\(\) itself has no 'api': write `with"):
        also.api(Book)


LOOPS = [("asyncio", "trio"), ("trio", "asyncio")]


@pytest.mark.needs("trio", "h11")
@pytest.mark.parametrize(("made_on", "used_on"), LOOPS)
def test_a_client_of_one_event_loop_is_refused_on_the_other(made_on: str, used_on: str) -> None:
    config = Config(connection=Connection(server="http://127.0.0.1:1"), identity=Identity())
    said = f"this client belongs to {made_on}, and {used_on} runs here: call connect"

    async def use(client: Client) -> None:
        with pytest.raises(kp.LocalProtocolError, match=said):
            await client.api(Book).get("moby")

    async def make() -> None:
        async with connect(config=config) as client:
            await anyio.to_thread.run_sync(lambda: anyio.run(use, client, backend=used_on))

    anyio.run(make, backend=made_on)


@pytest.mark.needs("trio", "h11")
@pytest.mark.parametrize(("made_for", "used_on"), LOOPS)
def test_a_transport_of_one_event_loop_is_refused_on_the_other(made_for: str, used_on: str) -> None:
    module = importlib.import_module(f"kubeproto_{made_for}")
    transport: Any = getattr(module, f"{made_for.title()}Transport")(Connection(server="http://127.0.0.1:1"))

    async def use() -> None:
        with pytest.raises(kp.LocalProtocolError, match=f"needs {made_for}, which does not run"):
            async with transport.send(kp.RawRequest("GET", "/")):
                pass

    anyio.run(use, backend=used_on)


def test_a_kubeconfig_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    monkeypatch.setenv("KUBECONFIG", str(missing))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    said = f"there is no kubeconfig: KUBECONFIG is {missing}, and no such file exists, and this is not a pod"
    with pytest.raises(ConfigError, match=said), connect_blocking():
        pass


# What a server says


def test_a_warning_of_the_server_names_the_request_and_the_object(caplog: pytest.LogCaptureFixture) -> None:
    cluster = sim.Cluster(crds=[Book])
    with simulated_blocking(cluster) as client:
        odd = {
            "apiVersion": "example.com/v1",
            "kind": "Book",
            "metadata": {"name": "moby"},
            "spec": {"pags": 1},
        }
        client.create(kp.parse_manifest(json.dumps(odd))[0], field_validation="Warn")
    [line] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert line.startswith(
        "POST /apis/example.com/v1/namespaces/default/books: Book.example.com default/moby: "
    )
    assert 'unknown field "spec.pags"' in line


def test_a_server_without_streaming_lists_is_asked_once_and_it_is_logged_once(
    go: Go, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubeproto")

    async def main() -> None:
        cluster = sim.Cluster(crds=[Book], modes=sim.Modes(streaming_lists=False))
        async with simulated(cluster) as client:
            for _ in range(3):
                async with client.api(Book).follow() as events:
                    assert isinstance(await anext(events), kp.Bookmark)
        assert refused(cluster) == 1

    go(main)
    assert [
        (record.levelname, record.getMessage()[:40])
        for record in caplog.records
        if record.name.startswith("kubeproto")
    ] == [("INFO", "this server has no streaming lists, like")]


def test_a_blocking_client_learns_the_same(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubeproto")
    cluster = sim.Cluster(crds=[Book], modes=sim.Modes(streaming_lists=False))
    with simulated_blocking(cluster) as client:
        for _ in range(3):
            with client.api(Book).follow() as events:
                assert isinstance(next(events), kp.Bookmark)
    assert refused(cluster) == 1
    assert [record.levelname for record in caplog.records if record.name.startswith("kubeproto")] == ["INFO"]


def refused(cluster: sim.Cluster) -> int:
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
