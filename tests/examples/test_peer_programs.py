"""The programs of other clients in docs/programs.md run in the environments of their clients."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import httpx
import pytest
from book import Book, BookSpec
from test_programs import MANIFEST

import kubeproto as kp
import kubeproto_sim as sim
from benchmarks._peers import environment
from benchmarks._pins import CACHE, PINS, PROJECT
from kubeproto.kinds.apps_v1 import Deployment
from kubeproto.kinds.core_v1 import ConfigMap
from kubeproto_httpx import BlockingHttpxTransport
from kubeproto_runtime import BlockingClient, conditions
from kubeproto_serve import SimServer, serving

pytestmark = [pytest.mark.one_python, pytest.mark.thorough("processes of other clients")]

PROGRAMS: Final = PROJECT / "benchmarks" / "peers" / "programs"
BOUND: Final = 60.0
TIME: Final = "2026-01-01T00:00:00Z"
AVAILABLE: Final = {"type": "Available", "status": "True", "lastUpdateTime": TIME, "lastTransitionTime": TIME}


def needs(peer: str) -> pytest.MarkDecorator:
    return pytest.mark.needs(f"peer:{peer}")


@contextmanager
def run_program(
    server: SimServer, folder: Path, peer: str, *arguments: str, stdin: str = ""
) -> Generator[subprocess.Popen[str]]:
    """Run a program of a peer against a served cluster, with its kubeconfig."""
    python = environment(peer, PINS, CACHE)
    assert python is not None
    (folder / "config").write_text(server.kubeconfig)
    (folder / "stdin").write_text(stdin)
    with (
        (folder / "stdin").open() as standard_input,
        subprocess.Popen(
            [str(python), *arguments], cwd=PROGRAMS, stdin=standard_input, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "HOME": str(folder), "KUBECONFIG": str(folder / "config")},
        ) as program,
    ):  # fmt: skip
        try:
            yield program
        finally:
            program.kill()


@contextmanager
def user_of(server: SimServer) -> Generator[BlockingClient]:
    with (
        httpx.Client(base_url=server.url, trust_env=False) as over,
        BlockingHttpxTransport(over) as transport,
    ):
        yield BlockingClient(transport)


def lines_of(program: subprocess.Popen[str]) -> IO[str]:
    assert program.stdout is not None
    return program.stdout


def make_book(title: str) -> Book:
    meta = kp.ObjectMeta(name=title.lower(), namespace="default")
    return Book(metadata=meta, spec=BookSpec(title=title, authors=["Melville"]))


@pytest.mark.parametrize(
    ("peer", "argument"),
    [pytest.param("kr8s", "created", marks=needs("kr8s")),
     pytest.param("lightkube", "applied", marks=needs("lightkube"))],
)  # fmt: skip
def test_the_script_of_another_client_has_the_same_effect(peer: str, argument: str, tmp_path: Path) -> None:
    cluster = sim.Cluster()
    file = tmp_path / "manifest.yaml"
    file.write_text(MANIFEST)
    with (
        serving(cluster) as server,
        run_program(server, tmp_path, peer, f"script_{peer}.py", "web", str(file), stdin=MANIFEST) as program,
    ):
        with user_of(server) as user:
            web = user.api(Deployment).wait_for("web", conditions.exists(), timeout=BOUND)
            status = {"replicas": 1, "readyReplicas": 1, "conditions": [AVAILABLE]}
            user.api(Deployment).status.merge_patch(web.metadata.name, {"status": status})
        out, _ = program.communicate(timeout=BOUND)
        assert program.returncode == 0
        assert cluster.get(Deployment, "web") is None
    assert out.splitlines() == [
        f"ConfigMap settings {argument}",
        f"Deployment web {argument}",
        "NAME READY",
        "web 1/1",
    ]


@needs("kr8s")
def test_the_generic_client_of_kr8s_counts_and_changes_any_kind(tmp_path: Path) -> None:
    cluster = sim.Cluster(crds=[Book])
    cluster.put(make_book("Moby"))
    arguments = ("generic_kr8s.py", "books.example.technosophos.com", "moby", "spec.title", '"Omoo"')
    with serving(cluster) as server, run_program(server, tmp_path, "kr8s", *arguments) as program:
        out, _ = program.communicate(timeout=BOUND)
        assert program.returncode == 0
    assert "     1 books." in out
    assert "title: Omoo" in out


@pytest.mark.parametrize(
    "peer", [pytest.param(name, marks=needs(name)) for name in ("kr8s", "lightkube")]
)  # fmt: skip
def test_the_informer_of_another_client_reports_changes_of_books(peer: str, tmp_path: Path) -> None:
    cluster = sim.Cluster(crds=[Book])
    cluster.put(make_book("Moby"))
    with serving(cluster) as server, run_program(server, tmp_path, peer, f"informer_{peer}.py") as program:
        output = lines_of(program)
        assert output.readline() == "Moby is on the shelf\n"
        server.call(cluster.remove, Book, "moby")
        assert output.readline() == "moby is gone\n"


HOLD: Final = "books.example.com/archive"
KOPF: Final = ("-m", "kopf", "run", "--standalone", "--namespace", "default")


@needs("kopf")
def test_the_operator_of_kopf_archives_a_book_before_its_deletion(tmp_path: Path) -> None:
    cluster = sim.Cluster(crds=[Book])
    cluster.put(make_book("Moby"))
    with (
        serving(cluster) as server,
        user_of(server) as user,
        run_program(server, tmp_path, "kopf", *KOPF, "operator_archive_kopf.py"),
    ):
        books = user.api(Book)
        books.wait_for("moby", lambda book: book.metadata.finalizers == [HOLD], timeout=BOUND)
        books.delete("moby")
        books.wait_for("moby", conditions.deleted(), timeout=BOUND)


@needs("kopf_kr8s")
def test_the_operator_of_kopf_and_kr8s_gives_each_book_a_label(tmp_path: Path) -> None:
    cluster = sim.Cluster(crds=[Book])
    cluster.put(make_book("Moby"))
    with (
        serving(cluster) as server,
        user_of(server) as user,
        run_program(server, tmp_path, "kopf_kr8s", *KOPF, "operator_labels_kopf.py"),
    ):
        label = user.api(ConfigMap).wait_for("moby", conditions.exists(), timeout=BOUND)
        assert label.data == {"label": "Moby, by Melville"}
        assert [owner.name for owner in label.metadata.owner_references] == ["moby"]
