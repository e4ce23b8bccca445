"""The programs of a page run with the extras of its install line, without other installed packages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from pages_shown import ROOT, snippets

SAME_PAGE: Final = pytest.mark.thorough("the same page over another transport")

# Pages, and the extras that suffice for them.
PROMISES: Final = [
    ("README.md", "runtime,asyncio"),
    pytest.param("README.md", "runtime,trio", marks=SAME_PAGE),
    pytest.param("README.md", "runtime,httpx", marks=SAME_PAGE),
    ("docs/guides/machines.md", ""),
    ("docs/guides/scripts.md", "runtime,httpx"),
    ("docs/guides/observing.md", "runtime,asyncio"),
    ("docs/start/install.md", "runtime,asyncio"),
    ("docs/start/list-and-watch.md", "runtime,asyncio"),
]

REFUSING: Final = """
import sys
import importlib.abc

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {refused}:
            raise ModuleNotFoundError(f"{{name}} is not brought by these extras", name=name)

sys.meta_path.insert(0, Refuse())
__name__ = "page"
"""


def canonical_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def brought_by(package: str, extras: set[str]) -> set[str]:
    """Return the distributions that are installed with a package."""
    brought: set[str] = set()
    try:
        required = requires(package) or []
    except PackageNotFoundError:
        return brought
    for text in required:
        requirement = Requirement(text)
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras or {""}
        ):
            brought |= {canonical_name(requirement.name)} | brought_by(requirement.name, requirement.extras)
    return brought


@cache
def owners_of_modules() -> Mapping[str, list[str]]:
    return packages_distributions()


@cache
def modules_outside_of_extras(extras: str) -> list[str]:
    """Return the installed modules that these extras of kubeproto do not install."""
    available = {"kubeproto", *brought_by("kubeproto", set(extras.split(",")))}
    modules = owners_of_modules()
    return sorted(
        name
        for name, owners in modules.items()
        if not {canonical_name(owner) for owner in owners} & available
    )


def program_of(page: Path) -> str:
    return "\n\n".join(
        snippet.text for snippet in snippets(page) if snippet.language == "python" and not snippet.file
    )


@pytest.mark.parametrize(("page", "extras"), PROMISES)
def test_the_programs_of_a_page_need_only_its_extras(page: str, extras: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        REFUSING.format(refused=json.dumps(modules_outside_of_extras(extras))) + program_of(ROOT / page)
    )
    completed = subprocess.run(
        [sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr


def test_packages_outside_of_the_extras_are_refused() -> None:
    assert {"trio", "httpx", "h11", "anyio"} <= set(modules_outside_of_extras(""))
    assert "trio" in modules_outside_of_extras("runtime,asyncio")
    assert not {"anyio", "yaml", "msgspec", "kubeproto", "kubeproto_runtime"} & set(
        modules_outside_of_extras("runtime,asyncio")
    )
