"""Paths of files that other files name, by the rules of whatever system they come from."""

from __future__ import annotations

import ntpath
import posixpath
import re


def beside(path: str, other: str) -> str:
    """Return a path that a file names: relative to the directory of that file."""
    if is_windows(path):
        return ntpath.join(ntpath.dirname(path), other)
    return posixpath.join(posixpath.dirname(path), other)


def below(directory: str, *parts: str) -> str:
    """Return a path below a directory."""
    return ntpath.join(directory, *parts) if is_windows(directory) else posixpath.join(directory, *parts)


def has_directory(path: str, command: str) -> bool:
    """Return True if a command, named in the file at `path`, is a path and not a name to look up in PATH."""
    return "/" in command or ("\\" in command and is_windows(path))


def is_windows(path: str) -> bool:
    """Return True if a path can only be one of Windows: it has a drive, or names another machine."""
    return bool(re.match(r"[A-Za-z]:[\\/]|\\\\", path))
