"""`TarPacker`: a local file or folder as a tar archive, in chunks; only one chunk is in memory."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ._extracting import CopyResult

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK_SIZE: Final = 256 * 1024
_END_OF_ARCHIVE: Final = bytes(2 * tarfile.BLOCKSIZE)


class TarPacker:
    """Packs `path` into an archive under `name`; `copied` counts the files."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self.member = str(path)  # the last file that was read
        self._files = 0
        self._bytes = 0
        self._last_path = ""
        self._skipped: list[tuple[str, str]] = []
        self._links: dict[tuple[int, int], str] = {}

    @property
    def copied(self) -> CopyResult:
        """The files that have been packed."""
        return CopyResult(self._files, self._bytes, self._last_path, tuple(self._skipped))

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the archive."""
        # Not recursive: a tree of folders may be deeper than Python's stack.
        entries = [(self._path, self._name)]
        while entries:
            path, name = entries.pop()
            self.member = str(path)
            yield from self._pack(path, name, entries)
        yield _END_OF_ARCHIVE

    def _pack(self, path: Path, name: str, entries: list[tuple[Path, str]]) -> Iterator[bytes]:
        # The path of the user may be a link. Links below it are not followed.
        status = path.lstat() if name != self._name else path.stat()
        info = tarfile.TarInfo(name)
        info.mode, info.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
        if stat.S_ISDIR(status.st_mode):
            info.type = tarfile.DIRTYPE
            yield _encode_header(info)
            names = sorted(os.listdir(path), reverse=True)
            entries += ((path / entry, f"{name}/{entry}") for entry in names)
            return
        key = (status.st_dev, status.st_ino)
        if stat.S_ISLNK(status.st_mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
        elif not stat.S_ISREG(status.st_mode):
            self._skipped.append((str(path), "it is neither a file nor a folder nor a link"))
            return
        elif key in self._links:
            info.type, info.linkname = tarfile.LNKTYPE, self._links[key]
        else:
            if status.st_nlink > 1:
                self._links[key] = name
            yield from self._pack_file(path, info)
            return
        yield _encode_header(info)
        self._count(path)

    def _pack_file(self, path: Path, info: tarfile.TarInfo) -> Iterator[bytes]:
        with path.open("rb", buffering=0) as file:
            info.size = remaining = os.fstat(file.fileno()).st_size
            yield _encode_header(info)
            # The header has the size. So bytes that are added during the copy are ignored, and missing bytes
            # are an error.
            while remaining:
                chunk = file.read(min(remaining, _CHUNK_SIZE))
                if not chunk:
                    raise OSError(f"{path} became {remaining} bytes shorter while it was copied")
                remaining -= len(chunk)
                self._bytes += len(chunk)
                yield chunk
        yield bytes(-info.size % tarfile.BLOCKSIZE)
        self._count(path)

    def _count(self, path: Path) -> None:
        self._files += 1
        self._last_path = str(path)


def _encode_header(info: tarfile.TarInfo) -> bytes:
    # Every tar reads GNU's form of long names and sizes, including busybox.
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
