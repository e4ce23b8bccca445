"""The client programs of docs/programs.md run unchanged, against a simulated cluster."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import generic
import informer
import pytest
import script
import script_blocking
import web_shelf
from aiohttp.test_utils import TestClient, TestServer
from book import Book, BookSpec

import kubeproto as kp
import kubeproto_sim as sim
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto_runtime import BlockingClient, Client
from kubeproto_runtime.testing import run, simulated, simulated_blocking

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "examples" / "programs"
PEERS = ROOT / "benchmarks" / "peers" / "programs"

MANIFEST = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {sea: deep}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web:1}]}
"""


def cluster_of_script() -> sim.Cluster:
    """Return a cluster with a running pod, in which the Deployment becomes ready five seconds after the
    start.
    """
    cluster = sim.Cluster()
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "web", "image": "web:1"}]},
    }
    cluster.put(pod)

    def roll_out() -> None:
        deployment = cluster.get(Deployment, "web")
        assert deployment is not None
        status = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
        cluster.put(deployment | {"status": status | {"readyReplicas": 1}})

    cluster.later(5, roll_out)
    return cluster


class LogTransport:
    """A transport on which the log of a pod has two lines."""

    status = 200
    headers: kp.Headers = (("Content-Type", "text/plain"),)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def send(self, request: kp.RawRequest, **limits: Any) -> Any:
        return self.lines() if "/log?" in request.target else self.inner.send(request, **limits)

    @asynccontextmanager
    async def lines(self) -> AsyncGenerator[LogTransport]:
        yield self

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        yield b"hello\nwor"
        yield b"ld\n"


class BlockingLogTransport(LogTransport):
    """A blocking transport on which the log of a pod has two lines."""

    @contextmanager
    def lines(self) -> Generator[BlockingLogTransport]:  # type: ignore[override] # pyright: ignore
        yield self

    def __iter__(self) -> Generator[bytes]:
        yield b"hello\nwor"
        yield b"ld\n"


SAID = [
    r"ConfigMap default/settings created",
    r"Deployment.apps default/web created",
    r"NAME   READY   UP-TO-DATE   AVAILABLE   AGE",
    r"web    1/1     1            1           5s",
    r"web-1 hello",
    r"web-1 world",
]


def check(cluster: sim.Cluster, out: str) -> None:
    lines = out.splitlines()
    assert len(lines) == len(SAID), out
    assert all(re.fullmatch(pattern, line) for pattern, line in zip(SAID, lines, strict=True)), out
    assert cluster.get(Deployment, "web") is None


def test_the_script_applies_waits_prints_follows_and_deletes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = cluster_of_script()

    @asynccontextmanager
    async def connect() -> AsyncGenerator[Client]:
        async with simulated(cluster) as client:
            client.transport = LogTransport(client.transport)
            yield client

    monkeypatch.setattr(script, "connect", connect)
    run(script.script, MANIFEST, "web")
    check(cluster, capsys.readouterr().out)


def test_the_blocking_script_has_the_same_effect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = cluster_of_script()

    @contextmanager
    def connect() -> Generator[BlockingClient]:
        with simulated_blocking(cluster) as client:
            client.transport = BlockingLogTransport(client.transport)
            yield client

    monkeypatch.setattr(script_blocking, "connect_blocking", connect)
    script_blocking.script(MANIFEST, "web")
    check(cluster, capsys.readouterr().out)


def shelf(*titles: str) -> sim.Cluster:
    cluster = sim.Cluster(crds=[Book])
    for title in titles:
        cluster.put(make_book(title))
    return cluster


def make_book(title: str) -> Book:
    meta = kp.ObjectMeta(name=title.lower(), namespace="default")
    return Book(metadata=meta, spec=BookSpec(title=title, authors=["Melville"]))


def test_the_web_application_answers_from_its_cache() -> None:
    cluster = shelf("Moby", "Typee")

    async def main() -> None:
        app = web_shelf.application(simulated(cluster))
        async with TestClient(TestServer(app)) as browser:
            requests_before = len(cluster.log)
            assert await (await browser.get("/books")).json() == {"moby": "Moby", "typee": "Typee"}
            response = await browser.get("/books/default/moby")
            assert await response.json() == {"title": "Moby", "authors": ["Melville"]}
            assert (await browser.get("/books/default/omoo")).status == 404
            assert len(cluster.log) == requests_before

    anyio.run(main)


def test_the_generic_client_counts_and_changes_any_kind() -> None:
    cluster = shelf("Moby")

    async def main() -> None:
        async with simulated(cluster) as client:
            counts = await generic.inventory(client)
            assert counts["books.example.technosophos.com/v1"] == 1
            assert counts["namespaces/v1"] >= 1
            changed = await generic.change(client, "book", "moby", "spec.title", "Omoo")
            assert changed["spec"] == {"title": "Omoo", "authors": ["Melville"]}

    run(main)


class ScenarioFinished(Exception):
    """The end of the scenario."""


def test_the_informer_reports_changes_of_books() -> None:
    cluster = sim.Cluster(crds=[permissive_definition()])
    cluster.put(make_book("Moby"))
    faults = sim.Faults(cluster, script=[sim.RefuseConnection()])
    lines: list[str] = []

    def handle_line(line: str) -> None:
        lines.append(line)
        if line.startswith("in sync"):
            cluster.put(make_book("Typee"))
            misfit = {"title": 7}
            cluster.later(1, lambda: cluster.put(invalid_book(misfit)))
            cluster.later(2, lambda: cluster.remove(Book, "moby"))
        if line.endswith("is gone"):
            raise ScenarioFinished

    async def main() -> None:
        async with simulated(cluster, faults=faults) as client:
            with pytest.raises(ScenarioFinished):
                await informer.print_changes(client, handle_line)

    run(main)
    assert lines == [
        "trouble with the transport: the connection was refused",
        "Moby is on the shelf",
        "in sync: 1 books of 1 authors",
        "Typee is on the shelf",
        "skipped: Book default/odd: Expected `str`, got `int` - at `$.spec.title`",
        "moby is gone",
    ]


def permissive_definition() -> dict[str, Any]:
    """Return a definition of books that checks nothing."""
    names = {"kind": "Book", "plural": Book.resource.plural}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": free}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"books.{Book.resource.group}"},
        "spec": {"group": Book.resource.group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def invalid_book(spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": Book.resource.api_version,
        "kind": "Book",
        "metadata": {"name": "odd", "namespace": "default"},
        "spec": spec,
    }
