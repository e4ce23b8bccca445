"""Archives of a hostile container: files are written only below the target."""

from __future__ import annotations

import errno
import io
import os
import stat
import tarfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st

from kubeproto import RemoteProtocolError
from kubeproto_runtime.pods import CopyError
from kubeproto_runtime.pods._extracting import Extraction, describe_failure
from kubeproto_runtime.pods._packing import TarPacker
from kubeproto_runtime.pods._tar_reader import TarReader

Member = tuple[str, bytes, str]  # a name, a type, and a target or content


def archive(*members: Member, tar_format: int = tarfile.GNU_FORMAT, **fields: Any) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tar_format) as tar:
        for name, kind, text in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            for field, value in fields.items():
                setattr(info, field, value)
            if kind == tarfile.REGTYPE:
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
            else:
                info.linkname = text
                tar.addfile(info)
    return buffer.getvalue()


FILE, DIR, SYM, HARD, FIFO = (
    tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE,
)  # fmt: skip


def extract(data: bytes, target: Path, name: str = "data", size: int = 700) -> Extraction:
    extraction = Extraction(name, target)
    try:
        for offset in range(0, len(data), size):
            extraction.feed(data[offset : offset + size])
        extraction.finish()
    finally:
        extraction.close()
    return extraction


def tree(folder: Path) -> dict[str, str]:
    """Return the content of each file in a folder, and the target of each link."""
    contents: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            contents[name] = f"-> {os.readlink(path)}"
        elif path.is_file():
            contents[name] = path.read_text()
    return contents


def test_files_folders_modes_times_and_links_are_preserved(tmp_path: Path) -> None:
    data = archive(
        ("data/", DIR, ""), ("data/a", FILE, "one"), ("data/sub/", DIR, ""), ("data/sub/link", SYM, "../a"),
        ("data/sub/hard", HARD, "data/a"), ("data/" + "long" * 60, FILE, "x"), mode=0o751, mtime=1234,
    )  # fmt: skip
    extraction = extract(data, tmp_path / "here")
    assert tree(tmp_path) == {
        "here/a": "one", "here/sub/link": "-> ../a", "here/sub/hard": "one", "here/" + "long" * 60: "x",
    }  # fmt: skip
    status = (tmp_path / "here" / "a").stat()
    assert (stat.S_IMODE(status.st_mode), status.st_mtime, status.st_nlink) == (0o751, 1234, 2)
    assert (extraction.copied.files, extraction.copied.bytes) == (4, 4)


def test_a_single_file_becomes_the_target_and_replaces_an_existing_file(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept")
    os.link(tmp_path / "other", tmp_path / "here")
    extract(archive(("data", FILE, "new")), tmp_path / "here")
    assert tree(tmp_path) == {"here": "new", "other": "kept"}


HOSTILE: dict[str, tuple[list[Member], str]] = {
    "absolute": ([("/etc/passwd", FILE, "x")], "is outside of the request"),
    "above": ([("data/../../out", FILE, "x")], "outside of the request"),
    "beside": ([("data/", DIR, ""), ("other", FILE, "x")], "outside of the request"),
    "a name that begins alike": ([("database", FILE, "x")], "outside of the request"),
    "a folder above": ([("data/../..", DIR, "")], "outside of the request"),
    "a file through a link": ([("data/l", SYM, "sub"), ("data/l/x", FILE, "x")], "is a link: files are not"),
    "a folder through a link": ([("data/l", SYM, "sub"), ("data/l/", DIR, "")], "is a link: files are not"),
    "a link through a link": ([("data/l", SYM, "sub"), ("data/l/x", SYM, "a")], "is a link: files are not"),
    "a hard link out": ([("data/l", HARD, "/etc/passwd")], "outside of the request"),
    "a hard link above": ([("data/l", HARD, "data/../../out")], "outside of the request"),
    "a hard link to a link": ([("data/s", SYM, "a"), ("data/l", HARD, "data/s")], "which is not a file"),
    "a hard link to nothing": ([("data/l", HARD, "data/none")], "which is not a file"),
    "a file as a folder": ([("data/a", FILE, "x"), ("data/a/b", FILE, "x")], "is not a folder"),
    "a folder as a file": ([("data/a/", DIR, ""), ("data/a", FILE, "x")], "is a folder, but"),
}


@pytest.mark.parametrize("row", HOSTILE)
def test_a_name_outside_of_the_target_ends_the_copy(row: str, tmp_path: Path) -> None:
    members, reason = HOSTILE[row]
    (tmp_path / "out").write_text("outside")
    with pytest.raises(CopyError, match=reason):
        extract(archive(*members), tmp_path / "in" / "here" if row == "none" else tmp_path / "here")
    assert {name: text for name, text in tree(tmp_path).items() if not name.startswith("here")} == {
        "out": "outside"
    }


@pytest.mark.parametrize(
    "link", ["/etc", "..", "../out", "a/../../out", "x/..", "", "./.././../etc", "sub/../a"]
)
def test_a_link_to_the_outside_is_skipped_and_named(link: str, tmp_path: Path) -> None:
    extraction = extract(archive(("data/l", SYM, link), ("data/a", FILE, "one")), tmp_path / "here")
    assert tree(tmp_path) == {"here/a": "one"}
    assert [name for name, _ in extraction.copied.skipped] == ["data/l"]


def test_a_link_to_itself_leads_to_no_other_file(tmp_path: Path) -> None:
    extract(archive(("data/b", SYM, "b//etc")), tmp_path / "here")
    assert os.path.realpath(tmp_path / "here" / "b").startswith(str(tmp_path))


def test_an_entry_that_is_neither_file_nor_folder_nor_link_is_skipped(tmp_path: Path) -> None:
    extraction = extract(archive(("data/p", FIFO, ""), ("data/a", FILE, "one")), tmp_path / "here")
    assert tree(tmp_path) == {"here/a": "one"}
    assert extraction.copied.skipped == (("data/p", "it is neither a file nor a folder nor a link"),)


def test_an_existing_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "sub").symlink_to(tmp_path / "out")
    with pytest.raises(CopyError, match="is a link: files are not written through it"):
        extract(archive(("data/sub/a", FILE, "x")), tmp_path / "here")
    (tmp_path / "here" / "a").symlink_to(tmp_path / "out" / "a")
    extract(archive(("data/a", FILE, "x")), tmp_path / "here")
    assert tree(tmp_path / "out") == {}


@pytest.mark.parametrize(
    "data",
    [
        archive(("data/a", FILE, "x"), mtime=1 << 70),
        archive(("data/a", FILE, "x"), ("data/b", FILE, "x"), mtime=1 << 70),
        archive(("data/a", SYM, "x"), tar_format=tarfile.PAX_FORMAT, pax_headers={"linkpath": "a\0b"}),
        archive(("data/a", FILE, "x"), tar_format=tarfile.PAX_FORMAT, pax_headers={"size": "²"}),
        archive(("data/a", FILE, "x"), tar_format=tarfile.PAX_FORMAT, pax_headers={"path": "data/a\0b"}),
        b"not an archive" * 100,
    ],
)
def test_an_impossible_attribute_of_a_file_is_an_error_of_the_copy(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(CopyError):
        extract(data, tmp_path / "here")


def test_special_bits_and_write_permission_of_others_are_removed(tmp_path: Path) -> None:
    extract(archive(("data", FILE, "x"), mode=0o6777), tmp_path / "here")
    assert stat.S_IMODE((tmp_path / "here").stat().st_mode) == 0o755


def test_an_archive_that_ends_in_the_middle_leaves_no_half_file(tmp_path: Path) -> None:
    data = archive(("data/a", FILE, "one"), ("data/b", FILE, "x" * 5000))
    with pytest.raises(
        CopyError, match=r"the archive is not complete; 1 files \(\d+ bytes\) were copied before"
    ) as exc_info:
        extract(data[:3000], tmp_path / "here")
    assert tree(tmp_path) == {"here/a": "one"}
    assert exc_info.value.copied.files == 1


_names = st.lists(st.sampled_from(["data", "a", "b", "..", ".", ""]), min_size=1, max_size=4).map("/".join)
_members = st.lists(
    st.tuples(_names.map(lambda name: f"data/{name}"), st.sampled_from([FILE, DIR, SYM, HARD]), _names),
    max_size=8,
)


@given(_members, st.integers(1, 2000))
def test_no_archive_changes_files_outside_of_the_target(members: list[Member], size: int) -> None:
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "out").write_text("outside")
        target = folder / "in" / "here"
        target.parent.mkdir()
        with suppress(CopyError):
            extract(archive(*members), target, size=size)
        assert set(os.listdir(folder)) == {"in", "out"}
        assert (folder / "out").read_text() == "outside"
        assert set(os.listdir(target.parent)) <= {"here"}
        for path in target.rglob("*"):
            # `resolve` is not used: some versions refuse a link to itself.
            assert Path(os.path.realpath(path)).is_relative_to(os.path.realpath(target)), path
            assert path.is_symlink() or path.is_dir() or path.stat().st_ino != (folder / "out").stat().st_ino


@given(
    st.lists(st.tuples(st.text("aé/.", min_size=1, max_size=300), st.binary(max_size=1500)), max_size=4),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT]),
    st.integers(1, 3000),
)
def test_an_archive_split_anywhere_is_read_as_by_tarfile(
    files: list[tuple[str, bytes]], tar_format: int, size: int
) -> None:
    archive_file = io.BytesIO()
    with tarfile.open(fileobj=archive_file, mode="w", format=tar_format) as tar:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            try:
                tar.addfile(info, io.BytesIO(content))
            except ValueError:  # a name that this format cannot contain
                return
    data = archive_file.getvalue()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        expected = [(info.name, info.type, content_of(tar, info)) for info in tar]
    reader = TarReader()
    entries: list[list[Any]] = []
    for offset in range(0, len(data), size):
        for event in reader.feed(data[offset : offset + size]):
            if isinstance(event, bytes):
                entries[-1][2] += event
            else:
                entries.append([event.name, event.type, b""])
    assert [tuple(entry) for entry in entries] == expected
    assert reader.complete


def content_of(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(info) if info.isreg() else None
    return b"" if file is None else file.read()


@given(st.binary(max_size=2000))
def test_random_bytes_are_refused_or_read_as_an_archive(data: bytes) -> None:
    reader = TarReader()
    with suppress(RemoteProtocolError):
        list(reader.feed(data))


def test_tarfile_reads_the_packed_files(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True)
    (top / "a").write_bytes(b"one" * 1000)
    (top / "a").chmod(0o640)
    os.link(top / "a", top / "hard")
    (top / "sub" / "link").symlink_to("../a")
    (top / ("long" * 40)).write_text("x")
    os.mkfifo(top / "pipe")
    packing = TarPacker(top, "renamed")
    data = b"".join(packing.chunks())
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members_ = {info.name: (info.type, info.mode, info.linkname) for info in tar}
        assert tar.extractfile("renamed/a").read() == b"one" * 1000  # type: ignore[union-attr] # it is a file
    assert members_["renamed/a"] == (FILE, 0o640, "")
    assert members_["renamed/hard"][::2] == (HARD, "renamed/a")
    assert members_["renamed/sub/link"][::2] == (SYM, "../a")
    assert members_["renamed/" + "long" * 40][0] == FILE
    assert "renamed/pipe" not in members_
    assert packing.copied.skipped == ((str(top / "pipe"), "it is neither a file nor a folder nor a link"),)
    assert (packing.copied.files, packing.copied.bytes) == (4, 3001)


LONG = "n" * 256
REFUSED: dict[str, list[Member]] = {
    "a file": [(f"data/{LONG}", FILE, "x")],
    "a folder": [(f"data/{LONG}/", DIR, "")],
    "a file in a folder": [(f"data/{LONG}/a", FILE, "x")],
    "a link": [(f"data/{LONG}", SYM, "a")],
    "a hard link": [("data/a", FILE, "x"), (f"data/{LONG}", HARD, "data/a")],
    "a hard link to it": [(f"data/{LONG[1:]}/a", HARD, f"data/{LONG}")],
    "a long path": [("data/" + "/".join(["d" * 250] * 20), FILE, "x")],
    "a link to a long path": [("data/l", SYM, "/".join(["d" * 250] * 20))],
    "bytes, not characters": [("data/" + "é" * 128, FILE, "x")],
}


@pytest.mark.parametrize("row", REFUSED)
def test_a_name_that_the_file_system_refuses_is_an_error_with_the_name_and_the_remedy(
    row: str, tmp_path: Path
) -> None:
    members = [("data/before", FILE, "one"), *REFUSED[row]]
    with pytest.raises(CopyError, match="cannot be written: File name too long; most file systems") as raised:
        extract(archive(*members), tmp_path / "here")
    assert any(part in str(raised.value) for part in ("nnnn", "dddd", "éééé", "/l "))
    assert len(str(raised.value)) < 1000
    assert raised.value.copied.files >= 1
    assert (tmp_path / "here" / "before").read_text() == "one"


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC, errno.EROFS, errno.EISDIR, errno.ELOOP])
def test_a_refusal_of_the_file_system_is_described_with_its_remedy(number: int) -> None:
    text = describe_failure(OSError(number, os.strerror(number), "/a/b"), "b", "written")
    assert text.startswith(f"/a/b cannot be written: {os.strerror(number)}; ")
    assert describe_failure(OSError(errno.EIO, "broken"), "b", "read") == "b cannot be read: broken"
