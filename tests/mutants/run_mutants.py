"""Break the code on purpose, one mutant at a time, and see which test notices first, and after how long.

    python tests/mutants/run_mutants.py [NAME or FILE.toml ...]

Each `*.toml` beside this file holds the mutants of one area: a name, the tests that are to notice, and edits,
each a text that stands exactly once in a file and what takes its place. They are made in a copy of the tree,
so nothing here is touched. A mutant whose text is not found is stale: it is skipped and named at the end. The
exit code is 1 if a mutant survives, 2 if one is stale or if its tests fail without it.
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

# A mutant may well loop forever; the tests of one area take less than a minute.
PATIENCE: Final = 300.0


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """A text that stands exactly once in a file, and what takes its place."""

    file: str
    old: str
    new: str


class Mutant(Struct, frozen=True, forbid_unknown_fields=True):
    """A bug that once was, or could be, and the tests that must notice it."""

    name: str
    tests: tuple[str, ...]
    edits: tuple[Edit, ...]


class Stale(Exception):
    """A mutant no longer fits the tree: it must be written again."""


def load(path: Path) -> list[Mutant]:
    """Return the mutants of one file."""
    return convert(tomllib.loads(path.read_text())["mutant"], list[Mutant])


def load_all(folder: Path = HERE) -> list[Mutant]:
    """Return the mutants of all files, in order."""
    return [mutant for path in sorted(folder.glob("*.toml")) for mutant in load(path)]


def choose(arguments: list[str]) -> list[Mutant]:
    """Return the mutants that are named, one by one or by file; all of them if none is."""
    mutants = load_all()
    if not arguments:
        return mutants
    by_name = {mutant.name: mutant for mutant in mutants}
    chosen: list[Mutant] = []
    for argument in arguments:
        if argument.endswith(".toml"):
            chosen += load(HERE / Path(argument).name)
        elif argument in by_name:
            chosen.append(by_name[argument])
        else:
            raise SystemExit(f"there is no mutant called {argument!r}")
    return chosen


def copy_tree(root: Path, to: Path, parts: tuple[str, ...] = TREE) -> None:
    """Copy what the tests need."""
    for part in parts:
        source = root / part
        if source.is_dir():
            shutil.copytree(source, to / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif source.exists():
            shutil.copy2(source, to / part)


def mutated(mutant: Mutant, tree: Path) -> dict[Path, str]:
    """Return what the files of a tree hold with the mutant in them; `Stale` if a text is not there once."""
    files: dict[Path, str] = {}
    for edit in mutant.edits:
        path = tree / edit.file
        if path not in files and not path.exists():
            raise Stale(f"{mutant.name}: there is no {edit.file}")
        text = files.get(path) or path.read_text()
        if (count := text.count(edit.old)) != 1:
            raise Stale(f"{mutant.name}: its text stands {count} times in {edit.file}")
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
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return f"none: the tests did not end within {PATIENCE:.0f} s"
    if done.returncode == 0:
        return None
    said = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return said[1] if said else f"none, but: {(done.stdout + done.stderr).strip()[-200:]}"


def killer(mutant: Mutant, tree: Path) -> str | None:
    """Return the first test that notices this mutant, or None if it survives. The tree is left as it was."""
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
    """Write a module, and delete what was compiled of it: Python compares whole seconds and sizes alone."""
    path.write_text(text)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def run(mutants: list[Mutant], tree: Path) -> int:
    """Try each mutant on a tree and report what became of it; return the exit code."""
    broken: dict[tuple[str, ...], str | None] = {}
    survivors = tried = 0
    skipped: list[str] = []
    for mutant in mutants:
        if mutant.tests not in broken:
            broken[mutant.tests] = first_failure(tree, mutant.tests)
        if (failure := broken[mutant.tests]) is not None:
            skipped.append(f"{mutant.name}: its tests fail without it: {failure}")
            continue
        try:
            began = time.monotonic()
            test = killer(mutant, tree)
        except Stale as error:
            skipped.append(str(error))
            continue
        tried += 1
        survivors += test is None
        verdict, after = "SURVIVED" if test is None else "killed", time.monotonic() - began
        report(f"{verdict}  {mutant.name}  after {after:.1f} s  {test or ''}".rstrip())
    report(f"{tried - survivors} of {tried} killed")
    for reason in skipped:
        report(f"not tried: {reason}")
    if skipped:
        return 2
    return 1 if survivors else 0


def report(line: str) -> None:
    """Print one line at once: the run takes long."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Try the mutants that are named, or all."""
    mutants = choose(arguments)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        copy_tree(ROOT, tree)
        return run(mutants, tree)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
