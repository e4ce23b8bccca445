"""The files of a container: their content by absolute path; that of an empty folder ends in a slash."""

from __future__ import annotations


def absolute(path: str, folder: str = "/") -> str:
    """A path from the root, without dots and double slashes."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{folder}/{path}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def _inside(path: str) -> str:
    return path.rstrip("/") + "/"


def is_folder(files: dict[str, bytes], path: str) -> bool:
    """Return whether something other than a file is there."""
    return path == "/" or any(name.startswith(_inside(path)) for name in files)


def children(files: dict[str, bytes], path: str) -> list[str]:
    """The names of what is in a folder."""
    start = _inside(path)
    found = {name[len(start) :].partition("/")[0] for name in files if name.startswith(start)}
    return sorted(found - {""})


def remove_file(files: dict[str, bytes], path: str) -> bool:
    """Remove a file, or a folder with all that is in it; return whether there was any."""
    gone = [name for name in files if name == path or name.startswith(_inside(path))]
    for name in gone:
        del files[name]
    return bool(gone)
