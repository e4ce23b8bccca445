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


def small_tree(folder: Path) -> Path:
    tree = folder / "tree"
    (tree / "tests").mkdir(parents=True)
    (tree / "one.py").write_text("ONE = 1\n")
    (tree / "tests" / "test_one.py").write_text("import one\n\n\ndef test_one():\n    assert one.ONE == 1\n")
    return tree


def test_a_mutant_is_killed_by_name_survives_or_does_not_apply(tmp_path: Path) -> None:
    tree, tests = small_tree(tmp_path), ("tests",)
    dead = diff(tmp_path, "dead", "ONE = 1", "ONE = 2")
    alive = diff(tmp_path, "alive", "ONE = 1", "ONE = 1.0")
    stale = diff(tmp_path, "stale", "ONE = 3", "ONE = 2")
    assert run_mutants.killer(dead, tree, tests) == "tests/test_one.py::test_one"
    assert run_mutants.killer(alive, tree, tests) is None
    assert (tree / "one.py").read_text() == "ONE = 1\n"
    with pytest.raises(run_mutants.DoesNotApply, match=r"stale\.patch"):
        run_mutants.killer(stale, tree, tests)


def test_a_mutant_that_does_not_apply_keeps_none_from_being_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree, tests = small_tree(tmp_path), ("tests",)
    stale = diff(tmp_path, "stale", "ONE = 3", "ONE = 2")
    dead = diff(tmp_path, "dead", "ONE = 1", "ONE = 2")
    assert run_mutants.run([stale, dead], tree, tests) == 2
    first, count, last, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("killed  dead")
    assert count == "1 of 1 killed"
    assert last.startswith("does not apply: stale.patch")


def test_the_exit_code_tells_of_survivors_and_of_tests_that_fail_anyway(tmp_path: Path) -> None:
    tree, tests = small_tree(tmp_path), ("tests",)
    dead = diff(tmp_path, "dead", "ONE = 1", "ONE = 2")
    alive = diff(tmp_path, "alive", "ONE = 1", "ONE = 1.0")
    assert run_mutants.run([dead], tree, tests) == 0
    assert run_mutants.run([alive, dead], tree, tests) == 1
    (tree / "one.py").write_text("ONE = 2\n")
    assert run_mutants.run([], tree, tests) == 2


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
