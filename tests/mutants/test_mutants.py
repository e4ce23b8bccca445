"""Each mutant still fits the tree, and the runner tells the dead from the living."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import run_mutants
from run_mutants import Edit, Mutant

MUTANTS = run_mutants.load_all()

# What recovers when something goes wrong, by the beginnings of its files.
PARTS = {
    "store": ("kubeproto/control/_store.py",),
    "queue": ("kubeproto/control/_queue.py",),
    "workers": ("runtime/kubeproto_runtime/reconciling/_workers.py",),
    "caches": ("runtime/kubeproto_runtime/caches/",),
    "client": ("runtime/kubeproto_runtime/client/", "runtime/kubeproto_runtime/calls/"),
    "credentials": ("kubeproto/config/credentials.py", "runtime/kubeproto_runtime/credentials/"),
    "election": ("kubeproto/control/_election_",),
    "recorder": ("kubeproto/control/_recorder.py",),
    "finalizers": ("kubeproto/control/finalizers.py",),
    "pool": ("transports/kubeproto_h11/pool.py",),
    "connections": (
        "transports/kubeproto_h11/_calls.py", "transports/kubeproto_h11/_exchange.py",
        "transports/kubeproto_asyncio/", "transports/kubeproto_trio/", "transports/kubeproto_httpx/",
    ),
}  # fmt: skip


def test_there_are_mutants_and_no_two_have_one_name() -> None:
    assert MUTANTS
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []


@pytest.mark.parametrize("part", PARTS)
def test_each_part_that_recovers_has_at_least_eight_mutants(part: str) -> None:
    files = PARTS[part]
    names = {mutant.name for mutant in MUTANTS if any(edit.file.startswith(files) for edit in mutant.edits)}
    assert len(names) >= 8


# One test for each file of them: a test for each would take longer than what it does.
@pytest.mark.parametrize("path", sorted(run_mutants.HERE.glob("*.toml")), ids=lambda path: path.stem)
def test_each_mutant_still_fits_the_tree_and_names_tests_that_are_there(path: Path) -> None:
    assert [fault for mutant in run_mutants.load(path) for fault in faults(mutant)] == []


def faults(mutant: Mutant) -> Iterator[str]:
    """Why a mutant proves nothing."""
    try:
        run_mutants.mutated(mutant, run_mutants.ROOT)
    except run_mutants.Stale as error:
        yield str(error)
    if not mutant.tests:
        yield f"{mutant.name}: it names no tests"
    for test in mutant.tests:
        if not (run_mutants.ROOT / test.partition("::")[0]).exists():
            yield f"{mutant.name}: there is no {test}"


def mutant_of(name: str, before: str, after: str) -> Mutant:
    return Mutant(name, ("tests",), (Edit("one.py", before, after),))


CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true")
"""


@pytest.fixture
def few_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each pytest load what the runner asks of it alone: all that is installed here takes seconds."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "_hypothesis_pytestplugin")


def small_tree(folder: Path) -> Path:
    tree = folder / "tree"
    (tree / "tests").mkdir(parents=True)
    (tree / "one.py").write_text("ONE = 1\n")
    (tree / "tests" / "conftest.py").write_text(CONFTEST)
    (tree / "tests" / "test_one.py").write_text("import one\n\n\ndef test_one():\n    assert one.ONE == 1\n")
    return tree


def test_a_mutant_whose_text_does_not_stand_once_is_stale(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    (tree / "one.py").write_text("N = 1\nONE = N\n")
    for old, reason in (("= 3", "stale: its text stands 0 times in one.py"), ("N", "stands 3 times")):
        with pytest.raises(run_mutants.Stale, match=re.escape(reason)):
            run_mutants.mutated(mutant_of("stale", old, "M"), tree)
    lost = Mutant("lost", ("tests",), (Edit("two.py", "a", "b"),))
    with pytest.raises(run_mutants.Stale, match=r"there is no two\.py"):
        run_mutants.mutated(lost, tree)


def test_edits_of_one_file_build_on_each_other(tmp_path: Path) -> None:
    tree = small_tree(tmp_path)
    both = Mutant("both", ("tests",), (Edit("one.py", "ONE", "TWO"), Edit("one.py", "= 1", "= 2")))
    assert run_mutants.mutated(both, tree) == {tree / "one.py": "TWO = 2\n"}


@pytest.mark.usefixtures("few_plugins")
@pytest.mark.thorough("it starts a pytest for each")
def test_a_run_reports_each_mutant_and_the_worst_of_them_by_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = small_tree(tmp_path)
    dead, alive = mutant_of("dead", "= 1", "= 2"), mutant_of("alive", "= 1", "= 1.0")
    assert run_mutants.run([alive, dead], tree) == 1
    told = re.sub(r"\d+\.\d", "0.5", capsys.readouterr().out)
    assert told.splitlines() == [
        "SURVIVED  alive  after 0.5 s",
        "killed  dead  after 0.5 s  tests/test_one.py::test_one",
        "1 of 2 killed",
    ]
    assert (tree / "one.py").read_text() == "ONE = 1\n"
    assert run_mutants.run([mutant_of("stale", "= 3", "= 2"), dead], tree) == 2
    first, count, last = capsys.readouterr().out.splitlines()
    assert first.startswith("killed  dead")
    assert count == "1 of 1 killed"
    assert last.startswith("not tried: stale: ")


@pytest.mark.usefixtures("few_plugins")
@pytest.mark.thorough("it starts a pytest for each")
def test_tests_that_fail_without_a_mutant_prove_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = small_tree(tmp_path)
    (tree / "one.py").write_text("ONE = 2\n")
    assert run_mutants.run([mutant_of("dead", "= 2", "= 3")], tree) == 2
    assert "dead: its tests fail without it: tests/test_one.py::test_one" in capsys.readouterr().out


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
