"""Each mutant still fits the tree, and the runner tells the dead from the living."""

from __future__ import annotations

from pathlib import Path

import pytest
import run_mutants

PATCHES = sorted(run_mutants.HERE.glob("*.patch"))


def test_there_are_mutants() -> None:
    assert PATCHES


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_mutant_still_applies(patch: Path) -> None:
    run_mutants.apply(patch, run_mutants.ROOT, "--check")


def diff(folder: Path, name: str, before: str, after: str) -> Path:
    patch = folder / f"{name}.patch"
    patch.write_text(f"--- a/one.py\n+++ b/one.py\n@@ -1 +1 @@\n-{before}\n+{after}\n")
    return patch


def test_a_mutant_is_killed_by_name_survives_or_does_not_apply(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "tests").mkdir(parents=True)
    (tree / "one.py").write_text("ONE = 1\n")
    (tree / "tests" / "test_one.py").write_text("import one\n\n\ndef test_one():\n    assert one.ONE == 1\n")
    tests = ("tests",)
    dead = diff(tmp_path, "dead", "ONE = 1", "ONE = 2")
    alive = diff(tmp_path, "alive", "ONE = 1", "ONE = 1.0")
    stale = diff(tmp_path, "stale", "ONE = 3", "ONE = 2")
    assert run_mutants.killer(dead, tree, tests) == "tests/test_one.py::test_one"
    assert run_mutants.killer(alive, tree, tests) is None
    assert (tree / "one.py").read_text() == "ONE = 1\n"
    with pytest.raises(run_mutants.DoesNotApply, match=r"stale\.patch"):
        run_mutants.killer(stale, tree, tests)


def test_a_tree_is_copied_without_what_was_left_in_it(tmp_path: Path) -> None:
    (tmp_path / "from" / "part" / "__pycache__").mkdir(parents=True)
    (tmp_path / "from" / "part" / "x.py").write_text("X = 1\n")
    (tmp_path / "from" / "file.toml").write_text("")
    (tmp_path / "to").mkdir()
    run_mutants.copy_tree(tmp_path / "from", tmp_path / "to", ("part", "file.toml", "nothing"))
    assert sorted(str(p.relative_to(tmp_path / "to")) for p in (tmp_path / "to").rglob("*")) == [
        "file.toml",
        "part",
        "part/x.py",
    ]
