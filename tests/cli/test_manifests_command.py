"""`kubeproto manifests`: printed and written manifests, and errors about a wrong operator."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest
from command_processes import PROGRAM, call_in

import kubeproto as kp

pytestmark = pytest.mark.one_python

OPERATORS: Final = """
import kubeproto as kp
from kubeproto_runtime import Controller, LeaderElector, Operator

class ShelfSpec(kp.Fields):
    size: int = 1

class Shelf(kp.Object[ShelfSpec, None], group="cli.example.com", version="v1", plural="shelves"):
    pass

async def reconcile(shelf, ctx):
    pass

def operator(client):
    operator = Operator(election=LeaderElector(client, name="shelves", identity="a"), port=8080)
    operator.add(Controller(client, Shelf).run(reconcile))
    return operator

def alone(client):
    return Controller(client, Shelf).run(reconcile)

async def later(client):
    pass

def nothing(client):
    return None

def broken(client):
    raise RuntimeError("a mistake of the user")

not_callable = 5
"""
ACCESS: Final = '[{"group":"","resource":"configmaps","verb":"patch"}]'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shelf_operator.py").write_text(OPERATORS)
    (tmp_path / "needs_more.py").write_text("import nothing_of_this_name\n")
    (tmp_path / "access.json").write_text(ACCESS)
    return tmp_path


def run_manifests(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return call_in(folder, "manifests", *arguments)


@pytest.mark.parametrize("operator_reference", ["shelf_operator:operator", "shelf_operator.py:operator"])
def test_the_printed_manifests_can_be_parsed(folder: Path, operator_reference: str) -> None:
    result = run_manifests(
        folder, operator_reference, "--access", "access.json", "--image", "registry.example.com/shelf:2"
    )
    assert (result.returncode, result.stderr) == (0, "")
    objects_by_kind = {obj.kind: obj for obj in kp.parse_manifest(result.stdout)}
    assert (
        objects_by_kind["Deployment"].metadata.name
        == objects_by_kind["Namespace"].metadata.name
        == "shelf-operator"
    )
    assert "image: registry.example.com/shelf:2\n" in result.stdout
    assert "configmaps" in kp.dump_yaml(objects_by_kind["ClusterRole"])
    assert "shelves" in kp.dump_yaml(objects_by_kind["Role"])


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], {"manifests.yaml", "Dockerfile"}),
        (["--kustomize"], {"kustomization.yaml", "deployment-shelf-operator.yaml", "Dockerfile"}),
        (["--helm"], {"Chart.yaml", "values.yaml", "templates/deployment-shelf-operator.yaml", "Dockerfile"}),
    ],
)
def test_output_writes_a_folder_with_a_dockerfile(folder: Path, options: list[str], files: set[str]) -> None:
    result = run_manifests(folder, "shelf_operator:operator", "--output", "manifests", *options)
    assert (result.returncode, result.stdout) == (0, "")
    written = {str(path.relative_to(folder / "manifests")) for path in (folder / "manifests").rglob("*.*")}
    written |= {path.name for path in (folder / "manifests").glob("Dockerfile")}
    assert files <= written
    assert sorted(result.stderr.split()) == sorted(f"manifests/{name}" for name in written)
    assert (
        'ENTRYPOINT ["python", "/app/shelf_operator.py"]' in (folder / "manifests" / "Dockerfile").read_text()
    )


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["shelf_operator"], 2, "'shelf_operator' is not MODULE:NAME, such as"),
        (["nowhere:operator"], 2, "there is no module nowhere here"),
        (["no.where:operator"], 2, "there is no module no.where here"),
        (
            ["shelf_operator:operate"],
            2,
            "shelf_operator has no operate; it defines Shelf, ShelfSpec, alone",
        ),
        (["shelf_operator:later"], 2, "OPERATOR must be a function that takes a client"),
        (["shelf_operator:not_callable"], 2, "OPERATOR must be a function that takes a client"),
        (["shelf_operator:nothing"], 1, "a NoneType is not an operator: return an Operator"),
        (["shelf_operator:alone", "--replicas", "2"], 1, "without an election would all reconcile"),
        (["shelf_operator:operator", "--helm"], 2, "--helm writes a folder: add --output FOLDER"),
        (
            ["shelf_operator:operator", "--access", "shelf_operator.py"],
            1,
            "shelf_operator.py: this is not the output",
        ),
        (["needs_more:operator"], 1, "needs_more cannot be imported: there is no module nothing_of"),
    ],
)
def test_an_error_is_a_single_line(folder: Path, arguments: list[str], status: int, message: str) -> None:
    result = run_manifests(folder, *arguments)
    assert (result.returncode, result.stdout) == (status, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_mistake_in_the_users_function_shows_its_traceback(folder: Path) -> None:
    result = subprocess.run(
        [*PROGRAM, "manifests", "shelf_operator:broken"], cwd=folder, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("RuntimeError: a mistake of the user\n")
