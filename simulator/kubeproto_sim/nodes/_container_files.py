"""The files of a container: content by absolute path. The path of an empty folder ends in a slash."""

from __future__ import annotations


def absolute(path: str, folder: str = "/") -> str:
    """Return a path from the root, without dots and double slashes."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{folder}/{path}").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def is_folder(files: dict[str, bytes], path: str) -> bool:
    """Return whether a path is a folder."""
    return path == "/" or any(name.startswith(folder_prefix(path)) for name in files)


def children(files: dict[str, bytes], path: str) -> list[str]:
    """Return the names in a folder."""
    prefix = folder_prefix(path)
    names = {name[len(prefix) :].partition("/")[0] for name in files if name.startswith(prefix)}
    return sorted(names - {""})


def remove_file(files: dict[str, bytes], path: str) -> bool:
    """Remove a file, or a folder with its content; return whether it existed."""
    names = [name for name in files if name == path or name.startswith(folder_prefix(path))]
    for name in names:
        del files[name]
    return bool(names)


def folder_prefix(path: str) -> str:
    """Return a path with a single slash at its end."""
    return path.rstrip("/") + "/"
