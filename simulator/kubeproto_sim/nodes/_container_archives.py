"""Tar archives of the files of a container, which `kubectl cp` transfers."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable

from ._container_files import absolute, folder_prefix, is_folder


def pack(files: dict[str, bytes], paths: Iterable[tuple[str, str]], now: float) -> bytes:
    """Return an archive of files and folders, each by its path and its name in the archive.

    Raise ValueError if a path is missing.
    """
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, archive_name in paths:
            content = sorted(name for name in files if name.startswith(folder_prefix(path)))
            if path not in files and not is_folder(files, path):
                raise ValueError(f"{path}: No such file or directory")
            for name in [path] if path in files else [folder_prefix(path), *content]:
                entry = tarfile.TarInfo((archive_name + name[len(path.rstrip("/")) :]).strip("/"))
                entry.mtime = int(now)
                if name.endswith("/"):
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(entry)
                else:
                    entry.size = len(files[name])
                    tar.addfile(entry, io.BytesIO(files[name]))
    return archive.getvalue()


def unpack(files: dict[str, bytes], data: bytes, folder: str) -> None:
    """Extract an archive into a folder; raise ValueError for a malformed archive.

    Symbolic links are not supported.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            for entry in tar:
                path = absolute(entry.name, folder)
                if entry.isdir():
                    files.setdefault(path + "/", b"")
                elif entry.isreg() and (content := tar.extractfile(entry)) is not None:
                    files[path] = content.read()
                elif entry.islnk():
                    files[path] = files.get(absolute(entry.linkname, folder), b"")
    except tarfile.TarError as error:
        raise ValueError(f"this is not a tar archive: {error}") from None
