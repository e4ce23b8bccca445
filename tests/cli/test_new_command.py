"""`kubeproto new`: the project that it makes passes its own tests and mypy strict, and can be deployed."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from command_processes import PROGRAM, call_in
from packaging.requirements import Requirement
from terminals import Terminal

from kubeproto.objects import parse_manifest
from kubeproto_cli import main
from kubeproto_sim import Cluster

pytestmark = pytest.mark.one_python

FILES = {
    ".gitignore", "Dockerfile", "README.md", "access.json", "book_shop.py", "manifests.yaml",
    "pyproject.toml", "test_book_shop.py",
}  # fmt: skip


def made(folder: Path, *words: str) -> Path:
    done = call_in(folder, "new", "book-shop", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"book-shop/{name}" for name in sorted(FILES)]
    assert done.stderr == (
        "next: cd book-shop, pytest, and kubeproto run book_shop.py:operator --simulated\n"
    )
    return folder / "book-shop"


def python(folder: Path, *words: str, status: int = 0) -> str:
    # A plugin that only this environment has could load what the project does not bring.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


ANOTHER = pytest.mark.thorough("another pytest, with all that the tests of a project import")


@pytest.mark.parametrize(
    "words", [(), pytest.param(("--kind", "Glossary", "--group", "a.library.example.org"), marks=ANOTHER)]
)
def test_a_project_passes_its_own_tests(words: tuple[str, ...], tmp_path: Path) -> None:
    folder = made(tmp_path, *words)
    assert {path.name for path in folder.iterdir()} == FILES
    assert "4 passed" in python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@ANOTHER
def test_its_tests_find_what_is_broken(tmp_path: Path) -> None:
    folder = made(tmp_path)
    program = folder / "book_shop.py"
    program.write_text(program.read_text().replace(".owns(ConfigMap)", ""))
    said = python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", status=1)
    assert "4 failed" in said, said


@pytest.mark.thorough("mypy reads the whole project when nothing is in its cache")
def test_mypy_strict_has_no_finding_in_it(tmp_path: Path) -> None:
    folder = made(tmp_path)
    assert "no issues found in 2 source files" in python(folder, "-m", "mypy", ".")


def test_a_cluster_takes_its_manifests_and_its_files_agree(tmp_path: Path) -> None:
    folder = made(tmp_path, "--kind", "Glossary", "--group", "library.example.org")
    cluster = Cluster()
    for obj in parse_manifest((folder / "manifests.yaml").read_bytes()):
        cluster.put(obj)
    assert cluster.get("apps/v1/Deployment", "book-shop", "book-shop") is not None
    names = {
        one["metadata"]["name"] for one in cluster.objects("apiextensions.k8s.io/v1/CustomResourceDefinition")
    }
    assert names == {"glossaries.library.example.org"}
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    (requirement,) = map(Requirement, project["dependencies"])
    assert requirement.extras == {"runtime", "asyncio"}
    assert requirement.specifier.contains(version("kubeproto"), prereleases=True)
    assert 'ENTRYPOINT ["python", "/app/book_shop.py"]' in (folder / "Dockerfile").read_text()
    definition = python(folder, "book_shop.py", "--definition")
    assert "name: glossaries.library.example.org" in definition
    assert "$" not in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Book", "books"), ("Glossary", "glossaries"), ("Gateway", "gateways"), ("Class", "classes")],
)
def test_a_plural_is_the_one_that_english_has(kind: str, plural: str, tmp_path: Path) -> None:
    assert main(["new", "thing", "--kind", kind, "--output", str(tmp_path)]) == 0
    assert f'plural="{plural}"' in (tmp_path / "thing.py").read_text()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["Book"], "'Book' cannot be the name of a project: expected lower-case letters, digits and dashes"),
        (["../x"], "'../x' cannot be the name of a project: expected lower-case letters, digits and dashes"),
        (["json"], "'json' cannot be the name of a project: a module of this name exists already"),
        (["class"], "'class' cannot be the name of a project: a module of this name exists already"),
        (
            ["x", "--kind", "x"],
            "'x' cannot be a kind: expected letters and digits that begin with an upper-case letter",
        ),
        (["x", "--group", "x"], "'x' cannot be a group: expected a domain, such as library.example.org"),
    ],
)
def test_a_name_that_no_project_can_have_is_refused(
    words: list[str],
    line: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", *words]) == 2
    assert capsys.readouterr().err == f"kubeproto new: {line}; see kubeproto new --help\n"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["new", "thing", "--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"kubeproto new: {tmp_path} exists and is not empty: choose another folder with --output\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_on_a_terminal_it_says_the_same(tmp_path: Path) -> None:
    with Terminal([*PROGRAM, "new", "thing", "--output", str(tmp_path / "made")], columns=200) as terminal:
        assert terminal.wait() == 0
        assert "thing.py:operator --simulated" in terminal.screen.text
