"""How a program finds the transports that are installed, its own and those of others."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata as standard
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from installed_transports import in_archive, in_folder, metadata, on_path

import kubeproto_runtime as kr
from kubeproto.config import Config, ConfigError, Connection
from kubeproto_runtime.client._installed import entry_points

GROUP: Final = "kubeproto.transports"
HERE: Final = (("pigeon", f"{__name__}:Loft.open"),)
opened: Final[list[Any]] = []


class Loft:
    """A transport of somebody else; the entry point names what makes it, inside of something."""

    @staticmethod
    def open(connection: Connection) -> Any:
        opened.append(connection)
        raise ConfigError("the pigeon has flown")


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    opened.clear()
    yield
    opened.clear()


def connect(transport: str) -> None:
    async def main() -> None:
        config = Config(connection=Connection(server="https://h"))
        async with kr.connect(config=config, transport=transport) as client:
            await client.version()

    anyio.run(main)


def test_a_transport_of_another_distribution_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra = "# nothing\n\nowl = owls:Owl [fast]\n[kubeproto.others]\nhen = hens:Hen\n"
    on_path(monkeypatch, in_folder(tmp_path / "site", metadata(GROUP, *HERE, extra=extra)))
    with pytest.raises(ConfigError, match="the pigeon has flown"):
        connect("pigeon")
    assert len(opened) == 1
    with pytest.raises(ConfigError, match=r"installed: asyncio, httpx, owl, pigeon, trio$"):
        connect("hen")


def test_one_in_an_archive_is_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, in_archive(tmp_path / "site.zip", metadata(GROUP, *HERE)))
    with pytest.raises(ConfigError, match="the pigeon has flown"):
        connect("pigeon")


def test_what_is_first_on_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = in_folder(tmp_path / "later", metadata(GROUP, ("pigeon", "nowhere:Pigeon")))
    first = in_folder(tmp_path / "first", metadata(GROUP, *HERE))
    on_path(monkeypatch, later)
    on_path(monkeypatch, first)
    assert entry_points(GROUP, among=("pigeon",))["pigeon"] == HERE[0][1]


def test_what_cannot_be_read_is_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a-1.dist-info").mkdir()
    (tmp_path / "a-1.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "b-1.dist-info").write_text("a file")
    (tmp_path / "c-1.egg-info" / "entry_points.txt").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(tmp_path / "gone"), *sys.path])
    assert entry_points(GROUP, among=("asyncio",)).keys() == {"asyncio", "httpx", "trio"}


@pytest.mark.parametrize("group", [GROUP, "kubeproto.blocking_transports", "pytest11"])
def test_the_standard_library_finds_the_same(group: str) -> None:
    theirs = {point.name: point.value for point in standard.entry_points(group=group)}
    ours = entry_points(group, among=tuple(theirs))
    assert ours.keys() == theirs.keys()
    assert {name: value for name, value in ours.items() if value != theirs[name]} == {}
