"""`TarPacking`: a local file or folder as a tar archive, piece by piece; only one piece is kept in memory."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ._extracting import Copied

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE: Final = 256 * 1024
_END: Final = bytes(2 * tarfile.BLOCKSIZE)


class TarPacking:
    """Iterate over the bytes of the archive in which `path` is called `name`; `copied` counts along."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._files = 0
        self._bytes = 0
        self._last = ""
        self._left_out: list[tuple[str, str]] = []
        self._links: dict[tuple[int, int], str] = {}

    @property
    def copied(self) -> Copied:
        """What was packed until now."""
        return Copied(self._files, self._bytes, self._last, tuple(self._left_out))

    def pieces(self) -> Iterator[bytes]:
        """Yield the archive."""
        yield from self._pack(self._path, self._name)
        yield _END

    def _pack(self, path: Path, name: str) -> Iterator[bytes]:
        found = path.lstat() if name != self._name else path.stat()  # only what the user names is followed
        info = tarfile.TarInfo(name)
        info.mode, info.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
        if stat.S_ISDIR(found.st_mode):
            info.type = tarfile.DIRTYPE
            yield _header(info)
            for entry in sorted(os.listdir(path)):
                yield from self._pack(path / entry, f"{name}/{entry}")
            return
        key = (found.st_dev, found.st_ino)
        if stat.S_ISLNK(found.st_mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.readlink(path)
        elif not stat.S_ISREG(found.st_mode):
            self._left_out.append((str(path), "it is neither a file nor a folder nor a link"))
            return
        elif key in self._links:
            info.type, info.linkname = tarfile.LNKTYPE, self._links[key]
        else:
            if found.st_nlink > 1:
                self._links[key] = name
            yield from self._pack_file(path, info)
            return
        yield _header(info)
        self._count(path)

    def _pack_file(self, path: Path, info: tarfile.TarInfo) -> Iterator[bytes]:
        with path.open("rb", buffering=0) as file:
            info.size = left = os.fstat(file.fileno()).st_size
            yield _header(info)
            # The size is in the header: bytes that are added meanwhile are left out, missing ones are an
            # error.
            while left:
                piece = file.read(min(left, _PIECE))
                if not piece:
                    raise OSError(f"{path} became {left} bytes shorter while it was copied")
                left -= len(piece)
                self._bytes += len(piece)
                yield piece
        yield bytes(-info.size % tarfile.BLOCKSIZE)
        self._count(path)

    def _count(self, path: Path) -> None:
        self._files += 1
        self._last = str(path)


def _header(info: tarfile.TarInfo) -> bytes:
    # Every tar reads GNU's form of long names and sizes, even that of busybox.
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
