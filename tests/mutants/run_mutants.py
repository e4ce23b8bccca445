"""Apply mutants, each a deliberate mistake, and report the first test that detects each mutant.

python tests/mutants/run_mutants.py [NAME or FILE.toml ...]

Each `*.toml` in this folder contains the mutants of an area: a name, the tests that must fail, and edits. An
edit replaces a text that occurs exactly once in a file. Edits are made in a copy of the tree. A mutant whose
text does not occur once is stale; the end of the report lists stale mutants. The exit code is 1 if a mutant
survives, and 2 if a mutant is stale or if its tests fail without it.

A mutant is kept if it is a realistic mistake that only one or two tests detect.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Final

from msgspec import Struct, convert

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
TREE: Final = (
    "kubeproto", "transports", "runtime", "simulator", "examples", "benchmarks", "tools", "docs", "tests",
    "README.md", "CONTRIBUTING.md", "pyproject.toml", ".importlinter",
)  # fmt: skip
SOURCE_ROOTS: Final = ("", "transports", "runtime", "simulator", "tests")

# A mutant may loop forever. The tests of an area take less than a minute.
TIMEOUT: Final = 300.0


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """A text that occurs exactly once in a file, and its replacement."""

    file: str
    old: str
    new: str


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """A realistic mistake, and the tests that must detect it."""

    name: str
    tests: tuple[str, ...]
    edits: tuple[Edit, ...]


class StaleMutant(Exception):
    """A mutant no longer fits the tree and must be rewritten."""


def load(path: Path) -> list[Mutant]:
    """Return the mutants of a file."""
    return convert(tomllib.loads(path.read_text())["mutant"], list[Mutant])


def load_all(folder: Path = HERE) -> list[Mutant]:
    """Return the mutants of all files, in order."""
    return [mutant for path in sorted(folder.glob("*.toml")) for mutant in load(path)]


def select(arguments: list[str]) -> list[Mutant]:
    """Return the mutants of the given names and files, or all mutants without arguments."""
    mutants = load_all()
    if not arguments:
        return mutants
    by_name = {mutant.name: mutant for mutant in mutants}
    selected: list[Mutant] = []
    for argument in arguments:
        if argument.endswith(".toml"):
            selected += load(HERE / Path(argument).name)
        elif argument in by_name:
            selected.append(by_name[argument])
        else:
            raise SystemExit(f"there is no mutant {argument!r}; the files in tests/mutants list the names")
    return selected


def copy_tree(root: Path, target: Path, parts: tuple[str, ...] = TREE) -> None:
    """Copy the parts of the repository that the tests need."""
    for part in parts:
        source = root / part
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif source.exists():
            shutil.copy2(source, target / part)


def mutated(mutant: Mutant, tree: Path) -> dict[Path, str]:
    """Return the texts of the edited files. Raise `StaleMutant` if an edit does not fit."""
    files: dict[Path, str] = {}
    for edit in mutant.edits:
        path = tree / edit.file
        if path not in files and not path.exists():
            raise StaleMutant(f"{mutant.name}: there is no {edit.file}")
        text = files.get(path) or path.read_text()
        if (count := text.count(edit.old)) != 1:
            raise StaleMutant(f"{mutant.name}: its text occurs {count} times in {edit.file}")
        files[path] = text.replace(edit.old, edit.new)
    return files


def first_failure(tree: Path, tests: tuple[str, ...]) -> str | None:
    """Run the tests of a tree; return the first that fails, or None."""
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "--thorough",
        "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests,
    ]  # fmt: skip
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(tree / root) for root in SOURCE_ROOTS),
    }
    try:
        completed = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"none: the tests did not end within {TIMEOUT:.0f} s"
    if completed.returncode == 0:
        return None
    failure = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", completed.stdout, re.MULTILINE)
    return failure[1] if failure else f"none, but: {(completed.stdout + completed.stderr).strip()[-200:]}"


def detecting_test(mutant: Mutant, tree: Path) -> str | None:
    """Return the first test that detects the mutant, or None if it survives. The tree is restored."""
    files = mutated(mutant, tree)
    originals = {path: path.read_text() for path in files}
    try:
        for path, text in files.items():
            _write(path, text)
        return first_failure(tree, mutant.tests)
    finally:
        for path, text in originals.items():
            _write(path, text)


def _write(path: Path, text: str) -> None:
    """Write a module and delete its bytecode: Python compares only whole seconds and sizes."""
    path.write_text(text)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def run(mutants: list[Mutant], tree: Path) -> int:
    """Try each mutant on a tree, report the results, and return the exit code."""
    failures: dict[tuple[str, ...], str | None] = {}  # of the tree without a mutant
    survivors = tried = 0
    skipped: list[str] = []
    for mutant in mutants:
        if mutant.tests not in failures:
            failures[mutant.tests] = first_failure(tree, mutant.tests)
        if (failure := failures[mutant.tests]) is not None:
            skipped.append(f"{mutant.name}: its tests fail without it: {failure}")
            continue
        try:
            started = time.monotonic()
            test = detecting_test(mutant, tree)
        except StaleMutant as error:
            skipped.append(str(error))
            continue
        tried += 1
        survivors += test is None
        verdict, duration = "SURVIVED" if test is None else "killed", time.monotonic() - started
        report(f"{verdict}  {mutant.name}  after {duration:.1f} s  {test or ''}".rstrip())
    report(f"{tried - survivors} of {tried} killed")
    for reason in skipped:
        report(f"not tried: {reason}")
    if skipped:
        return 2
    return 1 if survivors else 0


def report(line: str) -> None:
    """Print a line immediately: the run takes long."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Run the selected mutants in a temporary copy of the tree."""
    mutants = select(arguments)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        copy_tree(ROOT, tree)
        return run(mutants, tree)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
