"""`kubeproto new`: the created project passes its own tests and mypy strict, and can be deployed."""

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


def create_project(folder: Path, *arguments: str) -> Path:
    result = call_in(folder, "new", "book-shop", *arguments)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [f"book-shop/{name}" for name in sorted(FILES)]
    assert result.stderr == (
        "next: cd book-shop, pytest, and kubeproto run book_shop.py:operator --simulated\n"
    )
    return folder / "book-shop"


def run_python(folder: Path, *arguments: str, status: int = 0) -> str:
    # A pytest plugin of this environment could import modules that the project does not depend on.
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    result = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, env=environment
    )
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout


SLOW = pytest.mark.thorough("runs another pytest, which imports all dependencies again")


@pytest.mark.parametrize(
    "arguments", [(), pytest.param(("--kind", "Glossary", "--group", "a.library.example.org"), marks=SLOW)]
)
def test_a_project_passes_its_own_tests(arguments: tuple[str, ...], tmp_path: Path) -> None:
    folder = create_project(tmp_path, *arguments)
    assert {path.name for path in folder.iterdir()} == FILES
    assert "4 passed" in run_python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@SLOW
def test_the_tests_of_a_project_detect_a_bug(tmp_path: Path) -> None:
    folder = create_project(tmp_path)
    program = folder / "book_shop.py"
    program.write_text(program.read_text().replace(".owns(ConfigMap)", ""))
    output = run_python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", status=1)
    assert "4 failed" in output, output


@pytest.mark.thorough("mypy reads the whole project when nothing is in its cache")
def test_a_project_passes_mypy_strict(tmp_path: Path) -> None:
    folder = create_project(tmp_path)
    assert "no issues found in 2 source files" in run_python(folder, "-m", "mypy", ".")


def test_a_cluster_accepts_the_manifests_and_the_files_agree(tmp_path: Path) -> None:
    folder = create_project(tmp_path, "--kind", "Glossary", "--group", "library.example.org")
    cluster = Cluster()
    for obj in parse_manifest((folder / "manifests.yaml").read_bytes()):
        cluster.put(obj)
    assert cluster.get("apps/v1/Deployment", "book-shop", "book-shop") is not None
    names = {
        crd["metadata"]["name"] for crd in cluster.objects("apiextensions.k8s.io/v1/CustomResourceDefinition")
    }
    assert names == {"glossaries.library.example.org"}
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    (requirement,) = map(Requirement, project["dependencies"])
    assert requirement.extras == {"runtime", "asyncio"}
    assert requirement.specifier.contains(version("kubeproto"), prereleases=True)
    assert 'ENTRYPOINT ["python", "/app/book_shop.py"]' in (folder / "Dockerfile").read_text()
    definition = run_python(folder, "book_shop.py", "--definition")
    assert "name: glossaries.library.example.org" in definition
    assert "$" not in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Book", "books"), ("Glossary", "glossaries"), ("Gateway", "gateways"), ("Class", "classes")],
)
def test_the_plural_follows_english_rules(kind: str, plural: str, tmp_path: Path) -> None:
    assert main(["new", "thing", "--kind", kind, "--output", str(tmp_path)]) == 0
    assert f'plural="{plural}"' in (tmp_path / "thing.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
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
def test_an_invalid_name_is_refused(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", *arguments]) == 2
    assert capsys.readouterr().err == f"kubeproto new: {message}; see kubeproto new --help\n"
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_empty_stays_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["new", "thing", "--output", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"kubeproto new: {tmp_path} exists and is not empty: choose another folder with --output\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_the_next_steps_are_printed_on_a_terminal(tmp_path: Path) -> None:
    with Terminal([*PROGRAM, "new", "thing", "--output", str(tmp_path / "project")], columns=200) as terminal:
        assert terminal.wait() == 0
        assert "thing.py:operator --simulated" in terminal.screen.text
