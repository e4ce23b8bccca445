"""Semantic versions as a server reads and orders them: https://semver.org, without build metadata."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"(?:0|[1-9][0-9]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LARGEST: Final = (1 << 64) - 1


def canonical(text: str, *, tolerant: bool = False) -> str:
    """Return a version without its build metadata; ValueError for what is not one.

    A `tolerant` reader takes a leading `v`, leading zeros, and one or two numbers.
    """
    text = _normalized(text) if tolerant else text
    found = _VERSION.fullmatch(text)
    if found is None:
        if text.count(".") < 2:
            raise ValueError("No Major.Minor.Patch elements found" if text else "Version string empty")
        raise ValueError(f"{text!r} is not a semantic version")
    major, minor, patch, before = found.groups()
    for part in (major, minor, patch, *(before or "").split(".")):
        if part.isdigit() and (int(part) > _LARGEST or (part[0] == "0" and len(part) > 1)):
            raise ValueError(f"{text!r} is not a semantic version: {part} is too large, or begins with 0")
    return f"{major}.{minor}.{patch}{'-' if before else ''}{before or ''}"


def numbers(version: str) -> tuple[int, int, int]:
    """Return major, minor and patch of a canonical version."""
    major, minor, patch = version.partition("-")[0].split(".")
    return int(major), int(minor), int(patch)


def order(one: str, other: str) -> int:
    """Return -1, 0 or 1, as the first of two canonical versions is lower, equal or higher."""
    left, right = _rank(one), _rank(other)
    return (left > right) - (left < right)


def _rank(version: str) -> tuple[tuple[int, int, int], bool, list[tuple[bool, int, str]]]:
    _, dash, before = version.partition("-")
    parts = before.split(".") if dash else []
    # A release is above its pre-releases; numbers are below words, and ordered by their value.
    return (
        numbers(version),
        not dash,
        [
            (not one.isdigit(), int(one) if one.isdigit() else 0, "" if one.isdigit() else one)
            for one in parts
        ],
    )


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and re.search(r"[+-]", parts[-1]):
        raise ValueError(f"{text!r} is too short for a pre-release or build metadata")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    bare = part.lstrip("0")
    return bare if bare[:1].isdigit() else f"0{bare}"
