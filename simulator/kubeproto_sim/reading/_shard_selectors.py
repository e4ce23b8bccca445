"""Shard selectors (KEP-5866): ranges of a hash over an object's uid or namespace."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .._rejections import Rejection, unexplained
from ..storage._storage import StoredRecord

_RANGE: Final = re.compile(r"\s*shardRange\(\s*([\w.]+)\s*,\s*(['\"])(.*?)\2\s*,\s*(['\"])(.*?)\4\s*\)\s*")
_KEYS: Final = ("object.metadata.uid", "object.metadata.namespace")
_BOUND: Final = re.compile(r"0x([0-9a-f]{16}|10000000000000000)")
_MASK: Final = (1 << 64) - 1


class Shards(Struct, frozen=True):
    """Ranges of the hash of a field, and their normal form as text."""

    key: str
    ranges: tuple[tuple[int, int], ...]
    text: str

    def contains(self, stored: StoredRecord) -> bool:
        """Return whether an object is in one of the ranges."""
        value = stored.uid if self.key == _KEYS[0] else stored.namespace
        value_hash = fnv_1a(value)
        return any(start <= value_hash < end for start, end in self.ranges)


def fnv_1a(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a string."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & _MASK
    return value


def read_shards(text: str) -> Shards:
    """Return the ranges of a selector.

    Refuse an invalid selector with 500 and no reason, as a server does.
    """
    ranges: list[tuple[int, int]] = []
    texts: list[str] = []
    keys: set[str] = set()
    for part in text.split("||"):
        match = _RANGE.fullmatch(part)
        if not match:
            raise _bad(f"unable to parse {part.strip()!r}")
        key, start, end = match[1], match[3], match[5]
        if key not in _KEYS:
            raise _bad(f"unsupported field path {key!r}")
        keys.add(key)
        ranges.append((_parse_bound("hexStart", start), _parse_bound("hexEnd", end)))
        texts.append(f"shardRange({key}, '{start}', '{end}')")
    if len(keys) != 1:
        raise _bad("all ranges must have the same field path")
    return Shards(keys.pop(), tuple(ranges), " || ".join(texts))


def _parse_bound(name: str, text: str) -> int:
    if _BOUND.fullmatch(text):
        return int(text, 16)
    digits = text.removeprefix("0x")
    hint = f' (did you mean "0x{digits.zfill(16)}"?)' if re.fullmatch(r"[0-9a-f]{1,15}", digits) else ""
    raise _bad(f'{name} must be a 0x-prefixed 16-digit hex value, got "{text}"{hint}')


def _bad(problem: str) -> Rejection:
    return unexplained(f"invalid shard selector: {problem}")
