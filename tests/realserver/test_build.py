"""The control plane is built once, from modules of the same release, and only with Go."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from . import _real_build as building

ROOT = building.HERE.parent.parent


@pytest.mark.parametrize("release", building.releases())
def test_all_modules_of_kubernetes_have_the_same_release(release: str) -> None:
    major, minor = building.kubernetes_version(release).split(".", 1)
    assert f"{major}.{minor}".startswith(f"v{release}.")
    text = building.modules(release).read_text()
    replaced = re.findall(r"^\t(k8s\.io/\S+) => (k8s\.io/\S+) (\S+)$", text, re.MULTILINE)
    assert len(replaced) > 28
    assert {(name == other, version) for name, other, version in replaced} == {(True, f"v0.{minor}")}


def test_changed_sources_are_built_as_another_program(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old_digest = building.digest()
    for name in ("go.mod", "go.sum", *building.PROGRAMS):
        shutil.copy(building.HERE / name, tmp_path)
    monkeypatch.setattr(building, "HERE", tmp_path)
    assert building.digest() == old_digest
    (tmp_path / "main.go").write_text("package main\n")
    assert building.digest() != old_digest
    assert {path.name for path in (ROOT / "tests/realserver").glob("*.go")} == set(building.PROGRAMS)


def test_each_release_has_its_own_program_and_an_unknown_release_is_an_error() -> None:
    assert len({building.program(release) for release in building.releases()}) == len(building.releases())
    with pytest.raises(building.Unbuildable, match=r"no Kubernetes 1\.12 to build, only 1\.30"):
        building.program("1.12")


def test_a_build_without_go_fails_with_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(building, "CACHE", tmp_path)
    monkeypatch.setattr(building, "DEFAULT_GO", str(tmp_path / "go"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(building.Unbuildable, match="Go is not on this machine"):
        building.build()
    assert not [*tmp_path.iterdir()]


def test_an_existing_program_is_not_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(building, "CACHE", tmp_path)
    program = tmp_path / building.digest() / "realserver"
    program.parent.mkdir()
    program.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", "")
    assert building.build() == program
