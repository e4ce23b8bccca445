"""Break the code on purpose, one patch at a time, and see which test notices first.

    python tests/mutants/run_mutants.py [patch ...]

Each `*.patch` beside this file is a unified diff against the working tree. It is tried in a copy of the tree,
so nothing here is touched. A patch that does not apply any more is passed over and named at the end. The exit
code is 1 if a mutant survives, 2 if there is such a patch or if the tests fail without any.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parent.parent
TREE: Final = ("kubeproto", "tests", "pyproject.toml")
TESTS: Final = ("tests/watching", "tests/control")

# A mutant may well go round in circles; the tests take some seconds.
PATIENCE: Final = 180.0


class DoesNotApply(Exception):
    """A patch no longer fits the tree: it must be written anew."""


def copy_tree(root: Path, to: Path, parts: tuple[str, ...] = TREE) -> None:
    """Copy what the tests need."""
    for part in parts:
        source = root / part
        if source.is_dir():
            shutil.copytree(source, to / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
        elif source.exists():
            shutil.copy2(source, to / part)


def apply(patch: Path, tree: Path, *how: str) -> None:
    """Apply a patch to a tree, or, with ``--check`` or ``--reverse``, something else of that kind."""
    # Above the tree no repository must be found, or its paths would be taken as relative to that.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    done = subprocess.run(
        ["git", "apply", *how, str(patch.resolve())],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise DoesNotApply(f"{patch.name}: {done.stderr.strip()}")


def first_failure(tree: Path, tests: tuple[str, ...] = TESTS) -> str | None:
    """Run the tests of a tree: the first that fails, or None."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed=0",
        *tests,
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return f"none: the tests did not end within {PATIENCE:.0f} s"
    if done.returncode == 0:
        return None
    said = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return said[1] if said else f"none, but: {(done.stdout + done.stderr).strip()[-200:]}"


def killer(patch: Path, tree: Path, tests: tuple[str, ...] = TESTS) -> str | None:
    """The first test that notices this mutant, or None if it survives. The tree is left as it was."""
    apply(patch, tree)
    try:
        return first_failure(tree, tests)
    finally:
        apply(patch, tree, "--reverse")


def fits(patch: Path, tree: Path) -> str:
    """Nothing if a patch applies to a tree, or why it does not."""
    try:
        apply(patch, tree, "--check")
    except DoesNotApply as error:
        return str(error)
    return ""


def run(patches: list[Path], tree: Path, tests: tuple[str, ...] = TESTS) -> int:
    """Try each patch on a tree and say what became of it: the exit code."""
    broken = first_failure(tree, tests)
    if broken is not None:
        say(f"the tests fail without any mutant: {broken}")
        return 2
    # Found out at the start, so that a patch that cannot be taken back later is not taken for one of these.
    stale = {patch: why for patch in patches if (why := fits(patch, tree))}
    tried = [patch for patch in patches if patch not in stale]
    survivors = 0
    for patch in tried:
        test = killer(patch, tree, tests)
        survivors += test is None
        say(f"{'SURVIVED' if test is None else 'killed'}  {patch.stem}  {test or ''}")
    say(f"{len(tried) - survivors} of {len(tried)} killed")
    for why in stale.values():
        say(f"does not apply: {why}")
    if stale:
        return 2
    return 1 if survivors else 0


def say(line: str) -> None:
    """One line, at once: the run takes long."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> int:
    """Try the patches that are named, or all."""
    patches = [Path(name) for name in arguments] or sorted(HERE.glob("*.patch"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder) / "tree"
        tree.mkdir()
        copy_tree(ROOT, tree)
        return run(patches, tree)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
