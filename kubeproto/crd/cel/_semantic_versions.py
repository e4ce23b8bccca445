"""Semantic versions as a server parses and orders them: https://semver.org, without build metadata."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_MAX_NUMBER: Final = (1 << 64) - 1


def canonical_version(text: str, *, tolerant: bool = False) -> str:
    """Return a version without its build metadata; or raise ValueError.

    If `tolerant`, a leading `v`, leading zeros, and one or two numbers are allowed.
    """
    text = _normalize(text) if tolerant else text
    match = _VERSION.fullmatch(text)
    if match is None:
        if text.count(".") < 2:
            raise ValueError("No Major.Minor.Patch elements found" if text else "Version string empty")
        raise ValueError(f"{text!r} is not a semantic version")
    major, minor, patch, prerelease = match.groups()
    for part in (major, minor, patch, *(prerelease or "").split(".")):
        if part.isdigit() and (int(part) > _MAX_NUMBER or (part[0] == "0" and len(part) > 1)):
            raise ValueError(f"{text!r} is not a semantic version: {part} is too large, or begins with 0")
    return f"{major}.{minor}.{patch}{'-' if prerelease else ''}{prerelease or ''}"


def version_numbers(version: str) -> tuple[int, int, int]:
    """Return major, minor and patch of a canonical version."""
    major, minor, patch = version.partition("-")[0].split(".")
    return int(major), int(minor), int(patch)


def compare_versions(left: str, right: str) -> int:
    """Return -1, 0 or 1 if the left of two canonical versions is lower, equal or higher."""
    left_key, right_key = _sort_key(left), _sort_key(right)
    return (left_key > right_key) - (left_key < right_key)


def _sort_key(version: str) -> tuple[tuple[int, int, int], bool, list[tuple[bool, int, str]]]:
    _, dash, prerelease = version.partition("-")
    parts = prerelease.split(".") if dash else []
    # A release is higher than its pre-releases; numbers are lower than words, and ordered by their value.
    return (
        version_numbers(version),
        not dash,
        [
            (not part.isdigit(), int(part) if part.isdigit() else 0, "" if part.isdigit() else part)
            for part in parts
        ],
    )


def _normalize(text: str) -> str:
    parts = [_strip_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and re.search(r"[+-]", parts[-1]):
        raise ValueError(f"{text!r} is too short for a pre-release or build metadata")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _strip_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1].isdigit() else f"0{stripped}"
