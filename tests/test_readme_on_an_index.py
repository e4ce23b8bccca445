"""The README of a distribution has links that work on a package index."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest

from tools.readme_links import ReadmeHook, absolute_links

ROOT: Final = Path(__file__).resolve().parent.parent
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCE: Final = "https://forge.example.com/kubeproto"


@pytest.mark.parametrize(
    ("text", "absolute"),
    [
        ("[a](docs/a.md)", f"[a]({SOURCE}/blob/v1.0/docs/a.md)"),
        ("![a](docs/a.png#x)", f"![a]({SOURCE}/blob/v1.0/docs/a.png#x)"),
        (
            "[a](LICENSE), [b](docs/b.md)",
            f"[a]({SOURCE}/blob/v1.0/LICENSE), [b]({SOURCE}/blob/v1.0/docs/b.md)",
        ),
        ("[a](https://h/x)", "[a](https://h/x)"),
        ("[a](#part) [b](mailto:x@h)", "[a](#part) [b](mailto:x@h)"),
        ("a[0](1)", f"a[0]({SOURCE}/blob/v1.0/1)"),
        ("f(x) [] ()", "f(x) [] ()"),
    ],
)
def test_a_relative_link_points_to_the_file_of_the_version(text: str, absolute: str) -> None:
    assert absolute_links(text, SOURCE, "1.0") == absolute


def test_links_point_to_main_between_releases() -> None:
    assert absolute_links("[a](b)", SOURCE, "1.0.dev0") == f"[a]({SOURCE}/blob/main/b)"


def test_each_link_of_the_readme_is_absolute_in_a_distribution_and_points_to_a_file() -> None:
    metadata = dict(PROJECT)
    ReadmeHook(str(ROOT), {}).update(metadata)
    targets = re.findall(r"\]\(([^)]+)\)", metadata["readme"]["text"])
    base = f"{PROJECT['urls']['Source']}/blob/"
    assert len(targets) > 20
    assert [target for target in targets if not target.startswith("https://")] == []
    project_links = [
        target.removeprefix(base).partition("/")[2].partition("#")[0] for target in targets if base in target
    ]
    assert [path for path in project_links if not (ROOT / path).exists()] == []


def test_the_project_has_a_single_address() -> None:
    assert {url for url in PROJECT["urls"].values() if not url.startswith(PROJECT["urls"]["Source"])} == set()
    config = (ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text()
    assert f"url: {PROJECT['urls']['Source']}/security" in config
