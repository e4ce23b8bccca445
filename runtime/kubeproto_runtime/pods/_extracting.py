"""`Extraction`: writes the files of an archive below a path, and changes no other file.

The archive comes from a container, which may be hostile. Each member must pass tarfile's data filter, and
these rules:

- its name is the requested name or below it: not absolute, and without ``..``;
- no folder of its path is a link, of this archive or existing before;
- the target of a link is below the path too, without a ``..`` after another name: a link that is created
  later could otherwise move the target after the check;
- an existing file is not written to: a new file replaces it.

Devices, pipes and links to the outside are skipped and reported; names outside of the path end the copy.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from kubeproto import KubeprotoError, RemoteProtocolError

from ._tar_reader import TarReader

if TYPE_CHECKING:
    from io import FileIO

_MAX_PATH: Final = 400  # characters of a path in an error
_REMEDIES: Final = {
    errno.ENAMETOOLONG: "most file systems allow 255 bytes for a name and 4096 for a path: rename it, or copy"
    " its folder's other files one by one",
    errno.EACCES: "grant this user access to it, or choose another path",
    errno.EPERM: "grant this user access to it, or choose another path",
    errno.EROFS: "choose a path on a file system that can be written",
    errno.ENOSPC: "free some space, or choose a path on another file system",
    errno.EDQUOT: "free some space, or choose a path on another file system",
    errno.ENOTDIR: "a part of its path is a file: remove that file, or choose another path",
    errno.EISDIR: "it is a folder: remove it, or choose another path",
    errno.ELOOP: "its links lead to each other: correct them, or choose another path",
    errno.EMFILE: "this process has too many open files: raise its limit",
}
_MAX_SKIPPED: Final = 1000  # names in the report
_DATA_FILTER: Final = getattr(tarfile, "data_filter", None)  # since Python 3.11.4


class CopyResult(Struct, frozen=True):
    """The number of copied files and bytes, and the names of skipped files, each with the reason."""

    files: int = 0
    bytes: int = 0
    name: str = ""  # of the last file
    skipped: tuple[tuple[str, str], ...] = ()


class CopyError(KubeprotoError):
    """A copy has failed. `copied` counts the files that were copied before, which are not removed."""

    def __init__(self, reason: str, copied: CopyResult) -> None:
        super().__init__(reason, copied)
        self.copied = copied

    def __str__(self) -> str:
        progress = f"{self.copied.files} files ({self.copied.bytes} bytes) were copied before"
        return f"{self.args[0]}; {progress}" if self.copied.files else str(self.args[0])


def describe_failure(error: OSError, name: str, action: str) -> str:
    """Describe an error of the local file system: the file, the problem, and the remedy if it is known."""
    path = str(error.filename or name)
    if len(path) > _MAX_PATH:
        path = f"{path[: _MAX_PATH // 2]}…{path[-_MAX_PATH // 2 :]}"
    remedy = _REMEDIES.get(error.errno or 0, "")
    return f"{path} cannot be {action}: {error.strerror or error}{remedy and '; '}{remedy}"


class Extraction:
    """Writes an archive that arrives in chunks: the member `name` as `target`, members below it inside."""

    def __init__(self, name: str, target: Path) -> None:
        # Links in the user's path are followed; links below it are not.
        self._top = Path(os.path.realpath(target))
        self._name = tuple(part for part in name.split("/") if part not in ("", "."))
        self._reader = TarReader()
        self._file: FileIO | None = None
        self._info: tarfile.TarInfo | None = None
        self._files = 0
        self._bytes = 0
        self._last_path = ""
        self._member = name  # the last member that was read
        self._skipped: list[tuple[str, str]] = []

    @property
    def copied(self) -> CopyResult:
        """The files that have been copied."""
        return CopyResult(self._files, self._bytes, self._last_path, tuple(self._skipped))

    def feed(self, data: bytes) -> None:
        """Write the members that these bytes complete."""
        try:
            for event in self._reader.feed(data):
                if isinstance(event, tarfile.TarInfo):
                    self._finish_file()
                    self._member = event.name
                    self._begin_member(event)
                elif self._file is not None:
                    self._file.write(event)
                    self._bytes += len(event)
        except (RemoteProtocolError, ValueError, OverflowError) as error:
            # ValueError and OverflowError: a time, a number or a link target that is invalid for a file.
            raise CopyError(f"the archive is broken: {error}", self.copied) from error
        except OSError as error:
            raise CopyError(describe_failure(error, self._member, "written"), self.copied) from error

    def finish(self) -> None:
        """Finish the last file. Raise `CopyError` if the archive is not complete."""
        if not self._reader.complete:
            raise CopyError("the archive is not complete", self.copied)
        try:
            self._finish_file()
        except (ValueError, OverflowError) as error:
            raise CopyError(f"the archive is broken: {error}", self.copied) from error
        except OSError as error:
            raise CopyError(describe_failure(error, self._member, "written"), self.copied) from error

    def close(self) -> None:
        """Remove a file that is not complete."""
        file, self._file = self._file, None
        if file is not None:
            # The error that ended the copy must not be replaced by one of the same broken disk.
            with suppress(OSError):
                file.close()
            with suppress(OSError):
                Path(self._last_path).unlink(missing_ok=True)

    def _begin_member(self, info: tarfile.TarInfo) -> None:
        parts = self._relative_parts(info.name)
        path = self._top.joinpath(*parts)
        if info.isdir():
            self._make_folders(path)
            path.chmod(info.mode & 0o755 | 0o700)
            return
        self._make_folders(path.parent if parts else self._top.parent)
        if reason := self._reason_to_skip(info, parts):
            if len(self._skipped) < _MAX_SKIPPED:
                self._skipped.append((info.name, reason))
            return
        self._remove_existing(path, info.name)
        if info.issym():
            # Python's realpath mistakes the part after ``//`` in a link to itself for an absolute path.
            path.symlink_to(re.sub("/{2,}", "/", info.linkname))
        elif info.islnk():
            self._link(path, info)
        else:
            self._last_path = str(path)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            self._file = open(os.open(path, flags, 0o600), "wb", buffering=0)  # noqa: SIM115 # closed by _finish_file
            self._info = info
            return
        self._files += 1

    def _finish_file(self) -> None:
        file, info, self._file = self._file, self._info, None
        if file is None or info is None:
            return
        # Like tarfile's data filter: no write permission for others, and no special bits.
        os.fchmod(file.fileno(), info.mode & 0o755 | 0o600)
        file.close()
        os.utime(self._last_path, (info.mtime, info.mtime))
        self._files += 1

    def _relative_parts(self, name: str) -> tuple[str, ...]:
        """Return the parts of a name below the requested name. Raise `CopyError` for a name outside of it."""
        parts = tuple(part for part in name.split("/") if part not in ("", "."))
        if name.startswith("/") or ".." in parts or parts[: len(self._name)] != self._name or "\0" in name:
            raise CopyError(f"the archive names {name!r}, which is outside of the request", self.copied)
        return parts[len(self._name) :]

    def _make_folders(self, path: Path) -> None:
        """Create a folder and its parents, without following a link."""
        folders = [path, *path.parents]
        for folder in reversed(folders[: folders.index(self._top) + 1] if self._top in folders else [path]):
            try:
                mode = folder.lstat().st_mode
            except FileNotFoundError:
                folder.mkdir()
                continue
            if not stat.S_ISDIR(mode):
                kind = "a link" if stat.S_ISLNK(mode) else "not a folder"
                raise CopyError(f"{folder} is {kind}: files are not written through it", self.copied)

    def _reason_to_skip(self, info: tarfile.TarInfo, parts: tuple[str, ...]) -> str:
        """Return the reason why a member is skipped; empty if it is extracted."""
        if not (info.isreg() or info.issym() or info.islnk()):
            return "it is neither a file nor a folder nor a link"
        if info.islnk():
            self._relative_parts(info.linkname)
        if info.issym() and _leads_outside(info.linkname, len(parts) - 1):
            return f"it is a link to {info.linkname}, which leads out of the copy"
        if _DATA_FILTER is None or not parts:
            return "the requested path is itself a link" if info.issym() else ""
        relative = info.replace(name="/".join(parts), deep=False)
        if info.islnk():
            linkname = "/".join(self._relative_parts(info.linkname))
            relative = relative.replace(linkname=linkname, deep=False)
        try:
            _DATA_FILTER(relative, str(self._top))
        except tarfile.FilterError as error:
            return str(error)
        return ""

    def _remove_existing(self, path: Path, name: str) -> None:
        """Remove the file to be replaced. Writing to it would change its other hard links too."""
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            return
        if stat.S_ISDIR(mode):
            raise CopyError(f"{path} is a folder, but {name} is not", self.copied)
        path.unlink()

    def _link(self, path: Path, info: tarfile.TarInfo) -> None:
        source = self._top.joinpath(*self._relative_parts(info.linkname))
        self._make_folders(source.parent)
        try:
            is_file = stat.S_ISREG(source.lstat().st_mode)
        except FileNotFoundError:
            is_file = False
        if not is_file:
            raise CopyError(f"{info.name} is a link to {info.linkname}, which is not a file", self.copied)
        os.link(source, path, follow_symlinks=False)


def _leads_outside(target: str, depth: int) -> bool:
    """Return whether the target of a link at this depth below the top may be above the top."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
    return target.startswith("/") or up > depth or ".." in parts[up:] or not target
