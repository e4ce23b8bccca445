"""The fixtures for users, run in a project like theirs."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import run
from typing import Final

PROJECT: Final = Path(__file__).parent.parent.parent
TEST: Final = '''
import pytest
import kubeproto as kp
from kubeproto.wire import RawRequest


class Spec(kp.Fields):
    title: str


class Book(kp.Object[Spec, None], group="example.io", version="v1", plural="books"):
    """A book."""


@pytest.fixture
def sim_crds():
    return [Book]


def test_a_book_is_served(sim_cluster):
    answer = sim_cluster.respond(RawRequest("GET", "/apis/example.io/v1/books"))
    assert answer.status == 200


def test_another_cluster_is_another(sim_cluster, sim_clusters):
    other = sim_clusters(seed=5)
    other.namespace("only-here")
    assert sim_cluster.get("v1/Namespace", "only-here") is None


def test_that_fails(sim_cluster):
    sim_cluster.respond(RawRequest("GET", "/apis/example.io/v1/books"))
    assert False
'''


def test_a_project_gets_a_cluster_with_its_kinds_and_sees_the_requests_of_a_failing_test(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_books.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "--rootdir", ".", "-q"]
    completed = run(
        [*command, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "1 failed, 2 passed" in completed.stdout, completed.stdout + completed.stderr
    assert "requests to the simulated cluster" in completed.stdout
    assert "GET /apis/example.io/v1/books -> 200" in completed.stdout
