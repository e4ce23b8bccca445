"""Manifests are read from files, folders and standard input; an unreadable file does not block the others."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import pytest

import kubeproto_sim as sim
from kubeproto_runtime.sets import read_manifests
from kubeproto_runtime.testing import simulated_blocking

CONFIG_MAP: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.yaml").write_text(CONFIG_MAP % "b1" + "---\n" + CONFIG_MAP % "b2")
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}')
    (tmp_path / "notes.txt").write_text("not a manifest")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "folder.yaml" / "c.yml").write_text(CONFIG_MAP % "c")
    return tmp_path


# Paths in the folder, recursion, the expected names and the expected failures.
ROWS: Final[dict[str, tuple[tuple[str, ...], bool, list[str], list[str]]]] = {
    "a file": (("b.yaml",), False, ["b1", "b2"], []),
    "a file of any name": (("notes.txt",), False, [], ["notes.txt: document 1, line 1: "]),
    "a folder": ((".",), False, ["a", "b1", "b2"], []),
    "a folder and its subfolders": ((".",), True, ["a", "b1", "b2", "c"], []),
    "files in the order given": (("b.yaml", "a.json"), False, ["b1", "b2", "a"], []),
    "a file that does not exist": (("none.yaml", "a.json"), False, ["a"], ["none.yaml: No such file"]),
    "a folder without manifests": (("empty",), False, [], ["empty: it contains no file that ends in .yaml"]),
    "a mistake": (("broken.yaml", "a.json"), False, ["a"], ["broken.yaml: document 1, line 3: "]),
    "bytes that are not text": (("bytes.yaml",), False, [], ["bytes.yaml: document 1, line 1: "]),
    "a file that is too deep": (("deep.json",), False, [], ["deep.json: document 1"]),
    "an empty file": (("nothing.yaml",), False, [], []),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_files_and_folders_are_read(folder: Path, row: str) -> None:
    (folder / "empty").mkdir()
    names, recursive, objects, failures = ROWS[row]
    if row not in ("a folder", "a folder and its subfolders"):
        (folder / "broken.yaml").write_text("apiVersion: v1\nkind: [")
        (folder / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
        (folder / "deep.json").write_text('{"a":' * 20_000)
        (folder / "nothing.yaml").write_text("# nothing\n---\n")
    manifests = read_manifests(*(folder / name for name in names), recursive=recursive)
    assert [obj.metadata.name for obj in manifests.objects] == objects
    assert len(manifests.failures) == len(failures)
    for failure, expected in zip(manifests.failures, failures, strict=True):
        assert expected in failure


def test_a_dash_reads_standard_input() -> None:
    manifests = read_manifests("-", stdin=io.BytesIO((CONFIG_MAP % "piped").encode()))
    assert [obj.metadata.name for obj in manifests.objects] == ["piped"]
    manifests = read_manifests("-", stdin=io.BytesIO(b"kind: ["))
    assert manifests.failures[0].startswith("standard input: document 1")


def test_the_objects_of_an_unreadable_file_are_not_pruned(folder: Path) -> None:
    cluster = sim.Cluster()
    with simulated_blocking(cluster) as client:
        client.perform(client.plan(read_manifests(folder), "configmaps/shop"))
        (folder / "b.yaml").write_text("kind: [")
        plan = client.plan(read_manifests(folder), "configmaps/shop")
        assert [str(deletion.ref) for deletion in plan.withheld] == [
            "ConfigMap default/b1",
            "ConfigMap default/b2",
        ]
        assert "not all files can be read" in str(plan)
        assert "b.yaml: document 1" in str(plan)
        client.perform(plan, partial=True)
        assert cluster.get("v1/ConfigMap", "b1") is not None
        (folder / "b.yaml").write_text(CONFIG_MAP % "b2")
        client.perform(client.plan(read_manifests(folder), "configmaps/shop"))
        assert cluster.get("v1/ConfigMap", "b1") is None
        assert cluster.get("v1/ConfigMap", "b2") is not None
