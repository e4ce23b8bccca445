"""The page on compatibility lists each dependency, which extra asks for it, and under which licence."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SIMULATOR: Final = tomllib.loads((ROOT / "simulator" / "pyproject.toml").read_text())["project"]
PAGE: Final = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
ROWS: Final = {
    name: (extras, licence)
    for name, extras, licence in re.findall(r"^\| ([\w-]+) \| (.*) \| (.*) \|$", PAGE, re.M)
}


def asked_for() -> dict[str, str]:
    """Each dependency, and what asks for it, as the page writes it."""
    askers: dict[str, list[str]] = {Requirement(text).name: ["the core"] for text in PROJECT["dependencies"]}
    for extra, texts in PROJECT["optional-dependencies"].items():
        for requirement in map(Requirement, texts):
            if requirement.name != SIMULATOR["name"]:
                askers.setdefault(requirement.name, []).append(f"`{extra}`")
                continue
            for asked in requirement.extras:
                for text in SIMULATOR["optional-dependencies"][asked]:
                    askers.setdefault(Requirement(text).name, []).append(f"`{extra}`")
    return {name: ", ".join(extras) for name, extras in askers.items()}


def test_the_page_lists_each_dependency_and_the_extras_that_ask_for_it() -> None:
    listed = {name: extras for name, (extras, _) in ROWS.items() if name != "package"}
    assert listed == asked_for()


@pytest.mark.parametrize("name", sorted(asked_for()))
def test_the_licence_of_a_dependency_is_the_one_that_it_states(name: str) -> None:
    stated = importlib.metadata.metadata(name).json
    assert ROWS[name][1] == (stated.get("license_expression") or stated.get("license"))
