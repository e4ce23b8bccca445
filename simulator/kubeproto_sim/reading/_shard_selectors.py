"""Shard selectors (KEP-5866): ranges of a hash over an object's uid or namespace."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .._rejections import Rejection, unexplained
from ..storage._storage import Stored

_RANGE: Final = re.compile(r"\s*shardRange\(\s*([\w.]+)\s*,\s*(['\"])(.*?)\2\s*,\s*(['\"])(.*?)\4\s*\)\s*")
_KEYS: Final = ("object.metadata.uid", "object.metadata.namespace")
_BOUND: Final = re.compile(r"0x([0-9a-f]{16}|10000000000000000)")
_MASK: Final = (1 << 64) - 1


class Shards(Struct, frozen=True):
    """Some ranges over one key, and their normal form as a string."""

    key: str
    ranges: tuple[tuple[int, int], ...]
    text: str

    def holds(self, stored: Stored) -> bool:
        """Return whether an object is in one of the ranges."""
        value = stored.uid if self.key == _KEYS[0] else stored.namespace
        at = fnv_1a(value)
        return any(start <= at < end for start, end in self.ranges)


def fnv_1a(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a string."""
    at = 0xCBF29CE484222325
    for byte in text.encode():
        at = ((at ^ byte) * 0x100000001B3) & _MASK
    return at


def read_shards(text: str) -> Shards:
    """Return the ranges of a selector; or 500 without a reason, as a server does."""
    ranges: list[tuple[int, int]] = []
    shown: list[str] = []
    keys: set[str] = set()
    for part in text.split("||"):
        found = _RANGE.fullmatch(part)
        if not found:
            raise _bad(f"unable to parse {part.strip()!r}")
        key, start, end = found[1], found[3], found[5]
        if key not in _KEYS:
            raise _bad(f"unsupported field path {key!r}")
        keys.add(key)
        ranges.append((_bound("hexStart", start), _bound("hexEnd", end)))
        shown.append(f"shardRange({key}, '{start}', '{end}')")
    if len(keys) != 1:
        raise _bad("all ranges must have the same field path")
    return Shards(keys.pop(), tuple(ranges), " || ".join(shown))


def _bound(what: str, text: str) -> int:
    if _BOUND.fullmatch(text):
        return int(text, 16)
    digits = text.removeprefix("0x")
    hint = f' (did you mean "0x{digits.zfill(16)}"?)' if re.fullmatch(r"[0-9a-f]{1,15}", digits) else ""
    raise _bad(f'{what} must be a 0x-prefixed 16-digit hex value, got "{text}"{hint}')


def _bad(why: str) -> Rejection:
    return unexplained(f"invalid shard selector: {why}")
