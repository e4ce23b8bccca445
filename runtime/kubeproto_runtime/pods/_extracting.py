"""`Extraction`: an archive becomes files below one path, and touches nothing else, whatever it holds.

The container decides what is in the archive, and may be hostile. tarfile's data filter is asked about each
member, and beyond what it checks:

- each name must be that of what was asked for, or below it: nothing absolute, no ``..``, nothing beside it;
- a member is never written through a link, neither one of this archive nor an older one;
- a link is made only if its target is below the path too, without a ``..`` behind another name: the target
  of a link that is made later could otherwise move what was checked;
- nothing that exists is written into: a file is replaced by a new one.

Devices, pipes and links that lead out are left out and reported; names that lead out end the copy.
"""

from __future__ import annotations

import os
import re
import stat
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kubeproto import KubeprotoError, RemoteProtocolError

from ._tar_reader import TarReader

if TYPE_CHECKING:
    from io import FileIO

_MOST_NAMED: Final = 1000
_DATA_FILTER: Final = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on


class Copied(Struct, frozen=True):
    """How much was copied. `left_out` are the names that were left out, each with the reason."""

    files: int = 0
    bytes: int = 0
    name: str = ""  # the last
    left_out: tuple[tuple[str, str], ...] = ()


class CopyError(KubeprotoError):
    """A copy has failed; `copied` is what had been copied by then, and stays."""

    def __init__(self, why: str, copied: Copied) -> None:
        super().__init__(why, copied)
        self.copied = copied

    def __str__(self) -> str:
        done = f"{self.copied.files} files ({self.copied.bytes} bytes) were copied before"
        return f"{self.args[0]}; {done}" if self.copied.files else str(self.args[0])


class Extraction:
    """Takes an archive by pieces and writes it: the member `name` as `target`, what is below it inside."""

    def __init__(self, name: str, target: Path) -> None:
        # Links in the user's own path are followed; below it, none are.
        self._top = Path(os.path.realpath(target))
        self._name = tuple(part for part in name.split("/") if part not in ("", "."))
        self._reader = TarReader()
        self._file: FileIO | None = None
        self._info: tarfile.TarInfo | None = None
        self._left = 0
        self._files = 0
        self._bytes = 0
        self._last = ""
        self._left_out: list[tuple[str, str]] = []

    @property
    def copied(self) -> Copied:
        """What was copied until now."""
        return Copied(self._files, self._bytes, self._last, tuple(self._left_out))

    def feed(self, data: bytes) -> None:
        """Write the members that these bytes complete."""
        try:
            for event in self._reader.feed(data):
                if isinstance(event, tarfile.TarInfo):
                    self._end_file()
                    self._begin(event)
                elif self._file is not None:
                    self._file.write(event)
                    self._bytes += len(event)
        except (RemoteProtocolError, ValueError, OverflowError) as error:
            # The last two errors: a time, a number or a target that no file can have.
            raise CopyError(f"the archive is broken: {error}", self.copied) from error

    def finish(self) -> None:
        """End the copy; a `CopyError` if the archive is not complete."""
        if not self._reader.complete:
            raise CopyError("the archive ended in the middle", self.copied)
        try:
            self._end_file()
        except (ValueError, OverflowError) as error:
            raise CopyError(f"the archive is broken: {error}", self.copied) from error

    def close(self) -> None:
        """Close what is open; a file that is not complete is removed."""
        if self._file is not None:
            self._file.close()
            Path(self._last).unlink(missing_ok=True)
            self._file = None

    def _begin(self, info: tarfile.TarInfo) -> None:
        parts = self._below(info.name)
        path = self._top.joinpath(*parts)
        if info.isdir():
            self._make_folders(path)
            path.chmod(info.mode & 0o755 | 0o700)
            return
        self._make_folders(path.parent if parts else self._top.parent)
        why = self._refusal(info, parts)
        if why:
            if len(self._left_out) < _MOST_NAMED:
                self._left_out.append((info.name, why))
            return
        self._clear(path, info.name)
        if info.issym():
            # Python's realpath takes what follows ``//`` in a link to itself for an absolute path.
            path.symlink_to(re.sub("/{2,}", "/", info.linkname))
        elif info.islnk():
            self._link(path, info)
        else:
            self._last = str(path)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            self._file = open(os.open(path, flags, 0o600), "wb", buffering=0)  # noqa: SIM115 # closed by _end_file
            self._info = info
            return
        self._files += 1

    def _end_file(self) -> None:
        file, info, self._file = self._file, self._info, None
        if file is None or info is None:
            return
        # As by the data filter: no write permission for others, and no special bits.
        os.fchmod(file.fileno(), info.mode & 0o755 | 0o600)
        file.close()
        os.utime(self._last, (info.mtime, info.mtime))
        self._files += 1

    def _below(self, name: str) -> tuple[str, ...]:
        """Return the parts of a name below what was asked for; what is not below it ends the copy."""
        parts = tuple(part for part in name.split("/") if part not in ("", "."))
        if name.startswith("/") or ".." in parts or parts[: len(self._name)] != self._name or "\0" in name:
            raise CopyError(f"the archive names {name!r}, which is outside of the request", self.copied)
        return parts[len(self._name) :]

    def _make_folders(self, path: Path) -> None:
        """Make a folder with those above it, and follow no link on the way."""
        made = [path, *path.parents]
        for folder in reversed(made[: made.index(self._top) + 1] if self._top in made else made[:1]):
            try:
                mode = folder.lstat().st_mode
            except FileNotFoundError:
                folder.mkdir()
                continue
            if not stat.S_ISDIR(mode):
                what = "a link" if stat.S_ISLNK(mode) else "not a folder"
                raise CopyError(f"{folder} is {what}, and nothing is written through it", self.copied)

    def _refusal(self, info: tarfile.TarInfo, parts: tuple[str, ...]) -> str:
        """Return why a member is left out; nothing if it is not."""
        if not (info.isreg() or info.issym() or info.islnk()):
            return "it is neither a file nor a folder nor a link"
        if info.islnk():
            self._below(info.linkname)
        if info.issym() and _leads_out(info.linkname, len(parts) - 1):
            return f"it is a link to {info.linkname}, which leads out of what is copied"
        if _DATA_FILTER is None or not parts:
            return "what was asked for is itself a link" if info.issym() else ""
        below = info.replace(name="/".join(parts), deep=False)
        if info.islnk():
            below = below.replace(linkname="/".join(self._below(info.linkname)), deep=False)
        try:
            _DATA_FILTER(below, str(self._top))
        except tarfile.FilterError as error:
            return str(error)
        return ""

    def _clear(self, path: Path, name: str) -> None:
        """Remove a file that is to be replaced, so that its other hard links keep their content."""
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
        if stat.S_ISDIR(mode):
            raise CopyError(f"{path} is a folder, and {name} is not", self.copied)
        path.unlink()

    def _link(self, path: Path, info: tarfile.TarInfo) -> None:
        source = self._top.joinpath(*self._below(info.linkname))
        self._make_folders(source.parent)
        try:
            is_file = stat.S_ISREG(source.lstat().st_mode)
        except FileNotFoundError:
            is_file = False
        if not is_file:
            raise CopyError(f"{info.name} is a link to {info.linkname}, which is not a file", self.copied)
        os.link(source, path, follow_symlinks=False)


def _leads_out(target: str, depth: int) -> bool:
    """Return whether a link at this depth below the top may lead above it."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return target.startswith("/") or up > depth or ".." in parts[up:] or not target
